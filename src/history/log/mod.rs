//! The labeled log of real episodes: who came when, what they were offered, what they did.

mod read;

use crate::learner::Labeled;
use crate::task::{Context, EpisodeContexts, Task};

pub use read::{FeatureColumns, LogForm};

/// A labeled log. Arrivals of an episode stand together, in the order of their steps.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LabeledLog {
    features: Vec<String>,
    thetas: Vec<f64>,
    arrivals: Vec<Arrival>,
    episodes: Vec<Episode>,
    has_probabilities: bool,
}

/// Somebody who came.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Arrival {
    /// Step within the episode, 0-based.
    pub step: u32,
    /// The action offered; 0 is none.
    pub action: u32,
    /// Whether it was accepted.
    pub accepted: bool,
    /// The probability with which the action was chosen; 1 where that is not known.
    pub probability: f64,
}

/// An episode of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Episode {
    /// What the log calls it.
    pub label: String,
    /// Units at its start, where the log has them.
    pub budget: Option<u32>,
    /// Its first arrival and the one after its last.
    pub arrivals: std::ops::Range<usize>,
}

impl LabeledLog {
    /// Names of the features.
    pub fn features(&self) -> &[String] {
        &self.features
    }

    /// Number of features of a context.
    pub fn dimension(&self) -> usize {
        self.features.len()
    }

    /// All episodes.
    pub fn episodes(&self) -> &[Episode] {
        &self.episodes
    }

    /// All arrivals, episode by episode.
    pub fn arrivals(&self) -> &[Arrival] {
        &self.arrivals
    }

    /// The features of an arrival.
    pub fn theta(&self, arrival: usize) -> &[f64] {
        &self.thetas[arrival * self.dimension()..(arrival + 1) * self.dimension()]
    }

    /// Whether the log knows with which probabilities actions were chosen.
    pub fn has_probabilities(&self) -> bool {
        self.has_probabilities
    }

    /// Number of offers.
    pub fn offers(&self) -> usize {
        self.arrivals.iter().filter(|a| a.action > 0).count()
    }

    /// Number of accepted offers.
    pub fn accepted(&self) -> usize {
        self.arrivals.iter().filter(|a| a.accepted).count()
    }

    /// An arrival as a context of the task.
    pub fn context<'l>(&'l self, task: &Task, arrival: usize) -> Context<'l> {
        task.context(self.arrivals[arrival].step as usize, self.theta(arrival))
    }

    /// What the accepted offers of an episode earned, and the units that they took.
    pub fn earned(&self, task: &Task, episode: &Episode) -> (f64, u32) {
        let accepted = episode
            .arrivals
            .clone()
            .filter(|&i| self.arrivals[i].accepted);
        accepted.fold((0.0, 0), |(reward, spent), i| {
            let context = self.context(task, i);
            let action = self.arrivals[i].action as usize;
            let cost = task.cost(&context, action);
            (reward + task.reward(&context, action), spent + cost)
        })
    }

    /// The contexts of an episode.
    pub fn contexts(&self, task: &Task, episode: &Episode) -> EpisodeContexts {
        let mut contexts = EpisodeContexts::new(self.dimension());
        for i in episode.arrivals.clone() {
            let context = self.context(task, i);
            contexts.arrive(context.step, |slot| {
                slot.copy_from_slice(context.features);
                context.point
            });
        }
        contexts
    }

    /// Every offer with its outcome, as a learner takes it.
    pub fn labeled(&self) -> impl Iterator<Item = Labeled<'_>> {
        let offers = self
            .arrivals
            .iter()
            .enumerate()
            .filter(|(_, a)| a.action > 0);
        offers.map(|(i, arrival)| Labeled {
            step: arrival.step as usize + 1,
            features: self.theta(i),
            action: arrival.action as usize,
            accepted: arrival.accepted,
        })
    }
}
