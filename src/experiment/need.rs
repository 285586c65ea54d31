//! What a study will need of memory, before it starts. Estimates are of what is likely resident by its end, if offers are
//! made at every step; they are for refusing what cannot fit and for the size of waves.

use super::{CoverageSetting, EpisodeOutcome, NamedPolicy, Study};
use crate::oracle::OracleConfig;
use crate::statistics::CurveMoments;
use crate::task::Task;
use crate::world::World;

/// What the replications of a wave may hold together, in bytes.
const WAVE_BYTES: u64 = 96 << 20;

/// Replications in a wave at the most, unless there are more threads: a batch that keeps an adapter busy, beyond which a
/// wave would only cost memory.
const WAVE: usize = 64;

/// Bytes of a number, and of a mean with its error.
const NUMBER: u64 = 8;

impl Study {
    /// About the bytes of memory that the study takes.
    pub fn memory(&self) -> u64 {
        let (episodes, replications) = (self.episodes as u64, self.replications as u64);
        let rows = match self.world.task().is_finite() {
            true => 0,
            false => self.optimum_rows,
        };
        let optimum = optimum_memory(&self.world, rows);
        // Budgets and optima; the curve at hand; means with errors of every policy; final regrets of all replications.
        let policies = self.policies.len() as u64;
        let kept = episodes.saturating_mul(12 + NUMBER + 2 * NUMBER * policies);
        let finals = replications.saturating_mul(2 * NUMBER * policies);
        let moments = CurveMoments::bytes(self.episodes, self.replications);
        let waves = self.policies.iter().map(|policy| {
            let size = wave_size(self, policy) as u64;
            size.saturating_mul(replication_memory(self, policy))
        });
        let parts = [optimum, kept, finals, moments, waves.max().unwrap_or(0)];
        parts.into_iter().fold(0, u64::saturating_add)
    }
}

/// How many replications of a policy advance together.
pub(super) fn wave_size(study: &Study, policy: &NamedPolicy) -> usize {
    let fitting = WAVE_BYTES / replication_memory(study, policy).max(1);
    let most = WAVE.max(rayon::current_num_threads());
    (fitting as usize).clamp(1, study.replications.min(most))
}

/// What a replication holds by its end, its outcomes included.
fn replication_memory(study: &Study, policy: &NamedPolicy) -> u64 {
    let task = study.world.task();
    let own = policy.maker.bytes_per_replication(task, study.episodes);
    let outcomes = study.episodes as u64 * size_of::<EpisodeOutcome>() as u64;
    let actions = match study.trace {
        true => (study.episodes * task.horizon()) as u64 * size_of::<u32>() as u64,
        false => 0,
    };
    (own as u64)
        .saturating_add(outcomes)
        .saturating_add(actions)
}

/// About the bytes that computing an optimum takes, from so many rows or, with none, from a finite law.
pub fn optimum_memory(world: &World, rows: usize) -> u64 {
    let task = world.task();
    let horizon = task.horizon() as u64;
    let table = (horizon + 1) * (u64::from(task.budget_max()) + 1) * NUMBER;
    let features = task.dimension() as u64 * NUMBER;
    // Of each context of a finite law features, rewards, bounds and a place in a list; of rows their contexts with their
    // steps, and those of 2 groups out of 64 once more with bounds and edges.
    let law = match task.is_finite() {
        true => task.support().len() as u64,
        false => 0,
    };
    let per_context = features + 60 + task.actions() as u64 * 28;
    let arrivals = (rows as u64).saturating_mul(horizon);
    let in_groups = (features + 10 + task.actions() as u64 * 32) * 2 / 64;
    let parts = [
        arrivals.saturating_mul(features + 5 + in_groups),
        law.saturating_mul(per_context),
        2 * table,
    ];
    parts.into_iter().fold(0, u64::saturating_add)
}

impl CoverageSetting {
    /// About the bytes of memory that data sets for an oracle take on so many threads.
    pub fn memory(&self, task: &Task, oracle: &OracleConfig, threads: usize) -> u64 {
        let observations = self.sizes.last().copied().unwrap_or(0);
        let data = observations.saturating_mul(8 * task.dimension() + 9);
        let learnt = oracle.bytes(task, observations, super::coverage::CONTEXTS);
        let at_once = self.repetitions.min(threads) as u64;
        at_once.saturating_mul(data.saturating_add(learnt) as u64)
    }
}
