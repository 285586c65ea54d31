//! `cbwk-gpu simulate`.

use std::io::{IsTerminal, Write};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use super::args::{Format, MachineArgs, SimulateArgs};
use super::failure::Ended;
use super::{machine, sweep};
use cbwk_gpu::config::{Document, Study, StudyFile, Sweep};
use cbwk_gpu::dp::{Backend, BackendError};
use cbwk_gpu::error::{InputError, OutputError};
use cbwk_gpu::experiment::{self, Outcome, Record, RunError, Sink, SinkError, Yardstick};
use cbwk_gpu::report;
use cbwk_gpu::results::{EpisodesFile, Results, ResultsFolder, Setting, StudyText};

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
    let mut backend = machine::backend(&args.machine)?;
    let folder = match &args.out {
        Some(path) => ResultsFolder::prepare(path, args.force)?,
        None => ResultsFolder::prepare_default(&file.study.name)?,
    };
    let threads = machine::start_threads(&args.machine)?;
    let finished = run_study(&file, &folder, backend.as_mut(), &args.machine, threads)?;
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

/// A study that has run and whose results are on disk.
pub(super) struct Finished {
    pub outcome: Outcome,
    pub results: Results,
}

/// Runs a study and writes its results folder.
pub(super) fn run_study(
    file: &StudyFile,
    folder: &ResultsFolder,
    backend: &mut dyn Backend,
    machine: &MachineArgs,
    threads: usize,
) -> anyhow::Result<Finished> {
    let start = Instant::now();
    let study = &file.study;
    for note in study.world.notes() {
        machine::note(machine, note);
    }
    let mut watcher = Watcher {
        bar: progress_bar(machine, study),
        episodes: EpisodesFile::start(folder)?,
    };
    let outcome = experiment::run(study, backend, &mut watcher);
    watcher.bar.finish_and_clear();
    let outcome = outcome.map_err(|error| watcher.explain(error))?;
    watcher.episodes.finish()?;

    let writing = Instant::now();
    let text = StudyText::parse(&folder.path().join("study.toml"), file.resolved_text())?;
    let setting = Setting {
        command: command_line(),
        report: backend.report(),
        threads,
    };
    let mut results = Results::of_outcome(folder.path(), study, text, &outcome, setting);
    results.write_tables(folder)?;
    let picture = report::plot::regret(&results).svg();
    folder.write("regret.svg", picture.as_bytes())?;
    folder.write("study.toml", results.study.text.as_bytes())?;
    results.run.seconds.total = start.elapsed().as_secs_f64();
    results.run.seconds.output = writing.elapsed().as_secs_f64();
    results.run.peak_memory_bytes = peak_memory();
    results.write_run(folder)?;
    Ok(Finished { outcome, results })
}

/// Moves the progress bar, and writes every wave to disk as it comes.
struct Watcher {
    bar: ProgressBar,
    episodes: EpisodesFile,
}

impl Sink for Watcher {
    fn episode(&mut self, replications: usize) -> ControlFlow<()> {
        self.bar.inc(replications as u64);
        ControlFlow::Continue(())
    }

    fn replication(&mut self, yardstick: &Yardstick, record: &Record) -> Result<(), SinkError> {
        self.episodes.replication(yardstick, record)
    }

    fn wave(&mut self) -> Result<(), SinkError> {
        self.episodes.wave()
    }
}

impl Watcher {
    /// An early end, with the place of what is finished.
    fn explain(&self, error: RunError) -> anyhow::Error {
        match error {
            RunError::Backend(error @ BackendError::Structure { .. }) => error.into(),
            RunError::Backend(error) => anyhow::Error::from(Ended {
                reason: error,
                finished: self.episodes.partial().display().to_string(),
            }),
            RunError::Sink(error) => match error.downcast::<OutputError>() {
                Ok(error) => (*error).into(),
                Err(error) => anyhow::Error::from_boxed(error),
            },
            RunError::Invalid(_) | RunError::Stopped => error.into(),
        }
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
    if let Some(budget) = args.budget {
        document.set_constant_budget(budget, "--budget");
    }
    if !args.policies.is_empty() {
        document.choose_policies(&args.policies, "--policy");
    }
}

/// A bar on a terminal, nothing elsewhere.
fn progress_bar(machine: &MachineArgs, study: &Study) -> ProgressBar {
    if machine.quiet || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let total = study.policies.len() * study.replications * study.episodes;
    let bar = ProgressBar::new(total as u64);
    let style = ProgressStyle::with_template("{bar:40} {percent}% of {len} episodes, {eta} left");
    bar.set_style(style.expect("the template is valid"));
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

fn command_line() -> String {
    let args: Vec<String> = std::env::args().skip(1).map(shell_word).collect();
    format!("cbwk-gpu {}", args.join(" "))
}

/// An argument as a shell takes it.
fn shell_word(word: String) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "@%+=:,./_-".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word;
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

pub(super) fn seconds(duration: Duration) -> String {
    format!("{:.2} s", duration.as_secs_f64())
}

/// The largest resident size of this process so far, where the system tells.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}
