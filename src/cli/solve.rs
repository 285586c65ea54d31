//! `cbwk-gpu solve`.

use std::collections::BTreeMap;
use std::io::Write;

use serde::Serialize;

use super::args::{SolveArgs, TableFormat};
use super::progress::Spinner;
use super::{machine, resources, sample_sizes};
use cbwk_gpu::config::Instance;
use cbwk_gpu::dp::Backend;
use cbwk_gpu::error::InputError;
use cbwk_gpu::experiment::{Purpose, Streams, optimum_memory};
use cbwk_gpu::report;
use cbwk_gpu::results::{OptimumByBudget, csv_text, value_rows, write_whole};
use cbwk_gpu::task::ContextRows;
use cbwk_gpu::world::Optimum;

/// Runs the command.
pub fn solve(args: &SolveArgs) -> anyhow::Result<()> {
    let mut document = machine::open_study(args.instance.as_deref(), args.preset.as_deref())?;
    if let Some(budget) = args.budget {
        document.set_constant_budget(budget, "--budget");
    }
    let name = document.name();
    let instance = Instance::from_document(&document)?;
    let world = &instance.world;
    let sizes = args.sample_sizes.iter().map(|rows| *rows as usize);
    let drawn =
        (args.contexts.is_none() && !world.task().is_finite()).then_some(instance.optimum_rows);
    let most = sizes.chain(drawn).max().unwrap_or(0);
    let accepted = "fewer rows (--sample-sizes, study.optimum_rows)";
    resources::check_memory(&name, optimum_memory(world, most), accepted)?;
    let days = world.contexts().days().len();
    let of_one_type = [
        ("--contexts", args.contexts.is_some()),
        ("--sample-sizes", !args.sample_sizes.is_empty()),
    ];
    if let Some((option, _)) = of_one_type.iter().find(|(_, asked)| *asked && days > 1) {
        let found = format!("a world with {days} types of day");
        let message = format!(
            "found {found}; accepted: worlds whose days are all alike, because rows do not say their type"
        );
        return Err(InputError::option(option, message).into());
    }
    let rows = args
        .contexts
        .as_ref()
        .map(|file| instance.read_rows(file))
        .transpose()?;
    machine::set_threads(args.machine.threads)?;
    let mut backend = machine::backend(&args.machine)?;
    for note in world.notes() {
        machine::note(args.machine.quiet, note);
    }
    if !args.sample_sizes.is_empty() {
        return sample_sizes::study(args, &name, &instance, rows, backend.as_mut());
    }
    let spinner = Spinner::start(args.machine.quiet, "solving");
    let optimum = optimum(&instance, rows, backend.as_mut())?;
    drop(spinner);
    if let Some(path) = &args.out {
        write_whole(path, &csv_text(value_rows(&optimum.table)))?;
    }
    let done = backend.report();
    let single = done.precision == "f32";
    let how = match &optimum.estimate {
        None if single => "optimum of the finite context law".to_string(),
        None => "exact optimum of the finite context law".to_string(),
        Some(estimate) => format!("optimum estimated from {} context rows", estimate.rows),
    };
    let how = match days {
        1 => how,
        _ => format!("{how}, the type of the day being known: the mean over {days} types"),
    };
    let how = match single {
        true => format!("{how}, computed in 32 bits (about six digits)"),
        false => how,
    };
    let optima = OptimumByBudget::new(&optimum, 0..=world.task().budget_max());
    let mut out = std::io::stdout().lock();
    match args.machine.format {
        TableFormat::Json => {
            let solved = Solved {
                version: env!("CARGO_PKG_VERSION"),
                instance: &name,
                horizon: world.task().horizon(),
                backend: &done.backend,
                precision: &done.precision,
                strategies: done.strategies.iter().cloned().collect(),
                exact: optimum.estimate.is_none() && !single,
                optima,
            };
            writeln!(out, "{}", serde_json::to_string_pretty(&solved)?)?;
        }
        format => {
            let headline = format!("{name}: {how}, H = {}", world.task().horizon());
            write!(
                out,
                "{}",
                report::table::optimum(&headline, &optima, format.style())
            )?;
        }
    }
    Ok(())
}

/// The optimum of the context law, or from given rows.
pub(super) fn optimum(
    instance: &Instance,
    rows: Option<ContextRows>,
    backend: &mut dyn Backend,
) -> anyhow::Result<Optimum> {
    let world = &instance.world;
    if let Some(rows) = rows {
        return Ok(Optimum::from_rows(world, rows, backend)?);
    }
    if let Some(optimum) = Optimum::exact(world, backend)? {
        return Ok(optimum);
    }
    let mut stream = Streams::new(instance.seed).of_study(Purpose::Optimum);
    Ok(Optimum::drawn(
        world,
        instance.optimum_rows,
        &mut stream,
        backend,
    )?)
}

/// What `--format json` prints.
#[derive(Serialize)]
struct Solved<'a> {
    version: &'a str,
    instance: &'a str,
    horizon: usize,
    backend: &'a str,
    precision: &'a str,
    strategies: BTreeMap<String, u64>,
    exact: bool,
    #[serde(flatten)]
    optima: OptimumByBudget,
}
