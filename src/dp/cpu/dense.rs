//! The dense solver: every budget x context x action, in f64.
//!
//! Values are kept as gaps, gap(c)[b] = u(b) - u(b - c), infinite where c > b, so that infeasible actions lose by
//! themselves:
//!
//! ```text
//! u_hat[h][b] = min( u_hat[h+1][b] + sum_s w_s max(0, max_a (ucb r - lcb gap(cost)[b])) / total, cap )
//! ```
//!
//! Contexts are summed in chunks of fixed size whose partial sums are added in order, and no fused multiply-add is
//! used: the result is bitwise the same for any number of threads and on every instruction set, which is chosen at run
//! time.

use rayon::prelude::*;

use crate::dp::{Backend, BackendError, Problem, ValueTable};

/// Contexts per partial sum. Part of the result's bits; not to be tuned by machine.
const CHUNK: usize = 256;

/// Candidates in a step from which its chunks are spread over threads.
const PARALLEL_FROM: usize = 1 << 16;

/// The dense rayon backend.
#[derive(Debug, Clone, Copy, Default)]
pub struct Dense;

impl Backend for Dense {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn solve(&mut self, batch: &[Problem]) -> Result<Vec<ValueTable>, BackendError> {
        Ok(batch.par_iter().map(solve_one).collect())
    }
}

fn solve_one(problem: &Problem) -> ValueTable {
    match problem.budget_max {
        0..=7 => backward_induction::<8>(problem),
        8..=15 => backward_induction::<16>(problem),
        _ => backward_induction::<32>(problem),
    }
}

/// Algorithm 2. Budgets are handled in tiles of `TILE`, which the compiler turns into vector registers.
fn backward_induction<const TILE: usize>(problem: &Problem) -> ValueTable {
    let sample = problem.sample;
    let horizon = sample.horizon();
    let mut table = ValueTable::zeros(horizon, problem.budget_max);
    let cost_max = sample.distinct_costs().iter().copied().max().unwrap_or(0);
    let mut gaps = Vec::new();
    let mut partials = Vec::new();
    for h in (0..horizon).rev() {
        let remaining = (horizon - h) as u64;
        // No more than cost_max * remaining can be spent: larger budgets all have the value of that one.
        let reach = (u64::from(cost_max) * remaining).min(u64::from(problem.budget_max)) as usize;
        let (row, next) = table.step(h);
        fill_gaps::<TILE>(&mut gaps, next, reach, sample.distinct_costs());
        let sums = expected_gains::<TILE>(problem, h, reach, &gaps, &mut partials);
        let mut previous = 0.0;
        for b in 0..=reach {
            let mut value = next[b] + sums[b] / sample.total();
            if let Some(r_max) = problem.cap {
                value = value.min((b as u64).min(remaining) as f64 * r_max);
            }
            // Lemma 1: values never fall in b. Rounding may not break it either.
            previous = value.max(previous);
            row[b] = previous;
        }
        row[reach..].fill(previous);
    }
    table
}

/// One row of gaps per distinct cost, padded to whole tiles.
fn fill_gaps<const TILE: usize>(gaps: &mut Vec<f64>, next: &[f64], reach: usize, costs: &[u32]) {
    let width = (reach + 1).next_multiple_of(TILE);
    gaps.clear();
    gaps.resize(width * costs.len(), f64::INFINITY);
    for (row, &cost) in gaps.chunks_exact_mut(width).zip(costs) {
        for b in cost as usize..=reach {
            row[b] = next[b] - next[b - cost as usize];
        }
    }
}

/// sum_s w_s max(0, max_a (gain - lcb gap)) for every budget up to `reach`.
fn expected_gains<'p, const TILE: usize>(
    problem: &Problem,
    h: usize,
    reach: usize,
    gaps: &[f64],
    partials: &'p mut Vec<f64>,
) -> &'p [f64] {
    let width = (reach + 1).next_multiple_of(TILE);
    let contexts = problem.sample.step(h);
    let chunks = contexts.entries.len().div_ceil(CHUNK).max(1);
    partials.clear();
    partials.resize(chunks * width, 0.0);
    let sum_chunk = |(chunk, sums): (usize, &mut [f64])| {
        let range = chunk * CHUNK..((chunk + 1) * CHUNK).min(contexts.entries.len());
        let entries = &contexts.entries[range.clone()];
        let weights = &contexts.weights[range];
        for (tile, sums) in sums.chunks_exact_mut(TILE).enumerate() {
            let sums: &mut [f64; TILE] = sums.try_into().expect("tiles are whole");
            add_gains(problem, entries, weights, &gaps[tile * TILE..], width, sums);
        }
    };
    let work = contexts.entries.len() * problem.sample.actions() * width;
    if chunks > 1 && work >= PARALLEL_FROM {
        partials
            .par_chunks_exact_mut(width)
            .enumerate()
            .for_each(sum_chunk);
    } else {
        partials
            .chunks_exact_mut(width)
            .enumerate()
            .for_each(sum_chunk);
    }
    let (total, others) = partials.split_at_mut(width);
    for partial in others.chunks_exact(width) {
        for (sum, part) in total.iter_mut().zip(partial) {
            *sum += part;
        }
    }
    total
}

/// The inner loop: one tile of budgets, a chunk of contexts, all actions.
#[multiversion::multiversion(targets(
    "x86_64+avx512f+avx512vl+avx512dq",
    "x86_64+avx2",
    "aarch64+neon"
))]
fn add_gains<const TILE: usize>(
    problem: &Problem,
    entries: &[u32],
    weights: &[f64],
    gaps: &[f64],
    width: usize,
    sums: &mut [f64; TILE],
) {
    let actions = problem.sample.actions();
    let cost_rows = problem.sample.cost_rows();
    let (gain, lcb) = (&problem.coefficients.gain, &problem.coefficients.lcb);
    for (&entry, &weight) in entries.iter().zip(weights) {
        let pairs = entry as usize * actions..(entry as usize + 1) * actions;
        let mut best = [0.0; TILE];
        for ((&gain, &lcb), &cost_row) in gain[pairs.clone()]
            .iter()
            .zip(&lcb[pairs.clone()])
            .zip(&cost_rows[pairs])
        {
            let start = cost_row as usize * width;
            let gaps: &[f64; TILE] = gaps[start..start + TILE]
                .try_into()
                .expect("tiles are whole");
            for (best, gap) in best.iter_mut().zip(gaps) {
                // An infinite gap with lcb = 0 gives NaN, which this comparison drops.
                let value = gain - lcb * gap;
                *best = if value > *best { value } else { *best };
            }
        }
        for (sum, best) in sums.iter_mut().zip(best) {
            *sum += weight * best;
        }
    }
}
