//! `cbwk-gpu simulate` on a study with a `[sweep]`: one results folder per point, and an overview.

use std::io::Write;
use std::path::Path;
use std::time::Instant;

use super::args::{SimulateArgs, TableFormat};
use super::run::{Machine, run_study, seconds, with_others};
use super::simulate::{study_folder, write_data};
use super::{machine, resources};
use cbwk_gpu::config::{Document, StudyFile, Sweep, SweepPoint};
use cbwk_gpu::error::{InputError, OutputError};
use cbwk_gpu::experiment::Shard;
use cbwk_gpu::report;
use cbwk_gpu::results::{ResultsFolder, SweepIndex, SweptPoint};
use cbwk_gpu::runs::{self, Data};

/// The points of a sweep with their studies, in the same order.
pub struct Points {
    index: SweepIndex,
    studies: Vec<StudyFile>,
}

impl Points {
    /// Those of a study file.
    pub fn of_sweep(sweep: &Sweep) -> Result<Self, InputError> {
        let studies = sweep.points.iter().map(StudyFile::of_point);
        let studies: Vec<StudyFile> = studies.collect::<Result<_, _>>()?;
        let name = &studies[0].study.name;
        Ok(Self {
            index: SweepIndex {
                title: format!("{name}: {} points", sweep.combinations),
                keys: sweep.keys.clone(),
                points: sweep.points.iter().map(swept).collect(),
            },
            studies,
        })
    }

    /// Those of a run that is gone on with, as its folder holds them; `change` is what options ask for.
    pub fn of_folder(
        folder: &Path,
        index: SweepIndex,
        change: impl Fn(&mut Document),
    ) -> Result<Self, InputError> {
        let study = |point: &SweptPoint| {
            let mut document = Document::read(&folder.join(&point.label).join("study.toml"))?;
            change(&mut document);
            StudyFile::from_document(&document)
        };
        let studies: Vec<StudyFile> = index.points.iter().map(study).collect::<Result<_, _>>()?;
        match studies.is_empty() {
            true => Err(InputError::File {
                file: folder.join(SweepIndex::FILE),
                message: "found no points; accepted: a sweep of this program".into(),
            }),
            false => Ok(Self { index, studies }),
        }
    }
}

/// Runs every point; all are checked before the first starts.
pub fn simulate_all(
    args: &SimulateArgs,
    points: &Points,
    shard: Option<Shard>,
) -> anyhow::Result<()> {
    let start = Instant::now();
    let Points { index, studies } = points;
    for file in studies {
        machine::check_strategy(&args.machine, file.study.world.task())?;
    }
    let name = &studies[0].study.name;
    let threads = machine::start_threads(&args.machine)?;
    let mut backend = machine::backend(&args.machine)?;
    let out = args.out.as_deref().unwrap_or(Path::new("results"));
    resources::check_studies(studies.iter().map(|file| &file.study), out)?;
    let data = Data::read(studies.iter())?;
    let folder = study_folder(args, shard, name)?;
    let anew = args.force || args.durable.resume;
    let inner = |point: &SweptPoint| folder.inner(&point.label, anew);
    let folders = index.points.iter().map(inner);
    let folders: Vec<ResultsFolder> = folders.collect::<Result<_, OutputError>>()?;
    for (file, folder) in studies.iter().zip(&folders) {
        write_data(&data, file, folder)?;
    }
    drop(data);
    // The points are known when the studies of all are there.
    write_index(index, &folder)?;
    let machine = Machine::new(&args.machine, threads)?;
    let out = args.out.as_deref().unwrap_or(folder.path());
    let mut machine = machine.durable(&args.durable, shard, out);
    if let Ok(begun) = runs::made_with(folder.path()) {
        machine.command = begun.command;
    }
    let mut runs = Vec::new();
    for (number, (point, study)) in index.points.iter().zip(studies).enumerate() {
        let place = format!("study {} of {}: {}", number + 1, studies.len(), point.label);
        machine::note(&args.machine, &place);
        let inner = &folders[number];
        let finished = run_study(study, inner, backend.as_mut(), &machine);
        let finished = finished.map_err(|error| {
            let place = folder.path().display();
            let done = format!(
                "; {number} of {} studies are finished in {place}",
                studies.len()
            );
            with_others(error, done)
        })?;
        runs.extend(finished.map(|finished| finished.results.run));
    }
    let mut out = std::io::stdout().lock();
    let (place, time) = (folder.path().display(), seconds(start.elapsed()));
    if shard.is_some() {
        writeln!(out, "finished in {place} ({time})")?;
        return Ok(());
    }
    report::overview::write(index, &runs, &folder)?;
    match args.machine.format {
        TableFormat::Json => {
            let runs: Vec<String> = runs.iter().map(cbwk_gpu::results::Run::text).collect();
            writeln!(out, "[{}]", runs.join(","))?;
        }
        format => {
            let style = format.style();
            let table = report::overview::table(index, &runs, style);
            let end = style.prose(&format!("\nresults in {place} ({time})"));
            write!(out, "{table}{end}")?;
        }
    }
    Ok(())
}

fn swept(point: &SweepPoint) -> SweptPoint {
    SweptPoint {
        label: point.label.clone(),
        values: point.values.clone(),
    }
}

/// Writes the points; those of a run that is gone on with must be the same.
fn write_index(index: &SweepIndex, folder: &ResultsFolder) -> anyhow::Result<()> {
    match SweepIndex::read(folder.path())? {
        Some(begun) if begun != *index => Err(InputError::File {
            file: folder.path().to_path_buf(),
            message: "sweep: found other points; accepted: those that the run was begun with"
                .into(),
        }
        .into()),
        Some(_) => Ok(()),
        None => Ok(folder.write(SweepIndex::FILE, index.text().as_bytes())?),
    }
}
