// One step of Optimistic-DP for a batch of problems, any costs up to HALO: the twin of bellman.wgsl where gaps do not fit
// into registers and are taken from workgroup memory instead.
//
// A workgroup takes a tile of budgets, a piece of the contexts and one problem. It first folds the partial sums of the
// step before into the value table (so that every step is one dispatch), then adds up, over its contexts s,
//
//     weight * max(0, max over a of (gain - lcb * gap(cost)[b])),    gap(c)[b] = u(b) - u(b - c)
//
// The table is in fixed point: `unit` steps per summed reward, so that gaps are exact differences of whole numbers;
// actions that cost more than the budget are passed over.
//
// The constants below are set by the host for the problem and the adapter.

const TILE_VECTORS = 8u;
const HALO = 255u;
const THREADS = 64u;

const TILE = 4u * TILE_VECTORS;

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
// One word per pair: the cost.
@group(0) @binding(5) var<storage, read> costs: array<u32>;
@group(0) @binding(6) var<storage, read_write> table: array<u32>;
@group(0) @binding(7) var<storage, read_write> sums: array<f32>;

// u with `step.remaining - 1` steps to go, for the tile's budgets and the HALO budgets below it.
var<workgroup> values: array<u32, TILE + HALO>;
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

@compute @workgroup_size(THREADS)
fn bellman_wide(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let problem = problems[group.z];
    let first_budget = group.x * TILE;
    let before = step.remaining - 1u;
    let first_of_step = group.y == 0u && step.first_piece == 0u;

    for (var i = thread; i < TILE + HALO; i += THREADS) {
        var value = 0u;
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

    var sum: array<vec4<f32>, TILE_VECTORS>;
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
        var best: array<vec4<f32>, TILE_VECTORS>;
        for (var a = 0u; a < problem.actions; a++) {
            let local_pair = member.entry * problem.actions + a;
            let offer = coefficients[problem.first_pair + local_pair];
            let cost = costs[problem.first_cost + local_pair];
            for (var j = 0u; j < TILE_VECTORS; j++) {
                for (var lane = 0u; lane < 4u; lane++) {
                    let i = HALO + 4u * j + lane;
                    let above = values[i];
                    let below = values[i - min(cost, HALO)];
                    let difference = f32(select(0u, above - below, above >= below));
                    let value = offer.x - offer.y * (difference * problem.value_of_unit);
                    let feasible = first_budget + 4u * j + lane >= cost;
                    best[j][lane] = select(best[j][lane], max(best[j][lane], value), feasible);
                }
            }
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
