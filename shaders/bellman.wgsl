// One step of Optimistic-DP for a batch of problems, costs 1 to COSTS.
//
// `costs` has one word per entry: byte c counts its actions with cost at most c + 1. Actions are sorted by cost.

// Raises `best` to the actions first..last, which all have the cost of `gap`: four at a time, then one by one.
fn consider(best: ptr<function, Tile>, gap: ptr<function, Tile>, first: u32, last: u32) {
    var pair = first;
    for (; pair + 4u <= last; pair += 4u) {
        let a = coefficients[pair];
        let b = coefficients[pair + 1u];
        let c = coefficients[pair + 2u];
        let d = coefficients[pair + 3u];
        for (var j = 0u; j < TILE_VECTORS; j++) {
            let g = (*gap)[j];
            let ab = better(a.x - a.y * g, b.x - b.y * g);
            let cd = better(c.x - c.y * g, d.x - d.y * g);
            (*best)[j] = better((*best)[j], better(ab, cd));
        }
    }
    for (; pair < last; pair++) {
        let a = coefficients[pair];
        for (var j = 0u; j < TILE_VECTORS; j++) {
            (*best)[j] = better((*best)[j], a.x - a.y * (*gap)[j]);
        }
    }
}

@compute @workgroup_size(THREADS)
fn bellman(
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

    var sum: Tile;
    let range = members_of(problem, group.z, first_budget, group.y);
    for (var m = range.x + thread; m < range.y; m += THREADS) {
        let member = members[m];
        let ends = costs[problem.first_cost + member.entry];
        let pair = problem.first_pair + member.entry * problem.actions;
        var best: Tile;
        consider(&best, &gap1, pair, pair + (ends & 255u));
        if COSTS > 1u {
            consider(&best, &gap2, pair + (ends & 255u), pair + ((ends >> 8u) & 255u));
            consider(&best, &gap3, pair + ((ends >> 8u) & 255u), pair + ((ends >> 16u) & 255u));
            consider(&best, &gap4, pair + ((ends >> 16u) & 255u), pair + (ends >> 24u));
        }
        for (var j = 0u; j < TILE_VECTORS; j++) {
            sum[j] += member.weight * best[j];
        }
    }

    write_tile(problem, first_budget, group.y, thread, &sum);
}
