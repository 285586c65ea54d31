// Tiles of budgets in registers, for costs 1 to COSTS. Gaps of costs above the budget are huge, and lcb is never 0, so that
// infeasible actions lose by themselves.

const TILE = 4u * TILE_VECTORS;
const HALO = COSTS;
alias Tile = array<vec4<f32>, TILE_VECTORS>;
const HUGE = 1e30;

// gap(cost) for the j-th four budgets of the tile.
fn gaps(problem: Problem, first_budget: u32, j: u32, cost: u32) -> vec4<f32> {
    let i = COSTS + 4u * j;
    let above = vec4<u32>(values[i], values[i + 1u], values[i + 2u], values[i + 3u]);
    let k = i - cost;
    let below = vec4<u32>(values[k], values[k + 1u], values[k + 2u], values[k + 3u]);
    let difference = vec4<f32>(select(vec4<u32>(), above - below, above >= below));
    let budget = vec4<u32>(first_budget + 4u * j) + vec4<u32>(0u, 1u, 2u, 3u);
    return select(vec4<f32>(HUGE), difference * problem.value_of_unit, budget >= vec4<u32>(cost));
}

// max(x, y) of numbers, without the care for NaN that makes max() slow on some adapters.
fn better(x: vec4<f32>, y: vec4<f32>) -> vec4<f32> {
    return select(x, y, y > x);
}
