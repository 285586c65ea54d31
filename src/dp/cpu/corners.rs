//! Unit cost: the value of an action is a line in the one gap g = u(b) - u(b - 1),
//!
//! ```text
//! max(0, max_a (gain_a - lcb_a g)) = sum over corners x_j > g of (gain_j - lcb_j g),
//! ```
//!
//! convex and falling: below each corner the envelope gains a steeper line, whose difference from the one before is
//! (gain_j, lcb_j) with x_j = gain_j / lcb_j. All terms are positive, so sums of them lose nothing.

use rayon::prelude::*;

use crate::dp::Problem;

/// Entries per task.
const CHUNK: usize = 512;

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
    /// The envelopes of a problem with unit cost.
    pub fn of(problem: &Problem) -> Self {
        let actions = problem.sample.actions();
        let coefficients = problem.coefficients;
        let gains = coefficients.gain.par_chunks(CHUNK * actions);
        let lcbs = coefficients.lcb.par_chunks(CHUNK * actions);
        let parts: Vec<(Vec<Corner>, Vec<u32>)> = gains
            .zip(lcbs)
            .map(|(gains, lcbs)| {
                let mut envelope = Envelope::new(actions);
                let (mut flat, mut ends) = (Vec::new(), Vec::new());
                for (gain, lcb) in gains.chunks_exact(actions).zip(lcbs.chunks_exact(actions)) {
                    envelope.corners(gain, lcb, &mut flat);
                    ends.push(flat.len() as u32);
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

    /// The corners of an entry, in falling order of the gap.
    pub fn of_entry(&self, entry: u32) -> &[Corner] {
        let ends = &self.ends[entry as usize..entry as usize + 2];
        &self.flat[ends[0] as usize..ends[1] as usize]
    }
}

/// Scratch space for upper envelopes.
struct Envelope {
    /// Actions in rising order of lcb, kept from one context to the next, which is often much like it.
    order: Vec<u32>,
    /// (gain, lcb) of the lines of the envelope, from large gaps to small.
    lines: Vec<(f64, f64)>,
}

impl Envelope {
    fn new(actions: usize) -> Self {
        Self {
            order: (0..actions as u32).collect(),
            lines: Vec::with_capacity(actions + 1),
        }
    }

    /// Appends the corners of one context.
    fn corners(&mut self, gain: &[f64], lcb: &[f64], out: &mut Vec<Corner>) {
        for i in 1..self.order.len() {
            let moved = self.order[i];
            let mut place = i;
            while place > 0 && lcb[self.order[place - 1] as usize] > lcb[moved as usize] {
                self.order[place] = self.order[place - 1];
                place -= 1;
            }
            self.order[place] = moved;
        }
        self.lines.clear();
        // The null action.
        self.lines.push((0.0, 0.0));
        for &action in &self.order {
            add_line(&mut self.lines, (gain[action as usize], lcb[action as usize]));
        }
        let mut before = (0.0, 0.0);
        for &(gain, lcb) in &self.lines {
            let (gain_more, lcb_more) = (gain - before.0, lcb - before.1);
            if gain_more > 0.0 {
                out.push(Corner {
                    // Infinite where the line is flat.
                    gap: gain_more / lcb_more,
                    gain: gain_more,
                    lcb: lcb_more,
                });
            }
            before = (gain, lcb);
        }
    }
}

/// Adds a line that falls at least as steeply as all others; lines that are nowhere largest leave.
fn add_line(lines: &mut Vec<(f64, f64)>, line: (f64, f64)) {
    let last = lines[lines.len() - 1];
    if line.0 <= last.0 {
        return;
    }
    if line.1 == last.1 {
        lines.pop();
    }
    while let [.., before, last] = lines[..] {
        let hidden = (line.0 - last.0) * (last.1 - before.1)
            >= (last.0 - before.0) * (line.1 - last.1);
        if !hidden {
            break;
        }
        lines.pop();
    }
    lines.push(line);
}
