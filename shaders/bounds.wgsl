// ucb * r and lcb of every (context, action) of a batch, from fitted parameters and contexts that stay on the adapter.
//
// One thread takes one context. Kind 0, armed: an interval per group and action. Kind 1, logistic:
//
//     f(phi.mu) +- scale * |factor phi|,   phi = (theta, action value),   factor' factor = V^-1
//
// with the inverse Cholesky factor of V, so that the norm is a sum of squares and loses no digits.

const THREADS = 64u;

// The smallest lcb: times the huge gap of an infeasible action it outweighs any gain.
const LCB_FLOOR = 1e-20;

struct Source {
    kind: u32,
    actions: u32,
    // Features of a context.
    dimension: u32,
    // Contexts so far.
    entries: u32,
    // First word of the contexts (step, features) and of the offers (reward, action) in `resident`.
    first_record: u32,
    first_offer: u32,
    // First pair in `coefficients`.
    first_pair: u32,
    // First number in `parameters`. Armed: (ucb, lcb) by group and action. Logistic: action values, mu, factor.
    first_parameter: u32,
    // Armed: 1 where bounds differ by step. Logistic: not used.
    by_step: u32,
    // Logistic: multiplies the norm.
    scale: f32,
}

@group(0) @binding(0) var<storage, read> sources: array<Source>;
@group(0) @binding(1) var<storage, read> parameters: array<f32>;
@group(0) @binding(2) var<storage, read> resident: array<u32>;
@group(0) @binding(3) var<storage, read_write> coefficients: array<vec2<f32>>;

// (ucb, lcb) of an action with its own parameters per group.
fn armed(source: Source, record: u32, action: u32) -> vec2<f32> {
    let group = resident[record] * source.by_step;
    let place = source.first_parameter + 2u * (group * source.actions + action);
    return vec2<f32>(parameters[place], parameters[place + 1u]);
}

// The parts of phi.mu and |factor phi|^2 that belong to theta and serve all actions: the utility, the square without the
// last row (the only row of a lower triangle that meets the action value), and the last row's product.
fn of_theta(source: Source, record: u32) -> vec3<f32> {
    let mu = source.first_parameter + source.actions;
    let dimension = source.dimension;
    var row = mu + dimension + 1u;
    var utility = 0.0;
    var square = 0.0;
    var along = 0.0;
    for (var i = 0u; i <= dimension; i++) {
        square += along * along;
        along = 0.0;
        for (var j = 0u; j < min(i + 1u, dimension); j++) {
            along += parameters[row + j] * bitcast<f32>(resident[record + 1u + j]);
        }
        if i < dimension {
            utility += parameters[mu + i] * bitcast<f32>(resident[record + 1u + i]);
        }
        row += i + 1u;
    }
    return vec3<f32>(utility, square, along);
}

fn logistic(source: Source, theta: vec3<f32>, action: u32) -> vec2<f32> {
    let value = parameters[source.first_parameter + action];
    let mu = source.first_parameter + source.actions;
    let d = source.dimension + 1u;
    let last = mu + d + d * (d + 1u) / 2u - 1u;
    let along = theta.z + parameters[last] * value;
    let estimate = 1.0 / (1.0 + exp(-theta.x - parameters[mu + source.dimension] * value));
    let radius = source.scale * sqrt(theta.y + along * along);
    return clamp(vec2<f32>(estimate + radius, estimate - radius), vec2<f32>(0.0), vec2<f32>(1.0));
}

@compute @workgroup_size(THREADS)
fn bounds(@builtin(global_invocation_id) id: vec3<u32>, @builtin(workgroup_id) group: vec3<u32>) {
    let source = sources[group.z];
    let entry = id.x;
    if entry >= source.entries {
        return;
    }
    let record = source.first_record + entry * (source.dimension + 1u);
    var theta: vec3<f32>;
    if source.kind == 1u {
        theta = of_theta(source, record);
    }
    for (var slot = 0u; slot < source.actions; slot++) {
        let pair = entry * source.actions + slot;
        let offer = source.first_offer + 2u * pair;
        let reward = bitcast<f32>(resident[offer]);
        let action = resident[offer + 1u];
        var found: vec2<f32>;
        if source.kind == 0u {
            found = armed(source, record, action);
        } else {
            found = logistic(source, theta, action);
        }
        let feasible = reward >= 0.0;
        coefficients[source.first_pair + pair] = vec2<f32>(
            select(0.0, found.x * reward, feasible),
            max(select(0.0, found.y, feasible), LCB_FLOOR),
        );
    }
}
