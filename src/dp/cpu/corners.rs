//! Unit cost: the value of an action is a line in the one gap g = u(b) - u(b - 1),
//!
//! ```text
//! max(0, max_a (gain_a - lcb_a g)) = sum over corners x_j > g of (gain_j - lcb_j g),
//! ```
//!
//! convex and falling: below each corner the envelope gains a steeper line, whose difference from the one before is
//! (gain_j, lcb_j) with x_j = gain_j / lcb_j. All terms are positive, so sums of them lose nothing.

use rayon::prelude::*;

use super::singles::Chunk;
use crate::dp::Problem;

/// Entries per task.
const CHUNK: usize = 512;
const _: () = assert!(CHUNK.is_multiple_of(LANES));

/// Where an envelope's line changes, and by how much.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Corner {
    pub gap: f64,
    pub gain: f64,
    pub lcb: f64,
}

/// The corners of every entry of a sample. They depend on neither the step nor the budget.
#[derive(Debug)]
pub(super) struct Corners {
    flat: Vec<Corner>,
    ends: Vec<u32>,
}

impl Corners {
    /// The envelopes of the shared contexts of a problem with unit cost.
    pub fn of_shared(problem: &Problem) -> Self {
        let actions = problem.sample.actions();
        let coefficients = problem.coefficients;
        let pairs = ..problem.sample.shared() * actions;
        let gains = coefficients.gain[pairs].par_chunks(CHUNK * actions);
        let lcbs = coefficients.lcb[pairs].par_chunks(CHUNK * actions);
        let parts: Vec<(Vec<Corner>, Vec<u32>)> = gains
            .zip(lcbs)
            .map(|(gains, lcbs)| {
                let mut walk = Walk::new(actions);
                let (mut flat, mut ends) = (Vec::new(), Vec::new());
                let gains = gains.chunks(LANES * actions);
                for (gains, lcbs) in gains.zip(lcbs.chunks(LANES * actions)) {
                    walk.take(gains, lcbs);
                    follow_envelopes(&mut walk);
                    for corners in &walk.corners[..gains.len() / actions] {
                        flat.extend_from_slice(corners);
                        ends.push(flat.len() as u32);
                    }
                }
                (flat, ends)
            })
            .collect();
        let mut all = Self {
            flat: Vec::with_capacity(parts.iter().map(|part| part.0.len()).sum()),
            ends: vec![0],
        };
        for (flat, ends) in parts {
            let start = all.flat.len() as u32;
            all.flat.extend(flat);
            all.ends.extend(ends.iter().map(|end| start + end));
        }
        all
    }

    /// The corners of a chunk of single contexts, one context after the other.
    pub fn for_chunk(actions: usize, chunk: &Chunk, mut take: impl FnMut(&Corner)) {
        let mut walk = Walk::new(actions);
        for first in (0..chunk.apart()).step_by(LANES) {
            walk.take_by_action(chunk, first);
            follow_envelopes(&mut walk);
            walk.corners.iter().flatten().for_each(&mut take);
        }
    }

    /// The corners of an entry, in rising order of the gap.
    pub fn of_entry(&self, entry: u32) -> &[Corner] {
        let ends = &self.ends[entry as usize..entry as usize + 2];
        &self.flat[ends[0] as usize..ends[1] as usize]
    }
}

/// Contexts whose envelopes are followed together, each in its lane of vectors.
const LANES: usize = 4;

/// The lines of some contexts, action by action, and the corners found.
struct Walk {
    actions: usize,
    gain: Vec<[f64; LANES]>,
    lcb: Vec<[f64; LANES]>,
    corners: [Vec<Corner>; LANES],
}

impl Walk {
    fn new(actions: usize) -> Self {
        Self {
            actions,
            gain: vec![[0.0; LANES]; actions],
            lcb: vec![[0.0; LANES]; actions],
            corners: Default::default(),
        }
    }

    /// Takes up to [`LANES`] contexts; lanes that are left keep old ones, which nobody reads.
    fn take(&mut self, gains: &[f64], lcbs: &[f64]) {
        let contexts = gains.chunks_exact(self.actions);
        for (lane, (gains, lcbs)) in contexts.zip(lcbs.chunks_exact(self.actions)).enumerate() {
            for action in 0..self.actions {
                self.gain[action][lane] = gains[action];
                self.lcb[action][lane] = lcbs[action];
            }
        }
    }
}

impl Walk {
    /// Takes neighbouring contexts of a chunk, which is filled up to more than [`LANES`].
    fn take_by_action(&mut self, chunk: &Chunk, first: usize) {
        for action in 0..self.actions {
            let place = action * chunk.apart() + first;
            self.gain[action].copy_from_slice(&chunk.gain()[place..place + LANES]);
            self.lcb[action].copy_from_slice(&chunk.lcb()[place..place + LANES]);
        }
    }
}

/// Follows each envelope from gap 0, where the largest gain is largest, to the corner at which the next line takes over,
/// and so on to the null action or a line that is flat.
#[multiversion::multiversion(targets(
    "x86_64+avx512f+avx512vl+avx512dq",
    "x86_64+avx2",
    "aarch64+neon"
))]
fn follow_envelopes(walk: &mut Walk) {
    let (mut gain, mut lcb) = ([0.0; LANES], [0.0; LANES]);
    for (gains, lcbs) in walk.gain.iter().zip(&walk.lcb) {
        for i in 0..LANES {
            let better = gains[i] > gain[i];
            gain[i] = if better { gains[i] } else { gain[i] };
            lcb[i] = if better { lcbs[i] } else { lcb[i] };
        }
    }
    walk.corners.iter_mut().for_each(Vec::clear);
    while lcb.iter().any(|lcb| *lcb > 0.0) {
        // The null action is the first candidate to take over.
        let (mut next_gain, mut next_lcb) = ([0.0; LANES], [0.0; LANES]);
        let mut corner = [0.0; LANES];
        for i in 0..LANES {
            corner[i] = gain[i] / lcb[i];
        }
        for (gains, lcbs) in walk.gain.iter().zip(&walk.lcb) {
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
                walk.corners[i].push(Corner {
                    gap: corner[i],
                    gain: gain[i] - next_gain[i],
                    lcb: lcb[i] - next_lcb[i],
                });
                (gain[i], lcb[i]) = (next_gain[i], next_lcb[i]);
            }
        }
    }
    for (corners, &gain) in walk.corners.iter_mut().zip(&gain) {
        if gain > 0.0 {
            corners.push(Corner {
                gap: f64::INFINITY,
                gain,
                lcb: 0.0,
            });
        }
    }
}
