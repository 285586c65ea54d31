// Bounds from fitted parameters, as `Source` describes them. Kind 0, armed: an interval per group and action. Kinds 1 and
// 2, an ellipsoid with the logistic or the linear link f, and kind 3, with the bonus inside the logistic one:
//
//     f(phi.mu) +- scale * |factor phi|,   phi = (theta, action value),   factor' factor = V^-1
//     f(clamp(phi.mu +- scale * |factor phi|, -+ |limits phi|))
//
// with the inverse Cholesky factor of V, so that the norm is a sum of squares and loses no digits. Only the last row of a
// lower triangle contains the action value: all else is done once per context.

// Set by the host for the instance. INSIDE is 1 if a source of the batch is of kind 3: the others then skip its exponentials.
const ACTIONS = 4u;
const DIMENSION = 2u;
const INSIDE = 1u;

const TRIANGLE = (DIMENSION + 1u) * (DIMENSION + 2u) / 2u;
const LAST_ROW = TRIANGLE - DIMENSION - 1u;

// The smallest lcb: times the huge gap of an infeasible action it outweighs any gain.
const LCB_FLOOR = 1e-20;

struct Source {
    kind: u32,
    // Shared contexts so far.
    entries: u32,
    // First word of the contexts (step, features) and of the offers (reward, place among the sorted actions) in
    // `resident`.
    first_record: u32,
    first_offer: u32,
    // First pair in `coefficients`.
    first_pair: u32,
    // First number in `parameters`. Armed: (ucb, lcb) by group and action. Ellipsoid: action values, tolerances by action,
    // mu, factor, limits (kind 3).
    first_parameter: u32,
    // Armed: 1 if bounds differ by step.
    by_step: u32,
    // Ellipsoid: factor of the norm.
    scale: f32,
    // Ellipsoid: 1 if lcb := ucb.
    coupled: u32,
    // First number in `parameters` of the rewards of single contexts by action, then their costs.
    first_reward: u32,
}

struct Fitted {
    mu: array<f32, DIMENSION + 1u>,
    factor: array<f32, TRIANGLE>,
    limits: array<f32, DIMENSION + 1u>,
}

// Theta's share of phi.mu, of the last row of factor phi, of the other rows squared, and of |limits phi| squared.
struct ThetaPart {
    utility: f32,
    last: f32,
    square: f32,
    limit: f32,
}

fn load_fitted(source: Source) -> Fitted {
    var fitted: Fitted;
    let first = source.first_parameter + 2u * ACTIONS;
    for (var i = 0u; i <= DIMENSION; i++) {
        fitted.mu[i] = parameters[first + i];
    }
    for (var i = 0u; i < TRIANGLE; i++) {
        fitted.factor[i] = parameters[first + DIMENSION + 1u + i];
    }
    for (var i = 0u; i <= DIMENSION && INSIDE * source.kind == 3u; i++) {
        fitted.limits[i] = parameters[first + DIMENSION + 1u + TRIANGLE + i];
    }
    return fitted;
}

fn theta_part(fitted: ptr<function, Fitted>, theta: ptr<function, array<f32, DIMENSION>>) -> ThetaPart {
    var part: ThetaPart;
    for (var i = 0u; i < DIMENSION; i++) {
        part.utility += (*fitted).mu[i] * (*theta)[i];
        part.last += (*fitted).factor[LAST_ROW + i] * (*theta)[i];
    }
    for (var i = 0u; i < DIMENSION; i++) {
        part.limit += (*fitted).limits[i] * (*theta)[i] * (*fitted).limits[i] * (*theta)[i];
        var along = 0.0;
        for (var j = 0u; j <= i; j++) {
            along += (*fitted).factor[i * (i + 1u) / 2u + j] * (*theta)[j];
        }
        part.square += along * along;
    }
    return part;
}

// The smallest sigma.
const SIGMA_FLOOR = 1e-5;

// f of bounds, or of an estimate, within the limits; clipped into [0, 1].
fn probabilities(source: Source, numbers: vec2<f32>, most: f32) -> vec2<f32> {
    var p = numbers;
    if INSIDE * source.kind == 3u {
        p = 1.0 / (1.0 + exp(-clamp(p, vec2<f32>(-most), vec2<f32>(most))));
    }
    return clamp(p, vec2<f32>(0.0), vec2<f32>(1.0));
}

// (ucb, lcb) of an action.
fn ellipsoid_bounds(source: Source, fitted: ptr<function, Fitted>, part: ThetaPart, action: u32) -> vec2<f32> {
    let value = parameters[source.first_parameter + action];
    let tolerance = parameters[source.first_parameter + ACTIONS + action];
    let along = part.last + (*fitted).factor[TRIANGLE - 1u] * value;
    var estimate = part.utility + (*fitted).mu[DIMENSION] * value;
    if source.kind == 1u {
        estimate = 1.0 / (1.0 + exp(-estimate));
    }
    let radius = source.scale * sqrt(part.square + along * along);
    let of_action = (*fitted).limits[DIMENSION] * value;
    let most = sqrt(part.limit + of_action * of_action);
    // Coupled bounds need the estimate in place of lcb.
    let coupled = source.coupled == 1u;
    var bounds = probabilities(source, vec2<f32>(estimate + radius, estimate - select(radius, 0.0, coupled)), most);
    if tolerance > 0.0 {
        var center = bounds.y;
        if !coupled {
            center = probabilities(source, vec2<f32>(estimate), most).x;
        }
        let q = 0.5 * (center + bounds.x);
        let tau = tolerance * max(sqrt(q * (1.0 - q)), SIGMA_FLOOR);
        bounds = vec2<f32>(max(center, bounds.x - tau), min(center, bounds.y + tau));
    }
    return select(bounds, bounds.xx, coupled);
}

// (ucb, lcb) of an action at a group: a step, or 0.
fn armed_bounds(source: Source, step_number: u32, action: u32) -> vec2<f32> {
    let place = source.first_parameter + 2u * (step_number * source.by_step * ACTIONS + action);
    return vec2<f32>(parameters[place], parameters[place + 1u]);
}

// (ucb * r, lcb); (0, floor) if the reward is negative.
fn offer_of(bounds: vec2<f32>, reward: f32) -> vec2<f32> {
    let feasible = reward >= 0.0;
    return vec2<f32>(
        select(0.0, bounds.x * reward, feasible),
        max(select(0.0, bounds.y, feasible), LCB_FLOOR),
    );
}
