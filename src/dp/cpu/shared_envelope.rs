//! Unit cost, with contexts and bounds that serve several steps: the sum over contexts is one function of the gap
//! g = u(b) - u(b - 1) for all of them. The value of an action is a line in g,
//!
//! ```text
//! max(0, max_a (gain_a - lcb_a g)) = sum over corners x_j > g of (gain_j - lcb_j g),
//! ```
//!
//! convex and falling: below each corner the envelope gains a steeper line, whose difference from the one before is
//! (gain_j, lcb_j) with x_j = gain_j / lcb_j. All terms are positive, so sums of them lose nothing. The corners of all
//! contexts are sorted and summed once; each (step, budget) is then a binary search.

use rayon::prelude::*;

use super::induction::backward_induction;
use crate::dp::ExactSum;
use crate::dp::{BackendError, Precision, Problem, RawTable, WeightedEntries};

/// Entries per task.
const CHUNK: usize = 512;
const _: () = assert!(CHUNK.is_multiple_of(LANES));

/// Contexts whose envelopes are followed together, each in its lane of vectors.
const LANES: usize = 4;

/// Where an envelope's line changes, and by how much.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Corner {
    gap: f64,
    gain: f64,
    lcb: f64,
}

/// The table of a problem whose actions all cost 1 and whose lists of contexts serve several steps, so that no context is
/// single.
pub(super) fn solve(problem: &Problem) -> Result<RawTable, BackendError> {
    let corners = Corners::of_entries(problem);
    let lists = (0..problem.sample.lists()).map(|list| problem.sample.list(list).shared);
    let gains: Vec<GainOfGap> = lists.map(|list| GainOfGap::of(list, &corners)).collect();
    backward_induction(problem, Precision::F64, |h, next, sums| {
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

/// The corners of every entry. They depend on neither the step nor the budget.
struct Corners {
    flat: Vec<Corner>,
    ends: Vec<usize>,
}

impl Corners {
    fn of_entries(problem: &Problem) -> Self {
        let actions = problem.sample.actions();
        let gains = problem.coefficients.gain.par_chunks(CHUNK * actions);
        let lcbs = problem.coefficients.lcb.par_chunks(CHUNK * actions);
        let of_chunk = |(gains, lcbs): (&[f64], &[f64])| {
            let mut envelopes = Envelopes::new(actions);
            let (mut flat, mut counts) = (Vec::new(), Vec::new());
            let gains = gains.chunks(LANES * actions);
            for (gains, lcbs) in gains.zip(lcbs.chunks(LANES * actions)) {
                envelopes.load(gains, lcbs);
                follow_envelopes(&mut envelopes);
                for corners in &envelopes.corners[..gains.len() / actions] {
                    flat.extend_from_slice(corners);
                    counts.push(corners.len());
                }
            }
            (flat, counts)
        };
        let parts: Vec<(Vec<Corner>, Vec<usize>)> = gains.zip(lcbs).map(of_chunk).collect();
        let (mut flat, mut ends) = (Vec::new(), vec![0]);
        for (corners, counts) in parts {
            flat.extend(corners);
            ends.extend(counts);
        }
        for entry in 1..ends.len() {
            ends[entry] += ends[entry - 1];
        }
        Self { flat, ends }
    }

    /// The corners of an entry, in rising order of the gap.
    fn of_entry(&self, entry: u32) -> &[Corner] {
        let entry = entry as usize;
        &self.flat[self.ends[entry]..self.ends[entry + 1]]
    }
}

/// The lines of some contexts, action by action, and the corners of their envelopes.
struct Envelopes {
    gain: Vec<[f64; LANES]>,
    lcb: Vec<[f64; LANES]>,
    corners: [Vec<Corner>; LANES],
}

impl Envelopes {
    fn new(actions: usize) -> Self {
        Self {
            gain: vec![[0.0; LANES]; actions],
            lcb: vec![[0.0; LANES]; actions],
            corners: Default::default(),
        }
    }

    /// Loads up to [`LANES`] contexts; unused lanes keep old ones, which nobody reads.
    fn load(&mut self, gains: &[f64], lcbs: &[f64]) {
        let actions = self.gain.len();
        let contexts = gains.chunks_exact(actions);
        for (lane, (gains, lcbs)) in contexts.zip(lcbs.chunks_exact(actions)).enumerate() {
            for action in 0..actions {
                self.gain[action][lane] = gains[action];
                self.lcb[action][lane] = lcbs[action];
            }
        }
    }
}

/// Follows each envelope from gap 0, where the line with the largest gain leads, from corner to corner until the null action
/// or a flat line leads.
#[multiversion::multiversion(targets(
    "x86_64+avx512f+avx512vl+avx512dq",
    "x86_64+avx2",
    "aarch64+neon"
))]
fn follow_envelopes(lines: &mut Envelopes) {
    let (mut gain, mut lcb) = ([0.0; LANES], [0.0; LANES]);
    for (gains, lcbs) in lines.gain.iter().zip(&lines.lcb) {
        for i in 0..LANES {
            let better = gains[i] > gain[i];
            gain[i] = if better { gains[i] } else { gain[i] };
            lcb[i] = if better { lcbs[i] } else { lcb[i] };
        }
    }
    lines.corners.iter_mut().for_each(Vec::clear);
    while lcb.iter().any(|lcb| *lcb > 0.0) {
        // The null action is the first candidate to take over.
        let (mut next_gain, mut next_lcb) = ([0.0; LANES], [0.0; LANES]);
        let mut corner = [0.0; LANES];
        for i in 0..LANES {
            corner[i] = gain[i] / lcb[i];
        }
        for (gains, lcbs) in lines.gain.iter().zip(&lines.lcb) {
            for i in 0..LANES {
                let flatter = lcb[i] - lcbs[i];
                let x = (gain[i] - gains[i]) / flatter;
                // Among equals the first: the others follow at the same corner.
                let takes_over = (flatter > 0.0) & (x < corner[i]);
                corner[i] = if takes_over { x } else { corner[i] };
                next_gain[i] = if takes_over { gains[i] } else { next_gain[i] };
                next_lcb[i] = if takes_over { lcbs[i] } else { next_lcb[i] };
            }
        }
        for i in 0..LANES {
            if lcb[i] > 0.0 {
                lines.corners[i].push(Corner {
                    gap: corner[i],
                    gain: gain[i] - next_gain[i],
                    lcb: lcb[i] - next_lcb[i],
                });
                (gain[i], lcb[i]) = (next_gain[i], next_lcb[i]);
            }
        }
    }
    for (corners, &gain) in lines.corners.iter_mut().zip(&gain) {
        if gain > 0.0 {
            corners.push(Corner {
                gap: f64::INFINITY,
                gain,
                lcb: 0.0,
            });
        }
    }
}
