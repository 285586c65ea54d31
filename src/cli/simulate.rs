//! `cbwk-gpu simulate`.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::args::{SimulateArgs, TableFormat};
use super::run::{Machine, results_folder, run_study, seconds, shard};
use super::sweep::{self, Points};
use super::{machine, resources};
use cbwk_gpu::config::{Document, StudyFile, Sweep};
use cbwk_gpu::error::{InputError, OutputError};
use cbwk_gpu::experiment::Shard;
use cbwk_gpu::report;
use cbwk_gpu::results::{ResultsFolder, SweepIndex};
use cbwk_gpu::runs::Data;

/// Runs the command.
pub fn simulate(args: &SimulateArgs) -> anyhow::Result<()> {
    let start = Instant::now();
    let shard = shard(args.durable.shard.as_deref())?;
    if let Some(begun) = sweep_under_way(args, shard)? {
        return sweep::simulate_all(args, &begun, shard);
    }
    let mut document = open_study(args, shard)?;
    apply_overrides(args, &mut document);
    if let Some(sweep) = document.sweep()? {
        refuse_swept(args, &sweep)?;
        return sweep::simulate_all(args, &Points::of_sweep(&sweep)?, shard);
    }
    let file = StudyFile::from_document(&document)?;
    machine::check_strategy(&args.machine, file.study.world.task())?;
    let threads = machine::start_threads(&args.machine)?;
    let mut backend = machine::backend(&args.machine)?;
    let out = args.out.as_deref().unwrap_or(Path::new("results"));
    resources::check_studies(std::iter::once(&file.study), out)?;
    let data = Data::read(std::iter::once(&file))?;
    let folder = study_folder(args, shard, &file.study.name)?;
    write_data(&data, &file, &folder)?;
    drop(data);
    let machine = Machine::new(&args.machine, threads)?;
    let out = args.out.as_deref().unwrap_or(folder.path());
    let machine = machine.durable(&args.durable, shard, out);
    let finished = run_study(&file, &folder, backend.as_mut(), &machine)?;
    let mut out = std::io::stdout().lock();
    let (place, time) = (folder.path().display(), seconds(start.elapsed()));
    match (finished, args.machine.format) {
        (None, _) => writeln!(out, "finished in {place} ({time})")?,
        (Some(finished), TableFormat::Json) => {
            out.write_all(finished.results.run.text().as_bytes())?;
        }
        (Some(finished), format) => {
            let style = format.style();
            let table = report::table::study(&finished.results, style);
            let end = style.prose(&format!("\nresults in {place} ({time})"));
            write!(out, "{table}{end}")?;
        }
    }
    Ok(())
}

/// Whether what is gone on with is what the folder holds.
fn goes_on_alone(args: &SimulateArgs) -> bool {
    args.durable.resume && args.study.is_none() && args.preset.is_none()
}

/// The points of the sweep that is gone on with, where it is one and nothing else is asked for.
fn sweep_under_way(
    args: &SimulateArgs,
    shard: Option<Shard>,
) -> Result<Option<Points>, InputError> {
    let folder = out_folder(args, shard).filter(|_| goes_on_alone(args));
    let Some(folder) = folder else {
        return Ok(None);
    };
    let index = SweepIndex::read(&folder)?;
    index
        .map(|index| Points::of_folder(&folder, index, |document| apply_overrides(args, document)))
        .transpose()
}

/// The study asked for; with none, the one that is gone on with.
fn open_study(args: &SimulateArgs, shard: Option<Shard>) -> Result<Document, InputError> {
    if goes_on_alone(args) {
        let folder = out_folder(args, shard).unwrap_or_default();
        let file = folder.join("study.toml");
        if !file.is_file() {
            return Err(InputError::Option {
                option: "--resume".into(),
                message: format!(
                    "found no study in {}; accepted: the folder of a run, or its study file as well",
                    folder.display()
                ),
            });
        }
        return Document::read(&file);
    }
    machine::open_study(args.study.as_deref(), args.preset.as_deref())
}

/// Where the study or the shard goes, where that is said.
fn out_folder(args: &SimulateArgs, shard: Option<Shard>) -> Option<PathBuf> {
    let out = args.out.as_ref()?;
    Some(shard.map_or(out.clone(), |shard| out.join(shard.folder())))
}

/// The folder of the study or the shard, ready to start in or to go on in.
pub fn study_folder(
    args: &SimulateArgs,
    shard: Option<Shard>,
    name: &str,
) -> Result<ResultsFolder, OutputError> {
    let out = out_folder(args, shard);
    match (&out, args.durable.resume) {
        (Some(out), true) => ResultsFolder::prepare_to_resume(out),
        _ => results_folder(out.as_deref(), args.force, name),
    }
}

/// Writes the study and its data, unless a run that is gone on with has them; `study.toml` comes last.
pub fn write_data(
    data: &Data,
    file: &StudyFile,
    folder: &ResultsFolder,
) -> Result<(), OutputError> {
    match folder.path().join("study.toml").is_file() {
        true => Ok(()),
        false => data.write(file, folder),
    }
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
    if let Some(format) = &args.episodes_format {
        document.set_text("study", "episodes_format", format, "--episodes-format");
    }
    if args.trace {
        document.set_flag("study", "trace", true, "--trace");
    }
    if let Some(budget) = args.budget {
        document.set_constant_budget(budget, "--budget");
    }
    if let Some(reference) = &args.reference {
        document.set_text("study", "reference", reference, "--reference");
    }
    if !args.policies.is_empty() {
        document.choose_policies(&args.policies, "--policy");
    }
}
