//! The dense solver: every budget x context x action. In 64 bits it is the reference for all others.
//!
//! Values are kept as gaps, gap(c)[b] = u(b) - u(b - c), infinite where c > b, so that infeasible actions lose by
//! themselves:
//!
//! ```text
//! sums[b] = sum_s w_s max(0, max_a (ucb r - lcb gap(cost)[b]))
//! ```
//!
//! Contexts are summed in chunks of fixed size whose partial sums are added in order: the result is bitwise the same
//! for any number of threads. The instruction set is chosen at run time. ucb r - lcb gap is one fused operation wherever
//! the machine has it, which gives the same bits on all of those (AVX2, AVX-512, NEON); on an x86 machine from before
//! 2013 it is rounded twice, and values may differ in their last digits.

use std::borrow::Cow;

use rayon::prelude::*;

use super::induction::{Setting, backward_induction};
use super::over_budgets::{self, CHUNK, Contexts};
use super::terms::{Gaps, Term, padded};
use crate::dp::{
    Backend, BackendError, Precision, Problem, RawTable, StepContexts, WeightedEntries,
};
use crate::statistics::largest;

/// Candidates in a step from which its chunks are spread over threads.
const PARALLEL_FROM: usize = 1 << 18;

/// The reference: dense, in 64 bits.
#[derive(Debug, Clone, Copy, Default)]
pub struct Dense;

impl Backend for Dense {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn solve_raw(&mut self, batch: &[Problem]) -> Result<Vec<RawTable>, BackendError> {
        let problems = batch.par_iter();
        let tables = problems.map(|problem| {
            let candidates = Candidates::<f64>::of(problem);
            solve_in(problem, &candidates.one_by_one())
        });
        tables.collect()
    }
}

/// Algorithm 2 over all candidates.
pub(super) fn solve(problem: &Problem, terms: Precision) -> Result<RawTable, BackendError> {
    if terms == Precision::F32 {
        let largest = largest(&problem.coefficients.gain);
        let scale = problem.cap.unwrap_or(largest);
        // 32-bit floats must hold the rewards, with room for sums of them and for what is small beside r_max.
        if scale >= 1e-25 && scale.max(largest) <= 1e25 {
            let mut table = solve_in(problem, &Candidates::<f32>::of(problem))?;
            table.reward = scale;
            return Ok(table);
        }
    }
    solve_in(problem, &Candidates::<f64>::of(problem))
}

fn solve_in<T: Term>(
    problem: &Problem,
    candidates: &Candidates<T>,
) -> Result<RawTable, BackendError> {
    let sample = problem.sample;
    let mut gaps = Gaps::default();
    let mut partials = Vec::new();
    let setting = Setting::of_problem(problem);
    backward_induction(setting, T::PRECISION, |h, next, sums| {
        let width = padded::<T>(next.len());
        let gaps = gaps.fill(next, sample.distinct_costs(), width);
        let contexts = sample.step(h);
        let StepContexts { shared, singles } = &contexts;
        let chunks = shared.entries.len().div_ceil(CHUNK);
        let all = chunks + singles.len().div_ceil(CHUNK);
        let work = contexts.len() * sample.actions() * width;
        sum_chunks(all, width, work, &mut partials, |chunk, sums| {
            if chunk < chunks {
                candidates.sum_shared(shared, chunk, gaps, sums);
            } else {
                let first = singles.start + (chunk - chunks) * CHUNK;
                let singles = first..(first + CHUNK).min(singles.end);
                let entries: Vec<u32> = singles.map(|entry| entry as u32).collect();
                candidates.sum_gains(&entries, &[1.0; CHUNK][..entries.len()], gaps, sums);
            }
            Ok(())
        })?;
        sums.copy_from_slice(&partials[..sums.len()]);
        Ok(())
    })
}

/// The rows of gaps that belong to the costs of (entry, action).
#[derive(Debug, Clone, Copy)]
pub(super) struct CostRows<'a> {
    pub actions: usize,
    /// Of the first entries, the actions of each together.
    pub shared: &'a [u32],
    /// Of every entry after those, by action.
    pub single: &'a [u32],
}

/// The coefficients of all (entry, action).
pub(super) struct Candidates<'a, T: Term> {
    gain: Cow<'a, [T]>,
    lcb: Cow<'a, [T]>,
    costs: CostRows<'a>,
    /// The costs of every entry, where they follow the action alone: two contexts can then be added at a time.
    common_cost_rows: Option<&'a [u32]>,
}

impl<'a, T: Term> Candidates<'a, T> {
    pub fn of(problem: &Problem<'a>) -> Self {
        Self {
            gain: T::table(&problem.coefficients.gain),
            lcb: T::table(&problem.coefficients.lcb),
            costs: CostRows {
                actions: problem.sample.actions(),
                shared: problem.sample.cost_rows(),
                single: problem.sample.single_cost_rows(),
            },
            common_cost_rows: problem.sample.common_cost_rows(),
        }
    }

    /// For the reference: one context after the other, in the plain loop.
    fn one_by_one(self) -> Self {
        Self {
            common_cost_rows: None,
            ..self
        }
    }

    /// Adds up the gains of a chunk of a step's shared contexts.
    pub fn sum_shared(
        &self,
        contexts: &WeightedEntries,
        chunk: usize,
        gaps: &[T],
        sums: &mut [f64],
    ) {
        let range = chunk * CHUNK..((chunk + 1) * CHUNK).min(contexts.entries.len());
        let (entries, weights) = (&contexts.entries[range.clone()], &contexts.weights[range]);
        self.sum_gains(entries, weights, gaps, sums);
    }

    fn sum_gains(&self, entries: &[u32], weights: &[f64], gaps: &[T], sums: &mut [f64]) {
        let in_pairs = self.common_cost_rows;
        let in_pairs = in_pairs.filter(|_| over_budgets::is_faster::<T>());
        T::add_up(entries.len(), sums, |range, sums| {
            let (entries, weights) = (&entries[range.clone()], &weights[range]);
            let contexts = Contexts::some(&self.gain, &self.lcb, entries, weights);
            match in_pairs {
                Some(rows) => over_budgets::add_gains(&contexts, gaps, rows, sums),
                None => add_gains(self.costs, &contexts, gaps, sums),
            }
        });
    }
}

/// Partial sums of `width` budgets, chunk by chunk, on several threads where that is worth it; their sum, in the order of
/// the chunks, is at the front of `partials` in the end.
pub(super) fn sum_chunks(
    chunks: usize,
    width: usize,
    work: usize,
    partials: &mut Vec<f64>,
    sum_chunk: impl Fn(usize, &mut [f64]) -> Result<(), BackendError> + Sync,
) -> Result<(), BackendError> {
    partials.clear();
    partials.resize(chunks.max(1) * width, 0.0);
    let sum_chunk = |(chunk, sums): (usize, &mut [f64])| match chunk < chunks {
        true => sum_chunk(chunk, sums),
        false => Ok(()),
    };
    if chunks > 1 && work >= PARALLEL_FROM {
        let parts = partials.par_chunks_exact_mut(width);
        parts.enumerate().try_for_each(sum_chunk)?;
    } else {
        let mut parts = partials.chunks_exact_mut(width).enumerate();
        parts.try_for_each(sum_chunk)?;
    }
    let (total, others) = partials.split_at_mut(width);
    for partial in others.chunks_exact(width) {
        for (sum, part) in total.iter_mut().zip(partial) {
            *sum += part;
        }
    }
    Ok(())
}

/// Adds the gains of some contexts, for all budgets: in tiles that fit the vector registers, the widest first.
#[multiversion::multiversion(targets(
    "x86_64+avx512f+avx512vl+avx512dq+fma",
    "x86_64+avx2+fma",
    "aarch64+neon"
))]
pub(super) fn add_gains<T: Term>(
    costs: CostRows,
    contexts: &Contexts<T>,
    gaps: &[T],
    sums: &mut [T],
) {
    // Without the instruction, fused arithmetic would be a slow call.
    if multiversion::target::target_cfg_f!(any(target_feature = "fma", target_arch = "aarch64")) {
        add_tiles::<T, true>(costs, contexts, gaps, sums);
    } else {
        add_tiles::<T, false>(costs, contexts, gaps, sums);
    }
}

#[inline(always)]
fn add_tiles<T: Term, const FUSED: bool>(
    costs: CostRows,
    contexts: &Contexts<T>,
    gaps: &[T],
    sums: &mut [T],
) {
    let width = sums.len();
    let widest = 256 / size_of::<T>();
    let mut first = 0;
    while first < width {
        let gaps = &gaps[first..];
        let left = (width - first).min(widest);
        let sums = &mut sums[first..];
        first += match left {
            64.. => add_tile::<T, 64, FUSED>(costs, contexts, gaps, width, sums),
            32.. => add_tile::<T, 32, FUSED>(costs, contexts, gaps, width, sums),
            16.. => add_tile::<T, 16, FUSED>(costs, contexts, gaps, width, sums),
            _ => add_tile::<T, 8, FUSED>(costs, contexts, gaps, width, sums),
        };
    }
}

/// The inner loops: one tile of budgets, some contexts, all actions. Returns the size of the tile.
#[inline(always)]
fn add_tile<T: Term, const TILE: usize, const FUSED: bool>(
    costs: CostRows,
    contexts: &Contexts<T>,
    gaps: &[T],
    width: usize,
    sums: &mut [T],
) -> usize {
    let actions = costs.actions;
    let sums: &mut [T; TILE] = (&mut sums[..TILE]).try_into().expect("tiles are whole");
    for (&entry, &weight) in contexts.entries.iter().zip(contexts.weights) {
        let pairs = entry as usize * actions..(entry as usize + 1) * actions;
        let cost_rows = costs.shared.get(pairs.clone()).unwrap_or(costs.single);
        let mut best = [T::zeroed(); TILE];
        for ((&gain, &lcb), &cost_row) in contexts.gain[pairs.clone()]
            .iter()
            .zip(&contexts.lcb[pairs])
            .zip(cost_rows)
        {
            let start = cost_row as usize * width;
            let gaps: &[T; TILE] = gaps[start..start + TILE]
                .try_into()
                .expect("tiles are whole");
            for (best, gap) in best.iter_mut().zip(gaps) {
                // An infinite gap with lcb = 0 gives NaN, which this comparison drops.
                let value = if FUSED {
                    lcb.fused(*gap, gain)
                } else {
                    gain - lcb * *gap
                };
                *best = if value > *best { value } else { *best };
            }
        }
        let weight = T::of(weight);
        for (sum, best) in sums.iter_mut().zip(best) {
            *sum += weight * best;
        }
    }
    TILE
}
