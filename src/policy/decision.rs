//! One decision: equation (3) of the paper, with the tie rule.

use crate::dp::{Coefficients, ContextSample, ValueTable};
use crate::oracle::{Bounds, Oracle};
use crate::task::{Context, Task};

/// A later action must beat an earlier one by this share of r_max, so that 32-bit and 64-bit tables choose alike.
const TIE_SHARE: f64 = 1e-6;

/// Index of the action that maximises
/// `ucb r + lcb u_hat[h+1](b - cost) + (1 - lcb) u_hat[h+1](b)` over the feasible ones; the null action is 0.
///
/// `offers` gives (gain, lcb, reward, cost) of actions 1, 2, ...; `next` is u_hat[h+1]. Ties go to the lowest index.
pub fn best_action(
    offers: impl Iterator<Item = (f64, f64, f64, u32)>,
    next: &[f64],
    budget: u32,
    reward_max: f64,
) -> usize {
    let b = budget as usize;
    let tolerance = TIE_SHARE * reward_max;
    // Values are taken relative to the null action's, u_hat[h+1](b).
    let (mut best, mut best_value) = (0, 0.0);
    for (i, (gain, lcb, reward, cost)) in offers.enumerate() {
        if reward < 0.0 || cost > budget {
            continue;
        }
        let value = gain - lcb * (next[b] - next[b - cost as usize]);
        if value > best_value + tolerance {
            (best, best_value) = (i + 1, value);
        }
    }
    best
}

/// [`best_action`] for an entry of a sample whose coefficients are known.
pub fn best_entry_action(
    sample: &ContextSample,
    coefficients: &Coefficients,
    entry: usize,
    next: &[f64],
    budget: u32,
    reward_max: f64,
) -> usize {
    let first = entry * sample.actions();
    let (costs, rows) = (sample.distinct_costs(), sample.cost_rows_of(entry));
    let rewards = sample.rewards().get(first..first + rows.len());
    let offers = rows.iter().enumerate().map(|(a, row)| {
        let (gain, lcb) = (coefficients.gain[first + a], coefficients.lcb[first + a]);
        let reward = rewards.map_or_else(|| sample.reward(entry, a + 1), |rewards| rewards[a]);
        (gain, lcb, reward, costs[*row as usize])
    });
    best_action(offers, next, budget, reward_max)
}

/// Decides with an oracle's bounds and a value table. Keeps its scratch space between decisions.
#[derive(Debug, Clone)]
pub struct Decider {
    bounds: Vec<Bounds>,
}

impl Decider {
    /// For instances with `actions` non-null actions.
    pub fn new(actions: usize) -> Self {
        Self {
            bounds: vec![Bounds::UNKNOWN; actions],
        }
    }

    /// The action for a context that has arrived with `budget` units left.
    pub fn choose(
        &mut self,
        task: &Task,
        oracle: &dyn Oracle,
        u_hat: &ValueTable,
        context: &Context,
        budget: u32,
    ) -> usize {
        oracle.bounds(context, &mut self.bounds);
        let offers = self.bounds.iter().enumerate().map(|(a, bounds)| {
            let reward = task.reward(context, a + 1);
            let (gain, lcb) = Coefficients::of(bounds.ucb, bounds.lcb, reward);
            (gain, lcb, reward, task.cost(context, a + 1))
        });
        best_action(
            offers,
            u_hat.row(context.step + 1),
            budget,
            task.reward_max(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::best_action;

    #[test]
    fn ties_go_to_the_lowest_index_and_infeasible_actions_never_win() {
        let next = [0.0, 1.0, 1.5];
        let offer = |gain, reward, cost| (gain, 0.5, reward, cost);
        let best =
            |offers: &[(f64, f64, f64, u32)], b| best_action(offers.iter().copied(), &next, b, 1.0);
        // Equal to the null action's value: the null action stays.
        assert_eq!(best(&[offer(0.5, 1.0, 1)], 1), 0);
        // Better by less than 1e-6 r_max: the earlier action stays.
        assert_eq!(best(&[offer(0.9, 1.0, 1), offer(0.9 + 5e-7, 1.0, 1)], 1), 1);
        assert_eq!(best(&[offer(0.9, 1.0, 1), offer(0.9 + 2e-6, 1.0, 1)], 1), 2);
        // Too expensive, or a negative reward.
        assert_eq!(best(&[offer(9.0, 1.0, 2)], 1), 0);
        assert_eq!(best(&[offer(9.0, -1.0, 1)], 1), 0);
        assert_eq!(best(&[offer(9.0, 1.0, 1)], 0), 0);
    }
}
