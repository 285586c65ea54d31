//! The shards of a study as folders, and what is missing of each.

use std::path::{Path, PathBuf};

use crate::error::InputError;
use crate::experiment::{Shard, Study, Todo};
use crate::results::RecordLog;

/// The folders of shards in a folder, by shard.
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

/// The replications that a file of records lacks of its share, by policy.
pub(super) fn missing(study: &Study, log: &RecordLog) -> Vec<Vec<usize>> {
    let mut todo = Todo::share(study, log.origin.shard).replications;
    for (policy, pending) in study.policies.iter().zip(&mut todo) {
        let finished: std::collections::HashSet<usize> = log.finished(&policy.name).collect();
        pending.retain(|replication| !finished.contains(replication));
    }
    todo
}

/// Refuses records that are not of the study, or not of the share.
pub(super) fn refuse_foreign(study: &Study, log: &RecordLog) -> Result<(), InputError> {
    let all = 0..study.replications;
    let shard = log.origin.shard;
    let share = shard.map_or(all, |shard| shard.share(study.replications));
    let refused = |message: String| InputError::File {
        file: log.path.clone(),
        message,
    };
    for policy in log.policies() {
        if study.policies.iter().all(|known| known.name != policy) {
            return Err(refused(format!(
                "found records of `{policy}`; accepted: the study's policies"
            )));
        }
        if let Some(other) = log.finished(policy).find(|r| !share.contains(r)) {
            return Err(refused(format!(
                "found replication {} of `{policy}`; accepted: {} to {}",
                other + 1,
                share.start + 1,
                share.end
            )));
        }
    }
    Ok(())
}
