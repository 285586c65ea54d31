//! How a group of problems is cut to fit the adapter: windows of entries, pieces of contexts. Sizes alone decide, before
//! anything is allocated, and every offset into a buffer is known to fit 32 bits.

use super::limits::{Limits, Need, Size};
use super::shader::Bellman;
use super::solve::UNIFORM_STRIDE;
use crate::dp::BackendError;

/// Most loop iterations of one thread. Mesa's software adapter silently ends *all* loops of a thread after 65,535
/// iterations, and no driver likes long ones.
const THREAD_ITERATIONS: u64 = 40_000;

/// Where a window may begin in a buffer.
const ALIGN: u64 = 256;

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
    pub bellman: Bellman,
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
    /// Whether bindings move between dispatches, because the only problem of the group does not fit them.
    pub moving: bool,
    /// Entries per window; all of them where one window is enough.
    entries_per_window: usize,
    entries: usize,
    /// Actions of the group's first problem; the only one where bindings move.
    actions: usize,
}

/// The number of pieces that keeps the adapter busy, with several contexts per thread and loops that are short enough.
pub fn pieces(bellman: Bellman, limits: &Limits, others: u64, contexts: u64, actions: u64) -> u64 {
    let busy = u64::from(limits.busy_workgroups) / others.max(1);
    let worthwhile = contexts / u64::from(bellman.threads * 8);
    let iterations = contexts * bellman.iterations_per_context(actions as u32);
    let needed = iterations.div_ceil(THREAD_ITERATIONS * u64::from(bellman.threads));
    busy.min(worthwhile).max(needed).max(1)
}

fn too_large(what: &str, bytes: u64, limit: u64, reduce: &str) -> BackendError {
    BackendError::TooLarge {
        what: what.into(),
        bytes,
        limit,
        reduce: reduce.into(),
    }
}

impl Cut {
    /// Cuts one group. The error says how large the problem is and what to reduce.
    pub fn new(group: &[Size], bellman: Bellman, limits: &Limits) -> Result<Self, BackendError> {
        let most = |of: fn(&Size) -> u64| group.iter().map(of).max().unwrap_or(0);
        let tile = u64::from(bellman.tile());
        let widest = most(|size| size.width).max(1);
        let tiles = widest.div_ceil(tile);
        let need = group
            .iter()
            .fold(Need::default(), |sum, size| sum.plus(size, bellman));
        if need.table > limits.binding_bytes {
            let reduce = "the budget or the horizon";
            let limit = limits.binding_bytes;
            return Err(too_large("the value table", need.table, limit, reduce));
        }
        if tiles > u64::from(limits.workgroups) {
            let bytes = widest * bellman.value_bytes() as u64;
            let limit = u64::from(limits.workgroups) * tile * bellman.value_bytes() as u64;
            let what = "a row of the value table";
            return Err(too_large(what, bytes, limit, "the budget"));
        }
        let entries = most(|size| size.entries);
        let moving = !need.fits(limits);
        let entries_per_window = if moving {
            // A window's coefficients, costs and members must each fit a binding, and start where one may.
            let per_entry = group[0].actions.max(1) * bellman.pair_bytes() as u64;
            let most = limits.binding_bytes / per_entry / ALIGN * ALIGN;
            if most == 0 {
                let (what, bytes) = ("256 contexts", ALIGN * per_entry);
                return Err(too_large(what, bytes, limits.binding_bytes, "the actions"));
            }
            most
        } else {
            entries.max(1)
        };
        let windows = entries.div_ceil(entries_per_window).max(1);
        let horizon = most(|size| size.horizon);
        check_buffers(&need, moving, windows, horizon, limits)?;
        let longest_list = most(|size| size.longest_list).min(entries_per_window);
        let actions = most(|size| size.actions);
        let others = tiles * group.len() as u64;
        let pieces = pieces(bellman, limits, others, longest_list, actions)
            .min(u64::from(limits.workgroups) / windows)
            .max(1);
        let sum_stride = tiles * tile;
        let half = group.len() as u64 * windows * pieces * sum_stride;
        let sums = 2 * half * bellman.value_bytes() as u64;
        check_sums(sums, limits)?;
        // From here on everything fits a binding, and so 32 bits.
        let mut cut = Self {
            bellman,
            places: Vec::with_capacity(group.len()),
            tiles: tiles as u32,
            pieces: pieces as u32,
            sum_stride: sum_stride as u32,
            half: half as u32,
            table_values: 0,
            moving,
            entries_per_window: entries_per_window as usize,
            entries: entries as usize,
            actions: group.first().map_or(1, |size| size.actions as usize),
        };
        let mut place = Place::default();
        for size in group {
            cut.places.push(place);
            let pairs = (size.entries * size.actions) as u32;
            place.first_pair += pairs;
            let narrow = bellman.is_narrow();
            place.first_cost += if narrow { size.entries as u32 } else { pairs };
            place.first_value += (size.horizon * size.width) as u32;
            place.first_sum += (windows * pieces * sum_stride) as u32;
        }
        cut.table_values = u64::from(place.first_value);
        Ok(cut)
    }

    /// Makes room for the partial sums of `pieces` per step.
    pub fn reserve_pieces(&mut self, pieces: u64, limits: &Limits) -> Result<(), BackendError> {
        let per_problem = pieces * u64::from(self.sum_stride);
        let half = self.places.len() as u64 * per_problem;
        check_sums(2 * half * self.bellman.value_bytes() as u64, limits)?;
        self.half = half as u32;
        for (i, place) in self.places.iter_mut().enumerate() {
            place.first_sum = (i as u64 * per_problem) as u32;
        }
        Ok(())
    }

    /// Number of windows; more than one only if bindings move.
    pub fn windows(&self) -> usize {
        self.entries.div_ceil(self.entries_per_window).max(1)
    }

    /// The entries of a window.
    pub fn window_entries(&self, window: usize) -> std::ops::Range<usize> {
        let start = window * self.entries_per_window;
        start..(start + self.entries_per_window).min(self.entries.max(start))
    }

    /// Byte offsets of a window in the coefficients and in the costs.
    pub fn window_offsets(&self, window: usize) -> [u32; 2] {
        let narrow = self.bellman.is_narrow();
        let first_entry = window * self.entries_per_window;
        let words = if narrow { 1 } else { self.actions };
        let pairs = first_entry * self.actions * self.bellman.pair_bytes();
        [pairs as u32, (first_entry * words * 4) as u32]
    }

    /// Bytes of the table.
    pub fn table_bytes(&self) -> u64 {
        self.table_values * self.bellman.value_bytes() as u64
    }

    /// Bytes of the partial sums, both halves.
    pub fn sum_bytes(&self) -> u64 {
        2 * u64::from(self.half) * self.bellman.value_bytes() as u64
    }
}

fn check_sums(sums: u64, limits: &Limits) -> Result<(), BackendError> {
    if sums > limits.binding_bytes {
        let reduce = "the budget or the number of context rows";
        let limit = limits.binding_bytes;
        return Err(too_large("the partial sums", sums, limit, reduce));
    }
    Ok(())
}

/// Refuses buffers that are larger than the adapter allows, or than a dynamic offset of 32 bits can address.
fn check_buffers(
    need: &Need,
    moving: bool,
    windows: u64,
    horizon: u64,
    limits: &Limits,
) -> Result<(), BackendError> {
    let largest = u64::from(u32::MAX).min(limits.buffer_bytes);
    let mut sample = need.pairs.max(need.members);
    if moving {
        // Windows of members begin at multiples of 256 bytes, and behind the last window a whole binding must fit.
        let members = need.members + windows * horizon * ALIGN;
        sample = sample.max(members) + limits.binding_bytes;
    }
    if sample > largest {
        let reduce = "the number of context rows or actions";
        return Err(too_large("the sample", sample, largest, reduce));
    }
    let steps = (horizon + 1) * windows * UNIFORM_STRIDE;
    if steps > largest {
        let reduce = "the horizon or the number of context rows";
        return Err(too_large("the list of steps", steps, largest, reduce));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::Cut;
    use crate::dp::BackendError;
    use crate::dp::gpu::limits::{Limits, Size};
    use crate::dp::gpu::shader::{Bellman, Variant};

    const LIMITS: Limits = Limits {
        binding_bytes: 128 << 20,
        buffer_bytes: 64 << 30,
        workgroups: 65_535,
        busy_workgroups: 512,
    };

    fn bellman(variant: Variant, costs: u32) -> Bellman {
        Bellman {
            variant,
            tile_vectors: 8,
            costs,
            threads: 64,
        }
    }

    fn refused(size: Size, bellman: Bellman, limits: &Limits) -> Option<String> {
        match Cut::new(&[size], bellman, limits) {
            Ok(_) => None,
            Err(BackendError::TooLarge {
                what, bytes, limit, ..
            }) => {
                assert!(bytes > limit);
                Some(what)
            }
            Err(other) => panic!("{other}"),
        }
    }

    /// Buffers beyond 4 GiB: windows below are used, and offsets never wrap around 32 bits.
    #[test]
    fn windows_beyond_4_gib_are_refused() {
        let size = |gib: u64| Size {
            entries: gib << 20,
            actions: 128,
            horizon: 4,
            width: 20,
            members: gib << 20,
            longest_list: gib << 18,
        };
        for variant in [Variant::Wide, Variant::F64] {
            let bellman = bellman(variant, 255);
            let factor = bellman.pair_bytes() as u64 / 8;
            let large = size(3 / factor);
            let cut = Cut::new(&[large], bellman, &LIMITS).unwrap();
            let last = cut.windows() - 1;
            assert!(cut.moving && last >= 15);
            let exact = last as u64 * cut.window_entries(0).len() as u64 * 128;
            let bytes = exact * bellman.pair_bytes() as u64;
            let offsets = cut.window_offsets(last).map(u64::from);
            assert_eq!(offsets, [bytes, 4 * exact]);
            let what = refused(size(5), bellman, &LIMITS);
            assert_eq!(what.as_deref(), Some("the sample"));
        }
    }

    /// Partial sums of very many budgets and pieces: their number does not fit 32 bits.
    #[test]
    fn partial_sums_are_counted_in_64_bits() {
        let bellman = Bellman {
            threads: 8,
            ..bellman(Variant::Narrow, 4)
        };
        let size = Size {
            entries: 3 << 20,
            actions: 60,
            horizon: 1,
            width: 1 << 20,
            members: 3 << 20,
            longest_list: 3 << 20,
        };
        let what = refused(size, bellman, &LIMITS);
        assert_eq!(what.as_deref(), Some("the partial sums"));
    }

    /// The uniforms of very many steps: one offset per dispatch.
    #[test]
    fn very_many_steps_are_refused() {
        let bellman = bellman(Variant::F64, 255);
        let limits = Limits {
            binding_bytes: 1 << 30,
            ..LIMITS
        };
        let size = Size {
            entries: 1,
            actions: 1,
            horizon: 20_000_000,
            width: 2,
            members: 1,
            longest_list: 1,
        };
        let what = refused(size, bellman, &limits);
        assert_eq!(what.as_deref(), Some("the list of steps"));
    }
}
