//! Unit cost with many budgets: at each step the gaps of all budgets are put in order, the corners of every context fall
//! between them, and a running sum over the gaps gives every budget's sum over contexts. A context costs its corners
//! times the logarithm of the budgets, not all budgets.

use rayon::prelude::*;

use super::corners::{Corner, Corners};
use super::exact_sum::ExactSum;
use super::induction::{Setting, backward_induction};
use super::singles::{Chunk, Posed};
use crate::dp::{BackendError, Precision, RawTable, StepContexts};

/// Contexts per partial sum. Part of the result's bits; not to be tuned by machine.
const CHUNK: usize = 2048;

/// Sum of w gain and of w lcb of the corners that lie between two neighbouring gaps.
type Bucket = [f64; 2];

/// The table of a problem whose actions all cost 1.
pub(super) fn solve(posed: &Posed) -> Result<RawTable, BackendError> {
    let sample = posed.sample();
    let corners = Corners::of_shared(&posed.problem);
    let setting = Setting::of_problem(&posed.problem);
    backward_induction(setting, Precision::F64, |h, next, sums| {
        let gaps = SortedGaps::of(next);
        let StepContexts { shared, singles } = sample.step(h);
        let entries = shared.entries.par_chunks(CHUNK);
        let weights = shared.weights.par_chunks(CHUNK);
        let mut parts: Vec<Vec<Bucket>> = entries
            .zip(weights)
            .map(|(entries, weights)| gaps.sort_corners(&corners, entries, weights))
            .collect();
        let chunks = 0..singles.len().div_ceil(CHUNK);
        let sort_singles = |chunk: &mut Chunk, number: usize| {
            let first = singles.start + number * CHUNK;
            let entries = first..(first + CHUNK).min(singles.end);
            let mut buckets = gaps.buckets();
            posed.with_chunk(entries, chunk, |chunk| {
                Corners::for_chunk(sample.actions(), chunk, |corner| {
                    gaps.sort_corner(corner, 1.0, &mut buckets);
                });
            })?;
            Ok(buckets)
        };
        let of_singles: Result<Vec<Vec<Bucket>>, BackendError> = chunks
            .into_par_iter()
            .map_init(Chunk::default, sort_singles)
            .collect();
        parts.extend(of_singles?);
        gaps.running_sums(&parts, sums);
        Ok(())
    })
}

/// The gaps of budgets 1, 2, ... in falling order. (Where values are concave they are so already, but bounds need not
/// make them concave.)
struct SortedGaps {
    gaps: Vec<f64>,
    budgets: Vec<usize>,
}

impl SortedGaps {
    fn of(next: &[f64]) -> Self {
        let gap = |b: usize| next[b] - next[b - 1];
        let mut budgets: Vec<usize> = (1..next.len()).collect();
        budgets.sort_by(|x, y| gap(*y).total_cmp(&gap(*x)));
        Self {
            gaps: budgets.iter().map(|b| gap(*b)).collect(),
            budgets,
        }
    }

    /// Bucket k holds the corners that count from gap number k on. The corners beyond all gaps are left out.
    fn sort_corners(&self, corners: &Corners, entries: &[u32], weights: &[f64]) -> Vec<Bucket> {
        let mut buckets = self.buckets();
        for (&entry, weight) in entries.iter().zip(weights) {
            for corner in corners.of_entry(entry) {
                self.sort_corner(corner, *weight, &mut buckets);
            }
        }
        buckets
    }

    fn buckets(&self) -> Vec<Bucket> {
        vec![[0.0; 2]; self.gaps.len() + 1]
    }

    #[inline]
    fn sort_corner(&self, corner: &Corner, weight: f64, buckets: &mut [Bucket]) {
        let first = self.gaps.partition_point(|gap| *gap >= corner.gap);
        let bucket = &mut buckets[first];
        bucket[0] += weight * corner.gain;
        bucket[1] += weight * corner.lcb;
    }

    /// sum of w (gain - lcb gap) for every budget.
    fn running_sums(&self, parts: &[Vec<Bucket>], sums: &mut [f64]) {
        let (mut gains, mut lcbs) = (ExactSum::default(), ExactSum::default());
        for (k, (gap, &budget)) in self.gaps.iter().zip(&self.budgets).enumerate() {
            let sum = |i: usize| parts.iter().map(|part| part[k][i]).sum();
            let (gain, lcb) = (gains.add(sum(0)), lcbs.add(sum(1)));
            sums[budget] = gain - lcb * gap;
        }
    }
}
