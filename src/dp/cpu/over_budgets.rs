//! Gains with vectors over budgets, two contexts at a time, so that gaps are read once for both. For costs that follow the
//! action alone. The sums have the bits of the reference loop (`dense`).

use super::terms::Term;

/// Contexts per partial sum: their coefficients stay in cache while all budgets pass. Part of the result's bits; not to be
/// tuned by machine.
pub(super) const CHUNK: usize = 256;

/// The first entries, and the weight of every one of them.
const FIRST: [u32; CHUNK] = {
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
    pub gain: &'a [T],
    /// lcb, likewise.
    pub lcb: &'a [T],
    /// The entries to add up.
    pub entries: &'a [u32],
    /// Their weights.
    pub weights: &'a [f64],
    /// Whether they are the first entries in order, each of weight 1, which then need not be read.
    plain: bool,
}

impl<'a, T> Contexts<'a, T> {
    /// Some entries, each with its weight.
    pub fn some(gain: &'a [T], lcb: &'a [T], entries: &'a [u32], weights: &'a [f64]) -> Self {
        Self {
            gain,
            lcb,
            entries,
            weights,
            plain: false,
        }
    }

    /// The first contexts, each of weight 1.
    pub fn all(contexts: usize, gain: &'a [T], lcb: &'a [T]) -> Self {
        Self {
            plain: true,
            ..Self::some(gain, lcb, &FIRST[..contexts], &ONES[..contexts])
        }
    }

    #[inline(always)]
    fn of(&self, entry: u32, actions: usize) -> (&'a [T], &'a [T]) {
        let pairs = entry as usize * actions..(entry as usize + 1) * actions;
        (&self.gain[pairs.clone()], &self.lcb[pairs])
    }
}

/// Whether two at a time are faster than one: 32-bit numbers want registers that only AVX-512 has.
#[multiversion::multiversion(targets("x86_64+avx512f+avx512vl+avx512dq+fma"))]
pub(super) fn is_faster<T: Term>() -> bool {
    multiversion::target::target_cfg_f!(target_feature = "avx512f") || size_of::<T>() == 8
}

/// Adds the gains of the contexts to `sums`, context by context. `rows` has the row of gaps of each action; rows are as long
/// as `sums`, in whole cache lines.
#[multiversion::multiversion(targets(
    "x86_64+avx512f+avx512vl+avx512dq+fma",
    "x86_64+avx2+fma",
    "aarch64+neon"
))]
pub(super) fn add_gains<T: Term>(contexts: &Contexts<T>, gaps: &[T], rows: &[u32], sums: &mut [T]) {
    // Without the instruction, fused arithmetic would be a slow call. Tiles are as wide as registers allow.
    let fused =
        multiversion::target::target_cfg_f!(any(target_feature = "fma", target_arch = "aarch64"));
    let wide = multiversion::target::target_cfg_f!(target_feature = "avx512f");
    match (fused, wide) {
        (true, true) => add_tiles::<T, true, true>(contexts, gaps, rows, sums),
        (true, false) => add_tiles::<T, true, false>(contexts, gaps, rows, sums),
        (false, _) => add_tiles::<T, false, false>(contexts, gaps, rows, sums),
    }
}

#[inline(always)]
fn add_tiles<T: Term, const FUSED: bool, const WIDE: bool>(
    contexts: &Contexts<T>,
    gaps: &[T],
    rows: &[u32],
    sums: &mut [T],
) {
    let width = sums.len();
    let widest = if WIDE { 512 } else { 128 } / size_of::<T>();
    let mut first = 0;
    while first < width {
        let (gaps, sums) = (&gaps[first..], &mut sums[first..]);
        let rows = (rows, width);
        first += match sums.len().min(widest) {
            128.. => add_tile::<T, 128, FUSED>(contexts, gaps, rows, sums),
            64.. => add_tile::<T, 64, FUSED>(contexts, gaps, rows, sums),
            32.. => add_tile::<T, 32, FUSED>(contexts, gaps, rows, sums),
            16.. => add_tile::<T, 16, FUSED>(contexts, gaps, rows, sums),
            _ => add_narrow_tile::<T, FUSED>(contexts, gaps, rows, sums),
        };
    }
}

/// Eight budgets and all contexts: a loop made for the number of actions where they are few, as it has little else to do.
/// Returns the size of the tile.
#[inline(always)]
fn add_narrow_tile<T: Term, const FUSED: bool>(
    contexts: &Contexts<T>,
    gaps: &[T],
    rows: (&[u32], usize),
    sums: &mut [T],
) -> usize {
    match rows.0.len() {
        2 => add_few_actions::<T, 2, FUSED>(contexts, gaps, rows, sums),
        3 => add_few_actions::<T, 3, FUSED>(contexts, gaps, rows, sums),
        4 => add_few_actions::<T, 4, FUSED>(contexts, gaps, rows, sums),
        5 => add_few_actions::<T, 5, FUSED>(contexts, gaps, rows, sums),
        6 => add_few_actions::<T, 6, FUSED>(contexts, gaps, rows, sums),
        7 => add_few_actions::<T, 7, FUSED>(contexts, gaps, rows, sums),
        8 => add_few_actions::<T, 8, FUSED>(contexts, gaps, rows, sums),
        _ => return add_tile::<T, 8, FUSED>(contexts, gaps, rows, sums),
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

/// The inner loops: all contexts and actions, one tile of budgets. Returns the size of the tile.
#[inline(always)]
fn add_tile<T: Term, const TILE: usize, const FUSED: bool>(
    contexts: &Contexts<T>,
    gaps: &[T],
    (rows, width): (&[u32], usize),
    sums: &mut [T],
) -> usize {
    let sums: &mut [T; TILE] = (&mut sums[..TILE]).try_into().expect("tiles are whole");
    let mut total = *sums;
    let actions = rows.len();
    let mut entries = contexts.entries.iter().zip(contexts.weights);
    while let Some((&entry, &weight)) = entries.next() {
        // The last of an odd number goes with itself, which then weighs nothing.
        let (&entry_2, &weight_2) = entries.next().unwrap_or((&entry, &0.0));
        let (gain, lcb) = contexts.of(entry, actions);
        let (gain_2, lcb_2) = contexts.of(entry_2, actions);
        let (mut best, mut best_2) = ([T::zeroed(); TILE], [T::zeroed(); TILE]);
        let of_actions = gain.iter().zip(lcb).zip(gain_2.iter().zip(lcb_2));
        for (((&gain, &lcb), (&gain_2, &lcb_2)), &row) in of_actions.zip(rows) {
            let start = row as usize * width;
            let gap: &[T; TILE] = gaps[start..start + TILE]
                .try_into()
                .expect("tiles are whole");
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

/// The larger of a value and gain - lcb gap. An infinite gap with lcb = 0 gives NaN, which the comparison drops.
#[inline(always)]
pub(super) fn better<T: Term, const FUSED: bool>(best: T, gain: T, lcb: T, gap: T) -> T {
    let value = if FUSED {
        lcb.fused(gap, gain)
    } else {
        gain - lcb * gap
    };
    if value > best { value } else { best }
}
