//! The progress of a study, judged by its files alone.

use std::path::Path;

use serde::Serialize;

use super::shards::{missing, no_study, shard_folders, studies_at};
use super::{RunsError, read_study};
use crate::config::StudyFile;
use crate::error::InputError;
use crate::experiment::{Shard, Study};
use crate::results::{RecordLog, SweepIndex, open_episodes, read_wave};

/// The progress of a study, a shard, or a point of either.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Status {
    /// The folder, relative to the requested one; empty for that one itself.
    pub folder: String,
    /// The state of its files.
    pub state: ShardState,
    /// The policies, in the order of the study.
    pub policies: Vec<PolicyStatus>,
}

/// The state of a folder's files.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ShardState {
    /// All replications are there.
    Finished,
    /// Some are missing.
    Unfinished,
    /// The folder is missing or empty.
    Missing,
    /// Its files cannot be used; the reason.
    Damaged(String),
}

/// The progress of a policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PolicyStatus {
    /// Its name.
    pub policy: String,
    /// Finished replications.
    pub finished: usize,
    /// Replications of the share.
    pub replications: usize,
    /// The number of replications with a saved state, and their episode.
    pub under_way: Option<(usize, usize)>,
}

/// The progress of the study in a folder: of all its points, and of all its shards.
pub fn status(folder: &Path) -> Result<Vec<Status>, RunsError> {
    let mut places = Vec::new();
    if let Some((first, _)) = shard_folders(folder)?.first() {
        for shard in Shard::all(first.count()) {
            places.extend(studies_at(folder, &shard.folder())?);
        }
    }
    let whole = ["study.toml", SweepIndex::FILE];
    if whole.iter().any(|name| folder.join(name).is_file()) {
        places.extend(studies_at(folder, "")?);
    }
    if places.is_empty() {
        return Err(no_study(folder).into());
    }
    let all = places.into_iter();
    Ok(all
        .map(|name| of_folder(&folder.join(&name), name))
        .collect())
}

fn of_folder(folder: &Path, name: String) -> Status {
    let (state, policies) = match count(folder) {
        Ok(Some(policies)) => {
            let all = policies.iter().all(|p| p.finished == p.replications);
            match all {
                true => (ShardState::Finished, policies),
                false => (ShardState::Unfinished, policies),
            }
        }
        Ok(None) => (ShardState::Missing, Vec::new()),
        Err(error) => (ShardState::Damaged(error.to_string()), Vec::new()),
    };
    Status {
        folder: name,
        state,
        policies,
    }
}

fn count(folder: &Path) -> Result<Option<Vec<PolicyStatus>>, InputError> {
    if !folder.join("study.toml").is_file() {
        return Ok(None);
    }
    let file = read_study(folder)?;
    let study = &file.study;
    if folder.join("run.json").is_file() {
        return Ok(Some(count_episodes(folder, &file)?));
    }
    let Some(log) = RecordLog::read(folder)? else {
        return Ok(Some(entries(study, |_, _| (0, study.replications))));
    };
    let missing = missing(study, &log);
    let mut policies = entries(study, |place, name| {
        let finished = log.finished(name).count();
        (finished, finished + missing[place].len())
    });
    if let Some(state) = read_wave(folder, &log.origin)
        && let Some(policy) = policies.get_mut(state.policy)
        && policy.finished < policy.replications
    {
        policy.under_way = Some((state.replications.len(), state.episodes));
    }
    Ok(Some(policies))
}

/// Counts the finished replications in the episodes file.
fn count_episodes(folder: &Path, file: &StudyFile) -> Result<Vec<PolicyStatus>, InputError> {
    let study = &file.study;
    let mut finished = vec![0; study.policies.len()];
    for row in open_episodes(folder, file.episodes_format)? {
        let row = row?;
        let place = study.policies.iter().position(|p| p.name == row.policy);
        if let (Some(place), true) = (place, row.episode == study.episodes) {
            finished[place] += 1;
        }
    }
    Ok(entries(study, |place, _| {
        (finished[place], study.replications)
    }))
}

fn entries(study: &Study, counts: impl Fn(usize, &str) -> (usize, usize)) -> Vec<PolicyStatus> {
    let policies = study.policies.iter().enumerate();
    let entry = |(place, policy): (usize, &crate::experiment::NamedPolicy)| {
        let (finished, replications) = counts(place, &policy.name);
        PolicyStatus {
            policy: policy.name.clone(),
            finished,
            replications,
            under_way: None,
        }
    };
    policies.map(entry).collect()
}
