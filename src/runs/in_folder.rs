//! Runs one study in its folder: each wave is on disk before the next begins, and the current wave is saved from time to time.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

use super::finish::finish;
use super::refuse::{refuse_foreign, refuse_other_origin, refuse_other_study};
use super::shards::missing;
use super::{RunsError, read_study};
use crate::config::StudyFile;
use crate::dp::Backend;
use crate::error::InputError;
use crate::experiment::{
    Prepared, Record, RunList, Shard, Sink, SinkError, WaveState, Work, Yardstick,
};
use crate::files::sha256_of_file;
use crate::results::{Origin, RecordLog, RecordWriter, Results, ResultsFolder, Run};
use crate::results::{read_wave, remove_wave, write_wave};

/// How to run a study.
#[derive(Debug, Clone)]
pub struct RunOptions {
    /// The command line without options for shards, saving and resuming.
    pub command: String,
    /// Worker threads.
    pub threads: usize,
    /// The CPU strategy: `auto`, or the name of one.
    pub strategy: String,
    /// The shard to run; by default the whole study.
    pub shard: Option<Shard>,
    /// When to save the current wave.
    pub save: SaveEvery,
    /// The peak resident memory of the process, if the system reports it.
    pub peak_memory: fn() -> Option<u64>,
}

/// When to save the current wave: after this many episodes or this much time, whichever comes first. Saving takes at most a
/// twentieth of the time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SaveEvery {
    /// Episodes; by default unlimited.
    pub episodes: Option<usize>,
    /// Time; by default 30 seconds.
    pub interval: Duration,
}

impl Default for SaveEvery {
    fn default() -> Self {
        Self {
            episodes: None,
            interval: Duration::from_secs(30),
        }
    }
}

/// Follows a run.
pub trait Progress {
    /// This many replications have finished another episode. `Break` stops the run, with its state saved.
    fn episode(&mut self, _replications: usize) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// A note for the user.
    fn note(&mut self, _text: &str) {}
}

impl Progress for () {}

/// Runs a study, or one shard of it, in a folder that has `study.toml` and its data. Resumes an earlier run. Returns the
/// results if the study is finished and not a shard.
pub fn run_in_folder(
    file: &StudyFile,
    folder: &ResultsFolder,
    backend: &mut dyn Backend,
    options: &RunOptions,
    progress: &mut dyn Progress,
) -> Result<Option<Results>, RunsError> {
    let start = Instant::now();
    let (study, path) = (&file.study, folder.path());
    refuse_other_study(file, &read_study(path)?, path)?;
    let origin = origin(path, backend, options)?;
    let run_file = path.join("run.json");
    if run_file.is_file() {
        let results = Results::read(path)?;
        refuse_other_origin(&run_file, &origin, &made_by(&results.run, &origin))?;
        remove_checkpoints(folder)?;
        return Ok(Some(results));
    }
    let log = RecordLog::read(path)?;
    let mut todo = RunList::share(study, options.shard);
    let (writer, origin, before) = match &log {
        Some(log) => {
            refuse_other_origin(&log.path, &origin, &log.origin)?;
            refuse_foreign(study, log)?;
            todo.replications = missing(study, log);
            todo.unfinished = read_wave(path, &log.origin).filter(|state| {
                let pending = todo.replications.get(state.policy);
                pending.is_some_and(|all| state.replications.iter().all(|r| all.contains(r)))
            });
            progress.note(&resume_note(log, &todo, file));
            let before = log.work.iter().map(|work| work.elapsed).sum();
            (RecordWriter::resume(log)?, log.origin.clone(), before)
        }
        None => {
            remove_wave(folder)?;
            let writer = RecordWriter::start(folder, &origin)?;
            (writer, origin, Duration::ZERO)
        }
    };
    let prepared = Prepared::new(study)?;
    if todo.replications.iter().any(|pending| !pending.is_empty()) {
        let mut sink = FolderSink {
            folder,
            origin: &origin,
            writer,
            progress,
            save: options.save,
            saved: Instant::now(),
            pause: options.save.interval,
            episodes: 0,
        };
        prepared.run(todo, backend, &mut sink)?;
    }
    remove_wave(folder)?;
    if options.shard.is_some() {
        return Ok(None);
    }
    let log = RecordLog::read(path)?.ok_or_else(|| {
        let message = "the records are gone; accepted: a folder that no other program writes to";
        InputError::in_file(path, message)
    })?;
    let mut results = finish(file, prepared, &[log], folder)?;
    results.run.seconds.total = (before + start.elapsed()).as_secs_f64();
    results.run.peak_memory_bytes = (options.peak_memory)();
    results.write_run(folder)?;
    remove_checkpoints(folder)?;
    Ok(Some(results))
}

fn origin(
    folder: &Path,
    backend: &dyn Backend,
    options: &RunOptions,
) -> Result<Origin, InputError> {
    let study = folder.join("study.toml");
    let checksum = sha256_of_file(&study);
    let checksum = checksum.map_err(|error| InputError::unreadable(&study, &error))?;
    Ok(Origin {
        shard: options.shard,
        command: options.command.clone(),
        threads: options.threads,
        ..Origin::new(
            checksum,
            backend.name(),
            &backend.report(),
            &options.strategy,
        )
    })
}

/// The origin of a finished run; `run.json` has no requested adapter.
fn made_by(run: &Run, origin: &Origin) -> Origin {
    Origin {
        version: run.version.clone(),
        backend: run.backend.clone(),
        precision: run.precision.clone(),
        strategy: run.strategy.clone(),
        ..origin.clone()
    }
}

/// Removes the checkpoint files.
fn remove_checkpoints(folder: &ResultsFolder) -> Result<(), RunsError> {
    remove_wave(folder)?;
    RecordWriter::remove(folder)?;
    Ok(())
}

/// Where a run resumes.
fn resume_note(log: &RecordLog, todo: &RunList, file: &StudyFile) -> String {
    let study = &file.study;
    let pending: usize = todo.replications.iter().map(Vec::len).sum();
    let (finished, all) = (log.count(), log.count() + pending);
    let mut text = format!("resuming with {finished} of {all} replications finished");
    if let Some(state) = &todo.unfinished {
        let policy = &study.policies[state.policy].name;
        let (count, episodes) = (state.replications.len(), study.episodes);
        let t = state.episodes;
        text += &format!(", and {count} of `{policy}` after episode {t} of {episodes}");
    }
    text
}

/// Writes records and checkpoints to the folder.
struct FolderSink<'a> {
    folder: &'a ResultsFolder,
    origin: &'a Origin,
    writer: RecordWriter,
    progress: &'a mut dyn Progress,
    save: SaveEvery,
    saved: Instant,
    pause: Duration,
    /// Episodes since the last save.
    episodes: usize,
}

impl Sink for FolderSink<'_> {
    fn episode(&mut self, replications: usize) -> ControlFlow<()> {
        self.episodes += 1;
        self.progress.episode(replications)
    }

    fn replication(&mut self, _yardstick: &Yardstick, record: &Record) -> Result<(), SinkError> {
        self.writer.record(record);
        Ok(())
    }

    fn wave(&mut self, work: &Work) -> Result<(), SinkError> {
        self.writer.wave(work)?;
        remove_wave(self.folder)?;
        (self.saved, self.episodes) = (Instant::now(), 0);
        Ok(())
    }

    fn wants_state(&mut self, stopping: bool) -> bool {
        let enough = |n: usize| self.episodes >= n;
        stopping || self.saved.elapsed() >= self.pause || self.save.episodes.is_some_and(enough)
    }

    fn state(&mut self, state: &WaveState) -> Result<(), SinkError> {
        let start = Instant::now();
        write_wave(self.folder, self.origin, state)?;
        self.pause = self.save.interval.max(20 * start.elapsed());
        (self.saved, self.episodes) = (Instant::now(), 0);
        Ok(())
    }
}
