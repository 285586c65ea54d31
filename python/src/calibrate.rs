//! `Study.calibrate`: how often the bounds of the study's oracles hold, own oracles included.

use cbwk_gpu::experiment::{CoverageSetting, Streams, coverage, growing_sizes};
use cbwk_gpu::results::CoverageRow;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::changes::Changes;
use crate::errors::refused;
use crate::own::Mistake;
use crate::pool::{AfterStop, Stop, interruptible, pool};
use crate::study::StudySource;

/// A number of a row.
type Number = fn(&CoverageRow) -> f64;

/// Sizes of data sets that are reported.
const SIZES: usize = 8;

/// The lines of `coverage.csv` as columns.
#[pyfunction]
#[pyo3(signature = (study, changes, *, observations, repetitions, threads))]
pub fn calibrate<'py>(
    py: Python<'py>,
    study: &StudySource,
    changes: &Bound<'py, PyDict>,
    observations: Option<usize>,
    repetitions: usize,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyDict>> {
    let mistake = Mistake::default();
    let study = study.check(&Changes::of_dict(changes)?, &mistake)?.study;
    if study.oracles().is_empty() {
        return Err(refused(
            "policies",
            "no policy with an oracle",
            "one at least",
        ));
    }
    let half = study.episodes * study.world.task().horizon() / 2;
    let setting = CoverageSetting {
        delta: study.delta,
        episodes: study.episodes,
        sizes: growing_sizes(observations.unwrap_or(half).max(1), SIZES),
        repetitions,
    };
    let pool = pool(threads)?;
    let work = move || {
        let streams = Streams::new(study.seed);
        let mut rows: Vec<CoverageRow> = Vec::new();
        for (name, oracle) in study.oracles() {
            let found = pool.install(|| coverage(&study.world, oracle, &setting, &streams, &|| ()));
            rows.extend(found.iter().map(|row| CoverageRow::new(&name, row)));
        }
        rows
    };
    let rows = interruptible(py, &Stop::default(), AfterStop::Wait, work)?;
    if let Some(error) = mistake.take() {
        return Err(error);
    }
    let columns = PyDict::new(py);
    let names: Vec<&str> = rows.iter().map(|row| row.oracle.as_str()).collect();
    columns.set_item("oracle", names)?;
    let counts: Vec<usize> = rows.iter().map(|row| row.observations).collect();
    columns.set_item("observations", counts)?;
    let numbers: [(&str, Number); 6] = [
        ("pairs_covered", |row| row.pairs_covered),
        ("all_covered", |row| row.all_covered),
        ("always_covered", |row| row.always_covered),
        ("width", |row| row.width),
        ("error", |row| row.error),
        ("factor", |row| row.factor),
    ];
    for (name, of) in numbers {
        columns.set_item(name, rows.iter().map(of).collect::<Vec<f64>>())?;
    }
    Ok(columns)
}
