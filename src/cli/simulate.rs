//! `cbwk-gpu simulate`.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use super::args::{Format, SimulateArgs};
use super::machine;
use crate::report::{self, ResultsFolder, json};
use crate::sim;
use crate::study::{Document, Study};

/// Runs the command.
pub fn simulate(args: &SimulateArgs) -> anyhow::Result<()> {
    let start = Instant::now();
    let (name, mut document) = machine::open_study(args.study.as_deref(), args.preset.as_deref())?;
    apply_overrides(args, &mut document);
    let study = Study::from_document(&document)?;
    let mut backend = machine::backend(&args.machine)?;
    let folder = match &args.out {
        Some(path) => ResultsFolder::prepare(path, args.force)?,
        None => ResultsFolder::prepare_default(&name)?,
    };
    let threads = machine::start_threads(&args.machine)?;
    for note in study.instance.notes() {
        machine::note(&args.machine, note);
    }

    let bar = progress_bar(args, &study);
    let mut progress = |episodes: usize| bar.inc(episodes as u64);
    let outcome = sim::run(&study, backend.as_mut(), &mut progress)?;
    bar.finish_and_clear();

    let writing = Instant::now();
    let regrets = outcome.regrets();
    let names: Vec<&str> = outcome.policies.iter().map(|p| p.name.as_str()).collect();
    let title = format!(
        "{name}: T = {}, H = {}, {} replications",
        study.episodes,
        study.instance.horizon(),
        study.replications
    );
    folder.write("episodes.csv", report::csv::episodes(&outcome).as_bytes())?;
    folder.write(
        "summary.csv",
        report::csv::summary(&names, &regrets).as_bytes(),
    )?;
    folder.write(
        "regret.svg",
        report::plot::regret(&title, &names, &regrets).as_bytes(),
    )?;
    folder.write("study.toml", resolved_text(&study)?.as_bytes())?;
    let run = json::Run {
        command: command_line(),
        backend: backend.name().into(),
        adapter: None,
        precision: "f64".into(),
        threads,
        total: start.elapsed(),
        output: writing.elapsed(),
    };
    let run_json = format!("{:#}\n", json::run(&run, &study, &outcome, &regrets));
    folder.write("run.json", run_json.as_bytes())?;

    let mut out = std::io::stdout().lock();
    match args.machine.format {
        Format::Json => out.write_all(run_json.as_bytes())?,
        Format::Table => {
            let setting = format!("{} {}, {threads} threads", run.backend, run.precision);
            let table = report::table::study(&name, &setting, &study, &outcome, &regrets);
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
fn progress_bar(args: &SimulateArgs, study: &Study) -> ProgressBar {
    if args.machine.quiet || !std::io::stderr().is_terminal() {
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
    let args: Vec<String> = std::env::args().skip(1).collect();
    format!("cbwk-gpu {}", args.join(" "))
}

fn seconds(duration: Duration) -> String {
    format!("{:.2} s", duration.as_secs_f64())
}
