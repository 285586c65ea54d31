//! Runs a study with the interpreter released, reports progress, and stops on Ctrl-C; finished replications are kept if a
//! folder is given.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cbwk_gpu::config::StudyFile;
use cbwk_gpu::experiment::{self, Record, Sink, SinkError, Yardstick};
use cbwk_gpu::results::{Results, ResultsFolder, RunSetup, StudyText, episode_rows};
use cbwk_gpu::runs::{Progress, RunOptions, SaveEvery, run_in_folder};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::backend::{Asked, Choice};
use crate::changes::Changes;
use crate::columns::EpisodeColumns;
use crate::errors::{of_backend, of_input, of_output, of_run, of_runs};
use crate::own::Mistake;
use crate::pool::{AfterStop, Stop, interruptible, pool};
use crate::results::{RunResults, read_data, write_study};
use crate::study::StudySource;

/// How often progress is reported.
const PROGRESS: Duration = Duration::from_millis(100);

/// Runs a study with changes; `progress` is called with the numbers of finished and of all episodes.
#[pyfunction]
#[pyo3(signature = (study, changes, *, command, out, backend, threads, progress))]
#[expect(clippy::too_many_arguments, reason = "the arguments of Study.run")]
pub fn run_study(
    py: Python,
    study: &StudySource,
    changes: &Bound<PyDict>,
    command: String,
    out: Option<PathBuf>,
    backend: Asked,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<RunResults> {
    let choice = Choice::of(backend)?;
    let mistake = Mistake::default();
    let file = study.check(&Changes::of_dict(changes)?, &mistake)?;
    let after = AfterStop::of_study(&file.study);
    let pool = pool(threads)?;
    let stop = Stop::default();
    let run = Run {
        file,
        command,
        out,
        choice,
        watcher: Watcher {
            done: 0,
            all: 0,
            told: Instant::now(),
            progress,
            stop: stop.clone(),
            mistake,
        },
    };
    interruptible(py, &stop, after, move || pool.install(|| run.run()))?
}

/// The inputs of a run, for a separate thread.
struct Run {
    file: StudyFile,
    command: String,
    out: Option<PathBuf>,
    choice: Choice,
    watcher: Watcher,
}

impl Run {
    fn run(mut self) -> PyResult<RunResults> {
        let study = &self.file.study;
        self.watcher.all = study.policies.len() * study.replications * study.episodes;
        let done = match self.out.take() {
            Some(out) => self.run_in_folder(&out),
            None => self.run_in_memory(),
        };
        if done.is_ok() {
            self.watcher.tell();
        }
        match self.watcher.mistake.take() {
            Some(mistake) => Err(mistake),
            None => done,
        }
    }

    /// Like the command line: every wave is on disk before the next begins.
    fn run_in_folder(&mut self, out: &Path) -> PyResult<RunResults> {
        let mut backend = self.choice.open().map_err(of_backend)?;
        let data = read_data(&self.file).map_err(of_input)?;
        let prepare = || {
            let folder = ResultsFolder::prepare(out, false)?;
            write_study(&folder, &data, &self.file.resolved_text())?;
            Ok(folder)
        };
        let folder = prepare().map_err(|error| of_output(&error))?;
        let options = RunOptions {
            command: self.command.clone(),
            threads: rayon::current_num_threads(),
            strategy: "auto".into(),
            shard: None,
            save: SaveEvery::default(),
            peak_memory: || None,
        };
        let watcher = &mut self.watcher;
        let done = run_in_folder(&self.file, &folder, backend.as_mut(), &options, watcher);
        done.map_err(of_runs)?;
        let mut results = RunResults::read(folder.path()).map_err(of_input)?;
        results.notes = self.file.study.world.notes().to_vec();
        Ok(results)
    }

    fn run_in_memory(&mut self) -> PyResult<RunResults> {
        let start = Instant::now();
        let mut backend = self.choice.open().map_err(of_backend)?;
        let study = &self.file.study;
        let data = read_data(&self.file).map_err(of_input)?;
        let mut keeper = Keeper {
            columns: EpisodeColumns::default(),
            watcher: &mut self.watcher,
        };
        let outcome = experiment::run(study, backend.as_mut(), &mut keeper).map_err(of_run)?;
        let columns = keeper.columns;
        let text = self.file.resolved_text();
        let text = StudyText::parse(Path::new("study.toml"), text).map_err(of_input)?;
        let setup = RunSetup {
            command: self.command.clone(),
            report: backend.report(),
            strategy: "auto".into(),
            threads: rayon::current_num_threads(),
        };
        let mut results = Results::of_outcome(Path::new(""), study, text, outcome, setup);
        results.run.seconds.total = start.elapsed().as_secs_f64();
        let notes = study.world.notes().to_vec();
        Ok(RunResults::new(results, columns, data, notes))
    }
}

/// Reports progress, and checks whether the study should stop.
struct Watcher {
    done: usize,
    all: usize,
    told: Instant,
    progress: Option<Py<PyAny>>,
    stop: Stop,
    mistake: Mistake,
}

impl Watcher {
    fn tell(&mut self) {
        // Once the run is abandoned, the interpreter may be gone.
        let Some(progress) = self.progress.as_ref().filter(|_| !self.stop.is_set()) else {
            return;
        };
        let told = Python::attach(|py| progress.call1(py, (self.done, self.all)));
        if let Err(error) = told {
            self.mistake.put(error);
        }
        self.told = Instant::now();
    }
}

impl Progress for Watcher {
    fn episode(&mut self, replications: usize) -> ControlFlow<()> {
        self.done += replications;
        if self.told.elapsed() >= PROGRESS {
            self.tell();
        }
        match self.stop.is_set() || self.mistake.is_there() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}

/// Keeps every record in memory.
struct Keeper<'a> {
    columns: EpisodeColumns,
    watcher: &'a mut Watcher,
}

impl Sink for Keeper<'_> {
    fn episode(&mut self, replications: usize) -> ControlFlow<()> {
        self.watcher.episode(replications)
    }

    fn replication(&mut self, yardstick: &Yardstick, record: &Record) -> Result<(), SinkError> {
        episode_rows(yardstick, record).for_each(|row| self.columns.push(row));
        Ok(())
    }
}
