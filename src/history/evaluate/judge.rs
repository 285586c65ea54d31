//! Judges policies by replay: along a day's own arrivals, backwards and exactly,
//!
//! ```text
//! V(b) += rho(x, a) (r - (V(b) - V(b - cost)))      a = the policy's offer at (step, b, x)
//! ```
//!
//! with rho fitted on days that the plan was not made from. Arrivals do not depend on offers, so a day's own sequence is an
//! unbiased draw of everything in which days differ.

use std::sync::Arc;

use crate::dp::cpu::Cpu;
use crate::dp::{Choice, Coefficients, ContextSample, KnownLaw, RowEntry, ValueTable};
use crate::history::days::Days;
use crate::history::fit::{Fitted, Fitter, Model};
use crate::history::log_laws::{LogLaws, LogSample};
use crate::policy::{Greedy, Rule};
use crate::task::Task;

/// Maximum decisions (step, budget, context) of a plan; larger logs use fewer contexts.
const DECISIONS: usize = 500_000;

/// Tolerance of a fit.
const GAP: f64 = 1e-9;

/// Arrivals that are replayed together.
const BATCH: usize = 20_000;

/// Fits, plans and replays the days of a log.
#[derive(Debug)]
pub struct Judge<'f> {
    /// The laws of the log.
    pub laws: LogLaws<'f>,
    /// Its days.
    pub days: Days<'f>,
    fitter: Fitter<'f>,
}

/// A plan: a table for each group of days, and the model that it was made with.
#[derive(Debug)]
pub struct DayPlan {
    /// Acceptance.
    pub model: Model,
    /// Value to go, by group.
    pub tables: Vec<ValueTable>,
}

/// A policy to replay.
#[derive(Debug, Clone, Copy)]
pub enum Play<'a> {
    /// A plan.
    Plan(&'a DayPlan),
    /// One action, by its number among the planned actions.
    Fixed(usize),
    /// The log's own offers.
    Logged,
}

impl<'f> Judge<'f> {
    /// For a fitted log and the task of its planned actions.
    pub fn new(fitted: &'f Fitted, task: Arc<Task>) -> Self {
        Self {
            days: Days::new(fitted, &task),
            fitter: Fitter::new(fitted.file.model.kind, &fitted.data),
            laws: LogLaws::new(fitted, task, Some(DECISIONS)),
        }
    }

    /// Acceptance fitted to days with these weights.
    pub fn model(&self, weights: &[f64]) -> Model {
        let fitted = self.laws.fitted;
        let of_offer = fitted.data.weights(|day| weights[day]);
        let start = &fitted.fit.coefficients;
        let lambda = fitted.file.model.lambda;
        let fit = self.fitter.fit(lambda, Some(&of_offer), Some(start), GAP);
        fit.model
    }

    /// The plan of days with these weights.
    pub fn plan(&self, weights: &[f64], model: Model) -> DayPlan {
        let laws = self.laws.of_days(weights);
        let tables = self.laws.tables(&laws, &model, &mut Cpu::default());
        DayPlan {
            tables: tables.expect("rewards and probabilities are finite"),
            model,
        }
    }

    /// What each policy is expected to earn on each of some days, where acceptance is `judged`.
    pub fn replay<const N: usize>(
        &self,
        judged: &Model,
        plays: [Play; N],
        days: &[usize],
        turn: usize,
    ) -> Vec<[f64; N]> {
        let mut rewards = Vec::with_capacity(days.len());
        for batch in self.batches(days, turn) {
            let (sample, rows) = self.laws.rows(&batch.rows);
            let rho = self.laws.rho(judged, &sample);
            let by_play = plays.map(|play| self.rewards(play, batch.days, &sample, &rho, &rows));
            rewards.extend((0..batch.days.len()).map(|i| by_play.each_ref().map(|list| list[i])));
        }
        rewards
    }

    fn rewards(
        &self,
        play: Play,
        days: &[usize],
        sample: &LogSample,
        rho: &[f64],
        rows: &[Vec<RowEntry>],
    ) -> Vec<f64> {
        let law = |day: usize| KnownLaw {
            sample: &sample.sample,
            rho,
            budget_max: self.days.budgets[day],
        };
        let days = days.iter().zip(rows);
        let last = |rewards: Vec<f64>| rewards[rewards.len() - 1];
        match play {
            Play::Logged => days.map(|(&day, _)| self.days.earned[day]).collect(),
            Play::Fixed(action) => {
                let sample = &sample.sample;
                let mut always = Always { sample, action };
                days.map(|(&day, row)| last(law(day).rewards_of_row(&mut always, row)))
                    .collect()
            }
            Play::Plan(plan) => {
                let chosen_by = self
                    .laws
                    .coefficients(sample, self.laws.rho(&plan.model, sample));
                let mut greedy = self.greedy(sample, &chosen_by, &plan.tables[0]);
                let mut of_day = |(&day, row): (&usize, &Vec<_>)| {
                    greedy.u_hat = &plan.tables[self.group_of(day)];
                    last(law(day).rewards_of_row(&mut greedy, row))
                };
                days.map(&mut of_day).collect()
            }
        }
    }

    /// What a policy would earn per day if the steps of a day were independent: contexts of days with these weights, by the
    /// law of their group.
    pub fn independent(&self, weights: &[f64], judged: &Model, play: Play) -> f64 {
        let of_group = |law: &LogSample, group: usize| -> Vec<f64> {
            let rho = self.laws.rho(judged, law);
            let known = KnownLaw {
                sample: &law.sample,
                rho: &rho,
                budget_max: self.laws.task.budget_max(),
            };
            match play {
                Play::Plan(plan) => {
                    let chosen_by = self.laws.coefficients(law, self.laws.rho(&plan.model, law));
                    known.expected_rewards(&mut self.greedy(law, &chosen_by, &plan.tables[group]))
                }
                Play::Fixed(action) => known.expected_rewards(&mut Always {
                    sample: &law.sample,
                    action,
                }),
                Play::Logged => Vec::new(),
            }
        };
        let laws = self.laws.of_days(weights);
        let by_group: Vec<Vec<f64>> = (0..laws.len()).map(|g| of_group(&laws[g], g)).collect();
        let (mut sum, mut total) = (0.0, 0.0);
        for (day, weight) in weights.iter().enumerate() {
            let rewards = &by_group[self.group_of(day)];
            let reward = rewards.get(self.days.budgets[day] as usize);
            sum += weight * reward.unwrap_or(&self.days.earned[day]);
            total += weight;
        }
        sum / total
    }

    /// The share of each planned action among the offers of a plan, replayed on all days.
    pub fn offer_shares(&self, plan: &DayPlan) -> Vec<f64> {
        let mut offers = vec![0.0; self.laws.actions.len()];
        let all: Vec<usize> = (0..self.days.count()).collect();
        for batch in self.batches(&all, 0) {
            let (sample, rows) = self.laws.rows(&batch.rows);
            let rho = self.laws.rho(&plan.model, &sample);
            let chosen_by = self.laws.coefficients(&sample, rho.clone());
            let mut greedy = self.greedy(&sample, &chosen_by, &plan.tables[0]);
            for (&day, row) in batch.days.iter().zip(&rows) {
                greedy.u_hat = &plan.tables[self.group_of(day)];
                let law = KnownLaw {
                    sample: &sample.sample,
                    rho: &rho,
                    budget_max: self.days.budgets[day],
                };
                let expected = law.use_of_row(&mut greedy, law.budget_max, row);
                let made = offers.iter_mut().zip(expected.offers);
                made.for_each(|(sum, offers)| *sum += offers);
            }
        }
        let all: f64 = offers.iter().sum();
        let shares = offers.iter();
        shares.map(|x| x / all.max(f64::MIN_POSITIVE)).collect()
    }

    /// What a plan promises per day.
    pub fn promised(&self, plan: &DayPlan) -> f64 {
        let of_day = |day| plan.tables[self.group_of(day)].start(self.days.budgets[day]);
        (0..self.days.count()).map(of_day).sum::<f64>() / self.days.count() as f64
    }

    fn group_of(&self, day: usize) -> usize {
        self.laws.fitted.group_of_day[day]
    }

    fn greedy<'w>(
        &self,
        sample: &'w LogSample,
        coefficients: &'w Coefficients,
        u_hat: &'w ValueTable,
    ) -> Greedy<'w> {
        Greedy {
            sample: &sample.sample,
            coefficients,
            u_hat,
            reward_max: self.laws.task.reward_max(),
            rule: Rule::default(),
        }
    }

    /// Neighbouring days with some [`BATCH`] arrivals together.
    fn batches<'d>(&self, days: &'d [usize], turn: usize) -> impl Iterator<Item = Batch<'d>> {
        let mut rest = days;
        std::iter::from_fn(move || {
            let (mut rows, mut size) = (Vec::new(), 0);
            while size < BATCH && rows.len() < rest.len() {
                rows.push(self.days.arrivals(rest[rows.len()], turn));
                size += rows[rows.len() - 1].len();
            }
            let (days, later) = rest.split_at(rows.len());
            rest = later;
            (!days.is_empty()).then_some(Batch { days, rows })
        })
    }
}

/// Days that are replayed together, with their arrivals.
struct Batch<'d> {
    days: &'d [usize],
    rows: Vec<Vec<u32>>,
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
