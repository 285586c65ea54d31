// The numbers of the 32-bit bellman shaders: 32-bit floats, and a table in fixed point, `unit` steps per summed reward, so
// that gaps are exact differences of whole numbers.

alias Real = f32;
alias Word = u32;
// gain, lcb.
alias Offer = vec2<f32>;

// A table word for what the table cannot hold: too large a sum, or none at all. The host refuses tables that have one.
const SATURATED = 0xffffffffu;
const LARGEST = 4294967040.0;
const EXPONENT = 0x7f800000u;

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

// The value at budget b with r >= 1 steps to go, from the row before it and the partial sums.
fn folded(problem: Problem, r: u32, b: u32) -> u32 {
    let spendable = min(b, problem.cost_max * r);
    let sum = folded_sum(problem, r, spendable);
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
