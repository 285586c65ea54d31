//! Makes the files of an unsharded run from the shards of a study, byte for byte (times aside). All shards are checked before
//! anything is written; messages name missing, duplicate, damaged and foreign shards.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::finish::finish;
use super::refuse::{refuse_foreign, shard_name};
use super::shards::{missing, shard_folders};
use super::{RunsError, StudyData, read_study};
use crate::config::StudyFile;
use crate::error::{InputError, OutputError};
use crate::experiment::{Prepared, Shard};
use crate::files::sha256_of_file;
use crate::report::overview;
use crate::results::{RecordLog, Results, ResultsFolder, SweepIndex};

/// All shards of a study, complete and of one origin.
#[derive(Debug)]
pub struct Shards {
    sweep: Option<SweepIndex>,
    points: Vec<PointShards>,
    /// Nothing else can write to them meanwhile.
    _locks: Vec<ResultsFolder>,
}

/// A study, or a point of a sweep.
#[derive(Debug)]
struct PointShards {
    label: Option<String>,
    file: StudyFile,
    logs: Vec<RecordLog>,
}

/// What a merge has written.
#[derive(Debug)]
pub struct Merged {
    /// The results of the study, or of every point of the sweep.
    pub results: Vec<Results>,
    /// The sweep, if there is one.
    pub sweep: Option<SweepIndex>,
}

impl Shards {
    /// Checks all shards of a folder.
    pub fn collect(folder: &Path) -> Result<Self, RunsError> {
        let found = shard_folders(folder)?;
        let Some((first, _)) = found.first() else {
            let message = "found no shards; accepted: folders shard-1-of-N to shard-N-of-N";
            return Err(InputError::in_file(folder, message).into());
        };
        let count = first.count();
        let mut problems = Vec::new();
        if let Some((other, path)) = found.iter().find(|(shard, _)| shard.count() != count) {
            problems.push(format!(
                "{}: found one of {} shards beside those of {count}; accepted: the shards of one cut",
                name(path),
                other.count()
            ));
        }
        let absent = Shard::all(count).filter(|shard| found.iter().all(|(s, _)| s != shard));
        let absent: Vec<String> = absent.map(|shard| shard.index().to_string()).collect();
        if !absent.is_empty() {
            problems.push(format!("missing: shard {} of {count}", absent.join(", ")));
        }
        let mut locks = Vec::new();
        for (_, path) in &found {
            match ResultsFolder::prepare_to_read(path) {
                Ok(lock) => locks.push(lock),
                Err(OutputError::Busy { .. }) => {
                    problems.push(format!("{}: still running", name(path)));
                }
                Err(error) => return Err(error.into()),
            }
        }
        let sweep = most_common(found.iter().map(|(_, path)| SweepIndex::read(path)))?;
        let labels: Vec<Option<String>> = match &sweep {
            Some(sweep) => sweep.points.iter().map(|p| Some(p.label.clone())).collect(),
            None => vec![None],
        };
        let mut points = Vec::new();
        for label in labels {
            let place = |path: &Path| label.as_ref().map_or(path.into(), |label| path.join(label));
            let folders: Vec<(Shard, PathBuf)> = found
                .iter()
                .map(|(shard, path)| (*shard, place(path)))
                .collect();
            match collect_point(&folders, &mut problems) {
                Some((file, logs)) => points.push(PointShards { label, file, logs }),
                None => break,
            }
        }
        if !problems.is_empty() {
            return Err(InputError::in_file(folder, problems.join("; ")).into());
        }
        Ok(Self {
            sweep,
            points,
            _locks: locks,
        })
    }

    /// Writes the files of an unsharded run.
    pub fn merge_into(
        &self,
        folder: &ResultsFolder,
        peak_memory: fn() -> Option<u64>,
    ) -> Result<Merged, RunsError> {
        let mut results = Vec::new();
        for point in &self.points {
            let start = Instant::now();
            let inner = match &point.label {
                Some(label) => folder.inner(label, true)?,
                None => folder.clone(),
            };
            let file = &point.file;
            StudyData::read([file])?.write(file, &inner)?;
            let prepared = Prepared::new(&file.study)?;
            let mut merged = finish(file, prepared, &point.logs, &inner)?;
            let work = point.logs.iter().flat_map(|log| &log.work);
            let work: std::time::Duration = work.map(|work| work.elapsed).sum();
            merged.run.seconds.total = (work + start.elapsed()).as_secs_f64();
            merged.run.peak_memory_bytes = peak_memory();
            merged.write_run(&inner)?;
            results.push(merged);
        }
        if let Some(sweep) = &self.sweep {
            folder.write(SweepIndex::FILE, sweep.text().as_bytes())?;
            let runs: Vec<_> = results.iter().map(|r| r.run.clone()).collect();
            overview::write(sweep, &runs, folder)?;
        }
        Ok(Merged {
            results,
            sweep: self.sweep.clone(),
        })
    }
}

/// The records of one study in all shards; faults are added to the problems.
fn collect_point(
    folders: &[(Shard, PathBuf)],
    problems: &mut Vec<String>,
) -> Option<(StudyFile, Vec<RecordLog>)> {
    let mut logs = Vec::new();
    for (shard, path) in folders {
        match RecordLog::read(path) {
            Ok(Some(log)) => logs.push((*shard, path, log)),
            Ok(None) => problems.push(format!("{}: found no records", name(path))),
            Err(error) => problems.push(error.to_string()),
        }
    }
    // The study is that of most shards; the others are foreign.
    let mut votes: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, _, log) in &logs {
        *votes.entry(&log.origin.study).or_default() += 1;
    }
    let most = votes.values().max().copied()?;
    let (_, first, reference) = logs
        .iter()
        .find(|(_, _, log)| votes[log.origin.study.as_str()] == most)?;
    let (file, origin) = match read_study(first) {
        Ok(file) => (file, reference.origin.clone()),
        Err(error) => {
            problems.push(error.to_string());
            return None;
        }
    };
    for (shard, path, log) in &logs {
        let place = name(path);
        let text = sha256_of_file(&path.join("study.toml")).unwrap_or_default();
        let problem = if let Some(difference) = log.origin.difference(&origin) {
            format!("{place}: {difference}, as in the other shards")
        } else if log.origin.study != origin.study {
            let other = read_study(path).ok();
            match other.and_then(|other| other.difference(&file)) {
                Some(difference) => format!("{place}: {difference}, as in the other shards"),
                None => format!("{place}: found another study; accepted: that of the other shards"),
            }
        } else if text != origin.study {
            format!(
                "{place}/study.toml: found another text than its records were made from; accepted: that one"
            )
        } else if log.origin.shard != Some(*shard) {
            let found = shard_name(log.origin.shard);
            format!("{place}: found {found} a second time; accepted: {shard}")
        } else if let Err(error) = refuse_foreign(&file.study, log) {
            error.to_string()
        } else {
            let lacking: usize = missing(&file.study, log).iter().map(Vec::len).sum();
            if lacking == 0 {
                continue;
            }
            let (finished, all) = (log.count(), lacking + log.count());
            format!("{place}: unfinished, {finished} of {all} replications")
        };
        problems.push(problem);
    }
    let logs = logs.into_iter().map(|(_, _, log)| log);
    Some((file, logs.collect()))
}

/// The most common value; the first of equals.
fn most_common<T: Clone + PartialEq>(
    values: impl Iterator<Item = Result<T, InputError>>,
) -> Result<T, InputError> {
    let values: Vec<T> = values.collect::<Result<_, _>>()?;
    let votes = |value: &&T| values.iter().filter(|other| other == value).count();
    // Of equals, `max_by_key` takes the last.
    let best = values.iter().rev().max_by_key(votes);
    Ok(best.expect("there is a shard").clone())
}

/// The path from its shard's folder on, or its last part.
fn name(path: &Path) -> String {
    let parts: Vec<String> = path
        .components()
        .map(|part| part.as_os_str().to_string_lossy().into_owned())
        .collect();
    let from = parts
        .iter()
        .rposition(|part| Shard::of_folder(part).is_some());
    parts[from.unwrap_or(parts.len().saturating_sub(1))..].join("/")
}
