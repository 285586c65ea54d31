//! The disk space that the files of a study will need.

use crate::experiment::Study;

/// Bytes of a line of `episodes.csv`, the policy's name aside: the presets have 65 to 85.
const EPISODE_LINE: u64 = 75;

/// Bytes of an episode in `records.jsonl`, which exists until `episodes.csv` does: the presets have 10 to 40.
const EPISODE_RECORD: u64 = 30;

/// Bytes of a line of `summary.csv`, the policy's name aside.
const SUMMARY_LINE: u64 = 72;

/// Bytes of a line of `trace.csv` and of its action in the records, the policy's name aside.
fn trace_line(study: &Study) -> u64 {
    32 + 10 * study.world.task().dimension() as u64
}

/// The approximate size of a study's files in bytes.
pub fn disk_needed(study: &Study) -> u64 {
    let (episodes, replications) = (study.episodes as u64, study.replications as u64);
    let policies = study.policies.iter().map(|policy| {
        let name = policy.name.len() as u64;
        let steps = match study.trace {
            true => study.world.task().horizon() as u64 * (trace_line(study) + name),
            false => 0,
        };
        let lines = replications.saturating_mul(EPISODE_LINE + EPISODE_RECORD + name + steps);
        episodes.saturating_mul(lines.saturating_add(SUMMARY_LINE + name))
    });
    policies.fold(0, u64::saturating_add)
}
