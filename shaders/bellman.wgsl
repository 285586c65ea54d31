// One step of Optimistic-DP for a batch of problems, costs 1 to COSTS.
//
// A workgroup takes a tile of budgets, a piece of the contexts and one problem. It first folds the partial sums of the
// step before into the value table (so that every step is one dispatch), then adds up, over its contexts s,
//
//     weight * max(0, max over a of (gain - lcb * gap(cost)[b])),    gap(c)[b] = u(b) - u(b - c)
//
// The table is in fixed point: `unit` steps per summed reward, so that gaps are exact differences of whole numbers. Gaps
// of costs above the budget are huge, and lcb is never 0, so that infeasible actions lose by themselves.
//
// The constants below are set by the host for the problem and the adapter.

const TILE_VECTORS = 8u;
const COSTS = 4u;
const THREADS = 64u;

const TILE = 4u * TILE_VECTORS;
alias Tile = array<vec4<f32>, TILE_VECTORS>;
const HUGE = 1e30;

// A table word for what the table cannot hold: too large a sum, or none at all. The host refuses tables that have one.
const SATURATED = 0xffffffffu;
const LARGEST = 4294967040.0;
const EXPONENT = 0x7f800000u;

struct Step {
    // Steps to go, this one included; 1 is the last step of an episode.
    remaining: u32,
    // Pieces that the contexts of this dispatch are split into, and pieces of the same step that came before.
    pieces: u32,
    first_piece: u32,
    // Pieces of the whole step before this one, which are folded here.
    pieces_before: u32,
    // Where this dispatch's (start, count) pairs begin in `ranges`.
    first_range: u32,
}

struct Problem {
    actions: u32,
    // Budgets, 0 included.
    width: u32,
    horizon: u32,
    // First pair of the problem in `coefficients`, and first word in `costs`.
    first_pair: u32,
    first_cost: u32,
    // First value of the problem in `table`; rows follow each other by rising steps to go, from 1.
    first_value: u32,
    // First sum in each half of `sums`, and the distance between pieces.
    first_sum: u32,
    sum_stride: u32,
    // Table steps per summed reward, and its inverse with the number of rows: reward per table step.
    unit: f32,
    value_of_unit: f32,
    // Table steps per step of the cap; 0 is no cap.
    cap: u32,
    // Distance between the two halves of `sums`.
    half: u32,
    // The largest cost: with r steps to go no more than cost_max * r can be spent, and larger budgets are worth the same.
    cost_max: u32,
}

struct Member {
    entry: u32,
    weight: f32,
}

@group(0) @binding(0) var<uniform> step: Step;
@group(0) @binding(1) var<storage, read> problems: array<Problem>;
@group(0) @binding(2) var<storage, read> ranges: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read> members: array<Member>;
@group(0) @binding(4) var<storage, read> coefficients: array<vec2<f32>>;
// One word per entry: byte c counts its actions with cost at most c + 1. Actions are sorted by cost.
@group(0) @binding(5) var<storage, read> costs: array<u32>;
@group(0) @binding(6) var<storage, read_write> table: array<u32>;
@group(0) @binding(7) var<storage, read_write> sums: array<f32>;

// u with `step.remaining - 1` steps to go, for the tile's budgets and the COSTS budgets below it.
var<workgroup> values: array<u32, TILE + COSTS>;
var<workgroup> thread_sums: array<f32, THREADS * TILE>;

// The value at budget b with r >= 1 steps to go, from the row before it and the partial sums.
fn folded(problem: Problem, r: u32, b: u32) -> u32 {
    var sum = 0.0;
    let spendable = min(b, problem.cost_max * r);
    let first = problem.first_sum + (r & 1u) * problem.half + spendable;
    for (var piece = 0u; piece < step.pieces_before; piece++) {
        sum += sums[first + piece * problem.sum_stride];
    }
    // By its bits: compilers may assume that there is neither infinity nor NaN.
    if (bitcast<u32>(sum) & EXPONENT) == EXPONENT {
        return SATURATED;
    }
    var value = SATURATED;
    let gained = sum * problem.unit + 0.5;
    if gained < LARGEST {
        value = u32(gained);
    }
    if r > 1u {
        let later = table[problem.first_value + (r - 2u) * problem.width + spendable];
        if later == SATURATED {
            return SATURATED;
        }
        value = select(SATURATED, value + later, value < SATURATED - later);
    }
    // What is too large for the table may still be brought back by the cap.
    if problem.cap > 0u {
        value = min(value, min(b, r) * problem.cap);
    }
    return value;
}

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
    let before = step.remaining - 1u;
    let first_of_step = group.y == 0u && step.first_piece == 0u;

    for (var i = thread; i < TILE + COSTS; i += THREADS) {
        var value = 0u;
        if first_budget + i >= COSTS && before > 0u && before <= problem.horizon {
            let b = first_budget + i - COSTS;
            if b < problem.width {
                value = folded(problem, before, b);
                if first_of_step && i >= COSTS {
                    table[problem.first_value + (before - 1u) * problem.width + b] = value;
                }
            }
        }
        values[i] = value;
    }
    workgroupBarrier();

    // Loops over these arrays must unroll, or adapters keep them in memory: one array per cost, no index but j.
    var gap1: Tile;
    var gap2: Tile;
    var gap3: Tile;
    var gap4: Tile;
    for (var j = 0u; j < TILE_VECTORS; j++) {
        gap1[j] = gaps(problem, first_budget, j, 1u);
        if COSTS > 1u {
            gap2[j] = gaps(problem, first_budget, j, 2u);
            gap3[j] = gaps(problem, first_budget, j, 3u);
            gap4[j] = gaps(problem, first_budget, j, 4u);
        }
    }

    var sum: Tile;
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

    for (var j = 0u; j < TILE_VECTORS; j++) {
        let first = thread * TILE + 4u * j;
        thread_sums[first] = sum[j].x;
        thread_sums[first + 1u] = sum[j].y;
        thread_sums[first + 2u] = sum[j].z;
        thread_sums[first + 3u] = sum[j].w;
    }
    workgroupBarrier();
    if step.remaining <= problem.horizon && first_budget < problem.width {
        let first = problem.first_sum + (step.remaining & 1u) * problem.half
            + (step.first_piece + group.y) * problem.sum_stride + first_budget;
        for (var i = thread; i < TILE; i += THREADS) {
            var total = 0.0;
            for (var t = 0u; t < THREADS; t++) {
                total += thread_sums[t * TILE + i];
            }
            sums[first + i] = total;
        }
    }
}
