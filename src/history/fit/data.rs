//! The offers of a log as the data of a regression.

use crate::history::log::LabeledLog;
use crate::history::task_file::ActionScale;

/// Every offer: its context, its action and its outcome.
#[derive(Debug, Clone)]
pub struct OfferData {
    /// Number of features.
    pub dimension: usize,
    /// Whether the first feature is a constant 1.
    pub has_constant: bool,
    /// Features, offer by offer.
    pub thetas: Vec<f64>,
    /// Actions, from 1.
    pub actions: Vec<u32>,
    /// 1 if the offer was accepted, else 0.
    pub labels: Vec<f64>,
    /// The episode of each offer.
    pub episodes: Vec<u32>,
    /// The step of each offer, 0-based.
    pub steps: Vec<u32>,
    /// The arrival of each offer in the log.
    pub arrivals: Vec<u32>,
    /// (value - mean) / deviation of the actions 1, 2, ...
    pub scaled: Vec<f64>,
    /// Number of episodes of the log, including those without offers.
    pub episode_count: usize,
}

impl OfferData {
    /// The offers of a log, whose actions have these values.
    pub fn new(log: &LabeledLog, has_constant: bool, scale: &ActionScale, values: &[f64]) -> Self {
        let mut data = Self {
            dimension: log.dimension(),
            has_constant,
            thetas: Vec::new(),
            actions: Vec::new(),
            labels: Vec::new(),
            episodes: Vec::new(),
            steps: Vec::new(),
            arrivals: Vec::new(),
            scaled: values.iter().map(|value| scale.scaled(*value)).collect(),
            episode_count: log.episodes().len(),
        };
        for (number, episode) in log.episodes().iter().enumerate() {
            for i in episode.arrivals.clone() {
                let arrival = log.arrivals()[i];
                if arrival.action > 0 {
                    data.thetas.extend_from_slice(log.theta(i));
                    data.actions.push(arrival.action);
                    data.labels.push(f64::from(u8::from(arrival.accepted)));
                    data.episodes.push(number as u32);
                    data.steps.push(arrival.step);
                    data.arrivals.push(i as u32);
                }
            }
        }
        data
    }

    /// Number of offers.
    pub fn len(&self) -> usize {
        self.actions.len()
    }

    /// Whether nothing was offered.
    pub fn is_empty(&self) -> bool {
        self.actions.is_empty()
    }

    /// Number of actions.
    pub fn action_count(&self) -> usize {
        self.scaled.len()
    }

    /// The features of an offer.
    pub fn theta(&self, offer: usize) -> &[f64] {
        &self.thetas[offer * self.dimension..(offer + 1) * self.dimension]
    }

    /// Offers and acceptances of each action, weighted.
    pub fn counts(&self, weights: Option<&[f64]>) -> Vec<(f64, f64)> {
        let mut counts = vec![(0.0, 0.0); self.action_count()];
        for (i, (&action, &y)) in self.actions.iter().zip(&self.labels).enumerate() {
            let weight = weights.map_or(1.0, |w| w[i]);
            let (offers, accepted) = &mut counts[action as usize - 1];
            *offers += weight;
            *accepted += weight * y;
        }
        counts
    }

    /// The weight of every offer, given those of episodes.
    pub fn weights(&self, of_episode: impl Fn(usize) -> f64) -> Vec<f64> {
        self.episodes
            .iter()
            .map(|e| of_episode(*e as usize))
            .collect()
    }
}
