//! `cbwk-gpu simulate` on a study with a `[sweep]`: one results folder per point, and an overview.

use std::io::Write;
use std::path::Path;
use std::time::Instant;

use super::args::{Format, SimulateArgs};
use super::data::Data;
use super::interrupt::Interrupt;
use super::run::{Machine, results_folder, run_study, seconds, with_others};
use super::{machine, resources};
use cbwk_gpu::config::{StudyFile, Sweep, SweepPoint};
use cbwk_gpu::error::{InputError, OutputError};
use cbwk_gpu::report;
use cbwk_gpu::results::{Overview, OverviewRow, PointResult, ResultsFolder};

/// Runs every point; all are checked before the first starts.
pub fn simulate_all(args: &SimulateArgs, sweep: &Sweep) -> anyhow::Result<()> {
    let start = Instant::now();
    let studies: Vec<StudyFile> = sweep
        .points
        .iter()
        .map(|point| StudyFile::from_document(&point.document))
        .collect::<Result<_, InputError>>()?;
    for file in &studies {
        machine::check_strategy(&args.machine, file.study.world.task())?;
    }
    let name = &studies[0].study.name;
    let threads = machine::start_threads(&args.machine)?;
    let mut backend = machine::backend(&args.machine)?;
    let out = args.out.as_deref().unwrap_or(Path::new("results"));
    resources::check_studies(studies.iter().map(|file| &file.study), out)?;
    let data = Data::read(studies.iter())?;
    let folder = results_folder(args.out.as_deref(), args.force, name)?;
    let inner = |point: &SweepPoint| folder.inner(&point.label, args.force);
    let folders = sweep.points.iter().map(inner);
    let folders: Vec<ResultsFolder> = folders.collect::<Result<_, OutputError>>()?;
    for (file, folder) in studies.iter().zip(&folders) {
        data.write(file, folder)?;
    }
    drop(data);
    let machine = Machine {
        args: &args.machine,
        threads,
        interrupt: Interrupt::listen()?,
    };
    let mut overview = Overview {
        keys: sweep.keys.clone(),
        rows: Vec::new(),
    };
    let mut runs = Vec::new();
    for (number, (point, study)) in sweep.points.iter().zip(&studies).enumerate() {
        let place = format!("point {} of {}: {}", number + 1, studies.len(), point.label);
        machine::note(&args.machine, &place);
        let inner = &folders[number];
        let finished = run_study(study, inner, backend.as_mut(), &machine);
        let finished = finished.map_err(|error| {
            let place = folder.path().display();
            let done = format!(
                "; {number} of {} points are finished in {place}",
                studies.len()
            );
            with_others(error, done)
        })?;
        let run = finished.results.run;
        let rows = run.policies.iter().map(|policy| OverviewRow {
            point: point.label.clone(),
            values: point.values.clone(),
            result: PointResult::new(policy),
        });
        overview.rows.extend(rows);
        runs.push(run.text());
    }
    folder.write("overview.csv", &overview.text())?;
    let title = format!("{name}: {} points", studies.len());
    let chart = report::overview::chart(&title, &overview);
    folder.write("overview.svg", chart.svg().as_bytes())?;
    let mut out = std::io::stdout().lock();
    match args.machine.format {
        Format::Json => writeln!(out, "[{}]", runs.join(","))?,
        Format::Table => {
            let table = report::overview::table(&title, &overview);
            let place = folder.path().display();
            let time = seconds(start.elapsed());
            write!(out, "{table}\nresults in {place} ({time})\n")?;
        }
    }
    Ok(())
}
