// What the Bellman shaders share. The host puts it in front of each of them. They define a number (Real), a table word
// (Word), the units of a problem (Scale), and what is bound in places 3 to 5.
//
// A step of Optimistic-DP for a batch of problems: a workgroup takes a tile of budgets, a piece of the contexts and one
// problem. It first folds the partial sums of the previous step into the value table (which saves a dispatch per step),
// then adds up, over its contexts s,
//
//     weight * max(0, max over a of (gain - lcb * gap(cost)[b])),    gap(c)[b] = u(b) - u(b - c)

// Set by the host for the problem and the adapter. Costs are at most COSTS.
const TILE_VECTORS = 8u;
const COSTS = 4u;
const THREADS = 64u;

// Budgets in a tile.
const TILE = 4u * TILE_VECTORS;

struct Step {
    // Steps to go, this one included; 1 is the last step of an episode.
    remaining: u32,
    // Pieces that the contexts of this dispatch are split into, and pieces of the same step in earlier dispatches.
    pieces: u32,
    first_piece: u32,
    // Pieces of the whole previous step, which are folded here.
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
    // First value of the problem in `table`; rows are in the order of steps to go, from 1.
    first_value: u32,
    // First sum in each half of `sums`, the distance between pieces, and between the halves.
    first_sum: u32,
    sum_stride: u32,
    half: u32,
    // The largest cost: with r steps to go no more than cost_max * r can be spent, and larger budgets are worth the same.
    cost_max: u32,
    scale: Scale,
}

@group(0) @binding(0) var<uniform> step: Step;
@group(0) @binding(1) var<storage, read> problems: array<Problem>;
@group(0) @binding(2) var<storage, read> ranges: array<vec2<u32>>;
@group(0) @binding(6) var<storage, read_write> table: array<Word>;
@group(0) @binding(7) var<storage, read_write> sums: array<Real>;

// u with `step.remaining - 1` steps to go, for the tile's budgets and the COSTS budgets below it.
var<workgroup> values: array<Word, TILE + COSTS>;
var<workgroup> thread_sums: array<Real, THREADS * TILE>;

// The sum of a step's gains over all contexts with r >= 1 steps to go; `spendable` is at most cost_max * r.
fn folded_sum(problem: Problem, r: u32, spendable: u32) -> Real {
    var sum = Real();
    let first = problem.first_sum + (r & 1u) * problem.half + spendable;
    for (var piece = 0u; piece < step.pieces_before; piece++) {
        sum += sums[first + piece * problem.sum_stride];
    }
    return sum;
}

// Fills `values`; the first workgroup of a step also writes them to the table.
fn load_values(problem: Problem, first_budget: u32, piece: u32, thread: u32) {
    let before = step.remaining - 1u;
    let writes = piece == 0u && step.first_piece == 0u;
    for (var i = thread; i < TILE + COSTS; i += THREADS) {
        var value = Word();
        if first_budget + i >= COSTS && before > 0u && before <= problem.horizon {
            let b = first_budget + i - COSTS;
            if b < problem.width {
                value = folded(problem, before, b);
                if writes && i >= COSTS {
                    table[problem.first_value + (before - 1u) * problem.width + b] = value;
                }
            }
        }
        values[i] = value;
    }
    workgroupBarrier();
}

// The members of a piece as (first, end); none if the budgets are out of reach.
fn members_of(problem: Problem, problem_number: u32, first_budget: u32, piece: u32) -> vec2<u32> {
    var range = vec2<u32>(0u, 0u);
    if step.remaining <= problem.horizon
        && first_budget < problem.width
        && first_budget <= problem.cost_max * step.remaining {
        range = ranges[step.first_range + problem_number];
    }
    let per_piece = (range.y + step.pieces - 1u) / step.pieces;
    return range.x + vec2<u32>(piece * per_piece, min(range.y, (piece + 1u) * per_piece));
}

// Adds up `thread_sums` and writes the partial sums of a piece.
fn write_sums(problem: Problem, first_budget: u32, piece: u32, thread: u32) {
    workgroupBarrier();
    if step.remaining > problem.horizon || first_budget >= problem.width {
        return;
    }
    let first = problem.first_sum + (step.remaining & 1u) * problem.half
        + (step.first_piece + piece) * problem.sum_stride + first_budget;
    for (var i = thread; i < TILE; i += THREADS) {
        var total = Real();
        for (var t = 0u; t < THREADS; t++) {
            total += thread_sums[t * TILE + i];
        }
        sums[first + i] = total;
    }
}
