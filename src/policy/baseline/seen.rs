//! The contexts that have arrived so far, as the empirical law of a linear program: their counts, and the expected cost and
//! reward of their actions under an oracle's bounds, evaluated only where they can matter.

use std::ops::Range;
use std::sync::Arc;

use crate::dp::ContextSample;
use crate::fluid::{Hull, Mix, Program, mix};
use crate::oracle::{Beside, Layout, Oracle, Pairs, fill_bounds};
use crate::task::{Context, EpisodeContexts, Task};

/// Which bound multiplies a cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CostBound {
    /// ucb, as for rewards.
    Upper,
    /// lcb.
    Lower,
}

/// Distinct contexts so far, and how often each arrived.
#[derive(Debug)]
pub(super) struct SeenContexts {
    task: Arc<Task>,
    cost_bound: CostBound,
    contexts: ContextSample,
    counts: Vec<f64>,
    /// Costs and rewards if accepted, by action, then context.
    unit_costs: Vec<Vec<f64>>,
    unit_rewards: Vec<Vec<f64>>,
    /// The largest reward per cost of each action so far.
    steepest: Vec<f64>,
    /// The program's expected costs and rewards: a bound times the values above. Evaluated on demand since the last fit, so
    /// the lists may be shorter than `contexts`.
    costs: Vec<Vec<f64>>,
    rewards: Vec<Vec<f64>>,
}

/// A bound times a reward. A negative reward marks an infeasible action and is returned unchanged.
fn gain(ucb: f64, reward: f64) -> f64 {
    if reward < 0.0 { reward } else { ucb * reward }
}

/// Slopes that differ by at most this share may be equal up to rounding.
const SLOPE_TOLERANCE: f64 = 1e-9;

impl SeenContexts {
    /// None so far.
    pub fn new(task: &Arc<Task>, by_step: bool, cost_bound: CostBound) -> Self {
        Self {
            cost_bound,
            contexts: ContextSample::in_order(task, by_step),
            counts: Vec::new(),
            unit_costs: vec![Vec::new(); task.actions()],
            unit_rewards: vec![Vec::new(); task.actions()],
            steepest: vec![0.0; task.actions()],
            costs: vec![Vec::new(); task.actions()],
            rewards: vec![Vec::new(); task.actions()],
            task: Arc::clone(task),
        }
    }

    /// Counts a context; returns its entry, and whether it is new.
    pub fn count(&mut self, context: &Context) -> (usize, bool) {
        self.contexts.append(&self.task, std::iter::once(*context));
        let arrival = self.contexts.arrivals().last();
        let entry = arrival.map_or(0, |a| a.entry as usize);
        let is_new = self.counts.len() < self.contexts.len();
        if is_new {
            self.counts.push(0.0);
            let units = self.unit_costs.iter_mut().zip(&mut self.unit_rewards);
            let actions = units.zip(&mut self.steepest);
            for (a, ((costs, rewards), steepest)) in (1..).zip(actions) {
                let cost = f64::from(self.task.cost(context, a));
                let reward = self.task.reward(context, a);
                *steepest = steepest.max(reward / cost);
                costs.push(cost);
                rewards.push(reward);
            }
        }
        self.counts[entry] += 1.0;
        (entry, is_new)
    }

    /// To call after every fit: expected costs and rewards are out of date.
    pub fn forget_bounds(&mut self) {
        self.costs.iter_mut().for_each(Vec::clear);
        self.rewards.iter_mut().for_each(Vec::clear);
    }

    /// Every arrival so far, for a restart.
    pub fn save(&self) -> EpisodeContexts {
        let mut contexts = EpisodeContexts::new(self.task.dimension());
        for arrival in self.contexts.arrivals() {
            let context = self.contexts.context(arrival.entry as usize);
            contexts.arrive(arrival.step as usize, |slot| {
                slot.copy_from_slice(context.features);
                context.point
            });
        }
        contexts
    }

    /// What the context of an entry plays in the program's solution for a total budget over all contexts so far. Where
    /// solutions are not unique, `shuffle` selects one. Evaluates bounds only for actions that can matter at the slopes of
    /// the entry's edges.
    pub fn solve(&mut self, oracle: &dyn Oracle, entry: usize, budget: f64, shuffle: u64) -> Mix {
        let actions = 0..self.task.actions();
        let own = actions.clone().map(|a| self.own_point(oracle, a, entry));
        let own: Vec<(f64, f64)> = own.collect();
        let mut hull = Hull::default();
        hull.set(own.into_iter());
        mix(&hull, self.counts[entry], budget, |slope| {
            let matters = |a: &usize| self.steepest[*a] >= slope * (1.0 - SLOPE_TOLERANCE);
            let matter: Vec<usize> = actions.clone().filter(matters).collect();
            matter.iter().for_each(|&a| self.evaluate(oracle, a));
            self.program(matter.into_iter())
                .spent_before(slope, entry, shuffle)
        })
    }

    /// The program of all contexts and actions.
    pub fn whole_program(&mut self, oracle: &dyn Oracle) -> Program<'_> {
        let actions = 0..self.task.actions();
        actions.clone().for_each(|a| self.evaluate(oracle, a));
        self.program(actions)
    }

    fn program(&self, actions: impl Iterator<Item = usize>) -> Program<'_> {
        let lists = actions.map(|a| (&self.costs[a][..], &self.rewards[a][..]));
        Program {
            weights: &self.counts,
            actions: lists.collect(),
            reward_max: self.contexts.largest_reward(),
        }
    }

    /// Expected cost and reward of action `a` (0-based) in one context, without evaluating other contexts if possible.
    fn own_point(&mut self, oracle: &dyn Oracle, a: usize, entry: usize) -> (f64, f64) {
        let (mut ucb, mut lcb) = ([0.0], [0.0]);
        if self.bounds_of(oracle, a, entry..entry + 1, &mut ucb, &mut lcb) {
            let (cost, reward) = (self.unit_costs[a][entry], self.unit_rewards[a][entry]);
            let [bound] = self.cost_bounds(&ucb, &lcb) else {
                unreachable!("one context was asked for");
            };
            return (bound * cost, gain(ucb[0], reward));
        }
        self.evaluate(oracle, a);
        (self.costs[a][entry], self.rewards[a][entry])
    }

    fn cost_bounds<'b>(&self, ucb: &'b [f64], lcb: &'b [f64]) -> &'b [f64] {
        match self.cost_bound {
            CostBound::Upper => ucb,
            CostBound::Lower => lcb,
        }
    }

    /// Bounds of action `a` (0-based) alone, if the oracle has bounds in bulk.
    fn bounds_of(
        &self,
        oracle: &dyn Oracle,
        a: usize,
        entries: Range<usize>,
        ucb: &mut [f64],
        lcb: &mut [f64],
    ) -> bool {
        let pairs = Pairs {
            sample: &self.contexts,
            layout: Layout::ByAction { apart: ucb.len() },
            actions: a..a + 1,
            entries,
            beside: Beside::Lcb,
        };
        oracle
            .bulk()
            .map(|bulk| bulk.fill(&pairs, ucb, lcb))
            .is_some()
    }

    /// Completes the costs and rewards of action `a`, or of all actions if the oracle has no bulk bounds.
    fn evaluate(&mut self, oracle: &dyn Oracle, a: usize) {
        let new = self.costs[a].len()..self.contexts.len();
        if new.is_empty() {
            return;
        }
        let (mut ucb, mut lcb) = (vec![0.0; new.len()], vec![0.0; new.len()]);
        if self.bounds_of(oracle, a, new.clone(), &mut ucb, &mut lcb) {
            self.append(a, new, &ucb, &lcb);
            return;
        }
        let actions = self.task.actions();
        let pairs = new.len() * actions;
        let (mut ucbs, mut lcbs) = (vec![0.0; pairs], vec![0.0; pairs]);
        let pairs = Pairs::by_entry(&self.contexts, new.clone());
        fill_bounds(oracle, &pairs, &mut ucbs, &mut lcbs);
        for a in 0..actions {
            for (of_action, all) in [(&mut ucb, &ucbs), (&mut lcb, &lcbs)] {
                of_action.clear();
                of_action.extend(all[a..].iter().step_by(actions));
            }
            self.append(a, new.clone(), &ucb, &lcb);
        }
    }

    fn append(&mut self, a: usize, entries: Range<usize>, ucb: &[f64], lcb: &[f64]) {
        let bounds = self.cost_bounds(ucb, lcb);
        let units = self.unit_costs[a][entries.clone()].iter();
        self.costs[a].extend(units.zip(bounds).map(|(cost, bound)| bound * cost));
        let units = self.unit_rewards[a][entries].iter();
        self.rewards[a].extend(units.zip(ucb).map(|(r, ucb)| gain(*ucb, *r)));
    }
}
