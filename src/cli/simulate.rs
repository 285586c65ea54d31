//! `cbwk-gpu simulate`.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use super::args::{Format, MachineArgs, SimulateArgs};
use super::failure::Ended;
use super::{machine, sweep};
use cbwk_gpu::config::{Document, Study, Sweep};
use cbwk_gpu::dp::{Backend, BackendError, Report};
use cbwk_gpu::error::{InputError, OutputError};
use cbwk_gpu::experiment::{self, FinishedWave, Observer, Outcome, RegretSummary, RunError};
use cbwk_gpu::report::{self, GrowingFile, ResultsFolder, json};

/// Runs the command.
pub fn simulate(args: &SimulateArgs) -> anyhow::Result<()> {
    let start = Instant::now();
    let mut document = machine::open_study(args.study.as_deref(), args.preset.as_deref())?;
    apply_overrides(args, &mut document);
    if let Some(sweep) = document.sweep()? {
        refuse_swept(args, &sweep)?;
        return sweep::simulate_all(args, &sweep);
    }
    let study = Study::from_document(&document)?;
    machine::check_strategy(&args.machine, &study.instance)?;
    let mut backend = machine::backend(&args.machine)?;
    let folder = match &args.out {
        Some(path) => ResultsFolder::prepare(path, args.force)?,
        None => ResultsFolder::prepare_default(&study.name)?,
    };
    let threads = machine::start_threads(&args.machine)?;
    let finished = run_study(&study, &folder, backend.as_mut(), &args.machine, threads)?;
    let mut out = std::io::stdout().lock();
    match args.machine.format {
        Format::Json => out.write_all(finished.run_json.as_bytes())?,
        Format::Table => {
            let setting = finished.setting(threads);
            let table =
                report::table::study(&setting, &study, &finished.outcome, &finished.regrets);
            write!(out, "{table}")?;
            writeln!(
                out,
                "\nresults in {} ({})",
                folder.path().display(),
                seconds(start.elapsed())
            )?;
        }
    }
    Ok(())
}

/// A study that has run and whose results are on disk.
pub(super) struct Finished {
    pub outcome: Outcome,
    pub regrets: Vec<RegretSummary>,
    pub run_json: String,
    report: Report,
}

impl Finished {
    /// What did the work, in a few words.
    pub fn setting(&self, threads: usize) -> String {
        let Report {
            backend,
            precision,
            adapter,
            ..
        } = &self.report;
        let adapter = adapter
            .as_ref()
            .map_or(String::new(), |name| format!(" on {name}"));
        format!("{backend} {precision}{adapter}, {threads} threads")
    }
}

/// The headline of a study's picture.
pub(super) fn headline(study: &Study) -> String {
    format!(
        "{}: T = {}, H = {}, {} replications",
        study.name,
        study.episodes,
        study.instance.horizon(),
        study.replications
    )
}

/// Runs a study and writes its results folder.
pub(super) fn run_study(
    study: &Study,
    folder: &ResultsFolder,
    backend: &mut dyn Backend,
    machine: &MachineArgs,
    threads: usize,
) -> anyhow::Result<Finished> {
    let start = Instant::now();
    for note in study.instance.notes() {
        machine::note(machine, note);
    }
    let mut watcher = Watcher {
        bar: progress_bar(machine, study),
        episodes: GrowingFile::start(folder, "episodes.csv", report::csv::EPISODES_HEADER)?,
    };
    let outcome = experiment::run(study, backend, &mut watcher);
    watcher.bar.finish_and_clear();
    let outcome = outcome.map_err(|error| watcher.explain(error))?;
    watcher.episodes.finish()?;

    let writing = Instant::now();
    let regrets = outcome.regrets();
    let names: Vec<&str> = outcome.policies.iter().map(|p| p.name.as_str()).collect();
    folder.write(
        "summary.csv",
        report::csv::summary(&names, &regrets).as_bytes(),
    )?;
    folder.write(
        "steps.csv",
        report::csv::steps(&outcome.policies).as_bytes(),
    )?;
    folder.write(
        "actions.csv",
        report::csv::actions(&outcome.policies).as_bytes(),
    )?;
    folder.write(
        "regret.svg",
        report::plot::regret(&headline(study), &names, &regrets)
            .svg()
            .as_bytes(),
    )?;
    folder.write("study.toml", resolved_text(study)?.as_bytes())?;
    let run = json::Run {
        command: command_line(),
        report: backend.report(),
        threads,
        total: start.elapsed(),
        output: writing.elapsed(),
    };
    let run_json = format!("{:#}\n", json::run(&run, study, &outcome, &regrets));
    folder.write("run.json", run_json.as_bytes())?;
    Ok(Finished {
        outcome,
        regrets,
        run_json,
        report: run.report,
    })
}

/// Moves the progress bar, and writes every wave to disk as it comes.
struct Watcher {
    bar: ProgressBar,
    episodes: GrowingFile,
}

impl Observer for Watcher {
    fn episode(&mut self, replications: usize) {
        self.bar.inc(replications as u64);
    }

    fn wave(&mut self, wave: &FinishedWave) -> Result<(), OutputError> {
        self.episodes.append(&report::csv::episodes(wave))
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
            RunError::Output(error) => error.into(),
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

fn resolved_text(study: &Study) -> anyhow::Result<String> {
    let body = toml::to_string(&study.resolved)?;
    Ok(format!(
        "# Resolved study: every setting as it was used.\n\n{body}"
    ))
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
