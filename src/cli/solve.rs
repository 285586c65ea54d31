//! `cbwk-gpu solve`.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use serde::Serialize;

use super::args::{Format, SolveArgs};
use super::{machine, sample_sizes};
use cbwk_gpu::config::instance_from_document;
use cbwk_gpu::error::InputError;
use cbwk_gpu::experiment::{Optimum, Purpose, Streams};
use cbwk_gpu::model::{ContextRows, Instance};
use cbwk_gpu::report;
use cbwk_gpu::results::{OptimumByBudget, csv_text, value_rows, write_whole};

/// Runs the command.
pub fn solve(args: &SolveArgs) -> anyhow::Result<()> {
    let mut document = machine::open_study(args.instance.as_deref(), args.preset.as_deref())?;
    if let Some(budget) = args.budget {
        document.set_constant_budget(budget, "--budget");
    }
    let name = document.name();
    let (instance, seed, optimum_rows) = instance_from_document(&document)?;
    let instance = Arc::new(instance);
    let rows = match &args.contexts {
        Some(file) => Some(read_rows(file, &instance)?),
        None if instance.contexts().is_finite() => None,
        None => {
            let mut stream = Streams::new(seed).of_study(Purpose::Optimum);
            Some(instance.contexts().draw_rows(&mut stream, optimum_rows))
        }
    };
    let mut backend = machine::backend(&args.machine)?;
    machine::start_threads(&args.machine)?;
    for note in instance.notes() {
        machine::note(&args.machine, note);
    }
    if !args.sample_sizes.is_empty() {
        return sample_sizes::study(
            args,
            &name,
            &instance,
            seed,
            rows.as_ref(),
            backend.as_mut(),
        );
    }
    let optimum = match rows {
        Some(rows) => Optimum::from_rows(&instance, &rows, backend.as_mut())?,
        None => Optimum::exact(&instance, backend.as_mut())?.context("the law is finite")?,
    };
    if let Some(path) = &args.out {
        write_whole(path, &csv_text(value_rows(&optimum.table)))?;
    }
    let how = match &optimum.estimate {
        None => "exact optimum of the finite context law".to_string(),
        Some(estimate) => format!("optimum estimated from {} context rows", estimate.rows),
    };
    let optima = OptimumByBudget::new(&optimum, 0..=instance.budgets().max());
    let mut out = std::io::stdout().lock();
    match args.machine.format {
        Format::Table => {
            let headline = format!("{name}: {how}, H = {}", instance.horizon());
            write!(out, "{}", report::table::optimum(&headline, &optima))?;
        }
        Format::Json => {
            let done = backend.report();
            let solved = Solved {
                version: env!("CARGO_PKG_VERSION"),
                instance: &name,
                horizon: instance.horizon(),
                backend: &done.backend,
                precision: &done.precision,
                strategies: done.strategies.iter().cloned().collect(),
                exact: optimum.estimate.is_none(),
                optima,
            };
            writeln!(out, "{}", serde_json::to_string_pretty(&solved)?)?;
        }
    }
    Ok(())
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

fn read_rows(file: &Path, instance: &Instance) -> Result<ContextRows, InputError> {
    let rows = ContextRows::read(file, instance.horizon())?;
    instance
        .check_rows(&rows)
        .map_err(|invalid| InputError::File {
            file: file.to_path_buf(),
            message: invalid.to_string(),
        })?;
    Ok(rows)
}
