//! Runs studies for `simulate` and `reproduce`: progress, signals, and the command to resume.

use std::path::Path;
use std::time::Duration;

use super::args::DurableArgs;
use super::failure::Ended;
use super::interrupt::{Interrupt, Interrupted};
use super::machine_args::MachineArgs;
use super::progress::StudyProgress;
use super::{machine, resources};
use cbwk_gpu::config::StudyFile;
use cbwk_gpu::dp::{Backend, BackendError};
use cbwk_gpu::error::{InputError, OutputError};
use cbwk_gpu::experiment::{RunError, Shard, Study};
use cbwk_gpu::results::{RecordLog, Results, ResultsFolder};
use cbwk_gpu::runs::{RunOptions, RunsError, SaveEvery, run_in_folder};

/// The requested folder without results of an earlier run, or a new one named after the study.
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

/// A machine that runs studies one after another.
pub struct StudyRunner<'a> {
    args: &'a MachineArgs,
    backend: Box<dyn Backend>,
    interrupt: Interrupt,
    pub options: RunOptions,
    /// The command that resumes all studies; `None` if each is resumed by itself.
    pub resume: Option<String>,
}

impl<'a> StudyRunner<'a> {
    /// Starts threads and backend, for studies that are checked first.
    pub fn start<'s>(
        args: &'a MachineArgs,
        studies: impl Iterator<Item = &'s Study> + Clone,
        out: Option<&Path>,
    ) -> anyhow::Result<Self> {
        for study in studies.clone() {
            machine::check_strategy(args, study.world.task())?;
        }
        let threads = machine::set_threads(args.threads)?;
        let backend = machine::backend(args)?;
        resources::check_studies(studies, out.unwrap_or(Path::new("results")))?;
        let strategy = machine::strategy(args);
        Ok(Self {
            args,
            backend,
            interrupt: Interrupt::listen()?,
            options: RunOptions {
                command: command_line(),
                threads,
                strategy: strategy.map_or("auto", |strategy| strategy.name()).into(),
                shard: None,
                save: SaveEvery::default(),
                peak_memory: resources::peak_memory,
            },
            resume: None,
        })
    }

    /// Sets shard, saving and resuming.
    pub fn durable(&mut self, args: &DurableArgs, shard: Option<Shard>, out: &Path) {
        self.options.shard = shard;
        self.options.save = SaveEvery {
            episodes: args.save_episodes.map(|n| n as usize),
            interval: Duration::from_secs(args.save_seconds.into()),
        };
        self.resume = Some(resume_command(out));
    }

    /// Runs a study in its folder, which has the study and its data; `None` for a shard. An early end tells what else the
    /// command has finished.
    pub fn run(
        &mut self,
        file: &StudyFile,
        folder: &ResultsFolder,
        others: impl FnOnce() -> Option<String>,
    ) -> anyhow::Result<Option<Results>> {
        let study = &file.study;
        for note in study.world.notes() {
            machine::note(self.args.quiet, note);
        }
        let all = study.replications;
        let share = self.options.shard.map_or(all, |s| s.share(all).len());
        let episodes = (share * study.episodes) as u64;
        let (quiet, policies) = (self.args.quiet, study.policies.len());
        let mut bar = StudyProgress::new(quiet, policies, episodes, self.interrupt.clone());
        let backend = self.backend.as_mut();
        let results = run_in_folder(file, folder, backend, &self.options, &mut bar);
        bar.finish();
        results.map_err(|error| match error {
            RunsError::Run(RunError::Stopped) => Interrupted {
                besides: others(),
                ..self.stopped(share * policies, folder)
            }
            .into(),
            RunsError::Run(RunError::Backend(error))
                if !matches!(error, BackendError::Structure { .. }) =>
            {
                anyhow::Error::from(Ended {
                    reason: error,
                    finished: folder.path().display().to_string(),
                })
            }
            other => explain(other),
        })
    }

    /// What is kept of a study that was stopped, and how to resume it.
    fn stopped(&self, all: usize, folder: &ResultsFolder) -> Interrupted {
        let log = RecordLog::read(folder.path()).ok().flatten();
        let kept = log.map_or(0, |log| log.count());
        let place = folder.path().display();
        let alone = || {
            let out = shell_word(place.to_string());
            format!("cbwk-gpu simulate --out {out} --resume")
        };
        Interrupted {
            signal: self.interrupt.signal().unwrap_or_default(),
            kept: format!(
                "{kept} of {all} replications are finished in {place}, the state of the others is saved"
            ),
            besides: None,
            resume: self.resume.clone().unwrap_or_else(alone),
        }
    }
}

/// The error inside, which has an exit code.
pub fn explain(error: RunsError) -> anyhow::Error {
    match error {
        RunsError::Input(error) => error.into(),
        RunsError::Output(error) => error.into(),
        RunsError::Run(RunError::Backend(error)) => error.into(),
        RunsError::Run(error) => error.into(),
    }
}

/// Options that do not change what is computed.
const CHECKPOINT_OPTIONS: [&str; 4] = ["--shard", "--save-episodes", "--save-seconds", "--resume"];

/// The arguments as text, lossy if not UTF-8.
fn arguments() -> impl Iterator<Item = String> {
    let args = std::env::args_os().skip(1);
    args.map(|word| word.to_string_lossy().into_owned())
}

/// The command line without the checkpoint options.
fn command_line() -> String {
    let mut words = Vec::new();
    let mut args = arguments();
    while let Some(word) = args.next() {
        let name = word.split('=').next().unwrap_or(&word);
        if !CHECKPOINT_OPTIONS.contains(&name) {
            words.push(shell_word(word));
        } else if name != "--resume" && name.len() == word.len() {
            args.next();
        }
    }
    format!("cbwk-gpu {}", words.join(" "))
}

/// The command line that resumes this run.
fn resume_command(out: &Path) -> String {
    let mut words: Vec<String> = arguments().filter(|word| word != "--force").collect();
    let is = |option: &'static str| move |word: &String| word.split('=').next() == Some(option);
    if !words.iter().any(is("--out")) {
        words.extend(["--out".into(), out.display().to_string()]);
    }
    if !words.iter().any(is("--resume")) {
        words.push("--resume".into());
    }
    let words: Vec<String> = words.into_iter().map(shell_word).collect();
    format!("cbwk-gpu {}", words.join(" "))
}

/// The shard of `--shard`: `I/N`, or `slurm` for the task of a job array.
pub fn shard(asked: Option<&str>) -> Result<Option<Shard>, InputError> {
    let wrong = |message: String| InputError::option("--shard", message);
    let Some(text) = asked else { return Ok(None) };
    if text != "slurm" {
        return Shard::parse(text).map(Some).map_err(|invalid| {
            let (found, accepted) = (invalid.found, invalid.accepted);
            wrong(format!("found {found}; accepted: {accepted}, or slurm"))
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
    let id = number("SLURM_ARRAY_TASK_ID")?;
    let count = number("SLURM_ARRAY_TASK_COUNT")?;
    let least = number("SLURM_ARRAY_TASK_MIN").unwrap_or(1);
    let shard = Shard::new((id + 1).saturating_sub(least), count);
    shard.map(Some).map_err(|invalid| {
        let accepted = invalid.accepted;
        wrong(format!(
            "found task {id} of {count} from {least}; accepted: {accepted}"
        ))
    })
}

/// An argument quoted for a shell.
pub fn shell_word(word: String) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "@%+=:,./_-".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word;
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}
