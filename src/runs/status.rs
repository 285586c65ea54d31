//! How far a study is, judged by its files alone.

use std::path::Path;

use serde::Serialize;

use super::shards::{missing, shard_folders};
use super::{RunsError, read_study};
use crate::config::StudyFile;
use crate::error::InputError;
use crate::experiment::{Shard, Study};
use crate::results::{RecordLog, SweepIndex, open_episodes, read_wave};

/// How far a study, a shard, or a point of either is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Status {
    /// The folder, from the one that was asked for; empty for that one itself.
    pub folder: String,
    /// What its files say.
    pub state: ShardState,
    /// The policies, in the order of the study.
    pub policies: Vec<PolicyStatus>,
}

/// What the files of a folder say.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ShardState {
    /// All replications are there.
    Finished,
    /// Some are missing.
    Unfinished,
    /// There is no such folder, or nothing in it.
    Missing,
    /// Its files cannot be used, and why.
    Damaged(String),
}

/// How far a policy is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PolicyStatus {
    /// Its name.
    pub policy: String,
    /// Replications that are finished.
    pub finished: usize,
    /// Replications of the share.
    pub replications: usize,
    /// Replications whose state is saved, and the episodes they have behind them.
    pub under_way: Option<(usize, usize)>,
}

/// How far the study of a folder is: of all its points, and of all its shards where it is cut.
pub fn status(folder: &Path) -> Result<Vec<Status>, RunsError> {
    let mut all = Vec::new();
    let shards = shard_folders(folder)?;
    if let Some((first, _)) = shards.first() {
        for shard in Shard::all(first.count()) {
            points(folder, &shard.folder(), &mut all)?;
        }
    }
    let whole = ["study.toml", SweepIndex::FILE];
    if whole.iter().any(|name| folder.join(name).is_file()) {
        points(folder, "", &mut all)?;
    }
    if all.is_empty() {
        let message = "found no study; accepted: a folder of results or of shards";
        return Err(InputError::File {
            file: folder.to_path_buf(),
            message: message.into(),
        }
        .into());
    }
    Ok(all)
}

/// One entry for a study, one per point for a sweep.
fn points(folder: &Path, name: &str, all: &mut Vec<Status>) -> Result<(), RunsError> {
    let place = folder.join(name);
    let Some(sweep) = SweepIndex::read(&place)? else {
        all.push(of_folder(&place, name.into()));
        return Ok(());
    };
    for point in &sweep.points {
        let label = Path::new(name).join(&point.label);
        let label = label.to_string_lossy().into_owned();
        all.push(of_folder(&place.join(&point.label), label));
    }
    Ok(())
}

fn of_folder(folder: &Path, name: String) -> Status {
    let (state, policies) = match count(folder) {
        Ok(Some(policies)) => {
            let all = policies.iter().all(|p| p.finished == p.replications);
            let state = if all {
                ShardState::Finished
            } else {
                ShardState::Unfinished
            };
            (state, policies)
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

/// Of a finished study, by its lines.
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
