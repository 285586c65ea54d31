// Contexts whose coefficients are in tables: the members of every step, (gain, lcb) of every pair, and costs.

@group(0) @binding(3) var<storage, read> members: array<Member>;
@group(0) @binding(4) var<storage, read> coefficients: array<Offer>;
@group(0) @binding(5) var<storage, read> costs: array<u32>;
