// ucb * r and lcb of every (shared context, action) of a batch, from fitted parameters and contexts that stay on the
// adapter. A thread takes contexts of one problem.

const THREADS = 64u;

// Set by the host: contexts per thread, so that parameters are read once for several.
const CONTEXTS = 8u;

@group(0) @binding(0) var<storage, read> sources: array<Source>;
@group(0) @binding(1) var<storage, read> parameters: array<f32>;
@group(0) @binding(2) var<storage, read> resident: array<u32>;
@group(0) @binding(3) var<storage, read_write> coefficients: array<vec2<f32>>;

// Writes the coefficients of an action from its (ucb, lcb).
fn put(source: Source, entry: u32, action: u32, bounds: vec2<f32>) {
    let offer = source.first_offer + 2u * (entry * ACTIONS + action);
    let place = source.first_pair + entry * ACTIONS + resident[offer + 1u];
    coefficients[place] = offer_of(bounds, bitcast<f32>(resident[offer]));
}

fn armed(source: Source, first: u32) {
    for (var entry = first; entry < min(source.entries, first + CONTEXTS * THREADS); entry += THREADS) {
        let record = source.first_record + entry * (DIMENSION + 1u);
        for (var a = 0u; a < ACTIONS; a++) {
            put(source, entry, a, armed_bounds(source, resident[record], a));
        }
    }
}

fn ellipsoid(source: Source, first: u32) {
    var fitted = load_fitted(source);
    for (var entry = first; entry < min(source.entries, first + CONTEXTS * THREADS); entry += THREADS) {
        let record = source.first_record + entry * (DIMENSION + 1u);
        var theta: array<f32, DIMENSION>;
        for (var i = 0u; i < DIMENSION; i++) {
            theta[i] = bitcast<f32>(resident[record + 1u + i]);
        }
        let part = theta_part(&fitted, &theta);
        for (var a = 0u; a < ACTIONS; a++) {
            put(source, entry, a, ellipsoid_bounds(source, &fitted, part, a));
        }
    }
}

@compute @workgroup_size(THREADS)
fn bounds(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let source = sources[group.z];
    let first = group.x * CONTEXTS * THREADS + thread;
    if first >= source.entries {
        return;
    }
    if source.kind == 0u {
        armed(source, first);
    } else {
        ellipsoid(source, first);
    }
}
