//! Algorithm 2's backward induction over steps; the sum over contexts is left to a strategy.

use crate::dp::{BackendError, ContextSample, PlanRequest, Precision, Problem, RawTable, stop};

/// What every strategy needs of a problem.
#[derive(Debug, Clone, Copy)]
pub(super) struct Setting<'a> {
    pub sample: &'a ContextSample,
    pub budget_max: u32,
    pub cap: Option<f64>,
}

impl<'a> Setting<'a> {
    pub fn of_problem(problem: &Problem<'a>) -> Self {
        Self {
            sample: problem.sample,
            budget_max: problem.budget_max,
            cap: problem.cap,
        }
    }

    pub fn of_request(request: &PlanRequest<'a>) -> Self {
        Self {
            sample: request.sample,
            budget_max: request.budget_max,
            cap: Some(request.reward_max),
        }
    }

    /// The largest budget that can be spent from step `h` (0-based) on: larger ones have its value.
    pub fn reach(&self, h: usize) -> usize {
        let costs = self.sample.distinct_costs();
        let cost_max = u64::from(costs.iter().copied().max().unwrap_or(0));
        let remaining = (self.sample.horizon() - h) as u64;
        (cost_max * remaining).min(u64::from(self.budget_max)) as usize
    }
}

/// Fills the table from the last step to the first:
///
/// ```text
/// u_hat[h][b] = min( u_hat[h+1][b] + sums[b] / total, cap )
/// sums[b]     = sum_s w_s max(0, max_a (ucb r - lcb (u_hat[h+1][b] - u_hat[h+1][b - cost])))
/// ```
///
/// `sum_gains(h, next, sums)` adds up `sums[b]` for the budgets within reach; `next` is u_hat[h+1] for the same budgets,
/// smoothed as [`crate::dp::ValueTable::checked`] will smooth it (Lemma 1: values never fall in b, and gaps between them
/// are not negative). The rows of the table are left as computed.
pub(super) fn backward_induction(
    setting: Setting,
    precision: Precision,
    mut sum_gains: impl FnMut(usize, &[f64], &mut [f64]) -> Result<(), BackendError>,
) -> Result<RawTable, BackendError> {
    let horizon = setting.sample.horizon();
    let mut table = RawTable::zeros(
        horizon,
        setting.budget_max,
        precision,
        setting.cap.unwrap_or(0.0),
    );
    let mut next = vec![0.0; setting.budget_max as usize + 1];
    let mut sums = Vec::new();
    for h in (0..horizon).rev() {
        stop::check()?;
        let remaining = (horizon - h) as u64;
        let reach = setting.reach(h);
        sums.clear();
        sums.resize(reach + 1, 0.0);
        sum_gains(h, &next[..=reach], &mut sums)?;
        let row = table.row_mut(h);
        let mut previous = 0.0;
        for b in 0..=reach {
            let mut value = next[b] + sums[b] / setting.sample.total();
            if let Some(r_max) = setting.cap {
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
    if setting.cap.is_none() {
        // Sums of positive terms: 64-bit rounding is relative to the largest of them.
        table.reward = next.last().copied().unwrap_or(0.0);
    }
    Ok(table)
}
