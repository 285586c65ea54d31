//! The coefficients of single contexts, chunk by chunk: from a table where there is one, else from the oracle, just before
//! they are used and while they are in cache. The contexts of an action lie side by side, or the actions of a context.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::terms::Lines;
use crate::dp::problem::products_are_finite;
use crate::dp::stopwatch::Stopwatch;
use crate::dp::{BackendError, ContextSample, PlanRequest, Problem, transpose};

/// Contexts side by side in vectors: chunks are filled up to a multiple of it, with contexts that gain nothing.
pub(super) const LANES: usize = 8;

/// A problem whose coefficients are all in a table, or only those of shared contexts, the others still with the oracle.
#[derive(Debug, Clone, Copy)]
pub(super) struct Posed<'a> {
    pub problem: Problem<'a>,
    pub oracle: Option<OracleOf<'a>>,
}

/// Who knows the bounds of single contexts.
#[derive(Debug, Clone, Copy)]
pub(super) struct OracleOf<'a> {
    pub request: &'a PlanRequest<'a>,
    /// Whether its bounds may be other than finite numbers.
    pub doubtful: bool,
    pub clock: &'a Clock,
}

/// Where the time goes.
#[derive(Debug, Default)]
pub(super) struct Clock {
    bounds: AtomicU64,
    rest: AtomicU64,
}

impl Clock {
    /// The part of some time that went into bounds.
    pub fn bounds_of(&self, elapsed: Duration) -> Duration {
        let bounds = self.bounds.load(Ordering::Relaxed) as f64;
        let all = bounds + self.rest.load(Ordering::Relaxed) as f64;
        elapsed.mul_f64(if all > 0.0 { bounds / all } else { 0.0 })
    }
}

/// The coefficients of some single contexts.
#[derive(Debug, Default)]
pub(super) struct Chunk {
    gain: Lines,
    lcb: Lines,
    /// Contexts, those that fill it up included: the distance between actions.
    apart: usize,
}

impl Chunk {
    /// Gains by action; those of an action lie `apart()`.
    pub fn gain(&self) -> &[f64] {
        self.gain.as_slice()
    }

    /// lcb, likewise.
    pub fn lcb(&self) -> &[f64] {
        self.lcb.as_slice()
    }

    /// Contexts, those that fill it up included.
    pub fn apart(&self) -> usize {
        self.apart
    }

    /// Makes room for contexts, those that fill it up included.
    fn resize(&mut self, contexts: usize, actions: usize) {
        self.apart = contexts;
        self.gain.resize(contexts * actions);
        self.lcb.resize(contexts * actions);
    }

    fn fill_up(&mut self, contexts: usize) {
        let apart = self.apart;
        for numbers in [&mut self.gain, &mut self.lcb] {
            let rows = numbers.as_mut_slice().chunks_exact_mut(apart.max(1));
            rows.for_each(|row| row[contexts..].fill(0.0));
        }
    }
}

impl<'a> Posed<'a> {
    pub fn sample(&self) -> &'a ContextSample {
        self.problem.sample
    }

    /// Loads the coefficients of neighbouring single contexts, the contexts of an action side by side, then does some work
    /// with them.
    pub fn with_chunk(
        &self,
        entries: Range<usize>,
        chunk: &mut Chunk,
        work: impl FnOnce(&Chunk),
    ) -> Result<(), BackendError> {
        let (contexts, actions) = (entries.len(), self.sample().actions());
        let Some(oracle) = self.oracle else {
            chunk.resize(contexts.next_multiple_of(LANES), actions);
            let pairs = entries.start * actions..entries.end * actions;
            let table = self.problem.coefficients;
            let (gain, lcb) = (chunk.gain.as_mut_slice(), chunk.lcb.as_mut_slice());
            transpose(&table.gain[pairs.clone()], actions, chunk.apart, gain);
            transpose(&table.lcb[pairs], actions, chunk.apart, lcb);
            chunk.fill_up(contexts);
            work(chunk);
            return Ok(());
        };
        let fill = |chunk: &mut Chunk| {
            chunk.resize(contexts.next_multiple_of(LANES), actions);
            let (gain, lcb) = (chunk.gain.as_mut_slice(), chunk.lcb.as_mut_slice());
            let source = oracle.request.source;
            source.fill_by_action(self.sample(), entries.clone(), chunk.apart, gain, lcb);
            chunk.fill_up(contexts);
        };
        let place = |pair, apart| (entries.start + pair % apart, pair / apart + 1);
        oracle.timed(chunk, fill, place, work)
    }

    /// The same with the actions of a context side by side: gains and lcbs.
    pub fn with_rows(
        &self,
        entries: Range<usize>,
        chunk: &mut Chunk,
        work: impl FnOnce(&[f64], &[f64]),
    ) -> Result<(), BackendError> {
        let (contexts, actions) = (entries.len(), self.sample().actions());
        let Some(oracle) = self.oracle else {
            let pairs = entries.start * actions..entries.end * actions;
            let table = self.problem.coefficients;
            work(&table.gain[pairs.clone()], &table.lcb[pairs]);
            return Ok(());
        };
        let pairs = contexts * actions;
        let fill = |chunk: &mut Chunk| {
            chunk.resize(contexts, actions);
            let gain = &mut chunk.gain.as_mut_slice()[..pairs];
            let lcb = &mut chunk.lcb.as_mut_slice()[..pairs];
            let source = oracle.request.source;
            source.fill_entries(self.sample(), entries.clone(), gain, lcb);
        };
        let place = |pair, _| (entries.start + pair / actions, pair % actions + 1);
        oracle.timed(chunk, fill, place, |chunk| work(chunk.gain(), chunk.lcb()))
    }
}

impl OracleOf<'_> {
    /// Fills a chunk and works with it, each on its own clock. `place` is the entry and the action of a number of the chunk.
    fn timed(
        &self,
        chunk: &mut Chunk,
        fill: impl FnOnce(&mut Chunk),
        place: impl Fn(usize, usize) -> (usize, usize),
        work: impl FnOnce(&Chunk),
    ) -> Result<(), BackendError> {
        let start = Stopwatch::start();
        fill(chunk);
        if self.doubtful {
            chunk.check(place)?;
        }
        let bounds = start.elapsed();
        work(chunk);
        let rest = start.elapsed().saturating_sub(bounds);
        let nanoseconds = |time: Duration| time.as_nanos() as u64;
        let (bounds, rest) = (nanoseconds(bounds), nanoseconds(rest));
        self.clock.bounds.fetch_add(bounds, Ordering::Relaxed);
        self.clock.rest.fetch_add(rest, Ordering::Relaxed);
        Ok(())
    }
}

impl Chunk {
    /// Refuses what is not a finite number: comparisons would drop it without a word.
    fn check(&self, place: impl Fn(usize, usize) -> (usize, usize)) -> Result<(), BackendError> {
        let (gains, lcbs) = (self.gain(), self.lcb());
        if products_are_finite(gains, lcbs) {
            return Ok(());
        }
        let wrong = |(gain, lcb): (&f64, &f64)| !gain.is_finite() || !lcb.is_finite();
        match gains.iter().zip(lcbs).position(wrong) {
            None => Ok(()),
            Some(pair) => {
                let (entry, action) = place(pair, self.apart);
                Err(BackendError::NotFinite {
                    entry,
                    action,
                    gain: gains[pair],
                    lcb: lcbs[pair],
                })
            }
        }
    }
}
