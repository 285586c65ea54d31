// ucb * r and lcb of every (context, action) of a batch, from fitted parameters and contexts that stay on the adapter.
//
// A thread takes contexts of one problem. Kind 0, armed: an interval per group and action. Kinds 1 and 2, an ellipsoid
// with the logistic or the linear link f, and kind 3, with the bonus inside the logistic one:
//
//     f(phi.mu) +- scale * |factor phi|,   phi = (theta, action value),   factor' factor = V^-1
//     f(clamp(phi.mu +- scale * |factor phi|, -+ |limits phi|))
//
// with the inverse Cholesky factor of V, so that the norm is a sum of squares and loses no digits. Of a lower triangle
// only the last row meets the action value: all else is done once per context.
//
// The constants below are set by the host for the instance.

const ACTIONS = 4u;
const DIMENSION = 2u;
const THREADS = 64u;

// Contexts that one thread takes, so that parameters are read once for several.
const CONTEXTS = 8u;

// The smallest lcb: times the huge gap of an infeasible action it outweighs any gain.
const LCB_FLOOR = 1e-20;

const TRIANGLE = (DIMENSION + 1u) * (DIMENSION + 2u) / 2u;
const LAST_ROW = TRIANGLE - DIMENSION - 1u;

struct Source {
    kind: u32,
    // Contexts so far.
    entries: u32,
    // First word of the contexts (step, features) and of the offers (reward, place among the sorted actions) in
    // `resident`.
    first_record: u32,
    first_offer: u32,
    // First pair in `coefficients`.
    first_pair: u32,
    // First number in `parameters`. Armed: (ucb, lcb) by group and action. Ellipsoid: action values, mu, factor,
    // limits (kind 3).
    first_parameter: u32,
    // Armed: 1 where bounds differ by step.
    by_step: u32,
    // Ellipsoid: multiplies the norm.
    scale: f32,
    // Ellipsoid: 1 where lcb := ucb.
    coupled: u32,
}

@group(0) @binding(0) var<storage, read> sources: array<Source>;
@group(0) @binding(1) var<storage, read> parameters: array<f32>;
@group(0) @binding(2) var<storage, read> resident: array<u32>;
@group(0) @binding(3) var<storage, read_write> coefficients: array<vec2<f32>>;

// Writes the coefficients of an action from its (ucb, lcb).
fn put(source: Source, entry: u32, action: u32, bounds: vec2<f32>) {
    let offer = source.first_offer + 2u * (entry * ACTIONS + action);
    let reward = bitcast<f32>(resident[offer]);
    let feasible = reward >= 0.0;
    coefficients[source.first_pair + entry * ACTIONS + resident[offer + 1u]] = vec2<f32>(
        select(0.0, bounds.x * reward, feasible),
        max(select(0.0, bounds.y, feasible), LCB_FLOOR),
    );
}

fn armed(source: Source, first: u32) {
    for (var entry = first; entry < min(source.entries, first + CONTEXTS * THREADS); entry += THREADS) {
        let record = source.first_record + entry * (DIMENSION + 1u);
        let group = resident[record] * source.by_step;
        for (var a = 0u; a < ACTIONS; a++) {
            let place = source.first_parameter + 2u * (group * ACTIONS + a);
            put(source, entry, a, vec2<f32>(parameters[place], parameters[place + 1u]));
        }
    }
}

fn ellipsoid(source: Source, first: u32) {
    var values: array<f32, ACTIONS>;
    for (var a = 0u; a < ACTIONS; a++) {
        values[a] = parameters[source.first_parameter + a];
    }
    var mu: array<f32, DIMENSION + 1u>;
    for (var i = 0u; i <= DIMENSION; i++) {
        mu[i] = parameters[source.first_parameter + ACTIONS + i];
    }
    var factor: array<f32, TRIANGLE>;
    for (var i = 0u; i < TRIANGLE; i++) {
        factor[i] = parameters[source.first_parameter + ACTIONS + DIMENSION + 1u + i];
    }
    var limits: array<f32, DIMENSION + 1u>;
    for (var i = 0u; i <= DIMENSION && source.kind == 3u; i++) {
        limits[i] = parameters[source.first_parameter + ACTIONS + DIMENSION + 1u + TRIANGLE + i];
    }
    for (var entry = first; entry < min(source.entries, first + CONTEXTS * THREADS); entry += THREADS) {
        let record = source.first_record + entry * (DIMENSION + 1u);
        var theta: array<f32, DIMENSION>;
        var utility = 0.0;
        var last = 0.0;
        for (var i = 0u; i < DIMENSION; i++) {
            theta[i] = bitcast<f32>(resident[record + 1u + i]);
            utility += mu[i] * theta[i];
            last += factor[LAST_ROW + i] * theta[i];
        }
        var square = 0.0;
        var limit = 0.0;
        for (var i = 0u; i < DIMENSION; i++) {
            limit += limits[i] * theta[i] * limits[i] * theta[i];
            var along = 0.0;
            for (var j = 0u; j <= i; j++) {
                along += factor[i * (i + 1u) / 2u + j] * theta[j];
            }
            square += along * along;
        }
        for (var a = 0u; a < ACTIONS; a++) {
            let along = last + factor[TRIANGLE - 1u] * values[a];
            var estimate = utility + mu[DIMENSION] * values[a];
            if source.kind == 1u {
                estimate = 1.0 / (1.0 + exp(-estimate));
            }
            let radius = source.scale * sqrt(square + along * along);
            var bounds = vec2<f32>(estimate + radius, estimate - radius);
            if source.kind == 3u {
                let of_action = limits[DIMENSION] * values[a];
                let most = sqrt(limit + of_action * of_action);
                bounds = 1.0 / (1.0 + exp(-clamp(bounds, vec2<f32>(-most), vec2<f32>(most))));
            }
            bounds = clamp(bounds, vec2<f32>(0.0), vec2<f32>(1.0));
            put(source, entry, a, select(bounds, bounds.xx, source.coupled == 1u));
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
