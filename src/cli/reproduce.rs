//! `cbwk-gpu reproduce`.

use std::io::Write;
use std::path::Path;
use std::time::Instant;

use super::args::{ReproduceArgs, TableFormat};
use super::run::{Machine, results_folder, run_study, seconds, with_others};
use super::{machine, resources};
use cbwk_gpu::config::{self, StudyFile};
use cbwk_gpu::report::verdict::{self, FigurePanel};
use cbwk_gpu::report::{plot, write_picture};
use cbwk_gpu::runs::Data;

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
            document.set_whole("study", "horizon", args.horizon, "--horizon");
            document.set_constant_budget(args.budget, "--budget");
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
    let machine = Machine::new(&args.machine, threads)?;
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
            let finished = finished.expect("whole studies have results");
            let results = &finished.results;
            // The paper's figure shows the paper's policies; the improvement has a figure of its own.
            let paper = results.first_policies(config::COMPARED.len());
            charts.push(plot::with_paper_names(plot::regret(&paper)));
            improved.push(plot::regret(results));
            panels.push(FigurePanel::new(panel.name(), *k, results, finished.excess));
            runs.push(results.run.text());
        }
        let figure = plot::side_by_side(&charts);
        let k = same_actions[0].0;
        write_picture(&folder, &format!("figure-K{k}"), &figure)?;
        let figure = plot::side_by_side(&improved);
        write_picture(&folder, &format!("improved-K{k}"), &figure)?;
    }
    let setting = format!(
        "T = {} episodes, H = {} steps, budget B = {}, {replications} replications, seed {}.",
        args.episodes, args.horizon, args.budget, args.seed
    );
    let page = verdict::verdict(&setting, &panels);
    folder.write("verdict.md", page.as_bytes())?;
    let mut out = std::io::stdout().lock();
    match args.machine.format {
        TableFormat::Json => writeln!(out, "[{}]", runs.join(","))?,
        format => {
            let place = folder.path().display();
            let time = seconds(start.elapsed());
            let page = match format {
                TableFormat::Latex => verdict::tables(&panels, format.style()),
                TableFormat::Table => format.style().prose(&page),
                _ => page,
            };
            let end = format
                .style()
                .prose(&format!("\nresults in {place} ({time})"));
            write!(out, "{page}{end}")?;
        }
    }
    Ok(())
}
