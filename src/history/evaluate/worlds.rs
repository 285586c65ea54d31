//! Worlds of a log: acceptance and contexts of some of its episodes, each with a weight. What they share is prepared once.

use std::collections::HashMap;
use std::sync::Arc;

use super::{by_curves, by_search};
use crate::dp::ValueTable;
use crate::history::fit::{Fitted, Fitter, Model};
use crate::history::log::LabeledLog;
use crate::task::Task;

/// Contexts that worlds are made of at the most.
const CONTEXTS: usize = 20_000;

/// Candidates (step, budget, context, action) of an evaluation at the most, where they are searched one by one.
const CANDIDATES: usize = 2_000_000;

/// How close to its minimum a fit gets.
const GAP: f64 = 1e-9;

/// What worlds are made of.
#[derive(Debug)]
pub struct Worlds<'f> {
    /// The fitted log.
    pub fitted: &'f Fitted,
    /// The task of the planned actions.
    pub task: Arc<Task>,
    /// Their numbers in the log, from 1.
    pub actions: Vec<usize>,
    fitter: Fitter<'f>,
    groups: Vec<Group>,
    thinned: Option<usize>,
    budgets: Vec<u32>,
    earned: Vec<f64>,
}

/// The contexts that are the law of some steps, equal ones once.
#[derive(Debug, Default)]
struct Group {
    /// An arrival with each of them.
    contexts: Vec<u32>,
    /// Every arrival: its episode, and its place among the contexts.
    arrivals: Vec<(u32, u32)>,
}

/// A world.
#[derive(Debug)]
pub struct LogWorld {
    /// Acceptance.
    pub model: Model,
    /// Contexts of each group with their probabilities.
    pub groups: Vec<Vec<(u32, f64)>>,
    /// Probability of an arrival at each step.
    pub rates: Vec<f64>,
    /// Mean of what the episodes earned in the log.
    pub logged: f64,
    budgets: Vec<(u32, f64)>,
}

/// What is played.
#[derive(Debug, Clone, Copy)]
pub enum Play<'a> {
    /// The plan of a model and its table.
    Plan(&'a Model, &'a ValueTable),
    /// One action, by its number among the planned ones.
    Fixed(usize),
}

impl<'f> Worlds<'f> {
    /// The worlds of a fitted log.
    pub fn new(fitted: &'f Fitted, task: Arc<Task>) -> Self {
        let log = &fitted.log;
        let mut episode_of = vec![0; log.arrivals().len()];
        for (number, episode) in log.episodes().iter().enumerate() {
            episode_of[episode.arrivals.clone()].fill(number as u32);
        }
        let (largest, episodes) = (task.budget_max(), log.episodes().iter());
        let mut worlds = Self {
            fitter: Fitter::new(fitted.file.model.kind, &fitted.data),
            groups: Vec::new(),
            thinned: None,
            budgets: episodes
                .clone()
                .map(|e| e.budget.unwrap_or(largest).min(largest))
                .collect(),
            earned: episodes.map(|e| log.earned(&fitted.task, e).0).collect(),
            actions: fitted.planned(),
            fitted,
            task,
        };
        let groups = |share: f64| -> Vec<Group> {
            let lists = fitted.law.groups.iter();
            let lists = lists.map(|list| thinned(list, share));
            lists
                .map(|list| Group::new(log, &list, &episode_of))
                .collect()
        };
        worlds.groups = groups(1.0);
        let limit = worlds.context_limit();
        if worlds.contexts() > limit {
            worlds.groups = groups(log.arrivals().len() as f64 / limit as f64);
            worlds.thinned = Some(worlds.contexts());
        }
        worlds
    }

    /// How many contexts an evaluation can look at.
    fn context_limit(&self) -> usize {
        if self.has_curves() {
            return CONTEXTS;
        }
        let task = &self.task;
        let cells = task.horizon() * task.budget_max() as usize * task.actions();
        (CANDIDATES / cells.max(1)).clamp(200, CONTEXTS)
    }

    fn contexts(&self) -> usize {
        self.groups.iter().map(|group| group.contexts.len()).sum()
    }

    /// Whether every action costs a unit and earns its own value.
    pub fn has_curves(&self) -> bool {
        self.task.cost_max() == 1 && !self.task.application().is_auction()
    }

    /// How many contexts worlds are made of, where these are not all of the log's.
    pub fn thinned(&self) -> Option<usize> {
        self.thinned
    }

    /// What the episodes of the log earned.
    pub fn earned(&self) -> &[f64] {
        &self.earned
    }

    /// The group of a step.
    pub fn group_of(&self, step: usize) -> usize {
        self.fitted.law.group_of_step[step]
    }

    /// The world of episodes with these weights.
    pub fn world(&self, weights: &[f64]) -> LogWorld {
        let of_offer = self.fitted.data.weights(|e| weights[e]);
        let start = &self.fitted.fit.coefficients;
        let lambda = self.fitted.file.model.lambda;
        let fit = self.fitter.fit(lambda, Some(&of_offer), Some(start), GAP);
        let total: f64 = weights.iter().sum();
        let earned: f64 = self.earned.iter().zip(weights).map(|(x, w)| x * w).sum();
        let mut budgets: Vec<(u32, f64)> = Vec::new();
        for (&budget, weight) in self.budgets.iter().zip(weights) {
            match budgets.iter_mut().find(|(b, _)| *b == budget) {
                Some((_, share)) => *share += weight / total,
                None => budgets.push((budget, weight / total)),
            }
        }
        let groups = self.groups.iter();
        let horizon = self.task.horizon();
        let exposure = &self.fitted.exposure;
        LogWorld {
            groups: groups
                .map(|group| self.weighted(group, weights, &fit.model))
                .collect(),
            rates: exposure.rates(&self.fitted.log, horizon, |e| weights[e]),
            logged: earned / total,
            budgets,
            model: fit.model,
        }
    }

    /// The contexts of a group with their probabilities; none where nobody of it has weight.
    fn weighted(&self, group: &Group, weights: &[f64], model: &Model) -> Vec<(u32, f64)> {
        let mut sums = vec![0.0; group.contexts.len()];
        for &(episode, context) in &group.arrivals {
            sums[context as usize] += weights[episode as usize];
        }
        let total: f64 = sums.iter().sum();
        // Where neither acceptance nor reward looks at contexts, one stands for all.
        if model.ignores_contexts() && !self.task.application().is_auction() && total > 0.0 {
            return vec![(group.contexts[0], 1.0)];
        }
        let contexts = group.contexts.iter().zip(sums);
        let used = contexts.filter(|(_, sum)| *sum > 0.0);
        used.map(|(context, sum)| (*context, sum / total)).collect()
    }

    /// rho of the planned actions for contexts of a group, row by row.
    pub fn rho(&self, model: &Model, contexts: &[(u32, f64)]) -> Vec<f64> {
        let mut rho = Vec::with_capacity(contexts.len() * self.actions.len());
        for (i, _) in contexts {
            let theta = self.fitted.log.theta(*i as usize);
            model.append_rho(theta, &self.actions, &mut rho);
        }
        rho
    }

    /// The plan of a world: its Bellman table.
    pub fn plan(&self, world: &LogWorld) -> ValueTable {
        let values = match self.has_curves() {
            true => by_curves::plan(self, world),
            false => by_search::plan(self, world),
        };
        let (horizon, budget_max) = (self.task.horizon(), self.task.budget_max());
        ValueTable::from_values(horizon, budget_max, values).expect("values of a plan are numbers")
    }

    /// Expected rewards in a world, by starting budget.
    pub fn rewards(&self, world: &LogWorld, play: Play) -> Vec<f64> {
        match self.has_curves() {
            true => by_curves::rewards(self, world, play),
            false => by_search::rewards(self, world, play),
        }
    }

    /// Expected reward of an episode in a world, over the starting budgets of its episodes.
    pub fn reward(&self, world: &LogWorld, play: Play) -> f64 {
        let rewards = self.rewards(world, play);
        let budgets = world.budgets.iter();
        budgets
            .map(|(budget, share)| share * rewards[*budget as usize])
            .sum()
    }
}

impl Group {
    fn new(log: &LabeledLog, arrivals: &[u32], episode_of: &[u32]) -> Self {
        let mut group = Self::default();
        let mut places: HashMap<Vec<u64>, u32> = HashMap::new();
        for &i in arrivals {
            let theta = log.theta(i as usize).iter();
            let bits = theta.map(|x| (x + 0.0).to_bits()).collect();
            let place = *places.entry(bits).or_insert_with(|| {
                group.contexts.push(i);
                group.contexts.len() as u32 - 1
            });
            group.arrivals.push((episode_of[i as usize], place));
        }
        group
    }
}

/// One in `share` of a group's contexts, evenly spread.
fn thinned(group: &[u32], share: f64) -> Vec<u32> {
    let count = ((group.len() as f64 / share).ceil() as usize).min(group.len());
    (0..count).map(|i| group[i * group.len() / count]).collect()
}
