// The numbers of the 32-bit Bellman shaders: 32-bit floats, and a table in fixed point, `unit` steps per summed reward, so
// that gaps are exact differences of whole numbers.

alias Real = f32;
alias Word = u32;
alias Tile = array<vec4<f32>, TILE_VECTORS>;

// A table word for a value that is too large for the table or NaN. The host refuses tables that have one.
const SATURATED = 0xffffffffu;
const LARGEST = 4294967040.0;
const EXPONENT = 0x7f800000u;

struct Scale {
    // Table units per summed reward, and reward per table unit (with the number of rows).
    unit: f32,
    value_of_unit: f32,
    // The cap per step in table units; 0 means no cap.
    cap: u32,
}

// The value at budget b with r >= 1 steps to go, from the previous row and the partial sums.
fn folded(problem: Problem, r: u32, b: u32) -> u32 {
    let spendable = min(b, problem.cost_max * r);
    let sum = folded_sum(problem, r, spendable);
    // By its bits: compilers may assume that there is neither infinity nor NaN.
    if (bitcast<u32>(sum) & EXPONENT) == EXPONENT {
        return SATURATED;
    }
    var value = SATURATED;
    let gained = sum * problem.scale.unit + 0.5;
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
    // The cap may bring a value that is too large back into the table.
    if problem.scale.cap > 0u {
        value = min(value, min(b, r) * problem.scale.cap);
    }
    return value;
}

// Writes the partial sums of a piece from the sums of all threads.
fn write_tile(problem: Problem, first_budget: u32, piece: u32, thread: u32, sum: ptr<function, Tile>) {
    for (var j = 0u; j < TILE_VECTORS; j++) {
        let first = thread * TILE + 4u * j;
        thread_sums[first] = (*sum)[j].x;
        thread_sums[first + 1u] = (*sum)[j].y;
        thread_sums[first + 2u] = (*sum)[j].z;
        thread_sums[first + 3u] = (*sum)[j].w;
    }
    write_sums(problem, first_budget, piece, thread);
}
