//! Single contexts that stay on the adapter: their features only. A sample grows by one row at a time: only new data go up,
//! and a plan needs no more than the oracle's fitted parameters.
//!
//! All are in one buffer, by steps to go and then by problem, so that the contexts of one dispatch are neighbours. A shader
//! sees a window of the buffer. If a binding does not hold the contexts of a step, they take several dispatches. When a
//! sample outgrows its regions, everything is laid out again with room to grow.

use super::layout::Range;
use super::limits::Limits;
use crate::dp::{ContextSample, PlanRequest};

/// Windows begin at multiples of this many contexts, where a binding may.
const ALIGN: usize = 64;

/// The single contexts of a batch on the adapter.
#[derive(Debug)]
pub struct SingleStore {
    problems: Vec<Stored>,
    /// Numbers per context: its features, and for an auction theta - the lowest bid, in units of r_max.
    words: usize,
    /// Capacity.
    contexts: usize,
}

/// The regions of one sample by step, and how much of them is used.
#[derive(Debug)]
struct Stored {
    id: u64,
    reward_scale: f64,
    regions: Vec<StepRegion>,
}

/// Contexts of one step: the first, the capacity, and how many are stored.
#[derive(Debug, Clone, Copy, Default)]
struct StepRegion {
    first: usize,
    room: usize,
    known: usize,
}

/// Numbers to be written at a place.
#[derive(Debug)]
pub struct Write {
    /// First number.
    pub place: usize,
    /// The numbers.
    pub numbers: Vec<f32>,
}

/// A part of the buffer that one dispatch sees.
#[derive(Debug)]
pub struct Window {
    /// Its first context.
    pub first: usize,
    /// The contexts of every problem, counted from there.
    pub ranges: Vec<Range>,
}

impl SingleStore {
    /// Updates what the adapter holds, or lays it out again. Returns also the pending writes, or why it does not fit.
    pub fn update(
        known: Option<Self>,
        requests: &[PlanRequest],
        limits: &Limits,
    ) -> Result<(Self, Vec<Write>), String> {
        let words = requests.first().map_or(1, words_per_context);
        let mut store = match known {
            Some(known) if known.holds(requests, words) => known,
            _ => Self::lay_out(requests, words),
        };
        let (bytes, limit) = (
            store.bytes() + store.window_bytes(limits),
            limits.buffer_bytes,
        );
        if bytes > limit.min(u64::from(u32::MAX)) {
            return Err(format!(
                "the samples take {bytes} bytes, and a buffer of the adapter has {limit}"
            ));
        }
        let mut writes = Vec::new();
        for (stored, request) in store.problems.iter_mut().zip(requests) {
            let new = |(step, region)| new_numbers(request, step, region, words);
            writes.extend(stored.regions.iter_mut().enumerate().filter_map(new));
        }
        Ok((store, writes))
    }

    fn lay_out(requests: &[PlanRequest], words: usize) -> Self {
        let empty = |request: &PlanRequest| Stored {
            id: request.sample.id(),
            reward_scale: request.reward_scale(),
            regions: vec![StepRegion::default(); request.sample.horizon()],
        };
        let mut problems: Vec<Stored> = requests.iter().map(empty).collect();
        let longest = requests.iter().map(|r| r.sample.horizon()).max();
        let mut contexts = 0;
        for remaining in 1..=longest.unwrap_or(0) {
            for (stored, request) in problems.iter_mut().zip(requests) {
                let Some(step) = request.sample.horizon().checked_sub(remaining) else {
                    continue;
                };
                let count = request.sample.step(step).singles.len();
                let room = count + (count / 4).max(16);
                stored.regions[step] = StepRegion {
                    first: contexts,
                    room,
                    known: 0,
                };
                contexts += room;
            }
        }
        Self {
            problems,
            words,
            contexts,
        }
    }

    /// Whether the regions belong to the samples of the requests and are large enough.
    fn holds(&self, requests: &[PlanRequest], words: usize) -> bool {
        let fits = |(stored, request): (&Stored, &PlanRequest)| {
            let regions = stored.regions.iter().enumerate();
            let mut rooms = regions.map(|(h, r)| request.sample.step(h).singles.len() <= r.room);
            stored.id == request.sample.id()
                && stored.reward_scale == request.reward_scale()
                && rooms.all(|fits| fits)
        };
        self.words == words
            && self.problems.len() == requests.len()
            && self.problems.iter().zip(requests).all(fits)
    }

    /// Bytes of all contexts.
    pub fn bytes(&self) -> u64 {
        (self.contexts.next_multiple_of(ALIGN) * self.words * size_of::<f32>()) as u64
    }

    /// Bytes of a window.
    pub fn window_bytes(&self, limits: &Limits) -> u64 {
        let window = self.contexts_per_window(limits) * self.words * size_of::<f32>();
        self.bytes().min(window as u64).max(256)
    }

    fn contexts_per_window(&self, limits: &Limits) -> usize {
        let contexts = limits.binding_bytes as usize / (self.words * size_of::<f32>());
        (contexts / ALIGN * ALIGN).max(ALIGN)
    }

    /// Byte offset of a window.
    pub fn offset(&self, window: &Window) -> u32 {
        (window.first * self.words * size_of::<f32>()) as u32
    }

    /// The windows over the contexts with `remaining` steps to go: at least one.
    pub fn windows(&self, remaining: usize, limits: &Limits) -> Vec<Window> {
        let most = self.contexts_per_window(limits);
        let open = |first: usize| Window {
            first: first / ALIGN * ALIGN,
            ranges: vec![[0, 0]; self.problems.len()],
        };
        let mut windows: Vec<Window> = Vec::new();
        for (i, stored) in self.problems.iter().enumerate() {
            let Some(step) = stored.regions.len().checked_sub(remaining) else {
                continue;
            };
            let StepRegion { first, known, .. } = stored.regions[step];
            let (mut next, end) = (first, first + known);
            while next < end {
                if windows.last().is_none_or(|w| next >= w.first + most) {
                    windows.push(open(next));
                }
                let window = windows.last_mut().expect("opened above");
                let count = (end - next).min(window.first + most - next);
                window.ranges[i] = [(next - window.first) as u32, count as u32];
                next += count;
            }
        }
        if windows.is_empty() {
            windows.push(open(0));
        }
        windows
    }
}

/// Numbers stored for a context.
fn words_per_context(request: &PlanRequest) -> usize {
    request.sample.dimension() + usize::from(request.sample.bids().is_some())
}

/// The lowest bid of an auction.
pub fn lowest_bid(sample: &ContextSample) -> Option<f64> {
    let bids = sample.bids()?.iter().copied();
    Some(bids.fold(f64::INFINITY, f64::min))
}

/// The numbers of the contexts that a region lacks.
fn new_numbers(
    request: &PlanRequest,
    step: usize,
    region: &mut StepRegion,
    words: usize,
) -> Option<Write> {
    let sample = request.sample;
    let singles = sample.step(step).singles;
    let place = (region.first + region.known) * words;
    let new = singles.start + region.known..singles.end;
    region.known = singles.len();
    if new.is_empty() {
        return None;
    }
    let features = sample.features_of(new);
    let numbers = match lowest_bid(sample) {
        None => features.iter().map(|x| *x as f32).collect(),
        // In units of r_max, and relative to the lowest bid, so that small rewards keep their digits.
        Some(bid) => features
            .iter()
            .flat_map(|theta| {
                let more = (theta - bid) / request.reward_scale();
                [*theta as f32, more as f32]
            })
            .collect(),
    };
    Some(Write { place, numbers })
}
