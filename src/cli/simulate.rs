//! `cbwk-gpu simulate`: a study, or all points of a sweep.

use std::path::PathBuf;
use std::time::Instant;

use super::args::SimulateArgs;
use super::machine;
use super::runner::{StudyRunner, results_folder, shard};
use super::show::{Shown, place_and_time, print, show};
use super::studies::Studies;
use cbwk_gpu::config::Document;
use cbwk_gpu::error::{InputError, OutputError};
use cbwk_gpu::experiment::Shard;
use cbwk_gpu::report;
use cbwk_gpu::results::{ResultsFolder, SweepIndex};
use cbwk_gpu::runs;

/// Runs the command: open, check, run, show.
pub fn simulate(args: &SimulateArgs) -> anyhow::Result<()> {
    let start = Instant::now();
    let shard = shard(args.durable.shard.as_deref())?;
    let studies = open(args, shard)?;
    let files = &studies.files;
    let checked = files.iter().map(|file| &file.study);
    let mut runner = StudyRunner::start(&args.machine, checked, args.out.as_deref())?;
    let overwrite = args.force || args.durable.resume;
    let folder = || study_folder(args, shard, &files[0].study.name);
    let (folder, folders) = studies.prepare(folder, overwrite)?;
    let out = args.out.as_deref().unwrap_or(folder.path());
    runner.durable(&args.durable, shard, out);
    if let Ok(begun) = runs::made_with(folder.path()) {
        runner.options.command = begun.command;
    }
    let (mut runs, mut last) = (Vec::new(), None);
    for (number, (file, inner)) in files.iter().zip(&folders).enumerate() {
        studies.announce(number, args.machine.quiet);
        let others = || studies.finished(number, folder.path());
        last = runner.run(file, inner, others)?;
        runs.extend(last.as_ref().map(|results| results.run.clone()));
    }
    let place = place_and_time(folder.path(), start.elapsed());
    let shown = match (&studies.index, &last) {
        (_, None) => return print(&format!("finished in {place}\n")),
        (None, Some(results)) => Shown::Study(results),
        (Some(index), Some(_)) => {
            report::overview::write(index, &runs, &folder)?;
            Shown::Sweep(index, &runs)
        }
    };
    let last = format!("results in {place}");
    show(shown, args.machine.format, &args.columns, &last)
}

/// The requested study or sweep; with `--resume` alone, the one in the folder.
fn open(args: &SimulateArgs, shard: Option<Shard>) -> Result<Studies, InputError> {
    let change = |document: &mut Document| apply_overrides(args, document);
    let mut document = if resumes_folder(args) {
        let folder = out_folder(args, shard).unwrap_or_default();
        if let Some(index) = SweepIndex::read(&folder)? {
            return Studies::of_folder(&folder, index, change);
        }
        let file = folder.join("study.toml");
        if !file.is_file() {
            let folder = folder.display();
            let message = format!(
                "found no study in {folder}; accepted: the folder of a run, or its study file as well"
            );
            return Err(InputError::option("--resume", message));
        }
        Document::read(&file)?
    } else {
        machine::open_study(args.study.as_deref(), args.preset.as_deref())?
    };
    change(&mut document);
    let studies = Studies::of_document(&document)?;
    let keys = studies.index.as_ref().map_or(&[][..], |index| &index.keys);
    refuse_swept(args, keys)?;
    Ok(studies)
}

/// Whether to resume the stored study.
fn resumes_folder(args: &SimulateArgs) -> bool {
    args.durable.resume && args.study.is_none() && args.preset.is_none()
}

/// The requested folder of the study or the shard.
fn out_folder(args: &SimulateArgs, shard: Option<Shard>) -> Option<PathBuf> {
    let out = args.out.as_ref()?;
    Some(shard.map_or(out.clone(), |shard| out.join(shard.folder())))
}

/// Prepares the folder of the study or the shard, to start or to resume.
fn study_folder(
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

/// Refuses an option for a key that is swept.
fn refuse_swept(args: &SimulateArgs, keys: &[String]) -> Result<(), InputError> {
    let options = [
        ("episodes", args.episodes.is_some()),
        ("horizon", args.horizon.is_some()),
        ("replications", args.replications.is_some()),
        ("seed", args.seed.is_some()),
        ("delta", args.delta.is_some()),
        ("budget", args.budget.is_some()),
    ];
    for (name, _) in options.iter().filter(|(_, given)| *given) {
        let key = match *name {
            "budget" => "budget".to_string(),
            name => format!("study.{name}"),
        };
        if let Some(swept) = keys.iter().find(|swept| swept.starts_with(&key)) {
            let message = format!("found with a sweep of `{swept}`; accepted: one of them");
            return Err(InputError::option(&format!("--{name}"), message));
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
    for (key, given) in [("expected", args.expected), ("trace", args.trace)] {
        if given {
            document.set_flag("study", key, true, &format!("--{key}"));
        }
    }
    if let Some(format) = &args.episodes_format {
        document.set_text("study", "episodes_format", format, "--episodes-format");
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
