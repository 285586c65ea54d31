//! Worlds of a log: acceptance and contexts, fitted to a log's episodes with given weights. Shared parts are prepared once.

use std::collections::HashMap;
use std::sync::Arc;

use crate::dp::cpu::Cpu;
use crate::dp::{
    ArrayList, Backend, Choice, Coefficients, ContextSample, KnownLaw, Problem, SampleArrays,
    ValueTable,
};
use crate::history::fit::{Fitted, Fitter, Model};
use crate::history::log::LabeledLog;
use crate::policy::{Greedy, Rule};
use crate::task::Task;

/// Maximum decisions (step, budget, context) of an evaluation; larger worlds use fewer contexts.
const DECISIONS: usize = 500_000;

/// Tolerance of a fit.
const GAP: f64 = 1e-9;

/// Builds worlds from a log.
#[derive(Debug)]
pub struct Worlds<'f> {
    /// The fitted log.
    pub fitted: &'f Fitted,
    /// The task of the planned actions.
    pub task: Arc<Task>,
    /// Numbers of the planned actions in the log, from 1.
    pub actions: Vec<usize>,
    fitter: Fitter<'f>,
    groups: Vec<Group>,
    thinned: Option<usize>,
    /// Distinct costs, increasing.
    costs: Vec<u32>,
    budgets: Vec<u32>,
    earned: Vec<f64>,
}

/// The distinct contexts of steps that share a law.
#[derive(Debug, Default)]
struct Group {
    /// One arrival for each context.
    contexts: Vec<u32>,
    /// Every arrival: its episode and the index of its context.
    arrivals: Vec<(u32, u32)>,
}

/// A world fitted to a log.
#[derive(Debug)]
pub struct LogWorld {
    /// Acceptance model.
    pub model: Model,
    /// Mean reward of the episodes in the log.
    pub logged: f64,
    /// One arrival for each of the world's contexts.
    contexts: Vec<u32>,
    /// The law of contexts; its entries are `contexts`.
    sample: ContextSample,
    /// rho of the planned actions, for every entry.
    rho: Vec<f64>,
    budgets: Vec<(u32, f64)>,
}

/// A policy to evaluate.
#[derive(Debug, Clone, Copy)]
pub enum Play<'a> {
    /// The plan of a model and its table.
    Plan(&'a Model, &'a ValueTable),
    /// One action, by its number among the planned actions.
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
            costs: Vec::new(),
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
        worlds.costs = worlds.task.application().costs();
        worlds.groups = groups(1.0);
        let share = worlds.decisions() as f64 / DECISIONS as f64;
        if share > 1.0 {
            worlds.groups = groups(share);
            worlds.thinned = Some(worlds.groups.iter().map(|g| g.contexts.len()).sum());
        }
        worlds
    }

    /// The decisions (step, budget, context) of an evaluation.
    fn decisions(&self) -> usize {
        let group_of_step = &self.fitted.law.group_of_step[..self.task.horizon()];
        let contexts = group_of_step.iter().map(|g| self.groups[*g].contexts.len());
        contexts.sum::<usize>() * self.task.budget_max() as usize
    }

    /// Number of contexts in use, if fewer than the log's.
    pub fn thinned(&self) -> Option<usize> {
        self.thinned
    }

    /// Rewards of the log's episodes.
    pub fn earned(&self) -> &[f64] {
        &self.earned
    }

    /// The world of the episodes with these weights.
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
        let groups: Vec<Vec<(u32, f64)>> = groups
            .map(|group| self.weighted(group, weights, &fit.model))
            .collect();
        let log = &self.fitted.log;
        let exposure = &self.fitted.exposure;
        let rates = exposure.rates(log, self.task.horizon(), |e| weights[e]);
        let contexts: Vec<u32> = groups.iter().flatten().map(|(i, _)| *i).collect();
        LogWorld {
            logged: earned / total,
            budgets,
            sample: self.sample(&groups, &rates),
            rho: self.rho(&fit.model, &contexts),
            contexts,
            model: fit.model,
        }
    }

    /// The law of contexts: at every step, the contexts of its group, weighted by probability times arrival rate.
    fn sample(&self, groups: &[Vec<(u32, f64)>], rates: &[f64]) -> ContextSample {
        let task = &self.task;
        let (mut rewards, mut cost_rows) = (Vec::new(), Vec::new());
        for (i, _) in groups.iter().flatten() {
            let context = self.fitted.log.context(task, *i as usize);
            for a in 1..=task.actions() {
                rewards.push(task.reward(&context, a));
                let cost = task.cost(&context, a);
                cost_rows.push(self.costs.partition_point(|c| *c < cost) as u32);
            }
        }
        let list = |step: usize| {
            let group = self.fitted.law.group_of_step[step];
            let weights = groups[group].iter().map(|(_, share)| rates[step] * share);
            ArrayList {
                first: groups[..group].iter().map(Vec::len).sum(),
                weights: weights.collect(),
            }
        };
        let arrays = SampleArrays {
            actions: task.actions(),
            rewards,
            cost_rows,
            distinct_costs: self.costs.clone(),
            lists: (0..task.horizon()).map(list).collect(),
            list_of_step: (0..task.horizon()).collect(),
        };
        ContextSample::of_arrays(arrays).expect("the arrays fit each other")
    }

    /// The contexts of a group with their probabilities; empty if the total weight is zero.
    fn weighted(&self, group: &Group, weights: &[f64], model: &Model) -> Vec<(u32, f64)> {
        let mut sums = vec![0.0; group.contexts.len()];
        for &(episode, context) in &group.arrivals {
            sums[context as usize] += weights[episode as usize];
        }
        let total: f64 = sums.iter().sum();
        // If neither acceptance nor reward depends on the context, one represents all.
        if model.ignores_contexts() && !self.task.application().depends_on_context() && total > 0.0
        {
            return vec![(group.contexts[0], 1.0)];
        }
        let contexts = group.contexts.iter().zip(sums);
        let used = contexts.filter(|(_, sum)| *sum > 0.0);
        used.map(|(context, sum)| (*context, sum / total)).collect()
    }

    /// rho of the planned actions, by context, then action.
    fn rho(&self, model: &Model, contexts: &[u32]) -> Vec<f64> {
        let mut rho = Vec::with_capacity(contexts.len() * self.actions.len());
        for i in contexts {
            let theta = self.fitted.log.theta(*i as usize);
            model.append_rho(theta, &self.actions, &mut rho);
        }
        rho
    }

    /// The plan of a world: its Bellman table.
    pub fn plan(&self, world: &LogWorld) -> ValueTable {
        let problem = Problem {
            sample: &world.sample,
            coefficients: &coefficients(&world.sample, world.rho.clone()),
            budget_max: self.task.budget_max(),
            cap: None,
        };
        let tables = Cpu::default().solve(&[problem]);
        tables
            .expect("rewards and probabilities are finite")
            .remove(0)
    }

    /// Expected rewards in a world, by starting budget.
    pub fn rewards(&self, world: &LogWorld, play: Play) -> Vec<f64> {
        match play {
            Play::Plan(model, table) => {
                let chosen_by = coefficients(&world.sample, self.rho(model, &world.contexts));
                self.law(world)
                    .expected_rewards(&mut self.greedy(world, &chosen_by, table))
            }
            Play::Fixed(action) => self.law(world).expected_rewards(&mut Always {
                sample: &world.sample,
                action,
            }),
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

    /// The share of each planned action among the offers of a world's own plan, starting from the largest budget.
    pub fn offer_shares(&self, world: &LogWorld, table: &ValueTable) -> Vec<f64> {
        let chosen_by = coefficients(&world.sample, world.rho.clone());
        let mut plan = self.greedy(world, &chosen_by, table);
        let expected = self
            .law(world)
            .expected_use(&mut plan, self.task.budget_max());
        let all: f64 = expected.offers.iter().sum();
        let shares = expected.offers.iter();
        shares.map(|x| x / all.max(f64::MIN_POSITIVE)).collect()
    }

    fn law<'w>(&self, world: &'w LogWorld) -> KnownLaw<'w> {
        KnownLaw {
            sample: &world.sample,
            rho: &world.rho,
            budget_max: self.task.budget_max(),
        }
    }

    fn greedy<'w>(
        &self,
        world: &'w LogWorld,
        coefficients: &'w Coefficients,
        u_hat: &'w ValueTable,
    ) -> Greedy<'w> {
        Greedy {
            sample: &world.sample,
            coefficients,
            u_hat,
            reward_max: self.task.reward_max(),
            rule: Rule::default(),
        }
    }
}

/// rho r and rho of every (entry, action).
fn coefficients(sample: &ContextSample, mut rho: Vec<f64>) -> Coefficients {
    let pairs = rho.iter_mut().zip(sample.rewards());
    let gain = pairs.map(|(rho, reward)| {
        let gain;
        (gain, *rho) = Coefficients::of(*rho, *rho, *reward);
        gain
    });
    Coefficients {
        gain: gain.collect(),
        lcb: rho,
    }
}

/// Makes the same offer whenever it is feasible.
struct Always<'a> {
    sample: &'a ContextSample,
    action: usize,
}

impl Choice for Always<'_> {
    fn choose(
        &mut self,
        _step: usize,
        entry: usize,
        budget_max: u32,
        mut report: impl FnMut(u32, usize, f64),
    ) {
        let (sample, action) = (self.sample, self.action);
        let cost = match sample.reward(entry, action) >= 0.0 {
            true => sample.cost(entry, action),
            false => u32::MAX,
        };
        (0..=budget_max).for_each(|b| report(b, if cost <= b { action } else { 0 }, 1.0));
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

/// One in `share` of a group's arrivals, evenly spaced.
fn thinned(group: &[u32], share: f64) -> Vec<u32> {
    let count = ((group.len() as f64 / share).ceil() as usize).min(group.len());
    (0..count).map(|i| group[i * group.len() / count]).collect()
}
