//! The dense solver: every budget x context x action. In 64 bits it is the reference for all others.
//!
//! Values are kept as gaps, gap(c)[b] = u(b) - u(b - c), infinite where c > b, so that an action that costs too much is
//! never the best:
//!
//! ```text
//! sums[b] = sum_s w_s max(0, max_a (ucb r - lcb gap(cost)[b]))
//! ```
//!
//! Contexts are summed in chunks of fixed size whose partial sums are added in order: the result is bitwise the same for
//! any number of threads. ucb r - lcb gap is one fused operation wherever the machine has it, which gives the same bits on
//! all of those (AVX2, AVX-512, NEON); on an x86 machine from before 2013 it is rounded twice, and values may differ in
//! their last digits.

use std::borrow::Cow;
use std::cell::Cell;
use std::ops::Range;

use rayon::prelude::*;

use super::chunk::{Chunk, ChunkBounds, Layout};
use super::induction::backward_induction;
use super::terms::{AlignedNumbers, Term, padded};
use super::tiles::{CHUNK, Contexts, GapRows, add_gains, add_gains_by_action};
use crate::dp::{Backend, BackendError, Precision, Problem, RawTable};
use crate::statistics::largest;

/// Candidates in a step from which its chunks are spread over threads.
const PARALLEL_FROM: usize = 1 << 18;

/// Budgets from which vectors run over budgets. Part of the result's bits; not to be tuned by machine.
const MANY_BUDGETS: usize = 24;

thread_local! {
    /// Kept from chunk to chunk: allocating costs more than filling.
    static CHUNK_OF_THREAD: Cell<Chunk> = Cell::default();
}

/// The reference: dense, in 64 bits, one context after the other.
#[derive(Debug, Clone, Copy, Default)]
pub struct Dense;

impl Backend for Dense {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn solve_raw(&mut self, batch: &[Problem]) -> Result<Vec<RawTable>, BackendError> {
        let solve = |problem| Candidates::<f64>::of(problem, false).solve();
        batch.par_iter().map(solve).collect()
    }
}

/// Algorithm 2 over all candidates. `bounds` evaluates single contexts in 64 bits; `None` where the problem has the
/// coefficients of all contexts.
pub(super) fn solve(
    problem: &Problem,
    bounds: Option<&ChunkBounds>,
    terms: Precision,
) -> Result<RawTable, BackendError> {
    if let Some(bounds) = bounds {
        return solve_by_chunk(problem, bounds);
    }
    if terms == Precision::F32 {
        let largest = largest(&problem.coefficients.gain);
        let scale = problem.cap.unwrap_or(largest);
        // 32-bit floats must hold the rewards, with room for sums of them and for what is small beside r_max.
        if scale >= 1e-25 && scale.max(largest) <= 1e25 {
            let mut table = Candidates::<f32>::of(problem, true).solve()?;
            table.reward = scale;
            return Ok(table);
        }
    }
    Candidates::<f64>::of(problem, true).solve()
}

/// A chunk of single contexts is taken from features to bounds to gains while it is in cache.
fn solve_by_chunk(problem: &Problem, bounds: &ChunkBounds) -> Result<RawTable, BackendError> {
    let sample = problem.sample;
    let rows = sample.single_cost_rows();
    Candidates::<f64>::of(problem, true).solve_with(|entries, gaps, budgets, sums| {
        // Taken and not borrowed: an oracle may use threads, and this one may then be given another chunk meanwhile.
        let mut chunk = CHUNK_OF_THREAD.take();
        let (contexts, width) = (entries.len(), sums.len());
        let singles = (sample, entries);
        if budgets < MANY_BUDGETS {
            bounds.with_chunk(singles, Layout::ByAction, &mut chunk, |chunk| {
                add_gains_by_action(chunk, gaps, (rows, width), &mut sums[..budgets]);
            })?;
        } else {
            bounds.with_chunk(singles, Layout::ByContext, &mut chunk, |chunk| {
                let contexts = Contexts::first(contexts, chunk.gain(), chunk.lcb());
                add_gains(&contexts, gaps, GapRows::Common(rows), sums);
            })?;
        }
        CHUNK_OF_THREAD.set(chunk);
        Ok(())
    })
}

/// The coefficients of a problem in the number type of its terms.
struct Candidates<'a, T: Term> {
    problem: &'a Problem<'a>,
    gain: Cow<'a, [T]>,
    lcb: Cow<'a, [T]>,
    shared_rows: GapRows<'a>,
    single_rows: GapRows<'a>,
}

impl<'a, T: Term> Candidates<'a, T> {
    /// `pairs` adds two contexts at a time where costs follow the action alone.
    fn of(problem: &'a Problem, pairs: bool) -> Self {
        let sample = problem.sample;
        let common = |rows| match pairs {
            true => GapRows::Common(rows),
            false => GapRows::CommonOneByOne(rows),
        };
        let by_entry = GapRows::ByEntry(sample.actions(), sample.cost_rows());
        Self {
            problem,
            gain: T::table(&problem.coefficients.gain),
            lcb: T::table(&problem.coefficients.lcb),
            shared_rows: sample.common_cost_rows().map_or(by_entry, common),
            single_rows: common(sample.single_cost_rows()),
        }
    }

    /// Algorithm 2 with the coefficients of all contexts in the table.
    fn solve(&self) -> Result<RawTable, BackendError> {
        let actions = self.problem.sample.actions();
        self.solve_with(|entries, gaps, _, sums| {
            T::add_up(entries, sums, |entries, sums| {
                let pairs = entries.start * actions..entries.end * actions;
                let (gain, lcb) = (&self.gain[pairs.clone()], &self.lcb[pairs]);
                let contexts = Contexts::first(entries.len(), gain, lcb);
                add_gains(&contexts, gaps, self.single_rows, sums);
            });
            Ok(())
        })
    }

    /// `sum_singles(entries, gaps, budgets, sums)` adds the gains of a chunk of single contexts.
    fn solve_with(
        &self,
        sum_singles: impl Fn(Range<usize>, &[T], usize, &mut [f64]) -> Result<(), BackendError> + Sync,
    ) -> Result<RawTable, BackendError> {
        let sample = self.problem.sample;
        let mut gaps = AlignedNumbers::default();
        let mut partials = Vec::new();
        backward_induction(self.problem, T::PRECISION, |h, next, sums| {
            let width = padded::<T>(next.len());
            let gaps = gaps.fill_gaps(next, sample.distinct_costs(), width);
            let contexts = sample.step(h);
            let (shared, singles) = (contexts.shared, contexts.singles.clone());
            let shared_chunks = shared.entries.len().div_ceil(CHUNK);
            let chunks = shared_chunks + singles.len().div_ceil(CHUNK);
            let work = contexts.len() * sample.actions() * width;
            sum_chunks(chunks, width, work, &mut partials, |number, sums| {
                if number < shared_chunks {
                    let first = number * CHUNK;
                    let range = first..(first + CHUNK).min(shared.entries.len());
                    self.sum_shared(
                        &shared.entries[range.clone()],
                        &shared.weights[range],
                        gaps,
                        sums,
                    );
                    return Ok(());
                }
                let first = singles.start + (number - shared_chunks) * CHUNK;
                sum_singles(
                    first..(first + CHUNK).min(singles.end),
                    gaps,
                    next.len(),
                    sums,
                )
            })?;
            sums.copy_from_slice(&partials[..sums.len()]);
            Ok(())
        })
    }

    fn sum_shared(&self, entries: &[u32], weights: &[f64], gaps: &[T], sums: &mut [f64]) {
        T::add_up(0..entries.len(), sums, |range, sums| {
            let (entries, weights) = (&entries[range.clone()], &weights[range]);
            let contexts = Contexts::some(&self.gain, &self.lcb, entries, weights);
            add_gains(&contexts, gaps, self.shared_rows, sums);
        });
    }
}

/// Partial sums of `width` budgets, chunk by chunk, on several threads where that is worth it. Their sum, in the order of
/// the chunks, ends up at the front of `partials`.
fn sum_chunks(
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
