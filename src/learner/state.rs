//! The saved state of a learner: all that a restart needs, for any serde format.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::LearnerError;
use crate::error::Invalid;
use crate::policy::SavedLearner;
use crate::task::{Context, EpisodeContexts, Task};

/// The state of a learner, made by [`super::Learner::save`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LearnerState {
    pub(super) episodes: usize,
    pub(super) offers: u64,
    pub(super) open: Option<OpenEpisode>,
    pub(super) waiting: Vec<OpenOffer>,
    pub(super) edits: BTreeMap<u64, Option<bool>>,
    pub(super) removed: Vec<u64>,
    pub(super) policy: SavedLearner,
}

/// An episode that has begun.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct OpenEpisode {
    pub budget: u32,
    pub held: u32,
    pub spent: u32,
    pub oversold: u32,
    pub reward: f64,
    pub contexts: EpisodeContexts,
}

impl OpenEpisode {
    /// Records an arrival.
    pub fn arrive(&mut self, context: &Context) {
        self.contexts.arrive(context.step, |slot| {
            slot.copy_from_slice(context.features);
            context.point
        });
    }
}

/// An offer without an outcome.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct OpenOffer {
    pub number: u64,
    pub episode: usize,
    pub step: usize,
    pub features: Vec<f64>,
    pub action: usize,
    pub cost: u32,
    pub reward: f64,
    /// Whether it still holds its units.
    pub holds: bool,
}

impl LearnerState {
    /// Checks that the state fits the task: files may be damaged.
    pub(super) fn check(&self, task: &Task) -> Result<(), LearnerError> {
        let wrong = |what: &str| {
            let accepted = "a state saved by a learner for the same task";
            Err(Invalid::new("state", what, accepted).into())
        };
        let held: u64 = self
            .waiting
            .iter()
            .filter(|offer| offer.holds && offer.episode == self.episodes)
            .map(|offer| u64::from(offer.cost))
            .sum();
        match &self.open {
            Some(open) if open.budget > task.ceiling_limit() => {
                return wrong("a budget too large");
            }
            Some(open) if held > u64::from(open.budget) => return wrong("more held than left"),
            Some(open) if held != u64::from(open.held) => return wrong("other units held"),
            Some(open) => task.check_contexts(&open.contexts)?,
            None => {}
        }
        for offer in &self.waiting {
            let fits = offer.step < task.horizon()
                && (1..=task.actions()).contains(&offer.action)
                && (1..=self.episodes).contains(&offer.episode);
            if !fits {
                return wrong("an offer of another task");
            }
            task.check_context(&offer.features)?;
        }
        Ok(())
    }
}
