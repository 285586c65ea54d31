//! Why a run, a merge or a check ended early.

use thiserror::Error;

use crate::error::{InputError, OutputError};
use crate::experiment::RunError;

/// Why a run, a merge or a check ended early.
#[derive(Debug, Error)]
pub enum RunsError {
    /// A wrong input file.
    #[error(transparent)]
    Input(#[from] InputError),
    /// A file cannot be written.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// The study itself.
    #[error(transparent)]
    Run(RunError),
}

impl From<RunError> for RunsError {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Sink(error) => match error.downcast::<OutputError>() {
                Ok(error) => Self::Output(*error),
                Err(error) => Self::Run(RunError::Sink(error)),
            },
            other => Self::Run(other),
        }
    }
}
