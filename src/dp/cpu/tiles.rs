//! The inner loops of the dense solver: the gains of a chunk of contexts, added up budget by budget in tiles that fit the
//! vector registers. Vectors run over budgets, or over contexts where budgets are few. The instruction set is chosen at run
//! time.

use super::chunk::{Chunk, LANES};
use super::terms::Term;

/// Contexts per partial sum: their coefficients stay in cache while all budgets pass. Part of the result's bits; not to be
/// tuned by machine.
pub(super) const CHUNK: usize = 256;

const FIRST_ENTRIES: [u32; CHUNK] = {
    let mut first = [0; CHUNK];
    let mut i = 0;
    while i < CHUNK {
        first[i] = i as u32;
        i += 1;
    }
    first
};
const ONES: [f64; CHUNK] = [1.0; CHUNK];

/// Contexts and their coefficients.
pub(super) struct Contexts<'a, T> {
    /// Gains, the actions of an entry together.
    gain: &'a [T],
    /// lcb, likewise.
    lcb: &'a [T],
    entries: &'a [u32],
    weights: &'a [f64],
    /// Whether `entries` are 0, 1, 2, ..., each of weight 1, and need not be read.
    plain: bool,
}

impl<'a, T> Contexts<'a, T> {
    /// Some entries with their weights.
    pub fn some(gain: &'a [T], lcb: &'a [T], entries: &'a [u32], weights: &'a [f64]) -> Self {
        Self {
            gain,
            lcb,
            entries,
            weights,
            plain: false,
        }
    }

    /// The first `contexts` entries, each of weight 1.
    pub fn first(contexts: usize, gain: &'a [T], lcb: &'a [T]) -> Self {
        Self {
            plain: true,
            ..Self::some(gain, lcb, &FIRST_ENTRIES[..contexts], &ONES[..contexts])
        }
    }

    #[inline(always)]
    fn of(&self, entry: u32, actions: usize) -> (&'a [T], &'a [T]) {
        let pairs = entry as usize * actions..(entry as usize + 1) * actions;
        (&self.gain[pairs.clone()], &self.lcb[pairs])
    }
}

/// The row of gaps of each action.
#[derive(Debug, Clone, Copy)]
pub(super) enum GapRows<'a> {
    /// The same in every context: two contexts can share the gaps they read.
    Common(&'a [u32]),
    /// The same, one context after the other: the plain loop that the paired one is tested against.
    CommonOneByOne(&'a [u32]),
    /// This many per entry.
    ByEntry(usize, &'a [u32]),
}

impl<'a> GapRows<'a> {
    #[inline(always)]
    fn of(self, entry: u32) -> &'a [u32] {
        match self {
            Self::Common(rows) | Self::CommonOneByOne(rows) => rows,
            Self::ByEntry(actions, rows) => &rows[entry as usize * actions..][..actions],
        }
    }
}

/// Adds the gains of the contexts to `sums`, context by context. Rows of gaps are as long as `sums`, in whole cache lines.
#[multiversion::multiversion(targets(
    "x86_64+avx512f+avx512vl+avx512dq+fma",
    "x86_64+avx2+fma",
    "aarch64+neon"
))]
pub(super) fn add_gains<T: Term>(
    contexts: &Contexts<T>,
    gaps: &[T],
    rows: GapRows,
    sums: &mut [T],
) {
    // Without the instruction, fused arithmetic would be a slow call. Tiles are as wide as registers allow.
    let fused =
        multiversion::target::target_cfg_f!(any(target_feature = "fma", target_arch = "aarch64"));
    let wide = multiversion::target::target_cfg_f!(target_feature = "avx512f");
    // Pairs of 32-bit contexts need registers that only AVX-512 has.
    let pairs = matches!(rows, GapRows::Common(_)) && (wide || size_of::<T>() == 8);
    match (fused, pairs) {
        (true, true) if wide => add_tiles::<T, 512, true, true>(contexts, gaps, rows, sums),
        (true, true) => add_tiles::<T, 128, true, true>(contexts, gaps, rows, sums),
        (false, true) => add_tiles::<T, 128, true, false>(contexts, gaps, rows, sums),
        (true, false) => add_tiles::<T, 256, false, true>(contexts, gaps, rows, sums),
        (false, false) => add_tiles::<T, 256, false, false>(contexts, gaps, rows, sums),
    }
}

/// Tiles of at most `BYTES`; one context at a time, or two.
#[inline(always)]
fn add_tiles<T: Term, const BYTES: usize, const PAIRS: bool, const FUSED: bool>(
    contexts: &Contexts<T>,
    gaps: &[T],
    rows: GapRows,
    sums: &mut [T],
) {
    let width = sums.len();
    let mut first = 0;
    while first < width {
        let (gaps, sums) = (&gaps[first..], &mut sums[first..]);
        let rows = (rows, width);
        first += match sums.len().min(BYTES / size_of::<T>()) {
            128.. => add_tile::<T, 128, PAIRS, FUSED>(contexts, gaps, rows, sums),
            64.. => add_tile::<T, 64, PAIRS, FUSED>(contexts, gaps, rows, sums),
            32.. => add_tile::<T, 32, PAIRS, FUSED>(contexts, gaps, rows, sums),
            16.. => add_tile::<T, 16, PAIRS, FUSED>(contexts, gaps, rows, sums),
            _ if PAIRS => add_narrow_tile::<T, FUSED>(contexts, gaps, rows, sums),
            _ => add_tile::<T, 8, PAIRS, FUSED>(contexts, gaps, rows, sums),
        };
    }
}

/// One tile of budgets, all contexts and actions. Returns the size of the tile.
#[inline(always)]
fn add_tile<T: Term, const TILE: usize, const PAIRS: bool, const FUSED: bool>(
    contexts: &Contexts<T>,
    gaps: &[T],
    (rows, width): (GapRows, usize),
    sums: &mut [T],
) -> usize {
    let sums: &mut [T; TILE] = (&mut sums[..TILE]).try_into().expect("tiles are whole");
    let mut total = *sums;
    let tile_of = |row: u32| -> &[T; TILE] {
        let start = row as usize * width;
        gaps[start..start + TILE]
            .try_into()
            .expect("tiles are whole")
    };
    let mut entries = contexts.entries.iter().zip(contexts.weights);
    while let Some((&entry, &weight)) = entries.next() {
        let rows = rows.of(entry);
        let (gain, lcb) = contexts.of(entry, rows.len());
        let mut best = [T::zeroed(); TILE];
        if !PAIRS {
            for ((&gain, &lcb), &row) in gain.iter().zip(lcb).zip(rows) {
                let gap = tile_of(row);
                for k in 0..TILE {
                    best[k] = better::<T, FUSED>(best[k], gain, lcb, gap[k]);
                }
            }
            let weight = T::of(weight);
            for k in 0..TILE {
                total[k] += weight * best[k];
            }
            continue;
        }
        // The last of an odd number is paired with itself, at weight 0.
        let (&entry_2, &weight_2) = entries.next().unwrap_or((&entry, &0.0));
        let (gain_2, lcb_2) = contexts.of(entry_2, rows.len());
        let mut best_2 = [T::zeroed(); TILE];
        let of_actions = gain.iter().zip(lcb).zip(gain_2.iter().zip(lcb_2));
        for (((&gain, &lcb), (&gain_2, &lcb_2)), &row) in of_actions.zip(rows) {
            let gap = tile_of(row);
            for k in 0..TILE {
                best[k] = better::<T, FUSED>(best[k], gain, lcb, gap[k]);
                best_2[k] = better::<T, FUSED>(best_2[k], gain_2, lcb_2, gap[k]);
            }
        }
        let (weight, weight_2) = (T::of(weight), T::of(weight_2));
        for k in 0..TILE {
            total[k] += weight * best[k];
            total[k] += weight_2 * best_2[k];
        }
    }
    *sums = total;
    TILE
}

/// Eight budgets and all contexts: where actions are few, a loop made for their number. Returns the size of the tile.
#[inline(always)]
fn add_narrow_tile<T: Term, const FUSED: bool>(
    contexts: &Contexts<T>,
    gaps: &[T],
    (rows, width): (GapRows, usize),
    sums: &mut [T],
) -> usize {
    let few = (rows.of(0), width);
    match few.0.len() {
        2 => add_few_actions::<T, 2, FUSED>(contexts, gaps, few, sums),
        3 => add_few_actions::<T, 3, FUSED>(contexts, gaps, few, sums),
        4 => add_few_actions::<T, 4, FUSED>(contexts, gaps, few, sums),
        5 => add_few_actions::<T, 5, FUSED>(contexts, gaps, few, sums),
        6 => add_few_actions::<T, 6, FUSED>(contexts, gaps, few, sums),
        7 => add_few_actions::<T, 7, FUSED>(contexts, gaps, few, sums),
        8 => add_few_actions::<T, 8, FUSED>(contexts, gaps, few, sums),
        _ => return add_tile::<T, 8, true, FUSED>(contexts, gaps, (rows, width), sums),
    }
    8
}

/// The inner loops with the gaps of all actions in registers.
#[inline(always)]
fn add_few_actions<T: Term, const ACTIONS: usize, const FUSED: bool>(
    contexts: &Contexts<T>,
    gaps: &[T],
    (rows, width): (&[u32], usize),
    sums: &mut [T],
) {
    let sums: &mut [T; 8] = (&mut sums[..8]).try_into().expect("tiles are whole");
    let mut total = *sums;
    let mut gap = [[T::zeroed(); 8]; ACTIONS];
    for (gap, &row) in gap.iter_mut().zip(rows) {
        gap.copy_from_slice(&gaps[row as usize * width..][..8]);
    }
    let gains = contexts.gain.as_chunks::<ACTIONS>().0;
    let lcbs = contexts.lcb.as_chunks::<ACTIONS>().0;
    if contexts.plain {
        let all = ..contexts.entries.len();
        for (gain, lcb) in gains[all].iter().zip(&lcbs[all]) {
            let best = best_gains::<T, ACTIONS, FUSED>(gain, lcb, &gap);
            for k in 0..8 {
                total[k] += best[k];
            }
        }
    } else {
        for (&entry, &weight) in contexts.entries.iter().zip(contexts.weights) {
            let (gain, lcb) = (&gains[entry as usize], &lcbs[entry as usize]);
            let best = best_gains::<T, ACTIONS, FUSED>(gain, lcb, &gap);
            let weight = T::of(weight);
            for k in 0..8 {
                total[k] += weight * best[k];
            }
        }
    }
    *sums = total;
}

/// The best gain of a context for each budget of a tile. A function: a closure would not be compiled for the instruction set
/// of its caller, and would call fma as a function.
#[inline(always)]
fn best_gains<T: Term, const ACTIONS: usize, const FUSED: bool>(
    gain: &[T; ACTIONS],
    lcb: &[T; ACTIONS],
    gap: &[[T; 8]; ACTIONS],
) -> [T; 8] {
    let mut best = [T::zeroed(); 8];
    for a in 0..ACTIONS {
        for k in 0..8 {
            best[k] = better::<T, FUSED>(best[k], gain[a], lcb[a], gap[a][k]);
        }
    }
    best
}

/// The larger of a value and gain - lcb gap. An infinite gap with lcb = 0 gives NaN, which the comparison drops.
#[inline(always)]
fn better<T: Term, const FUSED: bool>(best: T, gain: T, lcb: T, gap: T) -> T {
    let value = if FUSED {
        lcb.fused(gap, gain)
    } else {
        gain - lcb * gap
    };
    if value > best { value } else { best }
}

/// Adds the gains of a chunk stored by action to `sums`, with vectors over contexts: few budgets would leave vectors over
/// budgets empty. `rows` has the row of gaps of each action, each `width` long.
#[multiversion::multiversion(targets(
    "x86_64+avx512f+avx512vl+avx512dq+fma",
    "x86_64+avx2+fma",
    "aarch64+neon"
))]
pub(super) fn add_gains_by_action(
    chunk: &Chunk,
    gaps: &[f64],
    rows: (&[u32], usize),
    sums: &mut [f64],
) {
    if multiversion::target::target_cfg_f!(any(target_feature = "fma", target_arch = "aarch64")) {
        add_budgets::<true>(chunk, gaps, rows, sums);
    } else {
        add_budgets::<false>(chunk, gaps, rows, sums);
    }
}

#[inline(always)]
fn add_budgets<const FUSED: bool>(
    chunk: &Chunk,
    gaps: &[f64],
    rows: (&[u32], usize),
    sums: &mut [f64],
) {
    // Nothing can be bought with a budget of 0.
    let mut budget = 1;
    while budget < sums.len() {
        let (gaps, sums) = (&gaps[budget..], &mut sums[budget..]);
        budget += match sums.len() {
            4.. => add_few_budgets::<4, FUSED>(chunk, gaps, rows, sums),
            2.. => add_few_budgets::<2, FUSED>(chunk, gaps, rows, sums),
            _ => add_few_budgets::<1, FUSED>(chunk, gaps, rows, sums),
        };
    }
}

/// All contexts and actions, a few budgets. Returns how many budgets.
#[inline(always)]
fn add_few_budgets<const BUDGETS: usize, const FUSED: bool>(
    chunk: &Chunk,
    gaps: &[f64],
    (rows, width): (&[u32], usize),
    sums: &mut [f64],
) -> usize {
    let apart = chunk.apart();
    let (gains, lcbs) = (chunk.gain(), chunk.lcb());
    let mut totals = [[0.0; LANES]; BUDGETS];
    for first in (0..apart).step_by(LANES) {
        let mut best = [[0.0; LANES]; BUDGETS];
        let mut place = first;
        for &row in rows {
            let gain: &[f64; LANES] = gains[place..place + LANES].try_into().expect("whole");
            let lcb: &[f64; LANES] = lcbs[place..place + LANES].try_into().expect("whole");
            let gaps = &gaps[row as usize * width..][..BUDGETS];
            let gap: &[f64; BUDGETS] = gaps.try_into().expect("whole");
            for (best, &gap) in best.iter_mut().zip(gap) {
                for lane in 0..LANES {
                    best[lane] = better::<f64, FUSED>(best[lane], gain[lane], lcb[lane], gap);
                }
            }
            place += apart;
        }
        for (total, best) in totals.iter_mut().zip(&best) {
            for lane in 0..LANES {
                total[lane] += best[lane];
            }
        }
    }
    for (sum, total) in sums.iter_mut().zip(&totals) {
        *sum += total.iter().sum::<f64>();
    }
    BUDGETS
}
