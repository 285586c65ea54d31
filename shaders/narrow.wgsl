// Tiles of budgets in registers, for costs 1 to COSTS. Gaps of costs above the budget are huge, and lcb is never 0, so that
// infeasible actions lose by themselves.

const HUGE = 1e30;

// gap(cost) for the budgets of the tile. Loops over tiles must unroll, or adapters keep them in memory: one variable per
// cost, no index but j.
fn gaps(problem: Problem, first_budget: u32, cost: u32) -> Tile {
    var gap: Tile;
    for (var j = 0u; j < TILE_VECTORS; j++) {
        let i = COSTS + 4u * j;
        let above = vec4<u32>(values[i], values[i + 1u], values[i + 2u], values[i + 3u]);
        let k = i - cost;
        let below = vec4<u32>(values[k], values[k + 1u], values[k + 2u], values[k + 3u]);
        let difference = vec4<f32>(select(vec4<u32>(), above - below, above >= below));
        let budget = vec4<u32>(first_budget + 4u * j) + vec4<u32>(0u, 1u, 2u, 3u);
        gap[j] = select(vec4<f32>(HUGE), difference * problem.scale.value_of_unit, budget >= vec4<u32>(cost));
    }
    return gap;
}

// max(x, y) of numbers, without the care for NaN that makes max() slow on some adapters.
fn better(x: vec4<f32>, y: vec4<f32>) -> vec4<f32> {
    return select(x, y, y > x);
}
