//! Errors in the words of the command line, and their exit codes.

use thiserror::Error;

use super::interrupt::Interrupted;
use super::resources::TooLittle;
use cbwk_gpu::config::ServeError;
use cbwk_gpu::dp::BackendError;
use cbwk_gpu::error::{InputError, OutputError, printable};

/// A study ended early.
#[derive(Debug, Error)]
#[error("{reason}; finished replications are in {finished}, for --resume")]
pub struct Ended {
    /// What happened.
    pub reason: BackendError,
    /// The folder with what is finished.
    pub finished: String,
}

/// The message, with the option that would help where one would.
pub fn in_words(error: &anyhow::Error) -> String {
    printable(&with_help(error))
}

fn with_help(error: &anyhow::Error) -> String {
    if let Some(OutputError::Occupied { found, .. }) = error.downcast_ref() {
        let more = match found.as_str() {
            "records.jsonl" | "sweep.json" => "add --resume to go on, or --force to start anew",
            _ => "or add --force",
        };
        return format!("{error:#}, {more}");
    }
    let help = match error.downcast_ref() {
        Some(BackendError::Structure { strategy, needs }) => {
            return format!("--strategy {strategy} needs {needs}");
        }
        Some(BackendError::Unavailable { .. }) => " (`cbwk-gpu devices` tells more)",
        Some(BackendError::NoDoublePrecision { .. }) => "; use --precision f32",
        Some(BackendError::TooLarge { .. }) => ", or use --backend cpu",
        _ => "",
    };
    format!("{error:#}{help}")
}

/// 130 or 143 for an end that was asked for, 2 for wrong usage or input, 3 for a backend that cannot do the work, 1 for all else.
pub fn exit_code(error: &anyhow::Error) -> u8 {
    if let Some(interrupted) = error.downcast_ref::<Interrupted>() {
        return interrupted.exit_code();
    }
    let wrong_place = error
        .downcast_ref()
        .is_some_and(OutputError::is_wrong_input);
    let wrong_folder = error.is::<ServeError>();
    let wrong_strategy = matches!(error.downcast_ref(), Some(BackendError::Structure { .. }));
    if error.is::<InputError>()
        || wrong_folder
        || error.is::<TooLittle>()
        || wrong_place
        || wrong_strategy
    {
        2
    } else if error.is::<BackendError>() || error.is::<Ended>() {
        3
    } else {
        1
    }
}
