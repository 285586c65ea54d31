// One step of Optimistic-DP for a batch of problems, any costs up to COSTS: the twin of bellman.wgsl for costs whose
// gaps do not fit into registers and are taken from workgroup memory. Actions that cost more than the budget are skipped.
// `costs` has one word per pair: the cost.

// u(b) - u(b - cost) in rewards; `i` is the place of b in `values`.
fn gap(problem: Problem, i: u32, cost: u32) -> f32 {
    let above = values[i];
    let below = values[i - cost];
    return f32(select(0u, above - below, above >= below)) * problem.scale.value_of_unit;
}

@compute @workgroup_size(THREADS)
fn bellman_wide(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let problem = problems[group.z];
    let first_budget = group.x * TILE;
    load_values(problem, first_budget, group.y, thread);

    var sum: Tile;
    let range = members_of(problem, group.z, first_budget, group.y);
    for (var m = range.x + thread; m < range.y; m += THREADS) {
        let member = members[m];
        var best: Tile;
        for (var a = 0u; a < problem.actions; a++) {
            let local_pair = member.entry * problem.actions + a;
            let offer = coefficients[problem.first_pair + local_pair];
            let cost = costs[problem.first_cost + local_pair];
            for (var j = 0u; j < TILE_VECTORS; j++) {
                for (var lane = 0u; lane < 4u; lane++) {
                    let i = COSTS + 4u * j + lane;
                    let value = offer.x - offer.y * gap(problem, i, min(cost, COSTS));
                    let feasible = first_budget + 4u * j + lane >= cost;
                    best[j][lane] = select(best[j][lane], max(best[j][lane], value), feasible);
                }
            }
        }
        for (var j = 0u; j < TILE_VECTORS; j++) {
            sum[j] += member.weight * best[j];
        }
    }

    write_tile(problem, first_budget, group.y, thread, &sum);
}
