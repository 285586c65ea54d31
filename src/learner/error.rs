//! Errors of a learner.

use thiserror::Error;

use crate::dp::BackendError;
use crate::error::Invalid;

/// A call that a learner refuses, or a plan that failed. The learner is unchanged, except after [`LearnerError::Backend`]:
/// then the episode has ended, and the old plan stays in force.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum LearnerError {
    /// An argument is wrong.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// `begin` while an episode is open.
    #[error("an episode is open; end it before the next begins")]
    EpisodeOpen,
    /// `decide` or `end` without an episode.
    #[error("no episode is open; begin one first")]
    NoEpisode,
    /// `observe` of an offer that is not waiting for an outcome.
    #[error("no offer {number} waits for an outcome")]
    NoOffer {
        /// The offer's number.
        number: u64,
    },
    /// `observe` without a number while no offer or several wait.
    #[error("{open} offers wait for an outcome; name one")]
    Ambiguous {
        /// How many.
        open: usize,
    },
    /// Planning failed.
    #[error(transparent)]
    Backend(#[from] BackendError),
}
