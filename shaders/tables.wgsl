// Contexts whose coefficients are in tables: the members of every step, (gain, lcb) of every pair, and costs.

struct Member {
    weight: Real,
    entry: u32,
}

@group(0) @binding(3) var<storage, read> members: array<Member>;
@group(0) @binding(4) var<storage, read> coefficients: array<vec2<Real>>;
@group(0) @binding(5) var<storage, read> costs: array<u32>;
