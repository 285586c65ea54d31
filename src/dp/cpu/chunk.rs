//! The coefficients of single contexts, evaluated chunk by chunk just before they are used, while they are in cache.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::terms::AlignedNumbers;
use crate::dp::problem::check_finite;
use crate::dp::stopwatch::Stopwatch;
use crate::dp::{BackendError, BoundSource, ContextSample};

/// Contexts in a vector. Chunks by action are padded to a multiple of it with contexts that gain nothing.
pub(super) const LANES: usize = 8;

/// The fitted oracle that evaluates chunks.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChunkBounds<'a> {
    pub source: &'a dyn BoundSource,
    /// Whether its bounds must be checked to be finite.
    pub unchecked: bool,
    pub timer: &'a BoundTimer,
}

/// Nanoseconds spent on bounds and on the rest, over all threads.
#[derive(Debug, Default)]
pub(super) struct BoundTimer {
    bounds: AtomicU64,
    rest: AtomicU64,
}

impl BoundTimer {
    /// The part of `elapsed` spent on bounds.
    pub fn bounds_of(&self, elapsed: Duration) -> Duration {
        let bounds = self.bounds.load(Ordering::Relaxed) as f64;
        let all = bounds + self.rest.load(Ordering::Relaxed) as f64;
        elapsed.mul_f64(if all > 0.0 { bounds / all } else { 0.0 })
    }
}

/// How the coefficients of a chunk lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    /// The actions of a context together.
    ByContext,
    /// The contexts of an action together.
    ByAction,
}

/// The coefficients of some single contexts.
#[derive(Debug, Default)]
pub(super) struct Chunk {
    gain: AlignedNumbers,
    lcb: AlignedNumbers,
    /// Contexts, padding included: the distance between actions.
    apart: usize,
    numbers: usize,
}

impl Chunk {
    /// ucb * r.
    pub fn gain(&self) -> &[f64] {
        &self.gain.as_slice()[..self.numbers]
    }

    /// lcb.
    pub fn lcb(&self) -> &[f64] {
        &self.lcb.as_slice()[..self.numbers]
    }

    /// Contexts, padding included.
    pub fn apart(&self) -> usize {
        self.apart
    }

    fn fill(
        &mut self,
        source: &dyn BoundSource,
        sample: &ContextSample,
        entries: Range<usize>,
        layout: Layout,
    ) {
        let contexts = entries.len();
        self.apart = match layout {
            Layout::ByContext => contexts,
            Layout::ByAction => contexts.next_multiple_of(LANES),
        };
        self.numbers = self.apart * sample.actions();
        for numbers in [&mut self.gain, &mut self.lcb] {
            numbers.resize::<f64>(self.numbers);
        }
        let gain = &mut self.gain.as_mut_slice()[..self.numbers];
        let lcb = &mut self.lcb.as_mut_slice()[..self.numbers];
        if layout == Layout::ByContext {
            source.fill_entries(sample, entries, gain, lcb);
            return;
        }
        source.fill_by_action(sample, entries, self.apart, gain, lcb);
        for numbers in [gain, lcb] {
            let actions = numbers.chunks_exact_mut(self.apart.max(1));
            actions.for_each(|action| action[contexts..].fill(0.0));
        }
    }
}

impl ChunkBounds<'_> {
    /// Evaluates the coefficients of neighbouring single contexts, then works with them; each is timed.
    pub fn with_chunk(
        &self,
        (sample, entries): (&ContextSample, Range<usize>),
        layout: Layout,
        chunk: &mut Chunk,
        work: impl FnOnce(&Chunk),
    ) -> Result<(), BackendError> {
        let start = Stopwatch::start();
        chunk.fill(self.source, sample, entries.clone(), layout);
        if self.unchecked {
            let (apart, actions) = (chunk.apart, sample.actions());
            check_finite(chunk.gain(), chunk.lcb(), |pair| match layout {
                Layout::ByContext => (entries.start + pair / actions, pair % actions + 1),
                Layout::ByAction => (entries.start + pair % apart, pair / apart + 1),
            })?;
        }
        let bounds = start.elapsed();
        work(chunk);
        let rest = start.elapsed().saturating_sub(bounds);
        let add = |sum: &AtomicU64, time: Duration| {
            sum.fetch_add(time.as_nanos() as u64, Ordering::Relaxed);
        };
        add(&self.timer.bounds, bounds);
        add(&self.timer.rest, rest);
        Ok(())
    }
}
