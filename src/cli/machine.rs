//! Options that say how to compute, and the notes that go to standard error.

use std::path::{Path, PathBuf};

use super::args::{BackendChoice, MachineArgs, Precision, StrategyChoice};
use super::failure::printable;
use cbwk_gpu::config::{Document, nearest_preset, preset};
#[cfg(feature = "gpu")]
use cbwk_gpu::dp::Auto;
use cbwk_gpu::dp::cpu::{Cpu, Strategy};
#[cfg(feature = "gpu")]
use cbwk_gpu::dp::gpu::{AdapterSummary, Adapters, Gpu};
use cbwk_gpu::dp::{self, Backend, BackendError, ContextSample};
use cbwk_gpu::error::InputError;
use cbwk_gpu::task::Task;

/// The backend asked for, ready to solve.
pub fn backend(args: &MachineArgs) -> anyhow::Result<Box<dyn Backend>> {
    let f64 = args.precision == Some(Precision::F64);
    let forced = args.strategy != StrategyChoice::Auto;
    let on_cpu = args.backend == BackendChoice::Cpu || forced;
    if let (Some(adapter), true) = (&args.adapter, on_cpu) {
        let cause = if forced {
            "--strategy"
        } else {
            "--backend cpu"
        };
        return Err(InputError::Option {
            option: "--adapter".into(),
            message: format!(
                "found `{adapter}` with {cause}; accepted: with --backend auto or gpu"
            ),
        }
        .into());
    }
    match args.backend {
        BackendChoice::Gpu if forced => Err(InputError::Option {
            option: "--strategy".into(),
            message: "strategies are the CPU's; found --backend gpu, accepted: auto, cpu".into(),
        }
        .into()),
        BackendChoice::Gpu => Ok(gpu(args, f64)?),
        BackendChoice::Auto if !forced => Ok(auto(args, f64)),
        BackendChoice::Auto | BackendChoice::Cpu => Ok(Box::new(cpu(args))),
    }
}

fn strategy(args: &MachineArgs) -> Option<Strategy> {
    match args.strategy {
        StrategyChoice::Auto => None,
        StrategyChoice::Dense => Some(Strategy::Dense),
        StrategyChoice::AuctionEnvelope => Some(Strategy::AuctionEnvelope),
        StrategyChoice::GapEnvelope => Some(Strategy::GapEnvelope),
        StrategyChoice::SharedEnvelope => Some(Strategy::SharedEnvelope),
    }
}

/// Refuses a strategy that samples of the instance's rows will not have the structure for.
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

/// The CPU, with a word where an adapter was asked for.
fn without_adapter(args: &MachineArgs) -> Box<dyn Backend> {
    if let Some(adapter) = &args.adapter {
        let text = format!("--adapter {adapter}: found no real GPU; continuing on the CPU");
        warning(args.quiet, &text);
    }
    Box::new(cpu(args))
}

/// A real GPU beside the CPU, where there is one; software adapters never.
#[cfg(feature = "gpu")]
fn auto(args: &MachineArgs, f64: bool) -> Box<dyn Backend> {
    if !hardware_may_exist() {
        return without_adapter(args);
    }
    let adapters = Adapters::find_modern();
    if !adapters.summaries().any(AdapterSummary::is_worth_trying) {
        return without_adapter(args);
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
        Auto::measured(Box::new(cpu(args)), Box::new(gpu), warn)
    };
    match open() {
        Ok(auto) => Box::new(auto),
        Err(error) => {
            warning(args.quiet, &format!("{error}; continuing on the CPU"));
            Box::new(cpu(args))
        }
    }
}

/// Whether the system shows a graphics processor at all. Asking Vulkan takes longer, and some drivers talk to the
/// terminal when asked.
#[cfg(feature = "gpu")]
fn hardware_may_exist() -> bool {
    let nodes = [
        "/dev/dri",
        "/dev/nvidiactl",
        "/dev/dxg",
        "/dev/kgsl-3d0",
        "/dev/mali0",
    ];
    !cfg!(target_os = "linux") || nodes.iter().any(|node| Path::new(node).exists())
}

#[expect(clippy::print_stderr, reason = "warnings go to standard error")]
fn warning(quiet: bool, text: &str) {
    if !quiet {
        eprintln!("warning: {}", printable(text));
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
        eprintln!("note: {}", printable(text));
    }
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

/// The error of a preset that is not there.
pub fn no_preset(option: &str, name: &str) -> InputError {
    let hint = nearest_preset(name).map_or("`cbwk-gpu presets` lists them".into(), |near| {
        format!("nearest: `{near}`")
    });
    InputError::Option {
        option: option.into(),
        message: format!("found `{name}`; accepted: the name of a preset ({hint})"),
    }
}
