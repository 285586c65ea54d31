//! Backend and threads from options, notes to standard error, and the study to open.

use std::path::{Path, PathBuf};

use anyhow::Context;

use super::colour;
use super::machine_args::{BackendChoice, MachineArgs, Precision, StrategyChoice};
use cbwk_gpu::config::{Document, nearest_preset, preset};
use cbwk_gpu::dp::cpu::{Cpu, Strategy};
#[cfg(feature = "gpu")]
use cbwk_gpu::dp::gpu::{Gpu, beside_cpu, hardware_may_exist};
use cbwk_gpu::dp::{self, Backend, BackendError, ContextSample};
use cbwk_gpu::error::{InputError, printable};
use cbwk_gpu::task::Task;

/// Opens the requested backend.
pub fn backend(args: &MachineArgs) -> anyhow::Result<Box<dyn Backend>> {
    let f64 = args.precision == Some(Precision::F64);
    let forced = args.strategy != StrategyChoice::Auto;
    let on_cpu = args.backend == BackendChoice::Cpu || forced;
    if let (Some(adapter), true) = (&args.adapter, on_cpu) {
        let cause = match forced {
            true => "--strategy",
            false => "--backend cpu",
        };
        let message =
            format!("found `{adapter}` with {cause}; accepted: with --backend auto or gpu");
        return Err(InputError::option("--adapter", message).into());
    }
    match args.backend {
        BackendChoice::Gpu if forced => {
            let message = "strategies are the CPU's; found --backend gpu, accepted: auto, cpu";
            Err(InputError::option("--strategy", message).into())
        }
        BackendChoice::Gpu => Ok(gpu(args, f64)?),
        BackendChoice::Auto if !forced => Ok(auto(args, f64)),
        BackendChoice::Auto | BackendChoice::Cpu => Ok(Box::new(cpu(args))),
    }
}

pub fn strategy(args: &MachineArgs) -> Option<Strategy> {
    match args.strategy {
        StrategyChoice::Auto => None,
        StrategyChoice::Dense => Some(Strategy::Dense),
        StrategyChoice::AuctionEnvelope => Some(Strategy::AuctionEnvelope),
        StrategyChoice::SharedEnvelope => Some(Strategy::SharedEnvelope),
    }
}

/// Refuses a strategy that does not suit samples of the task.
pub fn check_strategy(args: &MachineArgs, task: &Task) -> Result<(), BackendError> {
    match strategy(args) {
        Some(strategy) if !strategy.suits(&ContextSample::new(task, false)) => {
            Err(strategy.refused())
        }
        _ => Ok(()),
    }
}

fn cpu(args: &MachineArgs) -> Cpu {
    let terms = match args.precision {
        Some(Precision::F32) => dp::Precision::F32,
        Some(Precision::F64) | None => dp::Precision::F64,
    };
    Cpu::new(strategy(args), terms)
}

#[cfg(feature = "gpu")]
fn gpu(args: &MachineArgs, f64: bool) -> Result<Box<dyn Backend>, BackendError> {
    quiet_drivers();
    Ok(Box::new(Gpu::open(args.adapter.as_deref(), f64)?))
}

#[cfg(not(feature = "gpu"))]
fn gpu(_args: &MachineArgs, _f64: bool) -> Result<Box<dyn Backend>, BackendError> {
    Err(BackendError::Unavailable {
        backend: "gpu".into(),
        reason: "this program was built without graphics adapters".into(),
    })
}

#[cfg(not(feature = "gpu"))]
fn auto(args: &MachineArgs, _f64: bool) -> Box<dyn Backend> {
    without_adapter(args)
}

/// The CPU, with a warning if an adapter was requested.
fn without_adapter(args: &MachineArgs) -> Box<dyn Backend> {
    if let Some(adapter) = &args.adapter {
        let text = format!("--adapter {adapter}: found no real GPU; continuing on the CPU");
        warning(args.quiet, &text);
    }
    Box::new(cpu(args))
}

/// A hardware GPU beside the CPU, if there is one; never a software adapter.
#[cfg(feature = "gpu")]
fn auto(args: &MachineArgs, f64: bool) -> Box<dyn Backend> {
    if !hardware_may_exist() {
        return without_adapter(args);
    }
    quiet_drivers();
    let quiet = args.quiet;
    let warn = move |text: &str| warning(quiet, text);
    match beside_cpu(Box::new(cpu(args)), args.adapter.as_deref(), f64, warn) {
        Ok(Some(auto)) => Box::new(auto),
        Ok(None) => without_adapter(args),
        Err(error) => {
            warning(args.quiet, &format!("{error}; continuing on the CPU"));
            Box::new(cpu(args))
        }
    }
}

/// Without XDG_RUNTIME_DIR some drivers complain on standard error. The program then starts itself again with it set, before
/// anything is written.
#[cfg(feature = "gpu")]
pub fn quiet_drivers() {
    #[cfg(unix)]
    {
        use std::os::unix::process::CommandExt;
        let usable = |folder: std::ffi::OsString| Path::new(&folder).is_absolute();
        if std::env::var_os("XDG_RUNTIME_DIR").is_some_and(usable) {
            return;
        }
        if let Ok(program) = std::env::current_exe() {
            let mut again = std::process::Command::new(program);
            again.args(std::env::args_os().skip(1));
            again.env("XDG_RUNTIME_DIR", std::env::temp_dir());
            // Returns only if it fails; then the complaint stays.
            let _ = again.exec();
        }
    }
}

fn warning(quiet: bool, text: &str) {
    message(quiet, "warning", text);
}

fn message(quiet: bool, word: &str, text: &str) {
    if !quiet {
        super::say(&format!("{} {}", colour::word(word), printable(text)));
    }
}

/// Starts the worker threads and returns their number; by default one per core, or SLURM_CPUS_PER_TASK.
pub fn set_threads(threads: Option<u16>) -> anyhow::Result<usize> {
    let given = || std::env::var("SLURM_CPUS_PER_TASK").ok()?.parse().ok();
    let given = threads.map(usize::from).or_else(given);
    let threads = given.map_or(0, |threads: usize| threads.min(1024));
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .stack_size(8 << 20)
        .build_global()
        .context(
            "the worker threads cannot be started; see ulimit -u, or use fewer with --threads",
        )?;
    Ok(rayon::current_num_threads())
}

/// Prints a note.
pub fn note(quiet: bool, text: &str) {
    message(quiet, "note", text);
}

/// The study file, a preset, or by default paper-auction.
pub fn open_study(file: Option<&Path>, preset_name: Option<&str>) -> Result<Document, InputError> {
    if let Some(file) = file {
        return Document::read(file);
    }
    let name = preset_name.unwrap_or("paper-auction");
    let found = preset(name).ok_or_else(|| no_preset("--preset", name))?;
    let label = PathBuf::from(format!("preset {name}"));
    Document::parse(&label, found.text)
}

/// The error of an unknown preset.
pub fn no_preset(option: &str, name: &str) -> InputError {
    let hint = nearest_preset(name).map_or("`cbwk-gpu presets` lists them".into(), |near| {
        format!("nearest: `{near}`")
    });
    let message = format!("found `{name}`; accepted: the name of a preset ({hint})");
    InputError::option(option, message)
}
