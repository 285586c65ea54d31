//! The coefficients of single contexts, chunk by chunk: from a table where there is one, else from the oracle, just before
//! they are used and while they are in cache. The contexts of an action lie side by side.

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

    /// Contexts that it has room for without those that fill it up, and their numbers.
    fn resize(&mut self, contexts: usize, actions: usize) {
        self.apart = contexts.next_multiple_of(LANES);
        self.gain.resize(self.apart * actions);
        self.lcb.resize(self.apart * actions);
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

    /// Loads the coefficients of neighbouring single contexts, then does some work with them.
    pub fn with_chunk(
        &self,
        entries: Range<usize>,
        chunk: &mut Chunk,
        work: impl FnOnce(&Chunk),
    ) -> Result<(), BackendError> {
        let start = Stopwatch::start();
        let (contexts, actions) = (entries.len(), self.sample().actions());
        chunk.resize(contexts, actions);
        let apart = chunk.apart;
        let (gain, lcb) = (chunk.gain.as_mut_slice(), chunk.lcb.as_mut_slice());
        let Some(oracle) = self.oracle else {
            let pairs = entries.start * actions..entries.end * actions;
            let table = self.problem.coefficients;
            transpose(&table.gain[pairs.clone()], actions, apart, gain);
            transpose(&table.lcb[pairs], actions, apart, lcb);
            chunk.fill_up(contexts);
            work(chunk);
            return Ok(());
        };
        let source = oracle.request.source;
        source.fill_by_action(self.sample(), entries.clone(), apart, gain, lcb);
        chunk.fill_up(contexts);
        if oracle.doubtful {
            chunk.check(entries.start)?;
        }
        let bounds = start.elapsed();
        work(chunk);
        let nanoseconds = |time: Duration| time.as_nanos() as u64;
        let clock = oracle.clock;
        clock
            .bounds
            .fetch_add(nanoseconds(bounds), Ordering::Relaxed);
        let rest = start.elapsed().saturating_sub(bounds);
        clock.rest.fetch_add(nanoseconds(rest), Ordering::Relaxed);
        Ok(())
    }
}

impl Chunk {
    /// Refuses what is not a finite number: comparisons would drop it without a word.
    fn check(&self, first: usize) -> Result<(), BackendError> {
        let (gains, lcbs) = (self.gain(), self.lcb());
        if products_are_finite(gains, lcbs) {
            return Ok(());
        }
        let wrong = |(gain, lcb): (&f64, &f64)| !gain.is_finite() || !lcb.is_finite();
        match gains.iter().zip(lcbs).position(wrong) {
            None => Ok(()),
            Some(pair) => Err(BackendError::NotFinite {
                entry: first + pair % self.apart,
                action: pair / self.apart + 1,
                gain: gains[pair],
                lcb: lcbs[pair],
            }),
        }
    }
}
