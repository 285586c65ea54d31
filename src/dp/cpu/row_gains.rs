//! Gains of contexts whose coefficients have just been made, for all budgets: the loop of `dense` without lists and weights.

/// Numbers of a vector: budgets are filled up to a multiple of it.
const VECTOR: usize = 8;

/// Coefficients of some contexts, `actions` of each together.
pub(super) struct Pairs {
    actions: usize,
    gain: Vec<f64>,
    lcb: Vec<f64>,
    /// Where the gaps of the action's cost begin.
    gaps: Vec<usize>,
}

impl Pairs {
    pub fn new(actions: usize) -> Self {
        Self {
            actions,
            gain: Vec::new(),
            lcb: Vec::new(),
            gaps: Vec::new(),
        }
    }

    pub fn clear(&mut self) {
        self.gain.clear();
        self.lcb.clear();
        self.gaps.clear();
    }

    pub fn push(&mut self, gain: f64, lcb: f64, gaps: usize) {
        self.gain.push(gain);
        self.lcb.push(lcb);
        self.gaps.push(gaps);
    }

    pub fn contexts(&self) -> usize {
        self.gain.len() / self.actions
    }
}

/// So many budgets as sums and gaps have room for.
pub(super) fn padded(budgets: usize) -> usize {
    budgets.next_multiple_of(VECTOR)
}

/// gap(c)[b] = next[b] - next[b - c] from place `stride` times the cost's number on; infinite where c > b and beyond the
/// last budget.
pub(super) fn fill_gaps(next: &[f64], costs: &[u32], stride: usize, gaps: &mut Vec<f64>) {
    gaps.clear();
    gaps.resize(costs.len() * stride, f64::INFINITY);
    for (row, &cost) in gaps.chunks_exact_mut(stride).zip(costs) {
        let cost = (cost as usize).min(next.len());
        for ((gap, after), before) in row[cost..].iter_mut().zip(&next[cost..]).zip(next) {
            *gap = after - before;
        }
    }
}

/// Adds max(0, max_a (gain - lcb gap)) of all contexts to the sums; these are a multiple of [`padded`]'s.
#[multiversion::multiversion(targets(
    "x86_64+avx512f+avx512vl+avx512dq+fma",
    "x86_64+avx2+fma",
    "aarch64+neon"
))]
pub(super) fn add_gains(pairs: &Pairs, gaps: &[f64], sums: &mut [f64]) {
    // Without the instruction, fused arithmetic would be a slow call.
    if multiversion::target::target_cfg_f!(any(target_feature = "fma", target_arch = "aarch64")) {
        add_tiles::<true>(pairs, gaps, sums);
    } else {
        add_tiles::<false>(pairs, gaps, sums);
    }
}

#[inline(always)]
fn add_tiles<const FUSED: bool>(pairs: &Pairs, gaps: &[f64], sums: &mut [f64]) {
    let mut first = 0;
    while first < sums.len() {
        let (gaps, sums) = (&gaps[first..], &mut sums[first..]);
        first += match sums.len() {
            32.. => add_tile::<32, FUSED>(pairs, gaps, sums),
            16.. => add_tile::<16, FUSED>(pairs, gaps, sums),
            _ => add_tile::<8, FUSED>(pairs, gaps, sums),
        };
    }
}

/// One tile of budgets; returns its size.
#[inline(always)]
fn add_tile<const TILE: usize, const FUSED: bool>(
    pairs: &Pairs,
    gaps: &[f64],
    sums: &mut [f64],
) -> usize {
    let sums: &mut [f64; TILE] = (&mut sums[..TILE]).try_into().expect("tiles are whole");
    let contexts = pairs
        .gain
        .chunks_exact(pairs.actions)
        .zip(pairs.lcb.chunks_exact(pairs.actions))
        .zip(pairs.gaps.chunks_exact(pairs.actions));
    for ((gains, lcbs), starts) in contexts {
        let mut best = [0.0; TILE];
        for ((&gain, &lcb), &start) in gains.iter().zip(lcbs).zip(starts) {
            let gaps: &[f64; TILE] = gaps[start..start + TILE]
                .try_into()
                .expect("tiles are whole");
            for (best, &gap) in best.iter_mut().zip(gaps) {
                // An infinite gap with lcb = 0 gives NaN, which this comparison drops.
                let value = match FUSED {
                    true => (-lcb).mul_add(gap, gain),
                    false => gain - lcb * gap,
                };
                *best = if value > *best { value } else { *best };
            }
        }
        for (sum, best) in sums.iter_mut().zip(best) {
            *sum += best;
        }
    }
    TILE
}
