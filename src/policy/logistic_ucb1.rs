//! Logistic-UCB1, Box B of Li and Stoltz (2022), with any confidence-bound oracle. At every step it refits on all data at
//! confidence delta. With the empirical law of all contexts so far, including the current one, it solves
//!
//! ```text
//! max  mean over contexts of  sum_a ucb r pi(a)   subject to   mean over contexts of  sum_a ucb cost pi(a) <= (B_t - b_T) / H
//! ```
//!
//! (the same ucb in both; b_T is the budget correction) and draws an action from the current context's row. If the draw
//! exceeds the budget left, it plays the null action. A step without an arrival counts as a context that earns and costs
//! nothing. If no action is feasible, the program is not solved.
//!
//! The program often has many solutions: with prices, the first edge of every context has the slope of the largest price.
//! The order of tied contexts is shuffled at every step. With a fixed order some contexts, perhaps the current one, would
//! never be served, and the policy would learn nothing.

use std::ops::Range;
use std::sync::Arc;

use rand::RngExt;
use rand::rngs::ChaCha8Rng;

use super::saved::position;
use super::{Policy, SavedOracle, SavedPolicy};
use crate::dp::ContextSample;
use crate::error::Invalid;
use crate::fluid::{Hull, Mix, Program, mix};
use crate::oracle::{Beside, LabeledData, Layout, Oracle, Pairs, fill_bounds};
use crate::task::{Context, EpisodeContexts, Task};

/// Logistic-UCB1 (Li and Stoltz, 2022): a linear program with upper bounds at every step.
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
    /// Distinct contexts so far, and how often each arrived.
    contexts: ContextSample,
    counts: Vec<f64>,
    /// Costs and rewards if accepted, by action, then context.
    unit_costs: Vec<Vec<f64>>,
    unit_rewards: Vec<Vec<f64>>,
    /// The largest reward per cost of each action so far.
    steepest: Vec<f64>,
    /// The program's expected costs and rewards: ucb times the values above. Evaluated on demand since the last fit, so the
    /// lists may be shorter than `contexts`.
    costs: Vec<Vec<f64>>,
    rewards: Vec<Vec<f64>>,
}

impl LogisticUcb1 {
    /// A policy without data; it fits its oracle at confidence `delta` at every step.
    pub fn new(
        task: Arc<Task>,
        oracle: Box<dyn Oracle>,
        delta: f64,
        budget_correction: f64,
        rng: ChaCha8Rng,
    ) -> Self {
        Self {
            data: LabeledData::new(task.dimension()),
            contexts: ContextSample::in_order(&task, oracle.facts().by_step),
            unit_costs: vec![Vec::new(); task.actions()],
            unit_rewards: vec![Vec::new(); task.actions()],
            steepest: vec![0.0; task.actions()],
            costs: vec![Vec::new(); task.actions()],
            rewards: vec![Vec::new(); task.actions()],
            task,
            oracle,
            delta,
            budget_correction,
            rng,
            fitted: None,
            episode: 1,
            b_t: 0,
            counts: Vec::new(),
        }
    }

    /// Counts a context; returns its entry.
    fn count_context(&mut self, context: &Context) -> usize {
        self.contexts.append(&self.task, std::iter::once(*context));
        let entry = self
            .contexts
            .arrivals()
            .last()
            .map_or(0, |a| a.entry as usize);
        if self.counts.len() < self.contexts.len() {
            self.counts.push(0.0);
            self.oracle.watch(context);
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
        entry
    }

    /// Refits if there are new data.
    fn refit(&mut self) {
        if self.fitted != Some(self.data.len()) {
            self.oracle.fit(&self.data, self.delta);
            self.fitted = Some(self.data.len());
            self.costs.iter_mut().for_each(Vec::clear);
            self.rewards.iter_mut().for_each(Vec::clear);
        }
    }

    /// Expected cost and reward of action `a` (0-based) in one context, without evaluating other contexts if possible.
    fn own_point(&mut self, a: usize, entry: usize) -> (f64, f64) {
        let (mut ucb, mut lcb) = ([0.0], [0.0]);
        if self.bounds_of(a, entry..entry + 1, &mut ucb, &mut lcb) {
            let (cost, reward) = (self.unit_costs[a][entry], self.unit_rewards[a][entry]);
            return (ucb[0] * cost, gain(ucb[0], reward));
        }
        self.evaluate(a);
        (self.costs[a][entry], self.rewards[a][entry])
    }

    /// Bounds of action `a` (0-based) alone, if the oracle has bounds in bulk.
    fn bounds_of(&self, a: usize, entries: Range<usize>, ucb: &mut [f64], lcb: &mut [f64]) -> bool {
        let pairs = Pairs {
            sample: &self.contexts,
            layout: Layout::ByAction { apart: ucb.len() },
            beside: Beside::Lcb,
            actions: a..a + 1,
            entries,
        };
        let bulk = self.oracle.bulk();
        bulk.map(|bulk| bulk.fill(&pairs, ucb, lcb)).is_some()
    }

    /// Completes the costs and rewards of action `a`, or of all actions if the oracle has no bulk bounds.
    fn evaluate(&mut self, a: usize) {
        let new = self.costs[a].len()..self.contexts.len();
        if new.is_empty() {
            return;
        }
        let (mut ucb, mut lcb) = (vec![0.0; new.len()], vec![0.0; new.len()]);
        if self.bounds_of(a, new.clone(), &mut ucb, &mut lcb) {
            self.append(a, new, &ucb);
            return;
        }
        let actions = self.task.actions();
        let (mut ucbs, mut lcbs) = (
            vec![0.0; new.len() * actions],
            vec![0.0; new.len() * actions],
        );
        let pairs = Pairs::by_entry(&self.contexts, new.clone());
        fill_bounds(&*self.oracle, &pairs, &mut ucbs, &mut lcbs);
        for a in 0..actions {
            let of_action = ucbs[a..].iter().step_by(actions).copied();
            ucb.clear();
            ucb.extend(of_action);
            self.append(a, new.clone(), &ucb);
        }
    }

    fn append(&mut self, a: usize, entries: Range<usize>, ucb: &[f64]) {
        let units = self.unit_costs[a][entries.clone()].iter();
        self.costs[a].extend(units.zip(ucb).map(|(cost, ucb)| ucb * cost));
        let units = self.unit_rewards[a][entries].iter();
        self.rewards[a].extend(units.zip(ucb).map(|(r, ucb)| gain(*ucb, *r)));
    }

    /// Solves the program over all contexts so far at `step` (0-based) and returns the current context's row. Evaluates
    /// bounds only for actions that can matter at the slopes of the current context's edges.
    fn solve(&mut self, step: usize, entry: usize) -> Mix {
        let horizon = self.task.horizon();
        let steps = ((self.episode - 1) * horizon + step + 1) as f64;
        let per_step = (f64::from(self.b_t) - self.budget_correction).max(0.0) / horizon as f64;
        let shuffle = self.rng.random();
        let actions = 0..self.task.actions();
        let own: Vec<(f64, f64)> = actions.clone().map(|a| self.own_point(a, entry)).collect();
        let mut hull = Hull::default();
        hull.set(own.into_iter());
        mix(&hull, self.counts[entry], steps * per_step, |slope| {
            let matters = |a: &usize| self.steepest[*a] >= slope * (1.0 - SLOPE_TOLERANCE);
            let matter: Vec<usize> = actions.clone().filter(matters).collect();
            matter.iter().for_each(|&a| self.evaluate(a));
            let lists = matter
                .iter()
                .map(|&a| (&self.costs[a][..], &self.rewards[a][..]));
            let program = Program {
                weights: &self.counts,
                actions: lists.collect(),
                reward_max: self.contexts.largest_reward(),
            };
            program.spent_before(slope, entry, shuffle)
        })
    }
}

/// ucb r. A negative reward marks an infeasible action and is returned unchanged.
fn gain(ucb: f64, reward: f64) -> f64 {
    if reward < 0.0 { reward } else { ucb * reward }
}

/// Slopes that differ by at most this share may be equal up to rounding.
const SLOPE_TOLERANCE: f64 = 1e-9;

impl Policy for LogisticUcb1 {
    fn oracle(&self) -> Option<&dyn Oracle> {
        Some(self.oracle.as_ref())
    }

    fn start_episode(&mut self, episode: usize, b_t: u32) {
        self.episode = episode;
        self.b_t = b_t;
    }

    fn choose(&mut self, context: &Context, budget: u32) -> usize {
        let entry = self.count_context(context);
        let feasible = |a: usize| self.task.feasible(context, a, budget);
        if !(1..=self.task.actions()).any(feasible) {
            return 0;
        }
        self.refit();
        let mix = self.solve(context.step, entry);
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

    fn save(&self) -> Option<SavedPolicy> {
        let mut contexts = EpisodeContexts::new(self.task.dimension());
        for arrival in self.contexts.arrivals() {
            let context = self.contexts.context(arrival.entry as usize);
            contexts.arrive(arrival.step as usize, |slot| {
                slot.copy_from_slice(context.features);
                context.point
            });
        }
        Some(SavedPolicy::LogisticUcb1 {
            stream: position(&self.rng),
            contexts,
            fit: SavedOracle::of(&self.data, self.fitted, self.oracle.as_ref()),
        })
    }

    fn restore(&mut self, saved: SavedPolicy) -> Result<(), Invalid> {
        let SavedPolicy::LogisticUcb1 {
            stream,
            contexts,
            fit,
        } = saved
        else {
            return Err(SavedPolicy::mismatch());
        };
        self.task.check_contexts(&contexts)?;
        contexts.iter().for_each(|context| {
            self.count_context(&context);
        });
        self.rng.set_word_pos(stream.into());
        (self.data, self.fitted) = fit.restore(&self.task, self.oracle.as_mut(), self.delta)?;
        Ok(())
    }
}
