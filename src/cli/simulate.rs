//! `cbwk-gpu simulate`.

use std::io::Write;
use std::path::Path;
use std::time::Instant;

use super::args::{Format, SimulateArgs};
use super::data::Data;
use super::interrupt::Interrupt;
use super::run::{Machine, results_folder, run_study, seconds};
use super::{machine, resources, sweep};
use cbwk_gpu::config::{Document, StudyFile, Sweep};
use cbwk_gpu::error::InputError;
use cbwk_gpu::report;

/// Runs the command.
pub fn simulate(args: &SimulateArgs) -> anyhow::Result<()> {
    let start = Instant::now();
    let mut document = machine::open_study(args.study.as_deref(), args.preset.as_deref())?;
    apply_overrides(args, &mut document);
    if let Some(sweep) = document.sweep()? {
        refuse_swept(args, &sweep)?;
        return sweep::simulate_all(args, &sweep);
    }
    let file = StudyFile::from_document(&document)?;
    machine::check_strategy(&args.machine, file.study.world.task())?;
    let threads = machine::start_threads(&args.machine)?;
    let mut backend = machine::backend(&args.machine)?;
    let out = args.out.as_deref().unwrap_or(Path::new("results"));
    resources::check_studies(std::iter::once(&file.study), out)?;
    let data = Data::read(std::iter::once(&file))?;
    let folder = results_folder(args.out.as_deref(), args.force, &file.study.name)?;
    data.write(&file, &folder)?;
    drop(data);
    let machine = Machine {
        args: &args.machine,
        threads,
        interrupt: Interrupt::listen()?,
    };
    let finished = run_study(&file, &folder, backend.as_mut(), &machine)?;
    let mut out = std::io::stdout().lock();
    match args.machine.format {
        Format::Json => out.write_all(finished.results.run.text().as_bytes())?,
        Format::Table => {
            let table = report::table::study(&finished.results);
            let (place, time) = (folder.path().display(), seconds(start.elapsed()));
            write!(out, "{table}\nresults in {place} ({time})\n")?;
        }
    }
    Ok(())
}

/// An option and a sweep of the same key cannot both be meant.
fn refuse_swept(args: &SimulateArgs, sweep: &Sweep) -> Result<(), InputError> {
    let options = [
        ("--episodes", "study.episodes", args.episodes.is_some()),
        ("--horizon", "study.horizon", args.horizon.is_some()),
        (
            "--replications",
            "study.replications",
            args.replications.is_some(),
        ),
        ("--seed", "study.seed", args.seed.is_some()),
        ("--delta", "study.delta", args.delta.is_some()),
        ("--budget", "budget", args.budget.is_some()),
    ];
    for (option, key, given) in options {
        let swept = sweep.keys.iter().find(|swept| swept.starts_with(key));
        if let (Some(swept), true) = (swept, given) {
            return Err(InputError::Option {
                option: option.into(),
                message: format!("found with a sweep of `{swept}`; accepted: one of them"),
            });
        }
    }
    Ok(())
}

fn apply_overrides(args: &SimulateArgs, document: &mut Document) {
    let wholes = [
        ("episodes", args.episodes),
        ("horizon", args.horizon),
        ("replications", args.replications),
        ("seed", args.seed),
    ];
    for (key, value) in wholes {
        if let Some(value) = value {
            document.set_whole("study", key, value, &format!("--{key}"));
        }
    }
    if let Some(delta) = args.delta {
        document.set_number("study", "delta", delta, "--delta");
    }
    if args.expected {
        document.set_flag("study", "expected", true, "--expected");
    }
    if let Some(budget) = args.budget {
        document.set_constant_budget(budget, "--budget");
    }
    if !args.policies.is_empty() {
        document.choose_policies(&args.policies, "--policy");
    }
}
