// One step of Optimistic-DP for a batch of problems in 64-bit floats, any costs up to HALO: the twin of bellman_wide.wgsl
// for adapters with 64-bit shaders. The table holds values, not fixed point.
//
// The constants below are set by the host for the adapter.

const TILE = 16u;
const HALO = 255u;
const THREADS = 64u;

struct Step {
    remaining: u32,
    pieces: u32,
    first_piece: u32,
    pieces_before: u32,
    first_range: u32,
}

struct Problem {
    actions: u32,
    width: u32,
    horizon: u32,
    first_pair: u32,
    first_cost: u32,
    first_value: u32,
    first_sum: u32,
    sum_stride: u32,
    // What weights sum to, and r_max where values are capped (negative: no cap).
    total: f64,
    cap: f64,
    half: u32,
    cost_max: u32,
}

struct Member {
    weight: f64,
    entry: u32,
}

struct Offer {
    gain: f64,
    lcb: f64,
}

@group(0) @binding(0) var<uniform> step: Step;
@group(0) @binding(1) var<storage, read> problems: array<Problem>;
@group(0) @binding(2) var<storage, read> ranges: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read> members: array<Member>;
@group(0) @binding(4) var<storage, read> coefficients: array<Offer>;
// One word per pair: the cost.
@group(0) @binding(5) var<storage, read> costs: array<u32>;
@group(0) @binding(6) var<storage, read_write> table: array<f64>;
@group(0) @binding(7) var<storage, read_write> sums: array<f64>;

var<workgroup> values: array<f64, TILE + HALO>;
var<workgroup> thread_sums: array<f64, THREADS * TILE>;

// The value at budget b with r >= 1 steps to go, from the row before it and the partial sums.
fn folded(problem: Problem, r: u32, b: u32) -> f64 {
    var sum = 0.0lf;
    let spendable = min(b, problem.cost_max * r);
    let first = problem.first_sum + (r & 1u) * problem.half + spendable;
    for (var piece = 0u; piece < step.pieces_before; piece++) {
        sum += sums[first + piece * problem.sum_stride];
    }
    var value = sum / problem.total;
    if r > 1u {
        value += table[problem.first_value + (r - 2u) * problem.width + spendable];
    }
    if problem.cap >= 0.0lf {
        let cap = f64(min(b, r)) * problem.cap;
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
    let before = step.remaining - 1u;
    let first_of_step = group.y == 0u && step.first_piece == 0u;

    for (var i = thread; i < TILE + HALO; i += THREADS) {
        var value = 0.0lf;
        if first_budget + i >= HALO && before > 0u && before <= problem.horizon {
            let b = first_budget + i - HALO;
            if b < problem.width {
                value = folded(problem, before, b);
                if first_of_step && i >= HALO {
                    table[problem.first_value + (before - 1u) * problem.width + b] = value;
                }
            }
        }
        values[i] = value;
    }
    workgroupBarrier();

    var sum: array<f64, TILE>;
    var range = vec2<u32>(0u, 0u);
    if step.remaining <= problem.horizon
        && first_budget < problem.width
        && first_budget <= problem.cost_max * step.remaining {
        range = ranges[step.first_range + group.z];
    }
    let per_piece = (range.y + step.pieces - 1u) / step.pieces;
    let end = range.x + min(range.y, (group.y + 1u) * per_piece);
    for (var m = range.x + group.y * per_piece + thread; m < end; m += THREADS) {
        let member = members[m];
        var best: array<f64, TILE>;
        for (var a = 0u; a < problem.actions; a++) {
            let local_pair = member.entry * problem.actions + a;
            let offer = coefficients[problem.first_pair + local_pair];
            let cost = costs[problem.first_cost + local_pair];
            for (var i = 0u; i < TILE; i++) {
                if first_budget + i >= cost {
                    let gap = values[HALO + i] - values[HALO + i - min(cost, HALO)];
                    let value = offer.gain - offer.lcb * gap;
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
    workgroupBarrier();
    for (var i = thread; i < TILE; i += THREADS) {
        var total = 0.0lf;
        for (var t = 0u; t < THREADS; t++) {
            total += thread_sums[t * TILE + i];
        }
        if step.remaining <= problem.horizon && first_budget < problem.width {
            sums[problem.first_sum + (step.remaining & 1u) * problem.half
                + (step.first_piece + group.y) * problem.sum_stride + first_budget + i] = total;
        }
    }
}
