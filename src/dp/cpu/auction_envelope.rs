//! Auctions whose bounds do not depend on the context: the value of a bid is a line in theta,
//!
//! ```text
//! ucb (theta - bid) - lcb gap(bid),
//! ```
//!
//! so that max(0, max over bids) is the upper envelope of lines, convex and piecewise linear. With corners x_j at which
//! its slope rises by d_j, its sum over contexts is the sum over corners of d_j sum_s w_s max(0, theta_s - x_j), and the
//! inner sums come from the sample's sorted thetas: the cost of a plan grows with the logarithm of the sample.
//!
//! A bid above theta needs no check: its line is below the null action's, because gaps are not negative.

use rayon::prelude::*;

use super::induction::backward_induction;
use crate::dp::sample::SortedThetas;
use crate::dp::{BackendError, ContextSample, Precision, Problem, RawTable};

/// Budgets per task where a step is spread over threads.
const BUDGETS_PER_TASK: usize = 64;

/// (ucb, lcb) per action, or per step and action.
#[derive(Debug, Clone)]
pub(super) struct ActionBounds {
    pub bounds: Vec<[f64; 2]>,
    pub by_step: bool,
}

/// A bid's line ucb y - (fixed + lcb gap), y = theta - smallest bid.
#[derive(Debug, Clone, Copy)]
struct Bid {
    ucb: f64,
    lcb: f64,
    fixed: f64,
    cost: usize,
}

/// A line slope y - drop of the envelope.
#[derive(Debug, Clone, Copy)]
struct EnvelopeLine {
    slope: f64,
    drop: f64,
}

/// The table of an auction; its coefficients are not read.
pub(super) fn solve(problem: &Problem, bounds: &ActionBounds) -> Result<RawTable, BackendError> {
    let sample = problem.sample;
    let thetas = sample.thetas().expect("an auction's sample");
    let mut bids = sorted_bids(sample, bounds, 0);
    backward_induction(problem, Precision::F64, |h, next, sums| {
        let thetas = &thetas[sample.list_of_step(h)];
        if bounds.by_step {
            bids = sorted_bids(sample, bounds, h);
        }
        let sum_part = |(part, sums): (usize, &mut [f64])| {
            let mut envelope = Vec::with_capacity(bids.len() + 1);
            for (i, sum) in sums.iter_mut().enumerate() {
                let b = part * BUDGETS_PER_TASK + i;
                *sum = sum_of_envelope(&bids, &next[..=b], thetas, &mut envelope);
            }
        };
        if sums.len() > BUDGETS_PER_TASK {
            let parts = sums.par_chunks_mut(BUDGETS_PER_TASK);
            parts.enumerate().for_each(sum_part);
        } else {
            sum_part((0, sums));
        }
        Ok(())
    })
}

/// The bids of step `h` in rising order of ucb, the slope of their lines.
fn sorted_bids(sample: &ContextSample, bounds: &ActionBounds, h: usize) -> Vec<Bid> {
    let values = sample.bids().unwrap_or(&[]);
    let origin = values.iter().copied().fold(f64::INFINITY, f64::min);
    let first = if bounds.by_step { h * values.len() } else { 0 };
    let mut bids: Vec<Bid> = values
        .iter()
        .zip(&bounds.bounds[first..])
        .map(|(&bid, &[ucb, lcb])| Bid {
            ucb,
            lcb,
            fixed: ucb * (bid - origin),
            cost: bid as usize,
        })
        .collect();
    bids.sort_by(|x, y| x.ucb.total_cmp(&y.ucb));
    bids
}

/// sum_s w_s max(0, max over bids) for the last budget of `next`.
#[inline]
fn sum_of_envelope(
    bids: &[Bid],
    next: &[f64],
    thetas: &SortedThetas,
    envelope: &mut Vec<EnvelopeLine>,
) -> f64 {
    let b = next.len() - 1;
    envelope.clear();
    // The null action.
    envelope.push(EnvelopeLine {
        slope: 0.0,
        drop: 0.0,
    });
    for bid in bids.iter().filter(|bid| bid.cost <= b) {
        let gap = next[b] - next[b - bid.cost];
        let line = EnvelopeLine {
            slope: bid.ucb,
            drop: bid.fixed + bid.lcb * gap,
        };
        add_line(envelope, line);
    }
    let mut sum = 0.0;
    for pair in envelope.windows(2) {
        let slope = pair[1].slope - pair[0].slope;
        let drop = pair[1].drop - pair[0].drop;
        let above = thetas.above(drop / slope);
        if above.weight == 0.0 {
            break;
        }
        sum += slope * above.distance - drop * above.weight;
    }
    sum
}

/// Adds a line at least as steep as all others, and removes lines that are then nowhere largest.
fn add_line(envelope: &mut Vec<EnvelopeLine>, line: EnvelopeLine) {
    let last = envelope[envelope.len() - 1];
    if line.slope == last.slope {
        if line.drop >= last.drop {
            return;
        }
        envelope.pop();
    }
    while let [.., before, last] = envelope[..] {
        // The corner with `last` lies left of the corner where `last` begins: it is nowhere largest.
        let hidden = (line.drop - last.drop) * (last.slope - before.slope)
            <= (last.drop - before.drop) * (line.slope - last.slope);
        if !hidden {
            break;
        }
        envelope.pop();
    }
    envelope.push(line);
}

/// The bounds of an auction's actions, where its coefficients follow from bounds that do not depend on the context (to the
/// rounding of one product).
pub(super) fn action_bounds(problem: &Problem) -> Option<ActionBounds> {
    // Where bounds depend on contexts, the first few usually show it.
    bounds_of_first(problem, problem.sample.len().min(64))?;
    bounds_of_first(problem, problem.sample.len())
}

/// The same for the first `entries` entries.
fn bounds_of_first(problem: &Problem, entries: usize) -> Option<ActionBounds> {
    let sample = problem.sample;
    let bids = sample.bids()?;
    let actions = bids.len();
    let ranges = sample.ranges().flat_map(|range| sample.features_of(range));
    // An auction has one feature, theta.
    let thetas: Vec<f64> = ranges.take(entries).copied().collect();
    let reward = |pair: usize| thetas[pair / actions] - bids[pair % actions];
    let by_step = sample.is_split_by_step();
    let groups = if by_step { sample.horizon() } else { 1 };
    let arm = |pair: usize| {
        let entry = pair / actions;
        let group = if by_step {
            sample.context(entry).step
        } else {
            0
        };
        group * actions + pair % actions
    };
    let (gain, lcb) = (&problem.coefficients.gain, &problem.coefficients.lcb);
    // The largest reward of an action gives its ucb best. An action that is never feasible keeps (0, 0).
    let mut largest = vec![0.0; groups * actions];
    let mut bounds = vec![[0.0; 2]; groups * actions];
    for pair in 0..entries * actions {
        let (arm, reward) = (arm(pair), reward(pair));
        if reward > largest[arm] {
            largest[arm] = reward;
            bounds[arm] = [gain[pair] / reward, lcb[pair]];
        }
    }
    let agrees = |pair: usize| {
        let [ucb, bound] = bounds[arm(pair)];
        let expected = ucb * reward(pair);
        if expected <= 0.0 {
            return gain[pair] <= 0.0;
        }
        lcb[pair] == bound && (gain[pair] - expected).abs() <= 4.0 * f64::EPSILON * expected
    };
    let pairs = (0..entries * actions).into_par_iter().with_min_len(4096);
    pairs
        .all(agrees)
        .then_some(ActionBounds { bounds, by_step })
}
