//! One study into its folder: a wave is on disk before the next begins, and the wave under way is saved every so often.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

use super::error::sink;
use super::finish::{Finished, finish};
use super::same::{refuse_other_origin, refuse_other_study};
use super::shards::{missing, refuse_foreign};
use super::{RunsError, read_study};
use crate::config::StudyFile;
use crate::dp::Backend;
use crate::error::InputError;
use crate::experiment::{
    Prepared, Record, Shard, Sink, SinkError, Todo, WaveState, Work, Yardstick,
};
use crate::files::sha256_of_file;
use crate::results::{Origin, RecordLog, RecordWriter, Results, ResultsFolder, Run};
use crate::results::{read_wave, remove_wave, write_wave};

/// How a study is run.
#[derive(Debug, Clone)]
pub struct How {
    /// The command line, as of a run that is neither cut nor resumed.
    pub command: String,
    /// Worker threads.
    pub threads: usize,
    /// How the CPU is asked to solve: `auto`, or the name of a strategy.
    pub strategy: String,
    /// The part of the replications to run; all of them where there is none.
    pub shard: Option<Shard>,
    /// When to save the wave under way.
    pub save: SaveEvery,
    /// The largest resident size of the process so far, where the system tells.
    pub peak_memory: fn() -> Option<u64>,
}

/// When the wave under way is saved: after so many episodes, or so much time, whichever comes first. Saving never takes more
/// than a twentieth of the time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SaveEvery {
    /// Episodes; by default no number of them.
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

/// Whoever watches a run.
pub trait Watch {
    /// So many replications have finished another episode.
    fn episode(&mut self, _replications: usize) {}

    /// Whether the run is to end after this step, with all that it has saved.
    fn stops(&self) -> bool {
        false
    }

    /// Something worth knowing.
    fn note(&mut self, _text: &str) {}
}

/// Watches nothing.
impl Watch for () {}

/// Runs a study, or the shard of it that is asked for, in a folder that has `study.toml` and its data; goes on where an
/// earlier run ended, if one has been there. Returns the results where the study is finished and not a shard.
pub fn run_study(
    file: &StudyFile,
    folder: &ResultsFolder,
    backend: &mut dyn Backend,
    how: &How,
    watch: &mut dyn Watch,
) -> Result<Option<Finished>, RunsError> {
    let start = Instant::now();
    let study = &file.study;
    refuse_other_study(file, &read_study(folder.path())?, folder.path())?;
    let origin = origin(folder.path(), backend, how)?;
    if folder.path().join("run.json").is_file() {
        let results = Results::read(folder.path())?;
        let begun = made_by(&results.run, &origin);
        refuse_other_origin(&folder.path().join("run.json"), &origin, &begun)?;
        clear_way(folder)?;
        let excess = Vec::new();
        return Ok(Some(Finished { results, excess }));
    }
    let log = RecordLog::read(folder.path())?;
    let (writer, origin, before) = match &log {
        Some(log) => {
            refuse_other_origin(&log.path, &origin, &log.origin)?;
            refuse_foreign(study, log)?;
            let before = log.work.iter().map(|work| work.elapsed).sum();
            let writer = RecordWriter::resume(log)?;
            (writer, log.origin.clone(), before)
        }
        None => {
            remove_wave(folder)?;
            let writer = RecordWriter::start(folder, &origin)?;
            (writer, origin, Duration::ZERO)
        }
    };
    let mut todo = Todo::share(study, how.shard);
    if let Some(log) = &log {
        todo.replications = missing(study, log);
        todo.under_way = read_wave(folder.path(), &origin).filter(|state| {
            let pending = todo.replications.get(state.policy);
            pending.is_some_and(|pending| state.replications.iter().all(|r| pending.contains(r)))
        });
        resuming(log, &todo, file, watch);
    }
    let prepared = Prepared::new(study)?;
    if todo.replications.iter().any(|pending| !pending.is_empty()) {
        let mut durable = Durable {
            folder,
            origin: &origin,
            writer,
            watch,
            save: how.save,
            saved: Instant::now(),
            pause: how.save.interval,
            episodes: 0,
        };
        prepared.run(todo, backend, &mut durable)?;
    }
    remove_wave(folder)?;
    if how.shard.is_some() {
        return Ok(None);
    }
    let log = RecordLog::read(folder.path())?.ok_or_else(|| gone(folder.path()))?;
    let mut finished = finish(file, prepared, &[log], folder)?;
    let run = &mut finished.results.run;
    run.seconds.total = (before + start.elapsed()).as_secs_f64();
    run.peak_memory_bytes = (how.peak_memory)();
    finished.results.write_run(folder)?;
    clear_way(folder)?;
    Ok(Some(finished))
}

fn origin(folder: &Path, backend: &dyn Backend, how: &How) -> Result<Origin, InputError> {
    let study = folder.join("study.toml");
    let checksum = sha256_of_file(&study);
    let checksum = checksum.map_err(|error| InputError::unreadable(&study, &error))?;
    Ok(Origin {
        shard: how.shard,
        command: how.command.clone(),
        threads: how.threads,
        ..Origin::new(checksum, backend.name(), &backend.report(), &how.strategy)
    })
}

/// What a finished study was made by; its adapter has seen to all of it.
fn made_by(run: &Run, origin: &Origin) -> Origin {
    Origin {
        version: run.version.clone(),
        backend: run.backend.clone(),
        precision: run.precision.clone(),
        strategy: run.strategy.clone(),
        ..origin.clone()
    }
}

fn gone(folder: &Path) -> InputError {
    InputError::File {
        file: folder.to_path_buf(),
        message: "the records are gone; accepted: a folder that nobody else writes to".into(),
    }
}

/// Removes what a run needs on its way only.
fn clear_way(folder: &ResultsFolder) -> Result<(), RunsError> {
    remove_wave(folder)?;
    RecordWriter::remove(folder)?;
    Ok(())
}

/// Says where a run goes on.
fn resuming(log: &RecordLog, todo: &Todo, file: &StudyFile, watch: &mut dyn Watch) {
    let study = &file.study;
    let pending: usize = todo.replications.iter().map(Vec::len).sum();
    let mut text = format!(
        "going on with {} of {} replications finished",
        log.count(),
        log.count() + pending
    );
    if let Some(state) = &todo.under_way {
        let policy = &study.policies[state.policy].name;
        let (count, episodes) = (state.replications.len(), study.episodes);
        let t = state.episodes;
        text += &format!(", and {count} of `{policy}` after episode {t} of {episodes}");
    }
    watch.note(&text);
}

/// The sink that loses nothing.
struct Durable<'a> {
    folder: &'a ResultsFolder,
    origin: &'a Origin,
    writer: RecordWriter,
    watch: &'a mut dyn Watch,
    save: SaveEvery,
    saved: Instant,
    pause: Duration,
    episodes: usize,
}

impl Sink for Durable<'_> {
    fn episode(&mut self, replications: usize) -> ControlFlow<()> {
        self.watch.episode(replications);
        self.episodes += 1;
        match self.watch.stops() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    fn replication(&mut self, _yardstick: &Yardstick, record: &Record) -> Result<(), SinkError> {
        self.writer.record(record);
        Ok(())
    }

    fn wave(&mut self, work: &Work) -> Result<(), SinkError> {
        self.writer.wave(work).map_err(sink)?;
        remove_wave(self.folder).map_err(sink)?;
        (self.saved, self.episodes) = (Instant::now(), 0);
        Ok(())
    }

    fn wants_state(&mut self, stopping: bool) -> bool {
        let enough = |n: usize| self.episodes >= n;
        stopping || self.saved.elapsed() >= self.pause || self.save.episodes.is_some_and(enough)
    }

    fn state(&mut self, state: &WaveState) -> Result<(), SinkError> {
        let start = Instant::now();
        write_wave(self.folder, self.origin, state).map_err(sink)?;
        self.pause = self.save.interval.max(20 * start.elapsed());
        (self.saved, self.episodes) = (Instant::now(), 0);
        Ok(())
    }
}
