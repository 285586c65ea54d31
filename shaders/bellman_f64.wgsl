// One step of Optimistic-DP for a batch of problems in 64-bit floats, any costs up to COSTS: the twin of bellman_wide.wgsl
// for adapters with 64-bit shaders. The table holds values, not fixed point. `costs` has one word per pair: the cost.

alias Real = f64;
alias Word = f64;

struct Scale {
    // Sum of the weights, and r_max if values are capped (negative: no cap).
    total: f64,
    cap: f64,
}

// The value at budget b with r >= 1 steps to go, from the previous row and the partial sums.
fn folded(problem: Problem, r: u32, b: u32) -> f64 {
    let spendable = min(b, problem.cost_max * r);
    var value = folded_sum(problem, r, spendable) / problem.scale.total;
    if r > 1u {
        value += table[problem.first_value + (r - 2u) * problem.width + spendable];
    }
    if problem.scale.cap >= 0.0lf {
        let cap = f64(min(b, r)) * problem.scale.cap;
        if value > cap {
            value = cap;
        }
    }
    return value;
}

@compute @workgroup_size(THREADS)
fn bellman_f64(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let problem = problems[group.z];
    let first_budget = group.x * TILE;
    load_values(problem, first_budget, group.y, thread);

    var sum: array<f64, TILE>;
    let range = members_of(problem, group.z, first_budget, group.y);
    for (var m = range.x + thread; m < range.y; m += THREADS) {
        let member = members[m];
        var best: array<f64, TILE>;
        for (var a = 0u; a < problem.actions; a++) {
            let local_pair = member.entry * problem.actions + a;
            let offer = coefficients[problem.first_pair + local_pair];
            let cost = costs[problem.first_cost + local_pair];
            for (var i = 0u; i < TILE; i++) {
                if first_budget + i >= cost {
                    let gap = values[COSTS + i] - values[COSTS + i - min(cost, COSTS)];
                    let value = offer.x - offer.y * gap;
                    if value > best[i] {
                        best[i] = value;
                    }
                }
            }
        }
        for (var i = 0u; i < TILE; i++) {
            sum[i] += member.weight * best[i];
        }
    }

    for (var i = 0u; i < TILE; i++) {
        thread_sums[thread * TILE + i] = sum[i];
    }
    write_sums(problem, first_budget, group.y, thread);
}
