//! `cbwk-gpu reproduce`.

use std::io::Write;
use std::path::Path;
use std::time::Instant;

use super::args::{Format, ReproduceArgs};
use super::data::Data;
use super::interrupt::Interrupt;
use super::run::{Machine, results_folder, run_study, seconds, with_others};
use super::{machine, resources};
use cbwk_gpu::config::{self, StudyFile};
use cbwk_gpu::report::plot;
use cbwk_gpu::report::verdict::{self, Panel};

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
    let mut studies: Vec<(u32, config::Panel, StudyFile)> = Vec::new();
    for &k in &actions {
        for panel in config::Panel::ALL {
            let mut document = panel.document(k, "--actions")?;
            document.set_whole("study", "episodes", args.episodes, "--episodes");
            document.set_whole("study", "replications", replications, "--replications");
            document.set_whole("study", "seed", args.seed, "--seed");
            let file = StudyFile::from_document(&document)?;
            machine::check_strategy(&args.machine, file.study.world.task())?;
            studies.push((k, panel, file));
        }
    }
    let threads = machine::start_threads(&args.machine)?;
    let mut backend = machine::backend(&args.machine)?;
    let out = args.out.as_deref().unwrap_or(Path::new("results"));
    resources::check_studies(studies.iter().map(|(_, _, file)| &file.study), out)?;
    let folder = results_folder(args.out.as_deref(), args.force, "reproduce")?;
    let machine = Machine {
        args: &args.machine,
        threads,
        interrupt: Interrupt::listen()?,
    };
    let mut panels = Vec::new();
    let mut runs = Vec::new();
    for same_actions in studies.chunk_by(|(k, ..), (next, ..)| k == next) {
        let (mut charts, mut improved) = (Vec::new(), Vec::new());
        for (k, panel, file) in same_actions {
            machine::note(&args.machine, &format!("{} with K = {k}", panel.name()));
            let inner = folder.inner(&format!("{}-K{k}", panel.name()), args.force)?;
            Data::default().write(file, &inner)?;
            let finished = run_study(file, &inner, backend.as_mut(), &machine);
            let finished = finished.map_err(|error| {
                let (done, place) = (panels.len(), folder.path().display());
                let done = format!(
                    "; {done} of {} panels are finished in {place}",
                    studies.len()
                );
                with_others(error, done)
            })?;
            let results = &finished.results;
            // The paper's figure shows the paper's policies; the improvement has a figure of its own.
            let paper = results.first_policies(config::COMPARED.len());
            charts.push(plot::regret(&paper));
            improved.push(plot::regret(results));
            panels.push(Panel::new(panel.name(), *k, results, finished.excess));
            runs.push(results.run.text());
        }
        let figure = plot::side_by_side(&charts);
        let k = same_actions[0].0;
        folder.write(&format!("figure-K{k}.svg"), figure.as_bytes())?;
        let figure = plot::side_by_side(&improved);
        folder.write(&format!("improved-K{k}.svg"), figure.as_bytes())?;
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
