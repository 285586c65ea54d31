//! Candidates compared on held-out episodes: ten folds, log loss, and the simplest candidate within one standard error of
//! the best. Folds are the same for all, so the standard error is that of the difference.

use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;
use rayon::prelude::*;

use super::data::OfferData;
use super::design::ModelKind;
use super::file::CandidateFit;
use super::kernel::KERNEL_LIMIT;
use super::model::{Fitter, Model};
use crate::statistics::MeanAndError;

/// Folds of episodes.
pub const FOLDS: usize = 10;

/// Ridge penalties to try, the largest first: each fit starts from the one before.
const LAMBDAS: [f64; 6] = [1000.0, 100.0, 10.0, 1.0, 0.1, 0.01];

/// Penalties of kernel regressions to try.
const KERNEL_LAMBDAS: [f64; 4] = [30.0, 10.0, 3.0, 1.0];

/// The most offers for the comparison: more would not change it.
const COMPARED: usize = 100_000;

/// Held-out probabilities stay this far from 0 and 1, so that a single outcome cannot decide.
const CLIP: f64 = 1e-4;

/// The accuracy of the objective in the comparison.
const ROUGH: f64 = 1e-9;

/// The fold of every episode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folds {
    /// Number of folds.
    pub count: usize,
    of_episode: Vec<u8>,
}

impl Folds {
    /// Ten folds of `episodes` episodes, or one per episode if there are fewer, drawn from a fixed stream.
    pub fn new(episodes: usize) -> Self {
        let mut order: Vec<usize> = (0..episodes).collect();
        order.shuffle(&mut ChaCha8Rng::seed_from_u64(0x0066_6f6c_6473));
        let count = FOLDS.min(episodes.max(1));
        let mut of_episode = vec![0; episodes];
        for (place, episode) in order.into_iter().enumerate() {
            of_episode[episode] = (place % count) as u8;
        }
        Self { count, of_episode }
    }

    /// The fold of an episode.
    pub fn of(&self, episode: usize) -> usize {
        usize::from(self.of_episode[episode])
    }
}

/// A candidate on held-out episodes.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// Its figures.
    pub fit: CandidateFit,
    /// Log loss by fold.
    pub(super) by_fold: Vec<f64>,
    /// Held-out probability of every offer compared.
    pub held_out: Vec<f64>,
}

/// The comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The candidates, the simpler first.
    pub candidates: Vec<Candidate>,
    /// Index of the best.
    pub best: usize,
    /// Index of the one chosen.
    pub chosen: usize,
    /// Offers on which they were compared.
    pub offers: Vec<usize>,
    /// Log loss of the base rate.
    pub base_log_loss: f64,
    /// Mean squared error of the base rate.
    pub base_brier: f64,
}

impl Comparison {
    /// Compares all kinds that make sense for the data; `action` is what an action is called.
    pub fn run(data: &OfferData, folds: &Folds, action: &str) -> Self {
        let offers = compared_offers(data, folds);
        let weights: Vec<Vec<f64>> = (0..folds.count)
            .map(|fold| training_weights(data, folds, fold, &offers))
            .collect();
        let kinds: Vec<ModelKind> = ModelKind::ALL
            .into_iter()
            .filter(|kind| makes_sense(*kind, data))
            .collect();
        let mut candidates: Vec<Candidate> = kinds
            .into_par_iter()
            .map(|kind| candidate(kind, data, folds, &offers, &weights, action))
            .collect();
        let losses = candidates.iter().map(|c| c.fit.log_loss).enumerate();
        let best = losses
            .min_by(|a, b| a.1.total_cmp(&b.1))
            .map_or(0, |(i, _)| i);
        let best_one = candidates[best].clone();
        for candidate in &mut candidates {
            (candidate.fit.behind, candidate.fit.behind_error) = candidate.difference(&best_one);
        }
        let close = |candidate: &Candidate| candidate.fit.behind <= candidate.fit.behind_error;
        let chosen = candidates.iter().position(close).unwrap_or(best);
        candidates[chosen].fit.chosen = true;
        let base: Vec<f64> = base_rates(data, folds, &offers, &weights);
        let (base_log_loss, base_brier) = losses_of(data, &offers, &base);
        Self {
            candidates,
            best,
            chosen,
            offers,
            base_log_loss,
            base_brier,
        }
    }

    /// The candidate chosen.
    pub fn choice(&self) -> &Candidate {
        &self.candidates[self.chosen]
    }

    /// Why it was chosen.
    pub fn reason(&self) -> String {
        let (choice, best) = (&self.choice().fit, &self.candidates[self.best].fit);
        let name = &choice.title;
        if self.candidates.len() == 1 {
            return format!("{name}: the only candidate");
        }
        if self.chosen == self.best {
            let simpler = if self.chosen == 0 {
                ""
            } else {
                "; every simpler one is more than a standard error behind"
            };
            return format!(
                "{name}: the smallest held-out log loss ({:.4}){simpler}",
                choice.log_loss
            );
        }
        format!(
            "{name}: the simplest within one standard error of the best ({}: {:.4} better, standard error {:.4})",
            best.title, choice.behind, choice.behind_error
        )
    }
}

impl Candidate {
    /// Its log loss minus another's, and the standard error of the difference over folds.
    pub fn difference(&self, other: &Self) -> (f64, f64) {
        let pairs = self.by_fold.iter().zip(&other.by_fold);
        let differences: Vec<f64> = pairs.map(|(a, b)| a - b).collect();
        let behind = self.fit.log_loss - other.fit.log_loss;
        (behind, standard_error(&differences))
    }
}

/// Over folds; 0 for a single one.
fn standard_error(values: &[f64]) -> f64 {
    match values.len() {
        0 | 1 => 0.0,
        _ => MeanAndError::of(values).standard_error,
    }
}

fn makes_sense(kind: ModelKind, data: &OfferData) -> bool {
    let features = data.dimension - usize::from(data.has_constant);
    match kind {
        ModelKind::Rates | ModelKind::Logistic => true,
        // With two actions a slope says as much as two terms.
        ModelKind::Categories => data.action_count() > 2,
        ModelKind::Interactions => data.action_count() > 1 && features > 0,
        ModelKind::Kernel => (20..=KERNEL_LIMIT).contains(&data.len()),
    }
}

/// All offers, or those of randomly chosen episodes if there are very many.
fn compared_offers(data: &OfferData, folds: &Folds) -> Vec<usize> {
    if data.len() <= COMPARED {
        return (0..data.len()).collect();
    }
    let mut order: Vec<usize> = (0..folds.of_episode.len()).collect();
    order.shuffle(&mut ChaCha8Rng::seed_from_u64(0x7468_696e));
    let share = (COMPARED as f64 / data.len() as f64 * order.len() as f64) as usize;
    let mut taken = vec![false; order.len()];
    order[..share.max(1)].iter().for_each(|&e| taken[e] = true);
    let offers = 0..data.len();
    offers
        .filter(|&i| taken[data.episodes[i] as usize])
        .collect()
}

/// 1 for compared offers outside a fold.
fn training_weights(data: &OfferData, folds: &Folds, fold: usize, offers: &[usize]) -> Vec<f64> {
    let mut weights = vec![0.0; data.len()];
    for &i in offers {
        if folds.of(data.episodes[i] as usize) != fold {
            weights[i] = 1.0;
        }
    }
    weights
}

fn candidate(
    kind: ModelKind,
    data: &OfferData,
    folds: &Folds,
    offers: &[usize],
    weights: &[Vec<f64>],
    action: &str,
) -> Candidate {
    let fitter = Fitter::new(kind, data);
    let lambdas: &[f64] = match kind {
        ModelKind::Rates => &[0.0],
        ModelKind::Kernel => &KERNEL_LAMBDAS,
        _ => &LAMBDAS,
    };
    let fold_of = |n: usize| folds.of(data.episodes[offers[n]] as usize);
    let members: Vec<Vec<usize>> = (0..folds.count)
        .map(|fold| (0..offers.len()).filter(|&n| fold_of(n) == fold).collect())
        .collect();
    // By fold: held-out probabilities of its offers for each penalty.
    let found: Vec<Vec<Vec<f64>>> = (0..folds.count)
        .into_par_iter()
        .map(|fold| {
            let mut start: Option<Vec<f64>> = None;
            let of_lambda = |lambda: &f64| {
                let fit = fitter.fit(*lambda, Some(&weights[fold]), start.as_deref(), ROUGH);
                start = Some(fit.coefficients);
                let offers = members[fold].iter().map(|&n| offers[n]);
                offers.map(|i| held_out(&fit.model, data, i)).collect()
            };
            lambdas.iter().map(of_lambda).collect()
        })
        .collect();
    let mut tried = vec![vec![0.0; offers.len()]; lambdas.len()];
    for (members, by_lambda) in members.iter().zip(&found) {
        for (tried, found) in tried.iter_mut().zip(by_lambda) {
            members.iter().zip(found).for_each(|(&n, p)| tried[n] = *p);
        }
    }
    let losses: Vec<(f64, f64)> = tried.iter().map(|p| losses_of(data, offers, p)).collect();
    let best = (0..lambdas.len()).min_by(|&a, &b| losses[a].0.total_cmp(&losses[b].0));
    let l = best.unwrap_or_default();
    let ((log_loss, brier), held_out) = (losses[l], tried.swap_remove(l));
    let mean_loss = |members: &Vec<usize>| {
        let losses = members.iter();
        let losses = losses.map(|&n| log_loss_of(data.labels[offers[n]], held_out[n]));
        losses.sum::<f64>() / members.len().max(1) as f64
    };
    let by_fold: Vec<f64> = members.iter().map(mean_loss).collect();
    let fit = CandidateFit {
        kind,
        title: kind.title(action),
        parameters: fitter.parameters() as u64,
        lambda: lambdas[l],
        log_loss,
        standard_error: standard_error(&by_fold),
        behind: 0.0,
        behind_error: 0.0,
        brier,
        chosen: false,
    };
    Candidate {
        fit,
        by_fold,
        held_out,
    }
}

fn held_out(model: &Model, data: &OfferData, i: usize) -> f64 {
    let rho = model.rho(data.theta(i), data.actions[i] as usize);
    rho.clamp(CLIP, 1.0 - CLIP)
}

fn log_loss_of(y: f64, p: f64) -> f64 {
    -(y * p.ln() + (1.0 - y) * (1.0 - p).ln())
}

/// Mean log loss and mean squared error.
fn losses_of(data: &OfferData, offers: &[usize], held_out: &[f64]) -> (f64, f64) {
    let (mut log, mut square) = (0.0, 0.0);
    for (&i, p) in offers.iter().zip(held_out) {
        let y = data.labels[i];
        log += log_loss_of(y, *p);
        square += (y - p) * (y - p);
    }
    let n = offers.len().max(1) as f64;
    (log / n, square / n)
}

/// The rate of the other folds' offers, for every offer.
fn base_rates(data: &OfferData, folds: &Folds, offers: &[usize], weights: &[Vec<f64>]) -> Vec<f64> {
    let rate = |weights: &Vec<f64>| {
        let (n, s) = offers.iter().fold((0.0, 0.0), |(n, s), &i| {
            (n + weights[i], s + weights[i] * data.labels[i])
        });
        ((s + 0.5) / (n + 1.0_f64)).clamp(CLIP, 1.0 - CLIP)
    };
    let rates: Vec<f64> = weights.iter().map(rate).collect();
    offers
        .iter()
        .map(|&i| rates[folds.of(data.episodes[i] as usize)])
        .collect()
}
