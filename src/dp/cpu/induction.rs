//! Algorithm 2's backward induction over steps: the one backward loop of the CPU backend. A strategy supplies the sum over
//! contexts.

use crate::dp::{BackendError, Precision, Problem, RawTable, stop};

/// Fills the table from the last step to the first:
///
/// ```text
/// u_hat[h][b] = min( u_hat[h+1][b] + sums[b] / total, cap )
/// sums[b]     = sum_s w_s max(0, max_a (ucb r - lcb (u_hat[h+1][b] - u_hat[h+1][b - cost])))
/// ```
///
/// `sum_gains(h, next, sums)` adds up `sums[b]` for the budgets within reach; `next` is u_hat[h+1] for the same budgets,
/// smoothed as [`crate::dp::ValueTable::checked`] will smooth it (Lemma 1: values never fall in b, so gaps are not
/// negative). The rows of the table are left as computed.
pub(super) fn backward_induction(
    problem: &Problem,
    precision: Precision,
    mut sum_gains: impl FnMut(usize, &[f64], &mut [f64]) -> Result<(), BackendError>,
) -> Result<RawTable, BackendError> {
    let horizon = problem.sample.horizon();
    let reward = problem.cap.unwrap_or(0.0);
    let mut table = RawTable::zeros(horizon, problem.budget_max, precision, reward);
    let mut next = vec![0.0; problem.budget_max as usize + 1];
    let mut sums = Vec::new();
    for h in (0..horizon).rev() {
        stop::check()?;
        let remaining = (horizon - h) as u64;
        let reach = problem.reach(h);
        sums.clear();
        sums.resize(reach + 1, 0.0);
        sum_gains(h, &next[..=reach], &mut sums)?;
        let row = table.row_mut(h);
        let mut previous = 0.0;
        for b in 0..=reach {
            let mut value = next[b] + sums[b] / problem.sample.total();
            if let Some(r_max) = problem.cap {
                let cap = (b as u64).min(remaining) as f64 * r_max;
                // Not `min`, which would hide NaN.
                value = if value > cap { cap } else { value };
            }
            row[b] = value;
            previous = value.max(previous);
            next[b] = previous;
        }
        let last = row[reach];
        row[reach..].fill(last);
        next[reach..].fill(previous);
    }
    if problem.cap.is_none() {
        // Sums of positive terms: 64-bit rounding is relative to the largest of them.
        table.reward = next.last().copied().unwrap_or(0.0);
    }
    Ok(table)
}
