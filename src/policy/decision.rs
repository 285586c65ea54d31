//! One decision: equation (3) of the paper, and the rule for ties. Studies, plans, evaluations and live offers all decide
//! here.

use std::ops::RangeInclusive;

use crate::dp::{Choice, Coefficients, ContextSample, ValueTable};
use crate::oracle::{Belief, Bounds, Oracle};
use crate::task::{Context, Task};

/// Values that differ by at most this share of r_max are a tie. Tables in 32 and 64 bits differ by less, so both lead to the
/// same decisions.
pub const TIE_SHARE: f64 = 1e-5;

/// A non-null action as a plan sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Candidate {
    /// ucb * r.
    pub gain: f64,
    /// lcb.
    pub lcb: f64,
    /// r; negative means infeasible.
    pub reward: f64,
    /// Units that an accepted offer consumes.
    pub cost: u32,
}

impl Candidate {
    /// A candidate with bounds on its acceptance probability.
    pub fn new(bounds: Bounds, reward: f64, cost: u32) -> Self {
        let (gain, lcb) = Coefficients::of(bounds.ucb, bounds.lcb, reward);
        Self {
            gain,
            lcb,
            reward,
            cost,
        }
    }

    /// Its value with `budget` units left, relative to that of waiting, next[budget].
    #[inline(always)]
    fn value(&self, next: &[f64], budget: usize) -> f64 {
        self.gain - self.lcb * (next[budget] - next[budget - self.cost as usize])
    }

    /// Whether an offer of this value is made, given the best value of all offers.
    #[inline(always)]
    fn is_made(&self, value: f64, best: f64, tie: f64) -> bool {
        value >= best - tie && (best > tie || best >= -tie && self.reward > 0.0)
    }

    /// Whether it is preferred among equals to an action with a lower number.
    #[inline(always)]
    fn beats(&self, other: &Self) -> bool {
        self.reward > other.reward || self.reward == other.reward && self.cost < other.cost
    }
}

/// The one rule of decision: the best action for each of some budgets.
#[derive(Debug, Clone, Default)]
pub struct Rule {
    /// Actions 1, 2, ...
    candidates: Vec<Candidate>,
    best: Vec<f64>,
    chosen: Vec<u32>,
}

impl Rule {
    /// For each budget, the number of the action that maximises
    /// `ucb r + lcb u_hat[h+1](b - cost) + (1 - lcb) u_hat[h+1](b)` over the feasible actions; 0 is the null action.
    /// `candidates` are actions 1, 2, ...; `next` is u_hat[h+1].
    ///
    /// Offers within [`TIE_SHARE`] of the best are ties. The largest reward wins, then the smallest cost, then the lowest
    /// number. The null action wins if it beats every offer by more than a tie, or if it ties with offers that have no
    /// reward (a bid at its own value). An offer with a reward wins a tie with the null action.
    #[inline]
    pub fn decide(
        &mut self,
        candidates: impl Iterator<Item = Candidate>,
        next: &[f64],
        budgets: RangeInclusive<u32>,
        reward_max: f64,
    ) -> &[u32] {
        let tie = TIE_SHARE * reward_max;
        let (low, high) = (*budgets.start() as usize, *budgets.end() as usize);
        self.candidates.clear();
        self.candidates.extend(candidates);
        let candidates = &self.candidates;
        // The budgets with which an action is feasible.
        let feasible = |c: &Candidate| match c.reward >= 0.0 {
            true => low.max(c.cost as usize)..high + 1,
            false => 0..0,
        };
        self.best.clear();
        self.best.resize(high + 1 - low, f64::NEG_INFINITY);
        for candidate in candidates {
            for b in feasible(candidate) {
                let (best, value) = (&mut self.best[b - low], candidate.value(next, b));
                *best = if value > *best { value } else { *best };
            }
        }
        self.chosen.clear();
        self.chosen.resize(high + 1 - low, 0);
        for (number, candidate) in (1..).zip(candidates) {
            for b in feasible(candidate) {
                let (best, chosen) = (self.best[b - low], &mut self.chosen[b - low]);
                let made = candidate.is_made(candidate.value(next, b), best, tie);
                if made && (*chosen == 0 || candidate.beats(&candidates[*chosen as usize - 1])) {
                    *chosen = number;
                }
            }
        }
        &self.chosen
    }

    /// The same for one budget: less to set up.
    #[inline]
    pub fn decide_one(
        &mut self,
        candidates: impl Iterator<Item = Candidate>,
        next: &[f64],
        budget: u32,
        reward_max: f64,
    ) -> usize {
        let tie = TIE_SHARE * reward_max;
        self.candidates.clear();
        self.best.clear();
        let mut best = f64::NEG_INFINITY;
        for candidate in candidates {
            let value = match candidate.reward >= 0.0 && candidate.cost <= budget {
                true => candidate.value(next, budget as usize),
                false => f64::NEG_INFINITY,
            };
            best = if value > best { value } else { best };
            self.candidates.push(candidate);
            self.best.push(value);
        }
        let mut chosen = 0;
        let offers = self.candidates.iter().zip(&self.best);
        for (number, (candidate, value)) in (1..).zip(offers) {
            let made = candidate.is_made(*value, best, tie);
            if made && (chosen == 0 || candidate.beats(&self.candidates[chosen - 1])) {
                chosen = number;
            }
        }
        chosen
    }
}

/// The rule applied to the contexts of a sample, whose coefficients are known: for maps and evaluations.
#[derive(Debug, Clone)]
pub struct Greedy<'a> {
    /// The contexts.
    pub sample: &'a ContextSample,
    /// ucb * r and lcb of each (context, action).
    pub coefficients: &'a Coefficients,
    /// Value to go.
    pub u_hat: &'a ValueTable,
    /// r_max.
    pub reward_max: f64,
    /// The rule.
    pub rule: Rule,
}

impl Greedy<'_> {
    /// The actions at `step` (0-based), one for each budget.
    #[inline]
    pub fn actions(&mut self, step: usize, entry: usize, budgets: RangeInclusive<u32>) -> &[u32] {
        let sample = self.sample;
        let first = entry * sample.actions();
        let (costs, rows) = (sample.distinct_costs(), sample.cost_rows_of(entry));
        let pairs = first..first + rows.len();
        let rewards = sample.rewards().get(pairs.clone());
        let coefficients = self.coefficients.gain[pairs.clone()]
            .iter()
            .zip(&self.coefficients.lcb[pairs]);
        let candidates = coefficients.zip(rows).enumerate();
        let candidates = candidates.map(|(a, ((&gain, &lcb), &row))| Candidate {
            gain,
            lcb,
            reward: rewards.map_or_else(|| sample.reward(entry, a + 1), |rewards| rewards[a]),
            cost: costs[row as usize],
        });
        let next = self.u_hat.row(step + 1);
        self.rule.decide(candidates, next, budgets, self.reward_max)
    }
}

impl Choice for Greedy<'_> {
    fn choose(
        &mut self,
        step: usize,
        entry: usize,
        budget_max: u32,
        mut report: impl FnMut(u32, usize, f64),
    ) {
        let actions = self.actions(step, entry, 0..=budget_max);
        for (b, action) in (0..).zip(actions) {
            report(b, *action as usize, 1.0);
        }
    }
}

/// What the caller of one decision asks for: some of the actions, or several units at once.
#[derive(Debug, Clone, PartialEq)]
pub struct Terms {
    /// The actions that may be offered; `None` means all.
    pub actions: Option<Vec<usize>>,
    /// How many a customer takes together: reward and cost of an acceptance are multiplied by it.
    pub quantity: u32,
}

impl Default for Terms {
    fn default() -> Self {
        Self {
            actions: None,
            quantity: 1,
        }
    }
}

impl Terms {
    /// Reward and cost of an accepted action; the reward is negative, which means infeasible, if it may not be offered.
    pub fn sale(&self, task: &Task, context: &Context, action: usize) -> (f64, u32) {
        let cost = task.cost(context, action).saturating_mul(self.quantity);
        match &self.actions {
            Some(actions) if !actions.contains(&action) => (-1.0, cost),
            _ => (
                task.reward(context, action) * f64::from(self.quantity),
                cost,
            ),
        }
    }
}

impl Terms {
    /// Reward and cost of an offer that was made, although its action may not be offered any more.
    pub fn made(&self, task: &Task, context: &Context, action: usize) -> (f64, u32) {
        let application = task.application();
        let sale = application.sale_at(context, application.action_value(action));
        let (reward, cost) = sale.unwrap_or((0.0, task.cost(context, action)));
        (
            reward * f64::from(self.quantity),
            cost.saturating_mul(self.quantity),
        )
    }
}

/// The rule applied to one context, with an oracle's bounds and a value table: for policies.
#[derive(Debug, Clone)]
pub struct Decider {
    beliefs: Vec<Belief>,
    rule: Rule,
}

impl Decider {
    /// For tasks with `actions` non-null actions.
    pub fn new(actions: usize) -> Self {
        Self {
            beliefs: vec![Belief::UNKNOWN; actions],
            rule: Rule::default(),
        }
    }

    /// The action for an arriving context with `budget` units left.
    pub fn choose(
        &mut self,
        task: &Task,
        oracle: &dyn Oracle,
        u_hat: &ValueTable,
        context: &Context,
        budget: u32,
    ) -> usize {
        let next = u_hat.row(context.step + 1);
        self.choose_on(task, oracle, next, context, budget, &Terms::default())
    }

    /// The same where `next[b]` is the value of b units after this step, on the caller's terms.
    pub fn choose_on(
        &mut self,
        task: &Task,
        oracle: &dyn Oracle,
        next: &[f64],
        context: &Context,
        budget: u32,
        terms: &Terms,
    ) -> usize {
        oracle.beliefs(context, &mut self.beliefs);
        let candidates = self.beliefs.iter().enumerate().map(|(a, belief)| {
            let (reward, cost) = terms.sale(task, context, a + 1);
            Candidate::new(belief.bounds, reward, cost)
        });
        self.rule
            .decide_one(candidates, next, budget, task.reward_max())
    }

    /// The beliefs on which the last choice was based; action `a` has number `a - 1`.
    pub fn beliefs(&self) -> &[Belief] {
        &self.beliefs
    }
}

#[cfg(test)]
mod tests {
    use super::{Candidate, Rule};

    fn candidate(gain: f64, reward: f64, cost: u32) -> Candidate {
        Candidate {
            gain,
            lcb: 0.5,
            reward,
            cost,
        }
    }

    /// r_max = 1, so values within 1e-5 are a tie.
    fn best_of(candidates: &[Candidate], next: &[f64], budget: u32) -> u32 {
        let candidates = || candidates.iter().copied();
        let budget_max = next.len() as u32 - 1;
        let mut rule = Rule::default();
        let one = rule.decide_one(candidates(), next, budget, 1.0) as u32;
        let all = rule.decide(candidates(), next, 0..=budget_max, 1.0);
        assert_eq!(all[budget as usize], one);
        one
    }

    fn best(candidates: &[Candidate], budget: u32) -> u32 {
        best_of(candidates, &[0.0, 1.0, 1.5], budget)
    }

    #[test]
    fn infeasible_actions_are_never_chosen() {
        assert_eq!(best(&[candidate(9.0, 1.0, 2)], 1), 0);
        assert_eq!(best(&[candidate(9.0, -1.0, 1)], 1), 0);
        assert_eq!(best(&[candidate(9.0, 1.0, 1)], 0), 0);
        assert_eq!(best(&[], 1), 0);
    }

    /// One unit left: an offer's value is its gain minus half of the gap, 1.
    #[test]
    fn an_offer_worth_as_much_as_waiting_is_made_if_it_has_a_reward() {
        assert_eq!(best(&[candidate(0.5, 1.0, 1)], 1), 1);
        assert_eq!(best(&[candidate(0.5 - 9e-6, 1.0, 1)], 1), 1);
        assert_eq!(best(&[candidate(0.5 - 2e-5, 1.0, 1)], 1), 0);
        // A bid at its own value.
        assert_eq!(best(&[candidate(0.5, 0.0, 1)], 1), 0);
        let (none, some) = (candidate(0.5, 0.0, 1), candidate(0.5, 0.1, 1));
        assert_eq!(best(&[none, some], 1), 2);
    }

    #[test]
    fn ties_go_to_the_largest_reward_then_the_smallest_cost_then_the_lowest_number() {
        let best = |candidates: &[Candidate]| best_of(candidates, &[0.0; 3], 2);
        let (low, high) = (candidate(0.9, 0.5, 1), candidate(0.9 - 9e-6, 0.9, 2));
        assert_eq!((best(&[low, high]), best(&[high, low])), (2, 1));
        let cheap = candidate(0.9, 0.9, 1);
        assert_eq!((best(&[low, high, cheap]), best(&[cheap, cheap])), (3, 1));
        // If values differ by more than a tie, the larger wins.
        let worse = candidate(0.9 - 2e-5, 0.9, 1);
        assert_eq!(best(&[low, worse]), 1);
    }
}
