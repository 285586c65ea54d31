//! The dense solver for large samples: every candidate, with single contexts in one pass. A chunk of a step's contexts goes
//! from features to bounds to gains while it is in cache, in the loop that suits the number of budgets.

use std::cell::Cell;

use super::dense::{Candidates, sum_chunks};
use super::induction::{Setting, backward_induction};
use super::over_budgets::{self, CHUNK, Contexts};
use super::over_contexts;
use super::singles::{Chunk, Posed};
use super::terms::{Gaps, padded};
use crate::dp::{BackendError, Precision, RawTable, StepContexts};

/// Budgets from which vectors go over them even where an oracle has the bounds of many contexts side by side. Part of the
/// result's bits; not to be tuned by machine.
const BUDGETS: usize = 24;

thread_local! {
    /// Kept from chunk to chunk: fresh memory costs more than filling it.
    static CHUNK_OF_THREAD: Cell<Chunk> = Cell::default();
}

/// Algorithm 2 over all candidates, in 64 bits.
pub(super) fn solve(posed: &Posed) -> Result<RawTable, BackendError> {
    let sample = posed.sample();
    let candidates = Candidates::<f64>::of(&posed.problem);
    let mut gaps = Gaps::default();
    let mut partials = Vec::new();
    let setting = Setting::of_problem(&posed.problem);
    backward_induction(setting, Precision::F64, |h, next, sums| {
        let width = padded::<f64>(next.len());
        let gaps = gaps.fill(next, sample.distinct_costs(), width);
        let rows = sample.single_cost_rows();
        let contexts = sample.step(h);
        let StepContexts { shared, singles } = &contexts;
        let of_shared = shared.entries.len().div_ceil(CHUNK);
        let chunks = of_shared + singles.len().div_ceil(CHUNK);
        let work = contexts.len() * sample.actions() * width;
        let budgets = next.len();
        sum_chunks(chunks, width, work, &mut partials, |number, sums| {
            if number < of_shared {
                candidates.sum_shared(shared, number, gaps, sums);
                return Ok(());
            }
            let first = singles.start + (number - of_shared) * CHUNK;
            let entries = first..(first + CHUNK).min(singles.end);
            // Taken and not borrowed: an oracle may use threads, and this one may then be given another chunk meanwhile.
            let mut chunk = CHUNK_OF_THREAD.take();
            if budgets < BUDGETS && posed.oracle.is_some() {
                posed.with_chunk(entries, &mut chunk, |chunk| {
                    over_contexts::add_gains(chunk, gaps, (rows, width), &mut sums[..budgets]);
                })?;
            } else {
                let contexts = entries.len();
                posed.with_rows(entries, &mut chunk, |gain, lcb| {
                    let singles = Contexts::all(contexts, gain, lcb);
                    over_budgets::add_gains(&singles, gaps, rows, sums);
                })?;
            }
            CHUNK_OF_THREAD.set(chunk);
            Ok(())
        })?;
        sums.copy_from_slice(&partials[..sums.len()]);
        Ok(())
    })
}
