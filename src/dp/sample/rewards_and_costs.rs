//! Rewards and costs of the actions in the contexts of a sample.

use super::{ContextSample, SortedThetas};

impl ContextSample {
    /// r of the shared contexts, `actions()` per entry; negative means infeasible.
    pub fn rewards(&self) -> &[f64] {
        &self.shared.rewards
    }

    /// r of non-null action `action` for an entry; negative means infeasible.
    pub fn reward(&self, entry: usize, action: usize) -> f64 {
        match &self.singles {
            Some(singles) if entry >= self.shared.len() => {
                let theta = self.bids.first().map(|_| self.context(entry).features[0]);
                theta.unwrap_or(0.0) + singles.rewards[action - 1]
            }
            _ => self.shared.rewards[entry * self.actions + action - 1],
        }
    }

    /// r of single contexts by action; for an auction, what is added to theta. `None` where there are only shared ones.
    pub(crate) fn single_rewards(&self) -> Option<&[f64]> {
        self.singles.as_ref().map(|s| s.rewards.as_slice())
    }

    /// Costs of the shared contexts, `actions()` per entry, as rows of [`ContextSample::distinct_costs`].
    pub fn cost_rows(&self) -> &[u32] {
        &self.shared.cost_rows
    }

    /// Costs of single contexts by action, as rows of [`ContextSample::distinct_costs`].
    pub(crate) fn single_cost_rows(&self) -> &[u32] {
        self.singles.as_ref().map_or(&[], |s| &s.cost_rows)
    }

    /// Costs by action, as rows of [`ContextSample::distinct_costs`], where all entries have the same.
    pub(crate) fn common_cost_rows(&self) -> Option<&[u32]> {
        match &self.singles {
            Some(singles) => Some(&singles.cost_rows),
            None => self.shared.common_cost_rows(self.actions),
        }
    }

    /// The costs of an entry by action, as rows of [`ContextSample::distinct_costs`].
    pub(crate) fn cost_rows_of(&self, entry: usize) -> &[u32] {
        match &self.singles {
            Some(singles) if entry >= self.shared.len() => &singles.cost_rows,
            _ => &self.shared.cost_rows[entry * self.actions..(entry + 1) * self.actions],
        }
    }

    /// The costs that occur, in order of first appearance.
    pub fn distinct_costs(&self) -> &[u32] {
        &self.distinct_costs
    }

    /// The cost of non-null action `action` for an entry.
    pub fn cost(&self, entry: usize, action: usize) -> u32 {
        self.distinct_costs[self.cost_rows_of(entry)[action - 1] as usize]
    }

    /// The bids, where contexts are private values of an auction: r = theta - bid, cost = bid.
    pub fn bids(&self) -> Option<&[f64]> {
        (!self.bids.is_empty()).then_some(&self.bids)
    }

    /// The private values of an auction, sorted, list by list.
    pub(in crate::dp) fn thetas(&self) -> Option<&[SortedThetas]> {
        self.thetas.as_deref()
    }

    /// Whether every action costs 1.
    pub(crate) fn has_unit_cost(&self) -> bool {
        self.unit_cost
    }
}
