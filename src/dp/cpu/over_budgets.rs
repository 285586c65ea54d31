//! Gains of single contexts with vectors over budgets: two contexts and a tile of budgets at a time, so that gaps are read
//! once for both. Costs follow the action alone. The sums have the bits of the reference loop (`dense`).

use super::singles::Chunk;

/// Adds the gains of a chunk's contexts to `sums`, context by context. The gaps of an action begin at its place in `gaps`;
/// sums are as many as gaps, a multiple of eight.
#[multiversion::multiversion(targets(
    "x86_64+avx512f+avx512vl+avx512dq+fma",
    "x86_64+avx2+fma",
    "aarch64+neon"
))]
pub(super) fn add_gains(chunk: &Chunk, gaps: &[f64], rows: &[usize], sums: &mut [f64]) {
    // Without the instruction, fused arithmetic would be a slow call. Tiles are as wide as registers allow.
    let fused =
        multiversion::target::target_cfg_f!(any(target_feature = "fma", target_arch = "aarch64"));
    let wide = multiversion::target::target_cfg_f!(target_feature = "avx512f");
    match (fused, wide) {
        (true, true) => add_tiles::<true, true>(chunk, gaps, rows, sums),
        (true, false) => add_tiles::<true, false>(chunk, gaps, rows, sums),
        (false, _) => add_tiles::<false, false>(chunk, gaps, rows, sums),
    }
}

#[inline(always)]
fn add_tiles<const FUSED: bool, const WIDE: bool>(
    chunk: &Chunk,
    gaps: &[f64],
    rows: &[usize],
    sums: &mut [f64],
) {
    let mut first = 0;
    while first < sums.len() {
        let (gaps, sums) = (&gaps[first..], &mut sums[first..]);
        first += match sums.len() {
            32.. if WIDE => add_tile::<32, FUSED>(chunk, gaps, rows, sums),
            16.. => add_tile::<16, FUSED>(chunk, gaps, rows, sums),
            _ => add_tile::<8, FUSED>(chunk, gaps, rows, sums),
        };
    }
}

/// The inner loops: all contexts and actions, one tile of budgets. Returns the size of the tile.
#[inline(always)]
fn add_tile<const TILE: usize, const FUSED: bool>(
    chunk: &Chunk,
    gaps: &[f64],
    rows: &[usize],
    sums: &mut [f64],
) -> usize {
    let apart = chunk.apart();
    let (gains, lcbs) = (chunk.gain(), chunk.lcb());
    let sums: &mut [f64; TILE] = (&mut sums[..TILE]).try_into().expect("tiles are whole");
    for first in (0..apart).step_by(2) {
        let (mut best, mut best_next) = ([0.0; TILE], [0.0; TILE]);
        let mut place = first;
        for &row in rows {
            let gain: &[f64; 2] = gains[place..place + 2].try_into().expect("whole");
            let lcb: &[f64; 2] = lcbs[place..place + 2].try_into().expect("whole");
            let gap: &[f64; TILE] = gaps[row..row + TILE].try_into().expect("whole");
            for k in 0..TILE {
                best[k] = better::<FUSED>(best[k], gain[0], lcb[0], gap[k]);
                best_next[k] = better::<FUSED>(best_next[k], gain[1], lcb[1], gap[k]);
            }
            place += apart;
        }
        for k in 0..TILE {
            sums[k] += best[k];
            sums[k] += best_next[k];
        }
    }
    TILE
}

/// The larger of a value and gain - lcb gap. An infinite gap with lcb = 0 gives NaN, which the comparison drops.
#[inline(always)]
pub(super) fn better<const FUSED: bool>(best: f64, gain: f64, lcb: f64, gap: f64) -> f64 {
    let value = if FUSED {
        (-lcb).mul_add(gap, gain)
    } else {
        gain - lcb * gap
    };
    if value > best { value } else { best }
}
