//! The exact value of a given policy, where the law of contexts and rho are known:
//!
//! ```text
//! u[h](b) = u[h+1](b) + E over theta, and a chosen by the policy, of  rho (r - (u[h+1](b) - u[h+1](b - cost)))
//! ```
//!
//! and, forwards from a starting budget, what the policy is expected to offer and to spend. Both also along one row: the
//! contexts that came in one episode, in their order, with certainty. What the policy chooses is the caller's word: nothing
//! here decides.

use super::{ContextSample, RowEntry};

/// The actions of a policy that is to be evaluated, by step, context and budget.
pub trait Choice {
    /// Reports every (budget, action, weight) that the policy may take for a context (`entry` of the sample) at `step`
    /// (0-based), for budgets 0 to `budget_max`. Weights of a budget need not sum to one. Only feasible actions may be
    /// reported; the null action is 0.
    fn choose(
        &mut self,
        step: usize,
        entry: usize,
        budget_max: u32,
        report: impl FnMut(u32, usize, f64),
    );
}

/// A law of contexts, and how they convert.
#[derive(Debug, Clone, Copy)]
pub struct KnownLaw<'a> {
    /// The contexts that arrive, step by step.
    pub sample: &'a ContextSample,
    /// rho of every (entry, action), the actions of an entry together.
    pub rho: &'a [f64],
    /// Largest budget.
    pub budget_max: u32,
}

/// What a policy is expected to do in an episode.
#[derive(Debug, Clone, PartialEq)]
pub struct ExpectedUse {
    /// Offers, by action (from 1).
    pub offers: Vec<f64>,
    /// Units spent, by step.
    pub spent: Vec<f64>,
}

impl KnownLaw<'_> {
    /// Expected rewards of an episode that starts with budget 0, 1, ..., budget_max.
    pub fn expected_rewards(&self, policy: &mut impl Choice) -> Vec<f64> {
        let steps = (0..self.sample.horizon()).rev();
        self.backwards(policy, steps.map(|h| (h, self.sample.step(h).iter())))
    }

    /// Expected rewards of an episode to which exactly these contexts come, in this order.
    pub fn rewards_of_row(&self, policy: &mut impl Choice, row: &[RowEntry]) -> Vec<f64> {
        let arrivals = row.iter().rev();
        self.backwards(policy, arrivals.map(|arrival| self.certain(*arrival)))
    }

    /// What the policy is expected to offer and to spend from budget `start` on.
    pub fn expected_use(&self, policy: &mut impl Choice, start: u32) -> ExpectedUse {
        let steps = 0..self.sample.horizon();
        self.forwards(
            policy,
            start,
            steps.map(|h| (h, self.sample.step(h).iter())),
        )
    }

    /// Likewise in an episode to which exactly these contexts come, in this order.
    pub fn use_of_row(
        &self,
        policy: &mut impl Choice,
        start: u32,
        row: &[RowEntry],
    ) -> ExpectedUse {
        let arrivals = row.iter();
        self.forwards(
            policy,
            start,
            arrivals.map(|arrival| self.certain(*arrival)),
        )
    }

    /// The step of an arrival, and its context with the weight of certainty.
    fn certain(&self, arrival: RowEntry) -> (usize, std::iter::Once<(usize, f64)>) {
        let context = (arrival.entry as usize, self.sample.total());
        (arrival.step as usize, std::iter::once(context))
    }

    /// Values from the last of some steps to the first.
    fn backwards<S: Iterator<Item = (usize, f64)>>(
        &self,
        policy: &mut impl Choice,
        steps: impl Iterator<Item = (usize, S)>,
    ) -> Vec<f64> {
        let sample = self.sample;
        let mut next = vec![0.0; self.budget_max as usize + 1];
        let mut now = next.clone();
        // Sums of share * gain and of shares, by budget.
        let mut sums = vec![(0.0, 0.0); next.len()];
        for (h, contexts) in steps {
            for (entry, weight) in contexts {
                sums.fill((0.0, 0.0));
                policy.choose(h, entry, self.budget_max, |budget, action, share| {
                    let b = budget as usize;
                    sums[b].1 += share;
                    if action > 0 {
                        let cost = sample.cost(entry, action) as usize;
                        let earned = sample.reward(entry, action) + next[b - cost] - next[b];
                        sums[b].0 += share * (self.rho(entry, action) * earned);
                    }
                });
                let weight = weight / sample.total();
                for (value, (gain, shares)) in now.iter_mut().zip(&sums) {
                    *value += weight * (gain / shares);
                }
            }
            next.copy_from_slice(&now);
        }
        now
    }

    fn forwards<S: Iterator<Item = (usize, f64)>>(
        &self,
        policy: &mut impl Choice,
        start: u32,
        steps: impl Iterator<Item = (usize, S)>,
    ) -> ExpectedUse {
        let sample = self.sample;
        let mut expected = ExpectedUse {
            offers: vec![0.0; sample.actions()],
            spent: vec![0.0; sample.horizon()],
        };
        // The distribution of the units left.
        let mut left = vec![0.0; start as usize + 1];
        left[start as usize] = 1.0;
        let mut shares = vec![0.0; left.len()];
        let mut choices = Vec::new();
        for (h, contexts) in steps {
            let mut after = left.clone();
            for (entry, weight) in contexts {
                shares.fill(0.0);
                choices.clear();
                policy.choose(h, entry, start, |budget, action, share| {
                    shares[budget as usize] += share;
                    choices.push((budget as usize, action, share));
                });
                for &(b, action, share) in choices.iter().filter(|(_, action, _)| *action > 0) {
                    let made = left[b] * weight / sample.total() * share / shares[b];
                    let sold = made * self.rho(entry, action);
                    let cost = sample.cost(entry, action);
                    expected.offers[action - 1] += made;
                    expected.spent[h] += sold * f64::from(cost);
                    after[b] -= sold;
                    after[b - cost as usize] += sold;
                }
            }
            left = after;
        }
        expected
    }

    fn rho(&self, entry: usize, action: usize) -> f64 {
        self.rho[entry * self.sample.actions() + action - 1]
    }
}
