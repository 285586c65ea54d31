//! What a learner refuses, as values.

use thiserror::Error;

use crate::dp::BackendError;
use crate::error::Invalid;

/// A call that a learner refuses, or a plan that could not be made. The learner is as it was before the call, but for
/// [`LearnerError::Backend`]: then the episode has ended, and the plan in force stays the old one.
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
    /// `observe` without a number where no offer, or more than one, is waiting.
    #[error("{open} offers wait for an outcome; name one")]
    Ambiguous {
        /// How many.
        open: usize,
    },
    /// The plan could not be made.
    #[error(transparent)]
    Backend(#[from] BackendError),
}
