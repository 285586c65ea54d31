//! Unit cost with many budgets: at each step the gaps of all budgets are put in order, the corners of every context fall
//! between them, and a running sum over the gaps gives every budget's sum over contexts. A context costs its corners
//! times the logarithm of the budgets, not all budgets.

use rayon::prelude::*;

use super::corners::Corners;
use super::exact_sum::ExactSum;
use super::induction::{Setting, backward_induction};
use crate::dp::{BackendError, Precision, Problem, RawTable};

/// Contexts per partial sum. Part of the result's bits; not to be tuned by machine.
const CHUNK: usize = 2048;

/// Sum of w gain and of w lcb of the corners that lie between two neighbouring gaps.
type Bucket = [f64; 2];

/// The table of a problem whose actions all cost 1.
pub(super) fn solve(problem: &Problem) -> Result<RawTable, BackendError> {
    let corners = Corners::of(problem)?;
    let setting = Setting::of_problem(problem);
    let table = backward_induction(setting, Precision::F64, |h, next, sums| {
        let gaps = SortedGaps::of(next);
        let contexts = problem.sample.step(h);
        let entries = contexts.entries.par_chunks(CHUNK);
        let weights = contexts.weights.par_chunks(CHUNK);
        let parts: Vec<Vec<Bucket>> = entries
            .zip(weights)
            .map(|(entries, weights)| gaps.sort_corners(&corners, entries, weights))
            .collect();
        gaps.running_sums(&parts, sums);
    });
    Ok(table)
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
        let mut buckets = vec![[0.0; 2]; self.gaps.len() + 1];
        for (&entry, weight) in entries.iter().zip(weights) {
            for corner in corners.of_entry(entry) {
                let first = self.gaps.partition_point(|gap| *gap >= corner.gap);
                let bucket = &mut buckets[first];
                bucket[0] += weight * corner.gain;
                bucket[1] += weight * corner.lcb;
            }
        }
        buckets
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
