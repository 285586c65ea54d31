//! Errors as Python exceptions: ValueError with the message of the command line, RuntimeError for a backend that cannot run,
//! OSError for a full disk.

use std::fmt::Display;

use cbwk_gpu::dp::BackendError;
use cbwk_gpu::error::{InputError, Invalid, OutputError};
use cbwk_gpu::experiment::RunError;
use cbwk_gpu::learner::LearnerError;
use cbwk_gpu::runs::RunsError;
use pyo3::PyErr;
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};

/// A wrong argument.
pub fn wrong(message: impl Display) -> PyErr {
    PyValueError::new_err(message.to_string())
}

/// A wrong argument: its name, what was found and what is accepted.
pub fn refused(field: &str, found: impl ToString, accepted: impl Into<String>) -> PyErr {
    wrong(Invalid::new(field, found, accepted))
}

/// A wrong input file or field.
pub fn of_input(error: InputError) -> PyErr {
    wrong(error)
}

/// A backend that failed.
pub fn of_backend(error: BackendError) -> PyErr {
    match error {
        BackendError::NotFinite { .. } | BackendError::Structure { .. } => wrong(error),
        _ => PyRuntimeError::new_err(error.to_string()),
    }
}

/// A path that cannot be written.
pub fn of_output(error: &OutputError) -> PyErr {
    match error.is_wrong_input() {
        true => wrong(error),
        false => PyOSError::new_err(error.to_string()),
    }
}

/// A call that a learner refuses.
pub fn of_learner(error: LearnerError) -> PyErr {
    match error {
        LearnerError::Backend(error) => of_backend(error),
        error => wrong(error),
    }
}

/// A study that ended early.
pub fn of_run(error: RunError) -> PyErr {
    match error {
        RunError::Invalid(error) => wrong(error),
        RunError::Backend(error) => of_backend(error),
        RunError::Sink(error) => match error.downcast::<OutputError>() {
            Ok(error) => of_output(&error),
            Err(error) => PyRuntimeError::new_err(error.to_string()),
        },
        RunError::Stopped => PyRuntimeError::new_err("stopped"),
    }
}

/// A study in a folder that ended early.
pub fn of_runs(error: RunsError) -> PyErr {
    match error {
        RunsError::Input(error) => of_input(error),
        RunsError::Output(error) => of_output(&error),
        RunsError::Run(error) => of_run(error),
    }
}
