//! Cross-fitted replay, and its bootstrap over days.
//!
//! A plan looks too good on the days it was made from. So days are split into halves: the plan is made from one half; the
//! days of the other half are replayed with acceptance fitted to these. Then the halves swap. The estimate is the mean over
//! several splits. Each draw of the bootstrap draws days with replacement within their groups, and repeats all of it with
//! one split; copies of a day stay in the same half.
//!
//! Where acceptance changes over the calendar there is one split, forward in time: the plan is made from the first 80% of
//! the days, with weights that fall with age, and judged on the others.

use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rayon::prelude::*;

use super::judge::{DayPlan, Judge, Play};
use crate::history::days::ageing;
use crate::history::fit::Model;
use crate::statistics::MeanAndError;

/// A policy to compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compared {
    /// The plan made from the other half.
    Plan,
    /// One action, by its number among the planned actions.
    Fixed(usize),
    /// The log's own rewards.
    Logged,
}

impl Compared {
    fn play<'p>(&self, plan: &'p DayPlan) -> Play<'p> {
        match self {
            Self::Plan => Play::Plan(plan),
            Self::Fixed(action) => Play::Fixed(*action),
            Self::Logged => Play::Logged,
        }
    }
}

/// Number of splits and bootstrap draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resampling {
    /// Splits into halves; the estimate is averaged over them.
    pub splits: usize,
    /// Bootstrap draws.
    pub draws: usize,
    /// Random seed.
    pub seed: u64,
}

impl Default for Resampling {
    fn default() -> Self {
        Self {
            splits: 5,
            draws: 200,
            seed: 1,
        }
    }
}

/// The estimate of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate {
    /// The days that were replayed.
    pub days: Vec<usize>,
    /// What both policies earn on each of them.
    pub by_day: Vec<[f64; 2]>,
    /// What the first would earn per day if steps were independent.
    pub independent: f64,
    /// What both earn per day, by bootstrap draw.
    pub draws: Vec<[f64; 2]>,
}

/// The share of the days that a plan is made from, forward in time.
const FIRST: f64 = 0.8;

/// Half the width of a 95% interval, in standard deviations.
const WIDTH: f64 = 1.96;

impl Estimate {
    /// The mean over days of a figure of both policies.
    pub fn mean(&self, of: fn(&[f64; 2]) -> f64) -> f64 {
        self.by_day.iter().map(of).sum::<f64>() / self.by_day.len() as f64
    }

    /// That mean with its 95% interval.
    pub fn interval(&self, of: fn(&[f64; 2]) -> f64) -> (f64, f64, f64) {
        let draws: Vec<f64> = self.draws.iter().map(of).collect();
        let deviation = MeanAndError::of(&draws).standard_error * (draws.len() as f64).sqrt();
        let mean = self.mean(of);
        (mean, mean - WIDTH * deviation, mean + WIDTH * deviation)
    }
}

/// The most candidates (arrival, budget, action) that are replayed in a draw; beyond, a part of the days is, and the others
/// keep their estimates of the log itself.
const REPLAYED: usize = 4_000_000;

/// The least days of a half that are replayed in a draw.
const LEAST_DAYS: usize = 40;

/// Compares two policies; calls `done` after the estimate and after every draw.
pub fn estimate(
    judge: &Judge,
    compared: [Compared; 2],
    resampling: Resampling,
    done: &(dyn Fn() + Sync),
) -> Estimate {
    let resampled = Resampled {
        judge,
        compared,
        seed: resampling.seed,
    };
    let splits = match resampled.first() {
        Some(_) => 1,
        None => resampling.splits,
    };
    let (by_day, independent) = resampled.point(splits);
    done();
    let draw = |draw| {
        let pair = resampled.draw(draw, &by_day);
        done();
        pair
    };
    let draws = (1..=resampling.draws).into_par_iter().map(draw).collect();
    let days: Vec<usize> = (resampled.first().unwrap_or(0)..by_day.len()).collect();
    Estimate {
        independent,
        draws,
        by_day: days.iter().map(|day| by_day[*day]).collect(),
        days,
    }
}

struct Resampled<'j> {
    judge: &'j Judge<'j>,
    compared: [Compared; 2],
    seed: u64,
}

impl Resampled<'_> {
    /// The number of days that the plan is made from, where the split is forward in time.
    fn first(&self) -> Option<usize> {
        let half_life = self.judge.laws.fitted.file.days.half_life();
        half_life.map(|_| (FIRST * self.judge.days.count() as f64) as usize)
    }

    /// Which half gives the plan, and which is replayed.
    fn pairs(&self) -> &'static [(usize, usize)] {
        match self.first() {
            Some(_) => &[(0, 1)],
            None => &[(0, 1), (1, 0)],
        }
    }

    /// Acceptance on a half; before a plan forward in time, on its last days.
    fn models(&self, halves: &[Half; 2]) -> [Model; 2] {
        let half_life = self.judge.laws.fitted.file.days.half_life();
        let model = |half: usize| {
            let weights = &halves[half].weights;
            match (self.first(), half) {
                (Some(first), 0) => {
                    let ages = ageing(weights.len(), first, half_life);
                    let aged = weights.iter().zip(ages).map(|(w, age)| w * age);
                    self.judge.model(&aged.collect::<Vec<_>>())
                }
                _ => self.judge.model(weights),
            }
        };
        [model(0), model(1)]
    }

    /// What both earn on each day, the mean over splits; and what the first would earn if steps were independent.
    fn point(&self, splits: usize) -> (Vec<[f64; 2]>, f64) {
        let days = self.judge.days.count();
        let share = 1.0 / self.pairs().len() as f64;
        let of_split = |split: usize| {
            let weights = vec![1.0; days];
            let halves = self.halves(&weights, &mut self.stream(0, split));
            let mut found = vec![[0.0; 2]; days];
            let mut independent = 0.0;
            let models = self.models(&halves);
            for &(made, judged) in self.pairs() {
                let plan = self.plan(&halves[made], &models[made]);
                let plays = self.compared.map(|c| c.play(&plan));
                let Half { days, weights } = &halves[judged];
                let rewards = self.judge.replay(&models[judged], plays, days, split);
                days.iter().zip(rewards).for_each(|(d, r)| found[*d] = r);
                independent += share * self.judge.independent(weights, &models[judged], plays[0]);
            }
            (found, independent)
        };
        let found: Vec<_> = (0..splits).into_par_iter().map(of_split).collect();
        let mut by_day = vec![[0.0; 2]; days];
        for (rewards, _) in &found {
            let pairs = by_day.iter_mut().flatten().zip(rewards.iter().flatten());
            pairs.for_each(|(sum, reward)| *sum += reward / splits as f64);
        }
        let independent = found.iter().map(|(_, x)| x).sum::<f64>() / splits as f64;
        (by_day, independent)
    }

    /// What both earn per day of a draw.
    fn draw(&self, draw: usize, by_day: &[[f64; 2]]) -> [f64; 2] {
        let mut stream = self.stream(draw, 0);
        let weights = self.drawn(&mut stream);
        let halves = self.halves(&weights, &mut stream);
        let models = self.models(&halves);
        let mut mean = [0.0; 2];
        let judged_days = (by_day.len() - self.first().unwrap_or(0)) as f64;
        for &(made, judged) in self.pairs() {
            let plan = self.plan(&halves[made], &models[made]);
            let plays = self.compared.map(|c| c.play(&plan));
            let Half { days, weights } = &halves[judged];
            // The days are in random order.
            let replayed = &days[..self.replayed(days)];
            let rewards = self.judge.replay(&models[judged], plays, replayed, draw);
            let total = |days: &[usize]| days.iter().map(|day| weights[*day]).sum::<f64>();
            let (all, part) = (total(days), total(replayed));
            for (i, mean) in mean.iter_mut().enumerate() {
                let known: f64 = days.iter().map(|d| weights[*d] * by_day[*d][i]).sum();
                let pairs = replayed.iter().zip(&rewards);
                let change: f64 = pairs
                    .map(|(d, r)| weights[*d] * (r[i] - by_day[*d][i]))
                    .sum();
                *mean += (known + change * all / part.max(1.0)) / judged_days;
            }
        }
        mean
    }

    /// How many of some days a draw replays.
    fn replayed(&self, days: &[usize]) -> usize {
        let judge = self.judge;
        let log = &judge.laws.fitted.log;
        let candidates = |day: &usize| {
            let cells = log.episodes()[*day].arrivals.len() * judge.days.budgets[*day] as usize;
            cells * judge.laws.actions.len()
        };
        let all: usize = days.iter().map(candidates).sum();
        let share = 0.5 * REPLAYED as f64 / all.max(1) as f64;
        ((days.len() as f64 * share) as usize)
            .max(LEAST_DAYS)
            .min(days.len())
    }

    /// The plan of a half, if one is asked for.
    fn plan(&self, half: &Half, model: &Model) -> DayPlan {
        match self.compared.contains(&Compared::Plan) {
            true => self.judge.plan(&half.weights, model.clone()),
            false => DayPlan {
                model: model.clone(),
                tables: Vec::new(),
            },
        }
    }

    /// Days drawn with replacement within their groups: how often each was.
    fn drawn(&self, stream: &mut ChaCha8Rng) -> Vec<f64> {
        let mut weights = vec![0.0; self.judge.days.count()];
        for group in self.strata() {
            for _ in 0..group.len() {
                weights[group[stream.random_range(0..group.len())]] += 1.0;
            }
        }
        weights
    }

    /// The days with weight in two halves, each with half of every group, in random order.
    fn halves(&self, weights: &[f64], stream: &mut ChaCha8Rng) -> [Half; 2] {
        let mut halves = [(), ()].map(|()| Half {
            days: Vec::new(),
            weights: vec![0.0; weights.len()],
        });
        let mut larger = 0;
        for mut group in self.strata() {
            group.retain(|day| weights[*day] > 0.0);
            group.shuffle(stream);
            if let Some(first) = self.first() {
                let half = usize::from(group.first().is_some_and(|day| *day >= first));
                halves[half].days.extend(group);
                continue;
            }
            // The odd day goes to one half, then to the other.
            let middle = (group.len() + larger) / 2;
            larger ^= group.len() % 2;
            halves[0].days.extend_from_slice(&group[..middle]);
            halves[1].days.extend_from_slice(&group[middle..]);
        }
        for half in &mut halves {
            half.days.shuffle(stream);
            half.days
                .iter()
                .for_each(|d| half.weights[*d] = weights[*d]);
        }
        halves
    }

    /// The days of each group; forward in time, those before and after the split apart.
    fn strata(&self) -> Vec<Vec<usize>> {
        let fitted = self.judge.laws.fitted;
        let mut strata = vec![Vec::new(); 2 * fitted.laws.len()];
        for (day, group) in fitted.group_of_day.iter().enumerate() {
            let later = self.first().is_some_and(|first| day >= first);
            strata[2 * group + usize::from(later)].push(day);
        }
        strata
    }

    /// The random stream of a draw; draw 0 is the log itself, split by split.
    fn stream(&self, draw: usize, split: usize) -> ChaCha8Rng {
        let mut key = [0; 32];
        let purpose = u64::from_le_bytes(*b"days    ");
        let words = [self.seed, draw as u64, purpose, split as u64];
        for (bytes, word) in key.chunks_exact_mut(8).zip(words) {
            bytes.copy_from_slice(&u64::to_le_bytes(word));
        }
        ChaCha8Rng::from_seed(key)
    }
}

/// A half of the days.
struct Half {
    /// Its days, in random order.
    days: Vec<usize>,
    /// Weights of all days: 0 outside.
    weights: Vec<f64>,
}
