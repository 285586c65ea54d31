//! Why a backend cannot do its work. Messages never name an option or a file: those belong to the caller.

use thiserror::Error;

use super::TableError;

/// Why a backend cannot do its work (layer: dp).
#[derive(Debug, Clone, PartialEq, Error)]
pub enum BackendError {
    /// The backend that was asked for cannot run here.
    #[error("backend {backend} cannot run here: {reason}")]
    Unavailable {
        /// The backend asked for.
        backend: String,
        /// The reason.
        reason: String,
    },
    /// The adapter has no 64-bit shaders.
    #[error("{adapter} has no 64-bit shaders")]
    NoDoublePrecision {
        /// Its name.
        adapter: String,
    },
    /// The problem does not fit.
    #[error("{what} needs {bytes} where the adapter allows {limit}; reduce {reduce}")]
    TooLarge {
        /// What is too large.
        what: String,
        /// How large it is.
        bytes: u64,
        /// How large it may be.
        limit: u64,
        /// What to reduce.
        reduce: String,
    },
    /// The device is gone.
    #[error("the graphics device was lost: {reason}")]
    Lost {
        /// The driver's words.
        reason: String,
    },
    /// The device did not answer in time.
    #[error("the graphics device did not answer within {seconds:.0} s")]
    Timeout {
        /// How long the program waited.
        seconds: f64,
    },
    /// The device has no memory left.
    #[error("the graphics device is out of memory: {reason}")]
    OutOfMemory {
        /// The driver's words.
        reason: String,
    },
    /// The device or its interface refused a command.
    #[error("the graphics device refused a command: {reason}")]
    Rejected {
        /// The interface's words.
        reason: String,
    },
    /// The caller asked it to stop.
    #[error("stopped")]
    Stopped,
    /// The result is not a value table.
    #[error("the {backend} backend's value table cannot be right: {error}")]
    Table {
        /// The backend.
        backend: &'static str,
        /// What is wrong with it.
        error: TableError,
    },
    /// A bound of the problem is not a finite number.
    #[error(
        "context {entry}, action {action}: gain {gain} and lower bound {lcb} must be finite numbers"
    )]
    NotFinite {
        /// The context's entry in the sample, 0-based.
        entry: usize,
        /// The action, from 1 on.
        action: usize,
        /// ucb * r.
        gain: f64,
        /// lcb.
        lcb: f64,
    },
    /// A number is too large beside the others for 32-bit floats.
    #[error("{what} of {found:e} is too large for 32-bit floats, which take up to {limit:e} here")]
    Magnitude {
        /// What it is.
        what: String,
        /// The number.
        found: f64,
        /// What they take.
        limit: f64,
    },
    /// The problem lacks the structure that the strategy needs.
    #[error("strategy {strategy} needs {needs}")]
    Structure {
        /// The strategy's name.
        strategy: &'static str,
        /// What a problem must have for it.
        needs: &'static str,
    },
}

impl BackendError {
    /// Whether the error concerns only this batch, so that the backend may well solve the next one.
    pub(crate) fn concerns_batch_alone(&self) -> bool {
        matches!(
            self,
            Self::Table { .. } | Self::Magnitude { .. } | Self::TooLarge { .. }
        )
    }
}
