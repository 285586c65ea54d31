//! Messages and exit codes of errors.

use thiserror::Error;

use super::interrupt::Interrupted;
use super::resources::TooLittle;
use cbwk_gpu::dp::BackendError;
use cbwk_gpu::error::{InputError, OutputError, printable};
use cbwk_gpu::shop::ServeError;

/// A study ended early.
#[derive(Debug, Error)]
#[error("{reason}; finished replications are in {finished}, for --resume")]
pub struct Ended {
    /// The error.
    pub reason: BackendError,
    /// The folder of the finished replications.
    pub finished: String,
}

/// The message, with an option that would help.
pub fn in_words(error: &anyhow::Error) -> String {
    printable(&with_help(error))
}

fn with_help(error: &anyhow::Error) -> String {
    if let Some(OutputError::Occupied { found, .. }) = error.downcast_ref() {
        let more = match found.as_str() {
            "records.jsonl" | "sweep.json" => {
                "add --resume to resume it, or --force to start again"
            }
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

/// 130 or 143 after a signal, 2 for wrong usage or input, 3 for a backend that cannot do the work, else 1.
pub fn exit_code(error: &anyhow::Error) -> u8 {
    if let Some(interrupted) = error.downcast_ref::<Interrupted>() {
        return interrupted.exit_code();
    }
    let output = error.downcast_ref();
    let wrong_place = output.is_some_and(OutputError::is_wrong_input);
    let wrong_strategy = matches!(error.downcast_ref(), Some(BackendError::Structure { .. }));
    let wrong_file = error.is::<InputError>() || error.is::<ServeError>();
    if wrong_file || error.is::<TooLittle>() || wrong_place || wrong_strategy {
        2
    } else if error.is::<BackendError>() || error.is::<Ended>() {
        3
    } else {
        1
    }
}
