//! Logistic-UCB1, Box B of Li and Stoltz (2022), with any confidence-bound oracle. At every step: refit on all data at
//! confidence delta; with the empirical law of all contexts so far, the present one included, solve
//!
//! ```text
//! max  mean over contexts of  sum_a ucb r pi(a)   subject to   mean over contexts of  sum_a ucb cost pi(a) <= (B_t - b_T) / H
//! ```
//!
//! (the same ucb in both; b_T is the budget correction), and draw from the row of the present context; the null action is
//! played where the draw does not fit the budget left. A step at which nobody arrives counts as a context that earns and
//! costs nothing. Where nothing is feasible the step is passed without solving anything.
//!
//! The program often has many solutions: with prices, the first edge of every context has the slope of the largest price.
//! Which contexts are served first among equals is shuffled at every step. A fixed order would starve some contexts, the
//! present one among them, and the policy would learn nothing.

use std::sync::Arc;

use rand::RngExt;
use rand::rngs::ChaCha8Rng;

use super::Policy;
use crate::dp::ContextSample;
use crate::fluid::{Cut, Program, Search, Ties};
use crate::oracle::{LabeledData, Oracle};
use crate::task::{Context, Task};

/// Logistic-UCB1 in one replication.
#[derive(Debug)]
pub struct LogisticUcb1 {
    task: Arc<Task>,
    oracle: Box<dyn Oracle>,
    delta: f64,
    budget_correction: f64,
    rng: ChaCha8Rng,
    data: LabeledData,
    fitted: Option<usize>,
    episode: usize,
    b_t: u32,
    /// Distinct contexts so far, and how often each was met.
    contexts: ContextSample,
    counts: Vec<f64>,
    /// Costs of an acceptance, by context and action.
    unit_costs: Vec<f64>,
    /// The program's costs and rewards, ucb times those of an acceptance.
    costs: Vec<f64>,
    rewards: Vec<f64>,
    /// Lower bounds, which come with the upper ones and are not needed.
    lcbs: Vec<f64>,
    search: Search,
}

impl LogisticUcb1 {
    /// Without data; bounds hold with confidence `delta` at every step.
    pub fn new(
        task: Arc<Task>,
        oracle: Box<dyn Oracle>,
        delta: f64,
        budget_correction: f64,
        rng: ChaCha8Rng,
    ) -> Self {
        Self {
            data: LabeledData::new(task.dimension()),
            contexts: ContextSample::new(&task, oracle.depends_on_step()),
            task,
            oracle,
            delta,
            budget_correction,
            rng,
            fitted: None,
            episode: 1,
            b_t: 0,
            counts: Vec::new(),
            unit_costs: Vec::new(),
            costs: Vec::new(),
            rewards: Vec::new(),
            lcbs: Vec::new(),
            search: Search::default(),
        }
    }

    /// Counts a context; returns its entry.
    fn meet(&mut self, context: &Context) -> usize {
        self.contexts.append(&self.task, std::iter::once(*context));
        let entry = self
            .contexts
            .arrivals()
            .last()
            .map_or(0, |a| a.entry as usize);
        if self.counts.len() < self.contexts.len() {
            self.counts.push(0.0);
            self.oracle.watch(context);
            let costs = (1..=self.contexts.actions()).map(|a| self.contexts.cost(entry, a));
            self.unit_costs.extend(costs.map(f64::from));
        }
        self.counts[entry] += 1.0;
        entry
    }

    /// Refits where there is new data, and evaluates the bounds of all contexts, or of those that are new.
    fn refit(&mut self) {
        if self.fitted != Some(self.data.len()) {
            self.oracle.fit(&self.data, self.delta);
            self.fitted = Some(self.data.len());
            self.costs.clear();
            self.rewards.clear();
        }
        let first = self.costs.len();
        let entries = first / self.contexts.actions()..self.contexts.len();
        let pairs = self.contexts.len() * self.contexts.actions();
        self.costs.resize(pairs, 0.0);
        self.lcbs.resize(pairs, 0.0);
        let (ucb, lcb) = (&mut self.costs[first..], &mut self.lcbs[first..]);
        self.oracle.bulk_bounds(&self.contexts, entries, ucb, lcb);
        let all_rewards = &self.contexts.rewards()[first..];
        for (ucb, reward) in self.costs[first..].iter().zip(all_rewards) {
            // Rewards below zero mark actions that may not be taken, whatever their bounds.
            let scale = if *reward < 0.0 { 1.0 } else { *ucb };
            self.rewards.push(scale * reward);
        }
        for (ucb, cost) in self.costs[first..]
            .iter_mut()
            .zip(&self.unit_costs[first..])
        {
            *ucb *= cost;
        }
    }

    /// The program over all contexts so far.
    pub fn program(&self) -> Program<'_> {
        Program {
            actions: self.contexts.actions(),
            weights: &self.counts,
            costs: &self.costs,
            rewards: &self.rewards,
        }
    }

    /// Solves the program at step `step` (0-based) of the episode.
    fn solve(&mut self, step: usize) -> Cut {
        let horizon = self.task.horizon();
        let steps = ((self.episode - 1) * horizon + step + 1) as f64;
        let per_step = (f64::from(self.b_t) - self.budget_correction).max(0.0) / horizon as f64;
        let mut search = self.search;
        let ties = Ties::Shuffled(self.rng.random());
        let cut = self.program().solve(steps * per_step, ties, &mut search);
        self.search = search;
        cut
    }
}

impl Policy for LogisticUcb1 {
    fn oracle(&self) -> Option<&dyn Oracle> {
        Some(self.oracle.as_ref())
    }

    fn start_episode(&mut self, episode: usize, b_t: u32) {
        self.episode = episode;
        self.b_t = b_t;
    }

    fn choose(&mut self, context: &Context, budget: u32) -> usize {
        let entry = self.meet(context);
        let feasible = |a: usize| self.task.feasible(context, a, budget);
        if !(1..=self.task.actions()).any(feasible) {
            return 0;
        }
        self.refit();
        let cut = self.solve(context.step);
        let mix = self.program().mix(&cut, entry);
        let action = mix.draw(&mut self.rng);
        if action > 0 && self.task.feasible(context, action, budget) {
            action
        } else {
            0
        }
    }

    fn observe(&mut self, context: &Context, action: usize, converted: bool) {
        if action > 0 {
            self.data.push(context, action, converted);
        }
    }
}
