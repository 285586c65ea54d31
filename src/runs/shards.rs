//! The folders of a study: shards, points, and the replications that each lacks.

use std::path::{Path, PathBuf};

use crate::error::InputError;
use crate::experiment::{RunList, Shard, Study};
use crate::results::{RecordLog, SweepIndex, SweptPoint};

/// The shards in a folder, in order.
pub(super) fn shard_folders(folder: &Path) -> Result<Vec<(Shard, PathBuf)>, InputError> {
    let unreadable = |error: std::io::Error| InputError::unreadable(folder, &error);
    let mut shards = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let name = entry.file_name();
        if let Some(shard) = Shard::of_folder(&name.to_string_lossy())
            && entry.path().is_dir()
        {
            shards.push((shard, entry.path()));
        }
    }
    shards.sort_by_key(|(shard, _)| (shard.count(), shard.index()));
    Ok(shards)
}

/// The replications of its share that a file of records lacks, by policy.
pub(super) fn missing(study: &Study, log: &RecordLog) -> Vec<Vec<usize>> {
    let mut todo = RunList::share(study, log.origin.shard).replications;
    for (policy, pending) in study.policies.iter().zip(&mut todo) {
        let finished: std::collections::HashSet<usize> = log.finished(&policy.name).collect();
        pending.retain(|replication| !finished.contains(replication));
    }
    todo
}

/// The folders of the studies at a place within a folder: the place itself, or the points of its sweep.
pub(super) fn studies_at(folder: &Path, place: &str) -> Result<Vec<String>, InputError> {
    Ok(match SweepIndex::read(&folder.join(place))? {
        None => vec![place.into()],
        Some(sweep) => {
            let path = |point: &SweptPoint| Path::new(place).join(&point.label);
            let paths = sweep.points.iter().map(path);
            paths.map(|p| p.to_string_lossy().into_owned()).collect()
        }
    })
}

/// The error of a folder without a study.
pub(super) fn no_study(folder: &Path) -> InputError {
    let message = "found no study; accepted: a folder of results or of shards";
    InputError::in_file(folder, message)
}
