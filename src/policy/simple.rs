//! Policies that do not plan: clairvoyant, myopic, random and fixed.

use std::sync::Arc;

use rand::RngExt;
use rand::rngs::ChaCha8Rng;

use super::saved::position;
use super::{Decider, Plan, Policy, SavedOracle, SavedPolicy};
use crate::dp::ValueTable;
use crate::error::Invalid;
use crate::oracle::{Known, LabeledData, Oracle, Truth};
use crate::task::{Context, EpisodeContexts, Task};

/// Knows rho, the context laws and the type of the day, and plays the optimal policy.
#[derive(Debug)]
pub struct Clairvoyant {
    task: Arc<Task>,
    oracle: Known,
    optimum: Vec<Arc<ValueTable>>,
    day: usize,
    decider: Decider,
}

impl Clairvoyant {
    /// `optimum` is the value table of the true law by type of day, or an estimate for continuous laws.
    pub fn new(task: Arc<Task>, truth: Arc<dyn Truth>, optimum: Vec<Arc<ValueTable>>) -> Self {
        Self {
            day: 0,
            oracle: Known::fitted(truth),
            decider: Decider::new(task.actions()),
            task,
            optimum,
        }
    }
}

impl Policy for Clairvoyant {
    fn start_day(&mut self, day: usize) {
        self.day = day;
    }

    fn choose(&mut self, context: &Context, budget: u32) -> usize {
        let optimum = &self.optimum[self.day];
        self.decider
            .choose(&self.task, &self.oracle, optimum, context, budget)
    }

    fn save(&self) -> Option<SavedPolicy> {
        Some(SavedPolicy::Unchanged)
    }

    fn restore(&mut self, saved: SavedPolicy) -> Result<(), Invalid> {
        match saved {
            SavedPolicy::Unchanged => Ok(()),
            _ => Err(SavedPolicy::mismatch()),
        }
    }

    fn plan(&self) -> Option<Plan<'_>> {
        self.plan_of(self.day)
    }

    fn plan_of(&self, day: usize) -> Option<Plan<'_>> {
        Some(Plan::Greedy {
            oracle: &self.oracle,
            u_hat: &self.optimum[day],
        })
    }
}

/// Maximises ucb * r without looking ahead. Learns from every episode, with delta_t = delta / t^2.
#[derive(Debug)]
pub struct Myopic {
    task: Arc<Task>,
    oracle: Box<dyn Oracle>,
    delta: f64,
    episode: usize,
    data: LabeledData,
    no_future: ValueTable,
    decider: Decider,
}

impl Myopic {
    /// A myopic learner without data.
    pub fn new(task: Arc<Task>, oracle: Box<dyn Oracle>, delta: f64) -> Self {
        Self {
            data: LabeledData::new(task.dimension()),
            no_future: ValueTable::zeros(task.horizon(), task.budget_max()),
            decider: Decider::new(task.actions()),
            episode: 1,
            task,
            oracle,
            delta,
        }
    }
}

impl Policy for Myopic {
    fn start_episode(&mut self, episode: usize, _b_t: u32) {
        self.episode = episode;
    }

    fn choose(&mut self, context: &Context, budget: u32) -> usize {
        let oracle = self.oracle.as_ref();
        self.decider
            .choose(&self.task, oracle, &self.no_future, context, budget)
    }

    fn observe(&mut self, context: &Context, action: usize, converted: bool) {
        if action > 0 {
            self.data.push(context, action, converted);
        }
    }

    fn learn(&mut self, _contexts: &EpisodeContexts) -> bool {
        true
    }

    fn fit(&mut self, t: usize) {
        self.oracle.fit(&self.data, self.delta / (t as f64).powi(2));
    }

    fn save(&self) -> Option<SavedPolicy> {
        let fit = SavedOracle::of(&self.data, Some(self.data.len()), self.oracle.as_ref());
        Some(SavedPolicy::Myopic(self.episode, fit))
    }

    fn restore(&mut self, saved: SavedPolicy) -> Result<(), Invalid> {
        let SavedPolicy::Myopic(episode, fit) = saved else {
            return Err(SavedPolicy::mismatch());
        };
        self.episode = episode;
        let delta = self.delta / ((episode + 1) as f64).powi(2);
        (self.data, _) = fit.restore(&self.task, self.oracle.as_mut(), delta)?;
        Ok(())
    }

    fn plan(&self) -> Option<Plan<'_>> {
        Some(Plan::Greedy {
            oracle: self.oracle.as_ref(),
            u_hat: &self.no_future,
        })
    }
}

/// Picks uniformly among the feasible actions, including the null action.
#[derive(Debug)]
pub struct Random {
    task: Arc<Task>,
    rng: ChaCha8Rng,
    feasible: Vec<usize>,
}

impl Random {
    /// Draws from its own random stream.
    pub fn new(task: Arc<Task>, rng: ChaCha8Rng) -> Self {
        Self {
            task,
            rng,
            feasible: Vec::new(),
        }
    }
}

impl Policy for Random {
    fn choose(&mut self, context: &Context, budget: u32) -> usize {
        self.feasible.clear();
        self.feasible.push(0);
        let actions = 1..=self.task.actions();
        self.feasible
            .extend(actions.filter(|&a| self.task.feasible(context, a, budget)));
        self.feasible[self.rng.random_range(0..self.feasible.len())]
    }

    fn save(&self) -> Option<SavedPolicy> {
        Some(SavedPolicy::Stream(position(&self.rng)))
    }

    fn restore(&mut self, saved: SavedPolicy) -> Result<(), Invalid> {
        let SavedPolicy::Stream(stream) = saved else {
            return Err(SavedPolicy::mismatch());
        };
        self.rng.set_word_pos(stream.into());
        Ok(())
    }

    fn plan(&self) -> Option<Plan<'_>> {
        Some(Plan::Uniform)
    }
}

/// Plays one action if it is feasible, else the null action.
#[derive(Debug)]
pub struct Fixed {
    task: Arc<Task>,
    action: usize,
}

impl Fixed {
    /// Always action number `action`.
    pub fn new(task: Arc<Task>, action: usize) -> Self {
        Self { task, action }
    }
}

impl Policy for Fixed {
    fn choose(&mut self, context: &Context, budget: u32) -> usize {
        if self.action > 0 && self.task.feasible(context, self.action, budget) {
            self.action
        } else {
            0
        }
    }

    fn save(&self) -> Option<SavedPolicy> {
        Some(SavedPolicy::Unchanged)
    }

    fn restore(&mut self, saved: SavedPolicy) -> Result<(), Invalid> {
        match saved {
            SavedPolicy::Unchanged => Ok(()),
            _ => Err(SavedPolicy::mismatch()),
        }
    }

    fn plan(&self) -> Option<Plan<'_>> {
        Some(Plan::Fixed(self.action))
    }
}
