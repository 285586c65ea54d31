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
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

use super::induction::{Setting, backward_induction};
use super::terms::{Gaps, Term, padded};
use crate::dp::{Backend, BackendError, Precision, Problem, RawTable, WeightedEntries};

/// Contexts per partial sum: their coefficients stay in cache while all budgets pass. Part of the result's bits; not to
/// be tuned by machine.
const CHUNK: usize = 256;

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
        let tables = batch
            .par_iter()
            .map(|problem| solve(problem, Precision::F64));
        tables.collect()
    }
}

/// Algorithm 2 over all candidates.
pub(super) fn solve(problem: &Problem, terms: Precision) -> Result<RawTable, BackendError> {
    if terms == Precision::F32 {
        let gains = problem.coefficients.gain.iter().copied();
        let largest = gains.fold(0.0, f64::max);
        let scale = problem.cap.unwrap_or(largest);
        // 32-bit floats must hold the rewards, with room for sums of them and for what is small beside r_max.
        if scale >= 1e-25 && scale.max(largest) <= 1e25 {
            let mut table = solve_in::<f32>(problem)?;
            table.reward = scale;
            return Ok(table);
        }
    }
    solve_in::<f64>(problem)
}

fn solve_in<T: Term>(problem: &Problem) -> Result<RawTable, BackendError> {
    let sample = problem.sample;
    let candidates = Candidates::<T> {
        actions: sample.actions(),
        gain: T::table(&problem.coefficients.gain),
        lcb: T::table(&problem.coefficients.lcb),
        cost_rows: sample.cost_rows(),
        suspicious: AtomicBool::new(false),
    };
    let mut gaps = Gaps::default();
    let mut partials = Vec::new();
    let mut checked = vec![false; sample.lists().len()];
    let setting = Setting::of_problem(problem);
    let table = backward_induction(setting, T::PRECISION, |h, next, sums| {
        let width = padded::<T>(next.len());
        let gaps = gaps.fill(next, sample.distinct_costs(), width);
        let check = !std::mem::replace(&mut checked[sample.list_of_step(h)], true);
        let contexts = sample.step(h);
        sum_gains(&candidates, contexts, gaps, width, check, &mut partials);
        sums.copy_from_slice(&partials[..sums.len()]);
    });
    if candidates.suspicious.into_inner() {
        problem.coefficients.check(sample.actions())?;
    }
    Ok(table)
}

/// The coefficients of all (entry, action).
struct Candidates<'a, T: Term> {
    actions: usize,
    gain: Cow<'a, [T]>,
    lcb: Cow<'a, [T]>,
    cost_rows: &'a [u32],
    /// Whether some numbers seem not to be finite. Comparisons drop those; the sum of all gain * lcb does not.
    suspicious: AtomicBool,
}

/// Sums over the contexts of a step for `width` budgets, at the front of `partials`.
fn sum_gains<T: Term>(
    candidates: &Candidates<T>,
    contexts: &WeightedEntries,
    gaps: &[T],
    width: usize,
    check: bool,
    partials: &mut Vec<f64>,
) {
    let chunks = contexts.entries.len().div_ceil(CHUNK).max(1);
    partials.clear();
    partials.resize(chunks * width, 0.0);
    let sum_chunk = |(chunk, sums): (usize, &mut [f64])| {
        let range = chunk * CHUNK..((chunk + 1) * CHUNK).min(contexts.entries.len());
        let entries = contexts.entries[range.clone()].chunks(T::CONTEXTS_PER_SUM);
        let weights = contexts.weights[range].chunks(T::CONTEXTS_PER_SUM);
        let mut part = vec![T::zeroed(); width];
        for (entries, weights) in entries.zip(weights) {
            part.fill(T::zeroed());
            add_gains(candidates, entries, weights, gaps, check, &mut part);
            for (sum, part) in sums.iter_mut().zip(&part) {
                *sum += part.wide();
            }
        }
    };
    let work = contexts.entries.len() * candidates.actions * width;
    if chunks > 1 && work >= PARALLEL_FROM {
        let parts = partials.par_chunks_exact_mut(width);
        parts.enumerate().for_each(sum_chunk);
    } else {
        let parts = partials.chunks_exact_mut(width);
        parts.enumerate().for_each(sum_chunk);
    }
    let (total, others) = partials.split_at_mut(width);
    for partial in others.chunks_exact(width) {
        for (sum, part) in total.iter_mut().zip(partial) {
            *sum += part;
        }
    }
}

/// Adds the gains of some contexts, for all budgets: in tiles that fit the vector registers, the widest first.
#[multiversion::multiversion(targets(
    "x86_64+avx512f+avx512vl+avx512dq+fma",
    "x86_64+avx2+fma",
    "aarch64+neon"
))]
fn add_gains<T: Term>(
    candidates: &Candidates<T>,
    entries: &[u32],
    weights: &[f64],
    gaps: &[T],
    check: bool,
    sums: &mut [T],
) {
    // Without the instruction, fused arithmetic would be a slow call.
    if multiversion::target::target_cfg_f!(any(target_feature = "fma", target_arch = "aarch64")) {
        add_tiles::<T, true>(candidates, entries, weights, gaps, check, sums);
    } else {
        add_tiles::<T, false>(candidates, entries, weights, gaps, check, sums);
    }
}

#[inline(always)]
fn add_tiles<T: Term, const FUSED: bool>(
    candidates: &Candidates<T>,
    entries: &[u32],
    weights: &[f64],
    gaps: &[T],
    check: bool,
    sums: &mut [T],
) {
    let tile = Tiles {
        candidates,
        entries,
        weights,
        width: sums.len(),
    };
    let widest = 256 / size_of::<T>();
    let mut first = 0;
    while first < tile.width {
        let (gaps, sums) = (&gaps[first..], &mut sums[first..]);
        // Every context is checked once, with its first budgets.
        let check = check && first == 0;
        first += match (sums.len().min(widest), check) {
            (64.., false) => tile.add::<64, FUSED, false>(gaps, sums),
            (32.., false) => tile.add::<32, FUSED, false>(gaps, sums),
            (16.., false) => tile.add::<16, FUSED, false>(gaps, sums),
            (_, false) => tile.add::<8, FUSED, false>(gaps, sums),
            (64.., true) => tile.add::<64, FUSED, true>(gaps, sums),
            (32.., true) => tile.add::<32, FUSED, true>(gaps, sums),
            (16.., true) => tile.add::<16, FUSED, true>(gaps, sums),
            (_, true) => tile.add::<8, FUSED, true>(gaps, sums),
        };
    }
}

/// Some contexts and all their actions.
struct Tiles<'a, T: Term> {
    candidates: &'a Candidates<'a, T>,
    entries: &'a [u32],
    weights: &'a [f64],
    width: usize,
}

impl<T: Term> Tiles<'_, T> {
    /// The inner loops: one tile of budgets. Returns the size of the tile.
    #[inline(always)]
    fn add<const TILE: usize, const FUSED: bool, const CHECK: bool>(
        &self,
        gaps: &[T],
        sums: &mut [T],
    ) -> usize {
        let candidates = self.candidates;
        let actions = candidates.actions;
        let sums: &mut [T; TILE] = (&mut sums[..TILE]).try_into().expect("tiles are whole");
        let mut all = T::zeroed();
        for (&entry, &weight) in self.entries.iter().zip(self.weights) {
            let pairs = entry as usize * actions..(entry as usize + 1) * actions;
            let mut best = [T::zeroed(); TILE];
            for ((&gain, &lcb), &cost_row) in candidates.gain[pairs.clone()]
                .iter()
                .zip(&candidates.lcb[pairs.clone()])
                .zip(&candidates.cost_rows[pairs])
            {
                let start = cost_row as usize * self.width;
                let gaps: &[T; TILE] = gaps[start..start + TILE]
                    .try_into()
                    .expect("tiles are whole");
                let value = |gap: T| {
                    if FUSED {
                        lcb.fused(gap, gain)
                    } else {
                        gain - lcb * gap
                    }
                };
                for (best, gap) in best.iter_mut().zip(gaps) {
                    // An infinite gap with lcb = 0 gives NaN, which this comparison drops.
                    let value = value(*gap);
                    *best = if value > *best { value } else { *best };
                }
                if CHECK {
                    all += gain * lcb;
                }
            }
            let weight = T::of(weight);
            for (sum, best) in sums.iter_mut().zip(best) {
                *sum += weight * best;
            }
        }
        if CHECK && !all.wide().is_finite() {
            candidates.suspicious.store(true, Ordering::Relaxed);
        }
        TILE
    }
}
