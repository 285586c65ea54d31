//! `cbwk-gpu reproduce`: the paper's comparison, or the long one of all policies.

use std::time::Instant;

use super::args::{ReproduceArgs, TableFormat};
use super::machine;
use super::runner::{StudyRunner, results_folder};
use super::show::{json_list, place_and_time, print};
use cbwk_gpu::config::{COMPARED, PaperPanel, StudyFile};
use cbwk_gpu::report::comparison::{self, ComparedPanel};
use cbwk_gpu::report::verdict::{self, FigurePanel};
use cbwk_gpu::report::{plot, write_picture};
use cbwk_gpu::results::{PolicyRun, Results};
use cbwk_gpu::runs::StudyData;
use cbwk_gpu::statistics::MeanAndError;

/// Beyond this many episodes fewer replications are the default.
const LONG: u64 = 500;

/// Runs the command.
pub fn reproduce(args: &ReproduceArgs) -> anyhow::Result<()> {
    let start = Instant::now();
    let default = if args.episodes > LONG { 10 } else { 50 };
    let replications = args.replications.unwrap_or(default);
    let mut actions = args.actions.clone();
    if actions.is_empty() {
        actions.extend_from_slice(if args.all { &[2, 4, 8] } else { &[4] });
    }
    actions.sort_unstable();
    actions.dedup();
    let mut studies: Vec<(u32, PaperPanel, StudyFile)> = Vec::new();
    for &k in &actions {
        for panel in PaperPanel::ALL {
            let mut document = match args.all {
                true => panel.long_document(k, "--actions")?,
                false => panel.document(k, "--actions")?,
            };
            document.set_whole("study", "episodes", args.episodes, "--episodes");
            document.set_whole("study", "replications", replications, "--replications");
            document.set_whole("study", "seed", args.seed, "--seed");
            document.set_whole("study", "horizon", args.horizon, "--horizon");
            document.set_constant_budget(args.budget, "--budget");
            let file = StudyFile::from_document(&document)?;
            studies.push((k, panel, file));
        }
    }
    let checked = studies.iter().map(|(_, _, file)| &file.study);
    let mut runner = StudyRunner::start(&args.machine, checked, args.out.as_deref())?;
    let folder = results_folder(args.out.as_deref(), args.force, "reproduce")?;
    let mut panels = Vec::new();
    let mut compared = Vec::new();
    for same_actions in studies.chunk_by(|(k, ..), (next, ..)| k == next) {
        let (mut charts, mut improved) = (Vec::new(), Vec::new());
        for (k, panel, file) in same_actions {
            machine::note(
                args.machine.quiet,
                &format!("{} with K = {k}", panel.name()),
            );
            let inner = folder.inner(&format!("{}-K{k}", panel.name()), args.force)?;
            StudyData::default().write(file, &inner)?;
            let others = || {
                let (done, all, place) = (compared.len(), studies.len(), folder.path().display());
                let text = format!("; {done} of {all} panels are finished in {place}");
                Some(text)
            };
            let results = runner.run(file, &inner, others)?;
            let results = results.expect("whole studies have results");
            compared.push(ComparedPanel {
                name: format!("{}, K = {k}", panel.name()),
                run: results.run.clone(),
            });
            if args.all {
                continue;
            }
            // The paper's figure shows the paper's policies; the improvement has a figure of its own.
            let paper = results.first_policies(COMPARED.len());
            charts.push(plot::with_paper_names(plot::regret(&paper)));
            improved.push(plot::regret(&results));
            panels.push(FigurePanel::new(
                panel.name(),
                *k,
                &results,
                excess(&results),
            ));
        }
        if args.all {
            continue;
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
    let (name, page) = match args.all {
        true => ("comparison.md", comparison::long_page(&setting, &compared)),
        false => ("verdict.md", verdict::verdict(&setting, &panels)),
    };
    folder.write(name, page.as_bytes())?;
    let style = args.machine.format.style();
    let page = match args.machine.format {
        TableFormat::Json => {
            return print(&json_list(compared.iter().map(|panel| panel.run.text())));
        }
        TableFormat::Latex | TableFormat::Table if args.all => {
            comparison::long_table(&compared).text(style)
        }
        TableFormat::Latex => verdict::tables(&panels, style),
        TableFormat::Table => style.prose(&page),
        TableFormat::Markdown => page,
    };
    let place = place_and_time(folder.path(), start.elapsed());
    print(&(page + &style.prose(&format!("\nresults in {place}"))))
}

/// Final regret of each policy minus that of the first, paired by replication.
fn excess(results: &Results) -> Vec<MeanAndError> {
    let unknown = MeanAndError {
        mean: f64::NAN,
        standard_error: f64::NAN,
    };
    let policies = &results.run.policies;
    let excess = |policy: &PolicyRun| policy.excess_over(&policies[0]);
    let all = policies.iter().map(excess);
    all.map(|known| known.unwrap_or(unknown)).collect()
}
