//! A study from its folder to its results: progress, early ends, files.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

use indicatif::ProgressBar;

use super::args::MachineArgs;
use super::failure::Ended;
use super::interrupt::{Interrupt, Interrupted};
use super::{machine, progress, resources};
use cbwk_gpu::config::StudyFile;
use cbwk_gpu::dp::{Backend, BackendError};
use cbwk_gpu::error::OutputError;
use cbwk_gpu::experiment::{self, Record, RunError, Sink, SinkError, Study, Yardstick};
use cbwk_gpu::report;
use cbwk_gpu::results::{EpisodesFile, Results, ResultsFolder, Setting, StudyText};
use cbwk_gpu::statistics::MeanAndError;

/// The folder asked for, without results of an earlier run, or a new one by the study's name.
pub fn results_folder(
    out: Option<&Path>,
    force: bool,
    name: &str,
) -> Result<ResultsFolder, OutputError> {
    let Some(out) = out else {
        return ResultsFolder::prepare_default(name);
    };
    let folder = ResultsFolder::prepare(out, force)?;
    if force {
        folder.clear()?;
    }
    Ok(folder)
}

/// A study that has run and whose results are on disk.
pub struct Finished {
    pub results: Results,
    /// Final regret minus that of the first policy, paired by replication.
    pub excess: Vec<MeanAndError>,
}

/// What a study runs on.
pub struct Machine<'a> {
    pub args: &'a MachineArgs,
    pub threads: usize,
    pub interrupt: Interrupt,
}

/// Runs a study and writes its results folder, which has the study and its data already.
pub fn run_study(
    file: &StudyFile,
    folder: &ResultsFolder,
    backend: &mut dyn Backend,
    machine: &Machine,
) -> anyhow::Result<Finished> {
    let start = Instant::now();
    let study = &file.study;
    for note in study.world.notes() {
        machine::note(machine.args, note);
    }
    let episodes = study.policies.len() * study.replications * study.episodes;
    let mut watcher = Watcher {
        bar: progress::bar(machine.args.quiet, episodes as u64, "episodes"),
        episodes: EpisodesFile::start(folder)?,
        interrupt: &machine.interrupt,
    };
    let outcome = experiment::run(study, backend, &mut watcher);
    watcher.bar.finish_and_clear();
    let outcome = outcome.map_err(|error| watcher.explain(error, study, folder))?;
    watcher.episodes.finish()?;

    let writing = Instant::now();
    let text = StudyText::parse(&folder.path().join("study.toml"), file.resolved_text())?;
    let setting = Setting {
        command: command_line(),
        report: backend.report(),
        threads: machine.threads,
    };
    let excess = outcome.excess_over(0);
    let mut results = Results::of_outcome(folder.path(), study, text, outcome, setting);
    results.write_tables(folder)?;
    let picture = report::plot::regret(&results).svg();
    folder.write("regret.svg", picture.as_bytes())?;
    results.run.seconds.total = start.elapsed().as_secs_f64();
    results.run.seconds.output = writing.elapsed().as_secs_f64();
    results.run.peak_memory_bytes = resources::peak_memory();
    results.write_run(folder)?;
    Ok(Finished { results, excess })
}

/// An error of one of several studies: where it was asked for, the others are kept as well.
pub fn with_others(error: anyhow::Error, others: String) -> anyhow::Error {
    match error.downcast::<Interrupted>() {
        Ok(interrupted) => Interrupted {
            besides: Some(others),
            ..interrupted
        }
        .into(),
        Err(error) => error,
    }
}

/// Moves the progress bar, writes every wave to disk as it comes, and ends the study when it is asked to.
struct Watcher<'a> {
    bar: ProgressBar,
    episodes: EpisodesFile,
    interrupt: &'a Interrupt,
}

impl Sink for Watcher<'_> {
    fn episode(&mut self, replications: usize) -> ControlFlow<()> {
        self.bar.inc(replications as u64);
        match self.interrupt.signal() {
            Some(_) => ControlFlow::Break(()),
            None => ControlFlow::Continue(()),
        }
    }

    fn replication(&mut self, yardstick: &Yardstick, record: &Record) -> Result<(), SinkError> {
        self.episodes.replication(yardstick, record)
    }

    fn wave(&mut self) -> Result<(), SinkError> {
        self.episodes.wave()
    }
}

impl Watcher<'_> {
    /// An early end, with the place of what is finished.
    fn explain(&self, error: RunError, study: &Study, folder: &ResultsFolder) -> anyhow::Error {
        match error {
            RunError::Stopped => self.stopped(study, folder).into(),
            RunError::Backend(error @ BackendError::Structure { .. }) => error.into(),
            RunError::Backend(error) => anyhow::Error::from(Ended {
                reason: error,
                finished: self.episodes.partial().display().to_string(),
            }),
            RunError::Sink(error) => match error.downcast::<OutputError>() {
                Ok(error) => (*error).into(),
                Err(error) => anyhow::Error::from_boxed(error),
            },
            RunError::Invalid(_) => error.into(),
        }
    }
}

impl Watcher<'_> {
    /// Says what is kept of a study that was asked to end. Where that is nothing, the folder is left as it was found.
    fn stopped(&self, study: &Study, folder: &ResultsFolder) -> Interrupted {
        let kept = match self.episodes.kept() {
            0 => {
                let cleared = folder.clear().is_ok();
                let place = folder.path().display();
                let left = if cleared { "" } else { "; its start is in " };
                let place = if cleared {
                    String::new()
                } else {
                    place.to_string()
                };
                format!("no replication was finished, nothing is kept{left}{place}")
            }
            kept => {
                let all = study.replications * study.policies.len();
                let place = self.episodes.partial().display();
                format!("{kept} of {all} replications are finished and kept in {place}")
            }
        };
        Interrupted {
            signal: self.interrupt.signal().unwrap_or_default(),
            kept,
            besides: None,
        }
    }
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

pub fn seconds(duration: Duration) -> String {
    format!("{:.2} s", duration.as_secs_f64())
}
