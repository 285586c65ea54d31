//! A check of the model: doubly robust acceptance by action, the mean over offers of
//! rho(x, a) + 1{a offered} / e(a|x) (y - rho(x, a)). rho is fitted on other folds, and e(a|x) is the probability that a was
//! offered.

use super::propensity;
use crate::history::fit::{EXACT, Fitted, Fitter, Folds, Model};

/// Minimum effective number of offers.
pub const LEAST_SAMPLE: f64 = 30.0;

/// The model's acceptance of an action, compared with the data.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ActionCheck {
    /// Mean acceptance by the model.
    pub model: f64,
    /// Doubly robust mean acceptance.
    pub robust: f64,
    /// Standard error of their difference, over episodes.
    pub standard_error: f64,
    /// Effective number of offers.
    pub sample: f64,
}

/// Smaller differences do not matter. Needed because the standard error is 0 if every offer was accepted.
const MIN_DIFFERENCE: f64 = 0.001;

impl ActionCheck {
    /// Why the data do not support the model for this action; `None` if they do.
    pub fn objection(&self) -> Option<String> {
        if self.sample < LEAST_SAMPLE {
            return Some(format!("only {:.0} effective offers", self.sample));
        }
        let difference = self.robust - self.model;
        (difference.abs() > f64::max(2.0 * self.standard_error, MIN_DIFFERENCE)).then(|| {
            format!(
                "the model says {:.1}%, the log's offers {:.1}% (standard error {:.1}%)",
                100.0 * self.model,
                100.0 * self.robust,
                100.0 * self.standard_error
            )
        })
    }
}

/// Checks every action of the log.
pub fn check(fitted: &Fitted) -> Vec<ActionCheck> {
    let data = &fitted.data;
    let folds = Folds::new(fitted.log.episodes().len());
    let models = held_out_models(fitted, &folds);
    let offered = match fitted.log.has_probabilities() {
        true => data
            .arrivals
            .iter()
            .map(|&i| fitted.log.arrivals()[i as usize].probability)
            .collect(),
        false => propensity::of_offers(data),
    };
    let n = data.len() as f64;
    let of_action = |action: usize| {
        let mut by_episode = vec![0.0; data.episode_count];
        let (mut model, mut correction, mut weights, mut squares) = (0.0, 0.0, 0.0, 0.0_f64);
        for (i, offered) in offered.iter().enumerate() {
            let episode = data.episodes[i] as usize;
            let rho = models[folds.of(episode)].rho(data.theta(i), action);
            model += rho / n;
            if data.actions[i] as usize == action {
                let weight = 1.0 / offered;
                let residual = weight * (data.labels[i] - rho) / n;
                correction += residual;
                by_episode[episode] += residual;
                weights += weight;
                squares += weight * weight;
            }
        }
        let episodes = data.episode_count as f64;
        let mean = correction / episodes;
        let spread: f64 = by_episode.iter().map(|x| (x - mean) * (x - mean)).sum();
        ActionCheck {
            model,
            robust: model + correction,
            standard_error: (spread * episodes / (episodes - 1.0).max(1.0)).sqrt(),
            sample: if squares > 0.0 {
                weights * weights / squares
            } else {
                0.0
            },
        }
    };
    (1..=data.action_count()).map(of_action).collect()
}

/// For each fold, the model fitted without it.
fn held_out_models(fitted: &Fitted, folds: &Folds) -> Vec<Model> {
    let fitter = Fitter::new(fitted.file.model.kind, &fitted.data);
    let lambda = fitted.file.model.lambda;
    let without = |fold: usize| {
        let outside = |episode: usize| f64::from(u8::from(folds.of(episode) != fold));
        let weights = fitted.data.weights(outside);
        let start = &fitted.fit.coefficients;
        fitter.fit(lambda, Some(&weights), Some(start), EXACT).model
    };
    (0..folds.count).map(without).collect()
}
