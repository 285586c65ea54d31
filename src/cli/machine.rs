//! Options that say how to compute, and the notes that go to standard error.

use std::path::{Path, PathBuf};

use super::args::{BackendChoice, MachineArgs, Precision};
use crate::dp::cpu::Dense;
use crate::dp::{Backend, BackendError};
use crate::error::InputError;
use crate::study::{Document, nearest_preset, preset};

/// The backend asked for, ready to solve.
pub fn backend(args: &MachineArgs) -> Result<Box<dyn Backend>, BackendError> {
    let unavailable = |backend: &str, reason: &str| {
        Err(BackendError::Unavailable {
            backend: backend.into(),
            reason: reason.into(),
        })
    };
    match (args.backend, args.precision) {
        (BackendChoice::Gpu, _) => unavailable("gpu", "this build computes on the CPU only"),
        (_, Some(Precision::F32)) => unavailable("cpu", "it computes in f64 only (asked for f32)"),
        _ => Ok(Box::new(Dense)),
    }
}

/// Starts the worker threads.
pub fn start_threads(args: &MachineArgs) -> anyhow::Result<usize> {
    let threads = args.threads.map_or(0, usize::from);
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build_global()?;
    Ok(rayon::current_num_threads())
}

/// A note to the user, unless it is unwanted.
#[expect(clippy::print_stderr, reason = "notes go to standard error")]
pub fn note(args: &MachineArgs, text: &str) {
    if !args.quiet {
        eprintln!("note: {text}");
    }
}

/// The study file, a preset, or by default paper-auction; with the name results go by.
pub fn open_study(
    file: Option<&Path>,
    preset_name: Option<&str>,
) -> Result<(String, Document), InputError> {
    if let Some(file) = file {
        let name = file
            .file_stem()
            .map_or("study".into(), |stem| stem.to_string_lossy().into());
        return Ok((name, Document::read(file)?));
    }
    let name = preset_name.unwrap_or("paper-auction");
    let Some(found) = preset(name) else {
        let hint = nearest_preset(name).map_or("`cbwk-gpu presets` lists them".into(), |near| {
            format!("nearest: `{near}`")
        });
        return Err(InputError::Option {
            option: "--preset".into(),
            message: format!("found `{name}`; accepted: the name of a preset ({hint})"),
        });
    };
    let label = PathBuf::from(format!("preset {name}"));
    Ok((name.to_string(), Document::parse(&label, found.text)?))
}
