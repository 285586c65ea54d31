//! What a solver of Optimistic-DP must do.

use thiserror::Error;

use super::{Problem, ValueTable};

/// A solver of batches of problems, one per replication, of the same shape or not.
pub trait Backend: Send {
    /// A short name for reports, such as `cpu`.
    fn name(&self) -> &'static str;

    /// Value tables of all problems, in their order.
    fn solve(&mut self, batch: &[Problem]) -> Result<Vec<ValueTable>, BackendError>;
}

/// Why a backend cannot do its work (layer: dp).
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BackendError {
    /// The backend that was asked for cannot run here.
    #[error("backend {backend} cannot run here: {reason}")]
    Unavailable {
        /// The backend asked for.
        backend: String,
        /// The reason.
        reason: String,
    },
}
