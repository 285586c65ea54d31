//! Unit cost, with contexts and bounds that serve several steps: the sum over contexts is one function of the gap for
//! all of them. Its corners are sorted and summed once, and each (step, budget) is a binary search.

use rayon::prelude::*;

use super::corners::{Corner, Corners};
use super::exact_sum::ExactSum;
use super::induction::{Setting, backward_induction};
use crate::dp::{BackendError, Precision, Problem, RawTable, WeightedEntries};

/// The table of a problem whose actions all cost 1.
pub(super) fn solve(problem: &Problem) -> Result<RawTable, BackendError> {
    let corners = Corners::of_shared(problem);
    // Lists that serve several steps have no single contexts.
    let lists = (0..problem.sample.lists()).map(|list| problem.sample.list(list).shared);
    let gains: Vec<GainOfGap> = lists.map(|list| GainOfGap::of(list, &corners)).collect();
    let setting = Setting::of_problem(problem);
    backward_induction(setting, Precision::F64, |h, next, sums| {
        let gain = &gains[problem.sample.list_of_step(h)];
        for b in 1..sums.len() {
            sums[b] = gain.at(next[b] - next[b - 1]);
        }
        Ok(())
    })
}

/// sum_s w_s max(0, max_a (gain - lcb g)) as a function of g.
struct GainOfGap {
    /// In falling order.
    corners: Vec<f64>,
    /// Sums of w gain and w lcb over the first k corners.
    sums: Vec<[f64; 2]>,
}

impl GainOfGap {
    fn of(list: &WeightedEntries, corners: &Corners) -> Self {
        let weighted = list.entries.iter().zip(&list.weights);
        let mut all: Vec<Corner> = weighted
            .flat_map(|(&entry, weight)| {
                corners.of_entry(entry).iter().map(move |corner| Corner {
                    gain: weight * corner.gain,
                    lcb: weight * corner.lcb,
                    ..*corner
                })
            })
            .collect();
        // Corners that compare as equal are equal, so any order of them gives the same sums.
        all.par_sort_unstable_by(|x, y| {
            let by_gap = y.gap.total_cmp(&x.gap);
            let by_gain = x.gain.total_cmp(&y.gain);
            by_gap.then(by_gain).then(x.lcb.total_cmp(&y.lcb))
        });
        let (mut gain, mut lcb) = (ExactSum::default(), ExactSum::default());
        let mut sums = vec![[0.0; 2]];
        for corner in &all {
            sums.push([gain.add(corner.gain), lcb.add(corner.lcb)]);
        }
        Self {
            corners: all.iter().map(|corner| corner.gap).collect(),
            sums,
        }
    }

    fn at(&self, gap: f64) -> f64 {
        let active = self.corners.partition_point(|corner| *corner > gap);
        let [gain, lcb] = self.sums[active];
        gain - lcb * gap
    }
}
