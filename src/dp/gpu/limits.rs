//! What an adapter allows, what a problem needs of it, and which problems of a batch fit together.

use super::shader::Bellman;
use crate::dp::{Problem, StepContexts};

/// The limits that matter, from the adapter or smaller ones for tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes a shader may see of one buffer.
    pub binding_bytes: u64,
    /// Bytes of one buffer.
    pub buffer_bytes: u64,
    /// Workgroups along one axis of a dispatch.
    pub workgroups: u32,
    /// Workgroups that keep the adapter busy.
    pub busy_workgroups: u32,
}

/// The numbers of a problem that its cut depends on.
#[derive(Debug, Clone, Copy, Default)]
pub struct Size {
    /// Entries of the sample.
    pub entries: u64,
    /// Non-null actions.
    pub actions: u64,
    /// H.
    pub horizon: u64,
    /// Budgets, 0 included.
    pub width: u64,
    /// Contexts of all steps.
    pub members: u64,
    /// Contexts of the step that has most.
    pub longest_list: u64,
}

impl Size {
    /// The size of a problem.
    pub fn of(problem: &Problem) -> Self {
        Self::with(problem, problem.sample.len(), |step| step.len())
    }

    /// The size of a problem without its single contexts.
    pub fn of_shared(problem: &Problem) -> Self {
        let entries = problem.sample.shared();
        Self::with(problem, entries, |step| step.shared.entries.len())
    }

    fn with(problem: &Problem, entries: usize, length: impl Fn(StepContexts) -> usize) -> Self {
        let sample = problem.sample;
        let lengths = (0..sample.horizon()).map(|h| length(sample.step(h)) as u64);
        let lengths: Vec<u64> = lengths.collect();
        Self {
            entries: entries as u64,
            actions: sample.actions() as u64,
            horizon: sample.horizon() as u64,
            width: u64::from(problem.budget_max) + 1,
            members: lengths.iter().sum(),
            longest_list: lengths.iter().copied().max().unwrap_or(0),
        }
    }
}

/// The bytes that problems need of each bound buffer.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Need {
    pub pairs: u64,
    pub members: u64,
    pub table: u64,
}

impl Need {
    pub fn plus(&self, size: &Size, bellman: Bellman) -> Self {
        let pair = bellman.pair_bytes() as u64;
        Self {
            pairs: self.pairs + size.entries * size.actions * pair,
            members: self.members + size.members * pair,
            table: self.table + size.horizon * size.width * bellman.value_bytes() as u64,
        }
    }

    pub fn fits(&self, limits: &Limits) -> bool {
        self.pairs.max(self.members).max(self.table) <= limits.binding_bytes
    }
}

/// Splits a batch into groups of consecutive problems that fit together; returns the end of each group.
pub fn groups(batch: &[Size], bellman: Bellman, limits: &Limits) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut sum = Need::default();
    let mut start = 0;
    for (i, size) in batch.iter().enumerate() {
        sum = sum.plus(size, bellman);
        let full = !sum.fits(limits) || (i - start) as u32 >= limits.workgroups;
        if i > start && full {
            ends.push(i);
            start = i;
            sum = Need::default().plus(size, bellman);
        }
    }
    ends.push(batch.len());
    ends
}
