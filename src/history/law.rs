//! Context laws and arrival rates from a log. A step with many arrivals has its own contexts; the others share those of
//! all steps.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use super::log::LabeledLog;
use crate::task::Task;

/// A step with fewer arrivals than this uses the contexts of all steps.
pub const POOLED_BELOW: u64 = 200;

/// A log is taken to stop when stock runs out if at least this many later arrivals were expected and none is recorded.
const MISSED: f64 = 5.0;

/// The empirical context law of each step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmpiricalLaw {
    /// Groups of arrivals (by index in the log), each the law of one or several steps.
    pub groups: Vec<Vec<u32>>,
    /// The group of each step.
    pub group_of_step: Vec<usize>,
    /// Arrivals of each step.
    pub arrivals: Vec<u64>,
    /// Whether a step uses the contexts of all steps.
    pub pooled: Vec<bool>,
}

impl EmpiricalLaw {
    /// The laws of `horizon` steps.
    pub fn new(log: &LabeledLog, horizon: usize, pooled_below: u64) -> Self {
        Self::of_days(log, horizon, pooled_below, |_| true)
    }

    /// The laws of `horizon` steps on some of the days.
    pub fn of_days(
        log: &LabeledLog,
        horizon: usize,
        pooled_below: u64,
        has: impl Fn(usize) -> bool,
    ) -> Self {
        let mut by_step: Vec<Vec<u32>> = vec![Vec::new(); horizon];
        let days = log.episodes().iter().enumerate();
        for (_, episode) in days.filter(|(day, _)| has(*day)) {
            for i in episode.arrivals.clone() {
                by_step[log.arrivals()[i].step as usize].push(i as u32);
            }
        }
        let arrivals: Vec<u64> = by_step.iter().map(|list| list.len() as u64).collect();
        let pooled: Vec<bool> = arrivals.iter().map(|n| *n < pooled_below.max(1)).collect();
        let mut law = Self {
            groups: Vec::new(),
            group_of_step: Vec::with_capacity(horizon),
            arrivals,
            pooled,
        };
        if law.pooled.contains(&true) {
            let mut all: Vec<u32> = by_step.iter().flatten().copied().collect();
            all.sort_unstable();
            law.groups.push(all);
        }
        for (step, own) in by_step.into_iter().enumerate() {
            if law.pooled[step] {
                law.group_of_step.push(0);
            } else {
                law.group_of_step.push(law.groups.len());
                law.groups.push(own);
            }
        }
        law
    }

    /// Runs of neighbouring steps with the same law, with its distinct contexts and their probabilities.
    pub fn segments(&self, log: &LabeledLog) -> Vec<LawSegment> {
        let mut end = 0;
        let runs = self.group_of_step.chunk_by(|group, next| group == next);
        let segment = |run: &[usize]| {
            let (values, weights) = distinct(log, &self.groups[run[0]]);
            end += run.len();
            LawSegment {
                steps: end - run.len() + 1..=end,
                values,
                weights,
            }
        };
        runs.map(segment).collect()
    }
}

/// The law of neighbouring steps.
#[derive(Debug, Clone, PartialEq)]
pub struct LawSegment {
    /// The steps, 1-based.
    pub steps: RangeInclusive<usize>,
    /// Contexts.
    pub values: Vec<Vec<f64>>,
    /// Their probabilities.
    pub weights: Vec<f64>,
}

/// Distinct contexts with their shares.
fn distinct(log: &LabeledLog, arrivals: &[u32]) -> (Vec<Vec<f64>>, Vec<f64>) {
    let mut places: HashMap<Vec<u64>, usize> = HashMap::new();
    let (mut values, mut weights) = (Vec::new(), Vec::new());
    for &i in arrivals {
        let theta = log.theta(i as usize);
        let bits = theta.iter().map(|x| (x + 0.0).to_bits()).collect();
        let place = *places.entry(bits).or_insert_with(|| {
            values.push(theta.to_vec());
            weights.push(0.0);
            values.len() - 1
        });
        weights[place] += 1.0;
    }
    for weight in &mut weights {
        *weight /= arrivals.len() as f64;
    }
    (values, weights)
}

/// The number of observed steps of each episode. If a shop records nobody once its stock is gone, later steps say nothing
/// about arrivals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exposure {
    /// Observed steps, by episode.
    pub steps: Vec<u32>,
    /// Episodes that ended early.
    pub cut_short: usize,
}

impl Exposure {
    /// Finds whether the log continues after the stock is gone.
    pub fn of(log: &LabeledLog, task: &Task) -> Self {
        let horizon = task.horizon() as u32;
        let gone: Vec<u32> = (0..log.episodes().len())
            .map(|episode| steps_until_gone(log, task, episode))
            .collect();
        let whole = Self {
            steps: vec![horizon; gone.len()],
            cut_short: 0,
        };
        let later = |(episode, until): (usize, &u32)| {
            let arrivals = &log.arrivals()[log.episodes()[episode].arrivals.clone()];
            arrivals.iter().any(|arrival| arrival.step >= *until)
        };
        if gone.iter().enumerate().any(later) {
            return whole;
        }
        let cut = Self {
            cut_short: gone.iter().filter(|until| **until < horizon).count(),
            steps: gone,
        };
        let rates = cut.rates(log, task.horizon(), |_| 1.0);
        let expected: f64 = cut
            .steps
            .iter()
            .map(|&until| rates[until as usize..].iter().sum::<f64>())
            .sum();
        match expected >= MISSED {
            true => cut,
            false => whole,
        }
    }

    /// Weighted arrivals per observed step, at most 1, because plans have at most one arrival per step.
    pub fn rates(
        &self,
        log: &LabeledLog,
        horizon: usize,
        weight: impl Fn(usize) -> f64,
    ) -> Vec<f64> {
        let (mut arrivals, mut watched) = (vec![0.0; horizon], vec![0.0; horizon]);
        for (e, (episode, &steps)) in log.episodes().iter().zip(&self.steps).enumerate() {
            let w = weight(e);
            if w == 0.0 {
                continue;
            }
            watched[..steps as usize]
                .iter_mut()
                .for_each(|sum| *sum += w);
            for arrival in &log.arrivals()[episode.arrivals.clone()] {
                arrivals[arrival.step as usize] += w;
            }
        }
        let rate = |(n, of): (&f64, &f64)| if *of > 0.0 { (n / of).min(1.0) } else { 0.0 };
        arrivals.iter().zip(&watched).map(rate).collect()
    }
}

/// Steps of an episode until nothing can be offered any more.
fn steps_until_gone(log: &LabeledLog, task: &Task, episode: usize) -> u32 {
    let horizon = task.horizon() as u32;
    let episode = &log.episodes()[episode];
    let mut left = i64::from(episode.budget.unwrap_or(task.budget_max()));
    for i in episode.arrivals.clone() {
        let arrival = log.arrivals()[i];
        if arrival.accepted {
            let context = log.context(task, i);
            left -= i64::from(task.cost(&context, arrival.action as usize));
            let least = (1..=task.actions()).map(|a| task.cost(&context, a)).min();
            if left < i64::from(least.unwrap_or(1)) {
                return arrival.step + 1;
            }
        }
    }
    horizon
}
