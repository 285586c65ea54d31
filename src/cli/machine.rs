//! Options that say how to compute, and the notes that go to standard error.

use std::path::{Path, PathBuf};

use super::args::{BackendChoice, MachineArgs, Precision};
use crate::dp::cpu::Dense;
use crate::dp::gpu::{AdapterSummary, Adapters, Gpu, hardware_may_exist};
use crate::dp::{Auto, Backend, BackendError};
use crate::error::InputError;
use crate::study::{Document, nearest_preset, preset};

/// The backend asked for, ready to solve.
pub fn backend(args: &MachineArgs) -> Result<Box<dyn Backend>, BackendError> {
    let f64 = args.precision == Some(Precision::F64);
    match args.backend {
        BackendChoice::Gpu => Ok(Box::new(Gpu::open(args.adapter.as_deref(), f64)?)),
        BackendChoice::Auto => auto(args, f64),
        BackendChoice::Cpu => cpu(args),
    }
}

fn cpu(args: &MachineArgs) -> Result<Box<dyn Backend>, BackendError> {
    if args.precision == Some(Precision::F32) {
        return Err(BackendError::Unavailable {
            backend: "with f32".into(),
            reason: "the CPU computes in f64 only, and no other backend was asked for or found"
                .into(),
        });
    }
    Ok(Box::new(Dense))
}

/// A real GPU beside the CPU, where there is one; software adapters never.
fn auto(args: &MachineArgs, f64: bool) -> Result<Box<dyn Backend>, BackendError> {
    if !hardware_may_exist() {
        return cpu(args);
    }
    let adapters = Adapters::find_modern();
    if !adapters.summaries().any(AdapterSummary::is_worth_trying) {
        return cpu(args);
    }
    let open = || -> Result<Auto, BackendError> {
        let (summary, adapter) = adapters.take(args.adapter.as_deref())?;
        if !summary.is_worth_trying() {
            return Err(BackendError::Unavailable {
                backend: "auto".into(),
                reason: format!(
                    "{} is a software adapter (--backend gpu takes it)",
                    summary.name
                ),
            });
        }
        let gpu = Gpu::open_adapter(summary, &adapter, f64)?;
        let quiet = args.quiet;
        let warn = move |text: &str| warning(quiet, text);
        Auto::calibrated(Box::new(Dense), Box::new(gpu), warn)
    };
    match open() {
        Ok(auto) => Ok(Box::new(auto)),
        Err(error) => {
            warning(args.quiet, &format!("{error}; continuing on the CPU"));
            cpu(args)
        }
    }
}

#[expect(clippy::print_stderr, reason = "warnings go to standard error")]
fn warning(quiet: bool, text: &str) {
    if !quiet {
        eprintln!("warning: {text}");
    }
}

/// Starts the worker threads; returns their number.
pub fn start_threads(args: &MachineArgs) -> anyhow::Result<usize> {
    set_threads(args.threads)
}

/// Starts this many worker threads, by default one per core.
pub fn set_threads(threads: Option<u16>) -> anyhow::Result<usize> {
    let threads = threads.map_or(0, usize::from);
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

/// The study file, a preset, or by default paper-auction.
pub fn open_study(file: Option<&Path>, preset_name: Option<&str>) -> Result<Document, InputError> {
    if let Some(file) = file {
        return Document::read(file);
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
    Document::parse(&label, found.text)
}
