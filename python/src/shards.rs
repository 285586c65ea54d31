//! Shards of a study: records as text for transfer between processes, and the merge of all of them.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use cbwk_gpu::config::StudyFile;
use cbwk_gpu::experiment::{
    Phases, Prepared, Record, RunError, RunList, Shard, Sink, SinkError, Work, Yardstick,
};
use cbwk_gpu::files;
use cbwk_gpu::results::{
    Origin, RecordWriter, Results, ResultsFolder, RunSetup, StudyText, episode_rows,
};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::{Deserialize, Serialize};

use crate::backend::{Asked, Choice};
use crate::changes::Changes;
use crate::columns::EpisodeColumns;
use crate::errors::{of_backend, of_input, of_output, of_run, refused, wrong};
use crate::own::Mistake;
use crate::pool::{AfterStop, Stop, interruptible, pool};
use crate::results::{RunResults, read_data, write_study};
use crate::study::StudySource;

/// How often a shard checks whether it should stop.
const LOOK: Duration = Duration::from_millis(50);

/// The results of a shard.
#[derive(Debug, Serialize, Deserialize)]
struct Part {
    shard: Shard,
    /// The study it belongs to, with every setting.
    study: String,
    records: Vec<Record>,
    work: Vec<Work>,
    threads: usize,
}

/// Runs a shard of a study; the text is for [`merge_shards`]. It stops early once the file `unwanted` exists.
#[pyfunction]
#[pyo3(signature = (study, changes, index, count, *, backend, threads, unwanted))]
#[expect(clippy::too_many_arguments, reason = "the arguments of Study.run")]
pub fn run_shard(
    py: Python,
    study: &StudySource,
    changes: &Bound<PyDict>,
    index: usize,
    count: usize,
    backend: Asked,
    threads: Option<usize>,
    unwanted: PathBuf,
) -> PyResult<String> {
    let choice = Choice::of(backend)?;
    let shard = Shard::new(index, count).map_err(wrong)?;
    let mistake = Mistake::default();
    let file = study.check(&Changes::of_dict(changes)?, &mistake)?;
    let stop = Stop::default();
    let after = AfterStop::of_study(&file.study);
    let pool = pool(threads)?;
    let keeper = Keeper {
        part: Part {
            shard,
            study: file.resolved_text(),
            records: Vec::new(),
            work: Vec::new(),
            threads: pool.current_num_threads(),
        },
        stop: stop.clone(),
        mistake,
        unwanted,
        looked: Instant::now(),
    };
    if keeper.unwanted.exists() {
        return Err(of_run(RunError::Stopped));
    }
    let run = move || pool.install(|| keeper.run(&file, choice));
    interruptible(py, &stop, after, run)?
}

/// Collects the records of a shard.
struct Keeper {
    part: Part,
    stop: Stop,
    mistake: Mistake,
    unwanted: PathBuf,
    looked: Instant,
}

impl Keeper {
    fn run(mut self, file: &StudyFile, choice: Choice) -> PyResult<String> {
        let mut backend = choice.open().map_err(of_backend)?;
        let todo = RunList::share(&file.study, Some(self.part.shard));
        let prepared = Prepared::new(&file.study).map_err(of_run)?;
        let done = prepared.run(todo, backend.as_mut(), &mut self);
        if let Some(mistake) = self.mistake.take() {
            return Err(mistake);
        }
        done.map_err(of_run)?;
        let text = serde_json::to_string(&self.part);
        text.map_err(|error| refused("shard", error, "finite numbers"))
    }
}

impl Sink for Keeper {
    fn episode(&mut self, _replications: usize) -> ControlFlow<()> {
        if self.looked.elapsed() >= LOOK {
            self.looked = Instant::now();
            if self.unwanted.exists() {
                self.stop.set();
            }
        }
        match self.stop.is_set() || self.mistake.is_there() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    fn replication(&mut self, _yardstick: &Yardstick, record: &Record) -> Result<(), SinkError> {
        self.part.records.push(record.clone());
        Ok(())
    }

    fn wave(&mut self, work: &Work) -> Result<(), SinkError> {
        self.part.work.push(work.clone());
        Ok(())
    }
}

/// Refuses a folder that holds results, before anything is computed for it.
#[pyfunction]
pub fn check_folder(out: PathBuf) -> PyResult<()> {
    let prepared = ResultsFolder::prepare(&out, false);
    prepared.map(drop).map_err(|error| of_output(&error))
}

/// Stores the records of some shards in a folder, like an interrupted run.
#[pyfunction]
#[pyo3(signature = (study, changes, parts, *, out, command, backend))]
pub fn keep_shards(
    py: Python,
    study: &StudySource,
    changes: &Bound<PyDict>,
    parts: Vec<String>,
    out: PathBuf,
    command: String,
    backend: Asked,
) -> PyResult<()> {
    let choice = Choice::of(backend)?;
    let file = study.check(&Changes::of_dict(changes)?, &Mistake::default())?;
    py.detach(|| {
        let parts = read_parts(&parts)?;
        let data = read_data(&file).map_err(of_input)?;
        let text = file.resolved_text();
        let backend = choice.open().map_err(of_backend)?;
        let checksum = files::sha256(text.as_bytes());
        let origin = Origin {
            command,
            threads: parts.iter().map(|part| part.threads).max().unwrap_or(1),
            ..Origin::new(checksum, backend.name(), &backend.report(), "auto")
        };
        let keep = || {
            let folder = ResultsFolder::prepare(&out, false)?;
            write_study(&folder, &data, &text)?;
            let mut writer = RecordWriter::start(&folder, &origin)?;
            for (part, work) in parts
                .iter()
                .flat_map(|p| p.work.iter().map(move |w| (p, w)))
            {
                let own = part.records.iter().filter(|r| r.policy == work.policy);
                own.for_each(|record| writer.record(record));
                writer.wave(work)?;
            }
            Ok(())
        };
        keep().map_err(|error| of_output(&error))
    })
}

/// The results of a study from all of its shards, in any order.
#[pyfunction]
#[pyo3(signature = (study, changes, parts, *, command, seconds))]
pub fn merge_shards(
    py: Python,
    study: &StudySource,
    changes: &Bound<PyDict>,
    parts: Vec<String>,
    command: String,
    seconds: f64,
) -> PyResult<RunResults> {
    let file = study.check(&Changes::of_dict(changes)?, &Mistake::default())?;
    let pool = pool(None)?;
    let merge = move || pool.install(|| merged(&file, &parts, command, seconds));
    interruptible(py, &Stop::default(), AfterStop::Wait, merge)?
}

fn read_parts(parts: &[String]) -> PyResult<Vec<Part>> {
    let parts: Result<Vec<Part>, _> = parts.iter().map(|p| serde_json::from_str(p)).collect();
    parts.map_err(|error| refused("shards", error, "results of run_shard"))
}

fn merged(
    file: &StudyFile,
    parts: &[String],
    command: String,
    seconds: f64,
) -> PyResult<RunResults> {
    let mut parts = read_parts(parts)?;
    parts.sort_by_key(|part| part.shard);
    let shards: Vec<Shard> = parts.iter().map(|part| part.shard).collect();
    if shards != Shard::all(parts.len()).collect::<Vec<_>>() {
        let found = format!("{shards:?}");
        return Err(refused("shards", found, "each of them once"));
    }
    let text = file.resolved_text();
    if parts.iter().any(|part| part.study != text) {
        return Err(refused(
            "shards",
            "shards of another study",
            "shards of this study",
        ));
    }
    let start = Instant::now();
    let study = &file.study;
    let prepared = Prepared::new(study).map_err(of_run)?;
    let mut phases = Phases {
        optimum: prepared.elapsed,
        ..Phases::default()
    };
    let mut columns = EpisodeColumns::default();
    let mut policies = Vec::new();
    let mut all = Work::default();
    for (number, policy) in study.policies.iter().enumerate() {
        let mut work = Work::default();
        let waves = parts.iter().flat_map(|part| &part.work);
        waves
            .filter(|w| w.policy == policy.name)
            .for_each(|w| work.add(w));
        phases += work.phases;
        let records = parts.iter().flat_map(|part| &part.records);
        let own: Vec<&Record> = records.filter(|r| r.policy == policy.name).collect();
        if own.len() != study.replications
            || own.iter().enumerate().any(|(i, r)| r.replication != i)
        {
            let found = format!("{} records of `{}`", own.len(), policy.name);
            return Err(refused("shards", found, format!("{}", study.replications)));
        }
        for record in &own {
            episode_rows(&prepared.yardstick, record).for_each(|row| columns.push(row));
        }
        let records = own
            .into_iter()
            .map(|record| Ok::<_, RunError>(record.clone()));
        let outcome = prepared.policy_outcome(number, records, &work);
        policies.push(outcome.map_err(of_run)?);
        all.add(&work);
    }
    let outcome = prepared.into_outcome(policies, phases);
    let setup = RunSetup {
        command,
        report: all.report,
        strategy: "auto".into(),
        threads: parts.iter().map(|part| part.threads).max().unwrap_or(1),
    };
    let text = StudyText::parse(&PathBuf::from("study.toml"), text).map_err(of_input)?;
    let mut results = Results::of_outcome(&PathBuf::new(), study, text, outcome, setup);
    results.run.seconds.total = seconds + start.elapsed().as_secs_f64();
    let data = read_data(file).map_err(of_input)?;
    let notes = study.world.notes().to_vec();
    Ok(RunResults::new(results, columns, data, notes))
}
