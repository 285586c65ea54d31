//! The labeled log of real episodes: arrivals, offers and outcomes.

mod numbers;
mod read;
mod write;

use crate::learner::Labeled;
use crate::task::{Context, EpisodeContexts, Task};

pub(super) use numbers::EpisodeNumbers;
pub use read::{FeatureColumns, LogForm};
pub(super) use write::{LogRow, LogWriter};

/// A labeled log. Arrivals are sorted by episode and step.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LabeledLog {
    features: Vec<String>,
    thetas: Vec<f64>,
    arrivals: Vec<LogArrival>,
    episodes: Vec<LogEpisode>,
    has_probabilities: bool,
}

/// A customer's arrival.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LogArrival {
    /// Step within the episode, 0-based.
    pub step: u32,
    /// The action offered; 0 is none.
    pub action: u32,
    /// Whether it was accepted.
    pub accepted: bool,
    /// The probability with which the action was chosen; 1 if not known.
    pub probability: f64,
}

/// An episode of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEpisode {
    /// Its label.
    pub label: String,
    /// Starting budget, if the log has it.
    pub budget: Option<u32>,
    /// The range of its arrivals.
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
    pub fn episodes(&self) -> &[LogEpisode] {
        &self.episodes
    }

    /// All arrivals, episode by episode.
    pub fn arrivals(&self) -> &[LogArrival] {
        &self.arrivals
    }

    /// The features of an arrival.
    pub fn theta(&self, arrival: usize) -> &[f64] {
        &self.thetas[arrival * self.dimension()..(arrival + 1) * self.dimension()]
    }

    /// Whether the log has the probabilities of its actions.
    pub fn has_probabilities(&self) -> bool {
        self.has_probabilities
    }

    /// The log with the episodes of another one of the same task after its own.
    pub fn followed_by(mut self, other: Self) -> Self {
        let first = self.arrivals.len();
        self.has_probabilities &= other.has_probabilities;
        self.thetas.extend(other.thetas);
        self.arrivals.extend(other.arrivals);
        let shifted = other.episodes.into_iter().map(|episode| LogEpisode {
            arrivals: episode.arrivals.start + first..episode.arrivals.end + first,
            ..episode
        });
        self.episodes.extend(shifted);
        self
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

    /// Reward and cost of the accepted offers of an episode.
    pub fn earned(&self, task: &Task, episode: &LogEpisode) -> (f64, u32) {
        let accepted = episode
            .arrivals
            .clone()
            .filter(|&i| self.arrivals[i].accepted);
        accepted.fold((0.0, 0), |(reward, spent), i| {
            let context = self.context(task, i);
            let value = task
                .application()
                .action_value(self.arrivals[i].action as usize);
            // Also of a price that is no longer offered.
            let sale = task.application().sale_at(&context, value);
            let (earned, cost) = sale.unwrap_or((0.0, 0));
            (reward + earned, spent + cost)
        })
    }

    /// The contexts of an episode.
    pub fn contexts(&self, task: &Task, episode: &LogEpisode) -> EpisodeContexts {
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

    /// Every offer with its outcome, for a learner.
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
