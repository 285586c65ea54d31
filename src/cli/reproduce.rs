//! `cbwk-gpu reproduce`.

use std::io::Write;
use std::time::Instant;

use super::args::{Format, ReproduceArgs};
use super::machine;
use super::simulate::{run_study, seconds};
use cbwk_gpu::config::{self, StudyFile};
use cbwk_gpu::report::plot;
use cbwk_gpu::report::verdict::{self, Panel};
use cbwk_gpu::results::ResultsFolder;

/// Beyond this many episodes fewer replications are the default.
const LONG: u64 = 500;

/// Runs the command.
pub fn reproduce(args: &ReproduceArgs) -> anyhow::Result<()> {
    let start = Instant::now();
    let default = if args.episodes > LONG { 10 } else { 50 };
    let replications = args.replications.unwrap_or(default);
    let mut actions = args.actions.clone();
    actions.sort_unstable();
    actions.dedup();
    let mut backend = machine::backend(&args.machine)?;
    let folder = match &args.out {
        Some(path) => ResultsFolder::prepare(path, args.force)?,
        None => ResultsFolder::prepare_default("reproduce")?,
    };
    let threads = machine::start_threads(&args.machine)?;
    let mut panels = Vec::new();
    let mut runs = Vec::new();
    for &k in &actions {
        let mut charts = Vec::new();
        for panel in config::Panel::ALL {
            let mut document = panel.document(k, "--actions")?;
            document.set_whole("study", "episodes", args.episodes, "--episodes");
            document.set_whole("study", "replications", replications, "--replications");
            document.set_whole("study", "seed", args.seed, "--seed");
            let file = StudyFile::from_document(&document)?;
            machine::check_strategy(&args.machine, file.study.world.task())?;
            machine::note(&args.machine, &format!("{} with K = {k}", panel.name()));
            let inner = folder.inner(&format!("{}-K{k}", panel.name()), args.force)?;
            let finished = run_study(&file, &inner, backend.as_mut(), &args.machine, threads)?;
            let (excess, results) = (finished.outcome.excess_over_first(), finished.results);
            charts.push(plot::regret(&results));
            panels.push(Panel::new(panel.name(), k, &results, excess));
            runs.push(results.run.text());
        }
        let figure = plot::side_by_side(&charts);
        folder.write(&format!("figure-K{k}.svg"), figure.as_bytes())?;
    }
    let setting = format!(
        "T = {} episodes, H = 24 steps, budget B = 5, {replications} replications, seed {}.",
        args.episodes, args.seed
    );
    let page = verdict::verdict(&setting, &panels);
    folder.write("verdict.md", page.as_bytes())?;
    let mut out = std::io::stdout().lock();
    match args.machine.format {
        Format::Json => writeln!(out, "[{}]", runs.join(","))?,
        Format::Table => {
            let place = folder.path().display();
            let time = seconds(start.elapsed());
            write!(out, "{page}\nresults in {place} ({time})\n")?;
        }
    }
    Ok(())
}
