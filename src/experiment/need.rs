//! Estimates of a study's memory before it starts: what is likely resident at its end with an offer at every step. They
//! serve to refuse studies that cannot fit and to choose the size of waves.

use super::{CoverageSetting, EpisodeOutcome, NamedPolicy, Study};
use crate::oracle::OracleConfig;
use crate::statistics::CurveMoments;
use crate::task::Task;
use crate::world::World;

/// Memory limit of a wave, in bytes.
const WAVE_BYTES: u64 = 96 << 20;

/// Maximum replications in a wave, unless there are more threads. Such a batch keeps an adapter busy; a larger wave would
/// only cost memory.
const MAX_WAVE: usize = 64;

/// Bytes of a number.
const NUMBER: u64 = 8;

impl Study {
    /// Estimated bytes of memory for the study.
    pub fn memory(&self) -> u64 {
        let (episodes, replications) = (self.episodes as u64, self.replications as u64);
        let rows = match self.world.task().is_finite() {
            true => 0,
            false => self.optimum_rows,
        };
        let optimum = optimum_memory(&self.world, rows);
        // Budgets and optima; the current curve; means with errors of every policy; final regrets of all replications.
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
    let most = MAX_WAVE.max(rayon::current_num_threads());
    (fitting as usize).clamp(1, study.replications.min(most))
}

/// Memory of a replication at its end, including its outcomes.
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

/// Estimated bytes for computing an optimum from `rows` rows, or from a finite law if `rows` is 0.
pub fn optimum_memory(world: &World, rows: usize) -> u64 {
    let task = world.task();
    let horizon = task.horizon() as u64;
    let table = (horizon + 1) * (u64::from(task.budget_max()) + 1) * NUMBER;
    let features = task.dimension() as u64 * NUMBER;
    // A finite law stores features, rewards, bounds and a list index per context. Rows store their contexts and steps;
    // 2 groups out of 64 are stored again with bounds and edges.
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
    /// Estimated bytes for an oracle's data sets on `threads` threads.
    pub fn memory(&self, task: &Task, oracle: &OracleConfig, threads: usize) -> u64 {
        let observations = self.sizes.last().copied().unwrap_or(0);
        let data = observations.saturating_mul(8 * task.dimension() + 9);
        let learnt = oracle.bytes(task, observations, super::coverage::CONTEXTS);
        let at_once = self.repetitions.min(threads) as u64;
        at_once.saturating_mul(data.saturating_add(learnt) as u64)
    }
}
