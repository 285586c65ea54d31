//! Gains of single contexts with vectors over contexts: eight contexts and a few budgets at a time. For few budgets, which
//! would leave vectors over budgets empty; costs follow the action alone.

use super::over_budgets::better;
use super::singles::{Chunk, LANES};

/// One number for each context of a vector.
type Lanes = [f64; LANES];

/// Adds the gains of a chunk's contexts to `sums`, budget by budget. `rows` has the row of gaps of each action, and the
/// length of rows.
#[multiversion::multiversion(targets(
    "x86_64+avx512f+avx512vl+avx512dq+fma",
    "x86_64+avx2+fma",
    "aarch64+neon"
))]
pub(super) fn add_gains(chunk: &Chunk, gaps: &[f64], rows: (&[u32], usize), sums: &mut [f64]) {
    // Without the instruction, fused arithmetic would be a slow call.
    if multiversion::target::target_cfg_f!(any(target_feature = "fma", target_arch = "aarch64")) {
        add_tiles::<true>(chunk, gaps, rows, sums);
    } else {
        add_tiles::<false>(chunk, gaps, rows, sums);
    }
}

#[inline(always)]
fn add_tiles<const FUSED: bool>(
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
            4.. => add_tile::<4, FUSED>(chunk, gaps, rows, sums),
            2.. => add_tile::<2, FUSED>(chunk, gaps, rows, sums),
            _ => add_tile::<1, FUSED>(chunk, gaps, rows, sums),
        };
    }
}

/// The inner loops: all contexts and actions, a few budgets. Returns the size of the tile.
#[inline(always)]
fn add_tile<const BUDGETS: usize, const FUSED: bool>(
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
            let gain: &Lanes = gains[place..place + LANES].try_into().expect("whole");
            let lcb: &Lanes = lcbs[place..place + LANES].try_into().expect("whole");
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
