//! What the files of a study will need of the disk, before it starts.

use crate::experiment::Study;

/// Bytes of a line of `episodes.csv`, the policy's name aside: the presets have 65 to 85.
const EPISODE_LINE: u64 = 75;

/// Bytes of a line of `summary.csv`, the policy's name aside.
const SUMMARY_LINE: u64 = 72;

/// About the bytes that the files of a study take.
pub fn disk_needed(study: &Study) -> u64 {
    let (episodes, replications) = (study.episodes as u64, study.replications as u64);
    let policies = study.policies.iter().map(|policy| {
        let name = policy.name.len() as u64;
        let lines = replications.saturating_mul(EPISODE_LINE + name);
        episodes.saturating_mul(lines.saturating_add(SUMMARY_LINE + name))
    });
    policies.fold(0, u64::saturating_add)
}
