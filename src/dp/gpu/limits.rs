//! What an adapter allows, what a problem needs of it, and which problems of a batch fit together.

use super::kernel::Kernel;
use crate::dp::Problem;

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
        let sample = problem.sample;
        let lists = (0..sample.horizon()).map(|h| sample.step(h).len() as u64);
        Self {
            entries: sample.len() as u64,
            actions: sample.actions() as u64,
            horizon: sample.horizon() as u64,
            width: u64::from(problem.budget_max) + 1,
            members: lists.clone().sum(),
            longest_list: lists.max().unwrap_or(0),
        }
    }
}

impl Size {
    /// The size of a problem without its single contexts.
    pub fn of_shared(problem: &Problem) -> Self {
        let sample = problem.sample;
        let lists = (0..sample.horizon()).map(|h| sample.step(h).shared.entries.len() as u64);
        Self {
            entries: sample.shared() as u64,
            members: lists.clone().sum(),
            longest_list: lists.max().unwrap_or(0),
            ..Self::of(problem)
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
    pub fn of(size: &Size, kernel: Kernel) -> Self {
        Self {
            pairs: size.entries * size.actions * kernel.pair_bytes() as u64,
            members: size.members * kernel.member_bytes() as u64,
            table: size.horizon * size.width * kernel.value_bytes() as u64,
        }
    }

    pub fn fits(&self, limits: &Limits) -> bool {
        self.pairs.max(self.members).max(self.table) <= limits.binding_bytes
    }

    pub fn plus(&self, other: &Self) -> Self {
        Self {
            pairs: self.pairs + other.pairs,
            members: self.members + other.members,
            table: self.table + other.table,
        }
    }
}

/// Cuts a batch into groups of consecutive problems that fit together; returns the end of each group.
pub fn groups(batch: &[Size], kernel: Kernel, limits: &Limits) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut sum = Need::default();
    let mut start = 0;
    for (i, size) in batch.iter().enumerate() {
        let need = Need::of(size, kernel);
        let together = sum.plus(&need);
        let full = !together.fits(limits) || (i - start) as u32 >= limits.workgroups;
        if i > start && full {
            ends.push(i);
            start = i;
            sum = need;
        } else {
            sum = together;
        }
    }
    ends.push(batch.len());
    ends
}
