//! A study from its folder to its results: progress, early ends, and how to go on after them.

use std::path::Path;
use std::time::Duration;

use super::args::DurableArgs;
use super::failure::Ended;
use super::interrupt::{Interrupt, Interrupted};
use super::machine_args::{MachineArgs, StrategyChoice};
use super::progress::StudyProgress;
use super::{machine, resources};
use cbwk_gpu::config::StudyFile;
use cbwk_gpu::dp::{Backend, BackendError};
use cbwk_gpu::error::{InputError, OutputError};
use cbwk_gpu::experiment::{RunError, Shard, Study};
use cbwk_gpu::results::{RecordLog, ResultsFolder};
use cbwk_gpu::runs::{self, Finished, How, RunsError, SaveEvery, Watch};

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

/// What a study runs on, and which part of it.
pub struct Machine<'a> {
    pub args: &'a MachineArgs,
    pub threads: usize,
    pub interrupt: Interrupt,
    pub shard: Option<Shard>,
    pub save: SaveEvery,
    /// The command line, as of a run that is neither cut nor resumed.
    pub command: String,
    /// What to type to go on after an early end; `None` where each study is gone on with by itself.
    pub resume: Option<String>,
}

impl<'a> Machine<'a> {
    /// For whole studies.
    pub fn new(args: &'a MachineArgs, threads: usize) -> std::io::Result<Self> {
        Ok(Self {
            args,
            threads,
            interrupt: Interrupt::listen()?,
            shard: None,
            save: SaveEvery::default(),
            command: command_line(),
            resume: None,
        })
    }

    /// For the part that is asked for.
    pub fn durable(self, args: &DurableArgs, shard: Option<Shard>, out: &Path) -> Self {
        Self {
            shard,
            save: SaveEvery {
                episodes: args.save_episodes.map(|n| n as usize),
                interval: Duration::from_secs(args.save_seconds.into()),
            },
            resume: Some(resume_command(out)),
            ..self
        }
    }
}

/// Runs a study and writes its results folder, which has the study and its data already; `None` for a shard.
pub fn run_study(
    file: &StudyFile,
    folder: &ResultsFolder,
    backend: &mut dyn Backend,
    machine: &Machine,
) -> anyhow::Result<Option<Finished>> {
    let study = &file.study;
    for note in study.world.notes() {
        machine::note(machine.args, note);
    }
    let share = machine
        .shard
        .map_or(study.replications, |s| s.share(study.replications).len());
    let episodes = (share * study.episodes) as u64;
    let mut watcher = Watcher {
        bar: StudyProgress::new(machine.args.quiet, study.policies.len(), episodes),
        machine,
    };
    let how = How {
        command: machine.command.clone(),
        threads: machine.threads,
        strategy: strategy(machine.args).into(),
        shard: machine.shard,
        save: machine.save,
        peak_memory: resources::peak_memory,
    };
    let finished = runs::run_study(file, folder, backend, &how, &mut watcher);
    watcher.bar.finish();
    finished.map_err(|error| match error {
        RunsError::Run(RunError::Stopped) => machine.stopped(study, share, folder).into(),
        other => explain(other, folder),
    })
}

fn strategy(args: &MachineArgs) -> &'static str {
    match args.strategy {
        StrategyChoice::Auto => "auto",
        _ => machine::strategy(args).map_or("auto", |strategy| strategy.name()),
    }
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

/// Moves the progress bar, and ends the study when it is asked to.
struct Watcher<'a> {
    bar: StudyProgress,
    machine: &'a Machine<'a>,
}

impl Watch for Watcher<'_> {
    fn episode(&mut self, replications: usize) {
        self.bar.advance(replications as u64);
    }

    fn stops(&self) -> bool {
        self.machine.interrupt.signal().is_some()
    }

    fn note(&mut self, text: &str) {
        machine::note(self.machine.args, text);
    }
}

/// An error of a run, a merge or a check in the types that have exit codes.
pub fn explain(error: RunsError, folder: &ResultsFolder) -> anyhow::Error {
    match error {
        RunsError::Input(error) => error.into(),
        RunsError::Output(error) => error.into(),
        RunsError::Run(RunError::Backend(error @ BackendError::Structure { .. })) => error.into(),
        RunsError::Run(RunError::Backend(error)) => anyhow::Error::from(Ended {
            reason: error,
            finished: folder.path().display().to_string(),
        }),
        RunsError::Run(error) => error.into(),
    }
}

impl Machine<'_> {
    /// Says what is kept of a study that was asked to end, and how to go on.
    fn stopped(&self, study: &Study, share: usize, folder: &ResultsFolder) -> Interrupted {
        let log = RecordLog::read(folder.path()).ok().flatten();
        let kept = log.map_or(0, |log| log.count());
        let all = share * study.policies.len();
        let place = folder.path().display();
        let resume = match &self.resume {
            Some(command) => command.clone(),
            None => format!(
                "cbwk-gpu simulate --out {} --resume",
                shell_word(place.to_string())
            ),
        };
        Interrupted {
            signal: self.interrupt.signal().unwrap_or_default(),
            kept: format!(
                "{kept} of {all} replications are finished in {place}, the others saved on their way"
            ),
            besides: None,
            resume,
        }
    }
}

/// Options of how a run is cut, resumed and saved: they do not say what is computed.
const ON_THE_WAY: [&str; 4] = ["--shard", "--save-episodes", "--save-seconds", "--resume"];

/// The arguments as texts; what is none is shown as well as it goes.
fn arguments() -> impl Iterator<Item = String> {
    let args = std::env::args_os().skip(1);
    args.map(|word| word.to_string_lossy().into_owned())
}

/// The command line, as of a run that is neither cut nor resumed.
fn command_line() -> String {
    let mut words = Vec::new();
    let mut args = arguments();
    while let Some(word) = args.next() {
        let name = word.split('=').next().unwrap_or(&word);
        if !ON_THE_WAY.contains(&name) {
            words.push(shell_word(word));
        } else if name != "--resume" && name.len() == word.len() {
            args.next();
        }
    }
    format!("cbwk-gpu {}", words.join(" "))
}

/// The command line that goes on with this run.
fn resume_command(out: &Path) -> String {
    let args: Vec<String> = arguments().collect();
    let has = |option: &str| {
        args.iter()
            .any(|word| word.split('=').next() == Some(option))
    };
    let mut words: Vec<String> = args
        .iter()
        .filter(|word| *word != "--force")
        .cloned()
        .map(shell_word)
        .collect();
    if !has("--out") {
        words.extend(["--out".into(), shell_word(out.display().to_string())]);
    }
    if !has("--resume") {
        words.push("--resume".into());
    }
    format!("cbwk-gpu {}", words.join(" "))
}

/// The shard asked for: `I/N`, or `slurm` for the task of a job array.
pub fn shard(asked: Option<&str>) -> Result<Option<Shard>, InputError> {
    let wrong = |message: String| InputError::Option {
        option: "--shard".into(),
        message,
    };
    let Some(text) = asked else { return Ok(None) };
    if text != "slurm" {
        return Shard::parse(text).map(Some).map_err(|invalid| {
            wrong(format!(
                "found {}; accepted: {}, or slurm",
                invalid.found, invalid.accepted
            ))
        });
    }
    let number = |name: &str| -> Result<usize, InputError> {
        let text = std::env::var(name).ok();
        text.and_then(|text| text.parse().ok()).ok_or_else(|| {
            wrong(format!(
                "found no number in {name}; accepted: slurm within a task of a job array"
            ))
        })
    };
    let (id, count) = (
        number("SLURM_ARRAY_TASK_ID")?,
        number("SLURM_ARRAY_TASK_COUNT")?,
    );
    let least = number("SLURM_ARRAY_TASK_MIN").unwrap_or(1);
    let shard = Shard::new((id + 1).saturating_sub(least), count);
    shard.map(Some).map_err(|invalid| {
        wrong(format!(
            "found task {id} of {count} from {least}; accepted: {}",
            invalid.accepted
        ))
    })
}

/// An argument as a shell takes it.
pub fn shell_word(word: String) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "@%+=:,./_-".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word;
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

pub fn seconds(duration: Duration) -> String {
    format!("{:.2} s", duration.as_secs_f64())
}
