//! Long studies: `merge`, `status`, `verify` and `cluster`.

use std::io::Write;

use clap::ValueEnum;

use super::args::{Format, TableFormat};
use super::long_args::{MergeArgs, RepairArgs, SlurmArgs, StatusArgs, VerifyArgs};
use super::machine_args::{BackendChoice, MachineArgs, Precision, StrategyChoice};
use super::runner::{explain, results_folder};
use super::show::{Shown, print, show};
use super::slurm::SlurmArray;
use super::{machine, resources};
use cbwk_gpu::config::{Document, StudyFile, Sweep};
use cbwk_gpu::error::{InputError, printable};
use cbwk_gpu::experiment::Shard;
use cbwk_gpu::files::safe_name;
use cbwk_gpu::runs::{self, MadeWith, PolicyStatus, ShardState, Shards, Status};
use cbwk_gpu::shop::TaskFolder;

/// Runs `merge`.
pub fn merge(args: &MergeArgs) -> anyhow::Result<()> {
    machine::set_threads(args.threads)?;
    let shards = Shards::collect(&args.folder).map_err(explain)?;
    let out = args.out.as_deref().unwrap_or(&args.folder);
    let folder = results_folder(Some(out), args.force, "")?;
    let merged = shards.merge_into(&folder, resources::peak_memory);
    let merged = merged.map_err(explain)?;
    let runs: Vec<_> = merged.results.iter().map(|r| r.run.clone()).collect();
    let shown = match &merged.sweep {
        None => Shown::Study(&merged.results[0]),
        Some(sweep) => Shown::Sweep(sweep, &runs),
    };
    let last = format!("results in {}", folder.path().display());
    show(shown, args.format, &args.columns, &last)
}

/// Runs `status`.
pub fn status(args: &StatusArgs) -> anyhow::Result<()> {
    let all = runs::status(&args.folder).map_err(explain)?;
    let mut out = std::io::stdout().lock();
    if args.format == Format::Json {
        writeln!(out, "{}", serde_json::to_string_pretty(&all)?)?;
        return Ok(());
    }
    for status in &all {
        let name = folder_name(&status.folder);
        writeln!(out, "{name}: {}", in_words(status))?;
    }
    // Shards are not counted a second time in the folder that they were merged into.
    let cut = all.iter().any(of_shard);
    let counted = || all.iter().filter(|status| !cut || of_shard(status));
    let counts = |of: fn(&PolicyStatus) -> usize| -> usize {
        counted().flat_map(|status| &status.policies).map(of).sum()
    };
    let (finished, total) = (counts(|p| p.finished), counts(|p| p.replications));
    let missing = all
        .iter()
        .filter(|s| s.state == ShardState::Missing)
        .count();
    let missing = match missing {
        0 => String::new(),
        count => format!("; {count} folders missing"),
    };
    writeln!(out, "{finished} of {total} replications finished{missing}")?;
    Ok(())
}

fn folder_name(folder: &str) -> &str {
    match folder {
        "" => ".",
        name => name,
    }
}

fn of_shard(status: &Status) -> bool {
    let first = status.folder.split(['/', '\\']).next();
    first.is_some_and(|name| Shard::of_folder(name).is_some())
}

fn in_words(status: &Status) -> String {
    let policy = |policy: &PolicyStatus| {
        let mut text = format!(
            "{} {}/{}",
            policy.policy, policy.finished, policy.replications
        );
        if let Some((count, episodes)) = policy.under_way {
            text += &format!(" ({count} after episode {episodes})");
        }
        text
    };
    let policies: Vec<String> = status.policies.iter().map(policy).collect();
    match &status.state {
        ShardState::Finished => format!("finished: {}", policies.join(", ")),
        ShardState::Unfinished => format!("unfinished: {}", policies.join(", ")),
        ShardState::Missing => "missing".into(),
        ShardState::Damaged(why) => format!("damaged: {why}"),
    }
}

/// Runs `verify`.
pub fn verify(args: &VerifyArgs) -> anyhow::Result<()> {
    machine::set_threads(args.threads)?;
    if TaskFolder::is_one(&args.folder) {
        let checks = TaskFolder::open(&args.folder)?.check_journal()?;
        let mut out = std::io::stdout().lock();
        for check in checks {
            writeln!(out, "{check}")?;
        }
        writeln!(out, "verified")?;
        return Ok(());
    }
    let made = runs::made_with(&args.folder).map_err(explain)?;
    let mut backend = machine::backend(&asked(&made, args))?;
    let verified = runs::verify(&args.folder, backend.as_mut());
    let verified = verified.map_err(explain)?;
    let mut out = std::io::stdout().lock();
    for one in &verified {
        let name = folder_name(&one.folder);
        writeln!(out, "{name}: {}", one.checks.join("; "))?;
    }
    writeln!(out, "verified")?;
    Ok(())
}

/// Runs `repair`.
pub fn repair(args: &RepairArgs) -> anyhow::Result<()> {
    machine::set_threads(None)?;
    let repaired = TaskFolder::open(&args.folder)?.repair_journal()?;
    let mut out = std::io::stdout().lock();
    match &repaired.aside {
        None => writeln!(
            out,
            "nothing to repair: all {} lines are whole",
            repaired.kept
        )?,
        Some(aside) => {
            writeln!(
                out,
                "{} lines are kept; the rest is in {}",
                repaired.kept,
                aside.display()
            )?;
            for lost in &repaired.lost {
                writeln!(out, "{}", printable(lost))?;
            }
        }
    }
    Ok(())
}

/// The options that a folder was made with.
fn asked(made: &MadeWith, args: &VerifyArgs) -> MachineArgs {
    let backend = BackendChoice::from_str(&made.backend, false);
    let precision = Precision::from_str(&made.precision, false);
    let strategy = StrategyChoice::from_str(&made.strategy, false);
    MachineArgs {
        backend: backend.unwrap_or(BackendChoice::Cpu),
        adapter: None,
        precision: Some(precision.unwrap_or(Precision::F64)),
        strategy: strategy.unwrap_or(StrategyChoice::Auto),
        threads: args.threads,
        quiet: false,
        format: TableFormat::Table,
    }
}

/// Runs `cluster slurm`.
pub fn slurm(args: &SlurmArgs) -> anyhow::Result<()> {
    let document = Document::read(&args.study)?;
    let (name, replications) = most_replications(&document)?;
    if args.shards as usize > replications {
        let message = format!(
            "found {}; accepted: at most {replications}, the replications of the study",
            args.shards
        );
        return Err(InputError::option("--shards", message).into());
    }
    let default = || format!("results/{}", safe_name(&name));
    let out = args
        .out
        .as_ref()
        .map_or_else(default, |out| out.display().to_string());
    let array = SlurmArray {
        study: args.study.display().to_string(),
        out,
        name,
        shards: args.shards as usize,
        tasks: args.max_tasks as usize,
        time: args.time.clone(),
        cpus: args.cpus as usize,
        memory: args.memory.clone(),
    };
    print(&array.script())
}

/// The name of a study and its replications; for a sweep, the most replications of a point.
fn most_replications(document: &Document) -> Result<(String, usize), InputError> {
    let first = StudyFile::from_document(document)?.study;
    let Some(Sweep { points, .. }) = document.sweep()? else {
        return Ok((first.name, first.replications));
    };
    let mut most = 0;
    for point in &points {
        let study = StudyFile::from_document(&point.document)?.study;
        most = most.max(study.replications);
    }
    Ok((first.name, most))
}
