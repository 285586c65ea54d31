// One step of Optimistic-DP for a batch of problems over single contexts, costs 1 to COSTS: the twin of bellman.wgsl for
// contexts that are used once in a plan. Their features stay on the adapter, and bounds are evaluated where they are
// used, without tables of coefficients.

// Set by the host: 1 if rewards depend on theta. Then the number after a context's features is added to the reward.
const AUCTION = 0u;

const WORDS = DIMENSION + AUCTION;

@group(0) @binding(3) var<storage, read> features: array<f32>;
@group(0) @binding(4) var<storage, read> sources: array<Source>;
@group(0) @binding(5) var<storage, read> parameters: array<f32>;

// Raises `best` to an action with the cost of `gap`.
fn raise(best: ptr<function, Tile>, gap: ptr<function, Tile>, offer: vec2<f32>) {
    for (var j = 0u; j < TILE_VECTORS; j++) {
        (*best)[j] = better((*best)[j], offer.x - offer.y * (*gap)[j]);
    }
}

@compute @workgroup_size(THREADS)
fn plan(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let problem = problems[group.z];
    let first_budget = group.x * TILE;
    load_values(problem, first_budget, group.y, thread);

    var gap1 = gaps(problem, first_budget, 1u);
    var gap2: Tile;
    var gap3: Tile;
    var gap4: Tile;
    if COSTS > 1u {
        gap2 = gaps(problem, first_budget, 2u);
        gap3 = gaps(problem, first_budget, 3u);
        gap4 = gaps(problem, first_budget, 4u);
    }

    let source = sources[group.z];
    var fitted: Fitted;
    if source.kind > 0u {
        fitted = load_fitted(source);
    }
    var sum: Tile;
    let range = members_of(problem, group.z, first_budget, group.y);
    for (var m = range.x + thread; m < range.y; m += THREADS) {
        var theta: array<f32, DIMENSION>;
        for (var i = 0u; i < DIMENSION; i++) {
            theta[i] = features[m * WORDS + i];
        }
        var more = 0.0;
        if AUCTION == 1u {
            more = features[m * WORDS + DIMENSION];
        }
        let part = theta_part(&fitted, &theta);
        var best: Tile;
        for (var a = 0u; a < ACTIONS; a++) {
            var bounds = vec2<f32>();
            if source.kind == 0u {
                bounds = armed_bounds(source, problem.horizon - step.remaining, a);
            } else {
                bounds = ellipsoid_bounds(source, &fitted, part, a);
            }
            let offer = offer_of(bounds, parameters[source.first_reward + a] + more);
            let cost = u32(parameters[source.first_reward + ACTIONS + a]);
            if COSTS == 1u || cost == 1u {
                raise(&best, &gap1, offer);
            } else if cost == 2u {
                raise(&best, &gap2, offer);
            } else if cost == 3u {
                raise(&best, &gap3, offer);
            } else {
                raise(&best, &gap4, offer);
            }
        }
        for (var j = 0u; j < TILE_VECTORS; j++) {
            sum[j] += best[j];
        }
    }

    write_tile(problem, first_budget, group.y, thread, &sum);
}
