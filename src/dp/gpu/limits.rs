//! How a batch is cut to fit the adapter: groups of problems, windows of entries, pieces of contexts. Everything is
//! decided from sizes alone, before anything is allocated.

use super::kernel::Kernel;
use crate::dp::{BackendError, Problem};

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

/// Where a problem's data begin in the buffers of its group.
#[derive(Debug, Clone, Copy, Default)]
pub struct Place {
    /// First pair.
    pub first_pair: u32,
    /// First cost word.
    pub first_cost: u32,
    /// First table value.
    pub first_value: u32,
    /// First partial sum of a half.
    pub first_sum: u32,
}

/// The cut of one group of problems.
#[derive(Debug, Clone)]
pub struct Cut {
    /// The shader and its constants.
    pub kernel: Kernel,
    /// One per problem.
    pub places: Vec<Place>,
    /// Tiles of budgets.
    pub tiles: u32,
    /// Pieces of the contexts of a window.
    pub pieces: u32,
    /// Distance between pieces in the partial sums.
    pub sum_stride: u32,
    /// Distance between the halves of the partial sums.
    pub half: u32,
    /// Values in the table.
    pub table_values: u64,
    /// Whether bindings move between dispatches, because the one problem of the group does not fit them.
    pub moving: bool,
    /// Entries per window; all of them where one window is enough.
    entries_per_window: usize,
    entries: usize,
}

/// The bytes one problem needs of each bound buffer.
#[derive(Debug, Clone, Copy, Default)]
struct Need {
    pairs: u64,
    members: u64,
    table: u64,
}

impl Need {
    fn of(problem: &Problem, kernel: Kernel) -> Self {
        let sample = problem.sample;
        let members: usize = (0..sample.horizon())
            .map(|h| sample.step(h).entries.len())
            .sum();
        let width = u64::from(problem.budget_max) + 1;
        Self {
            pairs: (sample.len() * sample.actions() * kernel.pair_bytes()) as u64,
            members: (members * kernel.member_bytes()) as u64,
            table: sample.horizon() as u64 * width * kernel.value_bytes() as u64,
        }
    }

    fn fits(&self, limits: &Limits) -> bool {
        self.pairs.max(self.members).max(self.table) <= limits.binding_bytes
    }

    fn plus(&self, other: &Self) -> Self {
        Self {
            pairs: self.pairs + other.pairs,
            members: self.members + other.members,
            table: self.table + other.table,
        }
    }
}

/// Cuts a batch into groups of consecutive problems that fit together; returns the end of each group.
pub fn groups(batch: &[Problem], kernel: Kernel, limits: &Limits) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut sum = Need::default();
    let mut start = 0;
    for (i, problem) in batch.iter().enumerate() {
        let need = Need::of(problem, kernel);
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

/// Iterations of a shader's loops that one thread may go through. Mesa's software adapter ends *all* loops of a thread
/// after 65,535 iterations without a word, and no driver likes long ones.
const THREAD_ITERATIONS: u64 = 40_000;

/// Pieces that keep the adapter busy, each with several contexts for every thread, and short enough to be finished.
fn pieces(kernel: Kernel, limits: &Limits, others: u32, contexts: u32, actions: u32) -> u32 {
    let busy = limits.busy_workgroups / others.max(1);
    let worthwhile = contexts / (kernel.threads() * 8);
    let iterations = u64::from(contexts) * kernel.iterations_per_context(actions);
    let needed = iterations.div_ceil(THREAD_ITERATIONS * u64::from(kernel.threads()));
    busy.min(worthwhile).max(needed as u32).max(1)
}

impl Cut {
    /// Cuts one group, or says how large the problem is and what to reduce.
    pub fn new(group: &[Problem], kernel: Kernel, limits: &Limits) -> Result<Self, BackendError> {
        let tile = kernel.tile();
        let widest = group.iter().map(|p| p.budget_max + 1).max().unwrap_or(1);
        let tiles = widest.div_ceil(tile);
        let need = group
            .iter()
            .map(|p| Need::of(p, kernel))
            .fold(Need::default(), |sum, need| sum.plus(&need));
        let too_large = |what: &str, bytes: u64, limit: u64, reduce: &str| {
            Err(BackendError::TooLarge {
                what: what.into(),
                bytes,
                limit,
                reduce: reduce.into(),
            })
        };
        if need.table > limits.binding_bytes {
            let reduce = "the budget or the horizon";
            return too_large("the value table", need.table, limits.binding_bytes, reduce);
        }
        if tiles > limits.workgroups {
            let bytes = u64::from(widest) * kernel.value_bytes() as u64;
            let limit = u64::from(limits.workgroups * tile) * kernel.value_bytes() as u64;
            return too_large("a row of the value table", bytes, limit, "the budget");
        }
        let largest_buffer = need.pairs.max(need.members);
        if largest_buffer > limits.buffer_bytes {
            let reduce = "the number of context rows or actions";
            return too_large("the sample", largest_buffer, limits.buffer_bytes, reduce);
        }
        let entries = group.iter().map(|p| p.sample.len()).max().unwrap_or(0);
        let entries_per_window = if need.fits(limits) {
            entries.max(1)
        } else {
            // A window's coefficients, costs and members must each fit a binding, and start where one may.
            let actions = group[0].sample.actions();
            let per_entry = (actions * kernel.pair_bytes()).max(kernel.member_bytes());
            let most = limits.binding_bytes as usize / per_entry / 256 * 256;
            if most == 0 {
                let bytes = 256 * per_entry as u64;
                return too_large("256 contexts", bytes, limits.binding_bytes, "the actions");
            }
            most
        };
        let windows = entries.div_ceil(entries_per_window).max(1) as u32;
        let longest_list = group
            .iter()
            .flat_map(|p| (0..p.sample.horizon()).map(|h| p.sample.step(h).entries.len()))
            .max()
            .unwrap_or(0)
            .min(entries_per_window) as u32;
        let actions = group.iter().map(|p| p.sample.actions()).max().unwrap_or(1) as u32;
        let pieces = pieces(
            kernel,
            limits,
            tiles * group.len() as u32,
            longest_list,
            actions,
        )
        .min(limits.workgroups / windows);
        let sum_stride = tiles * tile;
        let sums = 2
            * u64::from(windows * pieces * sum_stride)
            * (group.len() * kernel.sum_bytes()) as u64;
        if sums > limits.binding_bytes {
            let reduce = "the budget or the number of context rows";
            return too_large("the partial sums", sums, limits.binding_bytes, reduce);
        }
        let mut cut = Self {
            kernel,
            places: Vec::with_capacity(group.len()),
            tiles,
            pieces,
            sum_stride,
            half: group.len() as u32 * windows * pieces * sum_stride,
            table_values: 0,
            moving: !need.fits(limits),
            entries_per_window,
            entries,
        };
        let mut place = Place::default();
        for problem in group {
            cut.places.push(place);
            let pairs = (problem.sample.len() * problem.sample.actions()) as u32;
            place.first_pair += pairs;
            place.first_cost += if kernel.is_narrow() {
                problem.sample.len() as u32
            } else {
                pairs
            };
            place.first_value += problem.sample.horizon() as u32 * (problem.budget_max + 1);
            place.first_sum += windows * pieces * sum_stride;
        }
        cut.table_values = u64::from(place.first_value);
        Ok(cut)
    }

    /// Number of windows; more than one only where bindings move.
    pub fn windows(&self) -> usize {
        self.entries.div_ceil(self.entries_per_window).max(1)
    }

    /// The entries of a window.
    pub fn window_entries(&self, window: usize) -> std::ops::Range<usize> {
        let start = window * self.entries_per_window;
        start..(start + self.entries_per_window).min(self.entries.max(start))
    }

    /// Byte offset of a window in the coefficients.
    pub fn window_pair_offset(&self, window: usize, group: &[Problem]) -> u64 {
        let actions = group[0].sample.actions();
        (window * self.entries_per_window * actions * self.kernel.pair_bytes()) as u64
    }

    /// Byte offset of a window in the costs.
    pub fn window_cost_offset(&self, window: usize, group: &[Problem]) -> u64 {
        let words = if self.kernel.is_narrow() {
            1
        } else {
            group[0].sample.actions()
        };
        (window * self.entries_per_window * words * 4) as u64
    }

    /// Bytes of the table.
    pub fn table_bytes(&self) -> u64 {
        self.table_values * self.kernel.value_bytes() as u64
    }

    /// Bytes of the partial sums, both halves.
    pub fn sum_bytes(&self) -> u64 {
        2 * u64::from(self.half) * self.kernel.sum_bytes() as u64
    }
}
