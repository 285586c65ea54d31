//! Shared contexts that stay on the adapter. A study's samples grow by one row at a time: only new data go up, word by
//! word, and a plan needs no more than the oracle's fitted parameters.
//!
//! All resident data are words of one buffer with four sections: members (weight, entry), costs, records (step, features)
//! and offers (reward, place among the actions sorted by cost). Each sample has a region in each section. When a sample
//! outgrows its region, everything is laid out again with regions twice as large.

use super::buffers::{Part, Slot};
use super::cut::Place;
use super::layout::{Range, cost_mark};
use super::limits::Limits;
use super::shader::Bellman;
use crate::dp::{ContextSample, PlanRequest};

/// Sections start at multiples of this many words, where a binding may.
const ALIGN: usize = 64;

/// Most words of an update; more do not fit one dispatch, and the whole buffer is written.
const MOST_WORDS: usize = 1 << 20;

/// The first words of the sections; the members are first.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sections {
    costs: usize,
    records: usize,
    offers: usize,
    /// Words in all.
    pub end: usize,
}

impl Sections {
    /// The members, to bind.
    pub fn members(&self) -> Part {
        Self::part(0, self.costs)
    }

    /// The costs, to bind.
    pub fn costs(&self) -> Part {
        Self::part(self.costs, self.records)
    }

    fn part(from: usize, to: usize) -> Part {
        Part {
            slot: Slot::Resident,
            offset: 4 * from as u64,
            size: 4 * (to - from).max(ALIGN) as u64,
        }
    }
}

/// The shared contexts of a batch on the adapter.
#[derive(Debug)]
pub struct Resident {
    bellman: Bellman,
    regions: Vec<Region>,
    /// Where the sections begin.
    pub sections: Sections,
}

/// The region of one sample and how much of it is used.
#[derive(Debug, Clone)]
struct Region {
    id: u64,
    reward_scale: f64,
    entries: usize,
    arrivals: usize,
    entry_capacity: usize,
    place_capacity: usize,
    first_entry: usize,
    first_pair: usize,
    first_record: usize,
    first_member: usize,
}

/// Pending writes.
#[derive(Debug)]
pub enum Update {
    /// The whole buffer.
    Everything(Vec<u32>),
    /// (place, word) pairs.
    Words(Vec<[u32; 2]>),
}

impl Resident {
    /// Updates what the adapter holds, or lays it out again; `None` if it does not fit a binding.
    pub fn update(
        known: Option<Self>,
        requests: &[PlanRequest],
        bellman: Bellman,
        limits: &Limits,
    ) -> Option<(Self, Update)> {
        if let Some(mut known) = known
            && known.bellman == bellman
            && known.regions.len() == requests.len()
            && known.regions.iter().zip(requests).all(|(r, q)| r.holds(q))
        {
            let mut words = Vec::new();
            known.write_new(requests, &mut |place, word| {
                words.push([place as u32, word]);
            });
            if words.len() <= MOST_WORDS {
                return Some((known, Update::Words(words)));
            }
        }
        let mut fresh = Self::lay_out(requests, bellman);
        let widest = fresh.sections.end.max(2 * fresh.pairs());
        if 4 * widest as u64 > limits.binding_bytes {
            return None;
        }
        let mut image = vec![0; fresh.sections.end];
        fresh.write_new(requests, &mut |place, word| image[place] = word);
        Some((fresh, Update::Everything(image)))
    }

    fn lay_out(requests: &[PlanRequest], bellman: Bellman) -> Self {
        let (mut entries, mut pairs, mut records, mut members) = (0, 0, 0, 0);
        let regions: Vec<Region> = requests
            .iter()
            .map(|request| {
                let sample = request.sample;
                let region = Region {
                    id: sample.id(),
                    reward_scale: request.reward_scale(),
                    entries: 0,
                    arrivals: 0,
                    entry_capacity: (2 * sample.shared()).max(64),
                    place_capacity: (2 * longest_step(sample)).max(16),
                    first_entry: entries,
                    first_pair: pairs,
                    first_record: records,
                    first_member: members,
                };
                entries += region.entry_capacity;
                pairs += region.entry_capacity * sample.actions();
                records += region.entry_capacity * (sample.dimension() + 1);
                members += region.place_capacity * sample.horizon();
                region
            })
            .collect();
        let aligned = |words: usize| words.next_multiple_of(ALIGN);
        let costs = aligned(2 * members);
        let cost_words = if bellman.is_narrow() { entries } else { pairs };
        let records_start = costs + aligned(cost_words);
        let offers = records_start + aligned(records);
        Self {
            bellman,
            regions,
            sections: Sections {
                costs,
                records: records_start,
                offers,
                end: offers + aligned(2 * pairs),
            },
        }
    }

    /// Pairs that fit.
    pub fn pairs(&self) -> usize {
        (self.sections.end - self.sections.offers) / 2
    }

    /// Calls `write` with every word of entries and members that is new or changed.
    fn write_new(&mut self, requests: &[PlanRequest], write: &mut dyn FnMut(usize, u32)) {
        let Self {
            bellman,
            regions,
            sections,
        } = self;
        for (region, request) in regions.iter_mut().zip(requests) {
            let sample = request.sample;
            for entry in region.entries..sample.shared() {
                region.write_entry(*bellman, sections, sample, entry, write);
            }
            for arrival in &sample.arrivals()[region.arrivals..] {
                let step = arrival.step as usize;
                let shared = sample.step(step).shared;
                let place = shared.place_of(arrival.entry).unwrap_or(0) as usize;
                let weight = shared.weights[place] as f32;
                let first = 2 * (region.first_member + step * region.place_capacity + place);
                write(first, weight.to_bits());
                write(first + 1, arrival.entry);
            }
            region.entries = sample.shared();
            region.arrivals = sample.arrivals().len();
        }
    }

    /// `planned` with the places of a problem's coefficients and costs.
    pub fn place(&self, i: usize, planned: Place) -> Place {
        let region = &self.regions[i];
        let first_cost = match self.bellman.is_narrow() {
            true => region.first_entry,
            false => region.first_pair,
        };
        Place {
            first_pair: region.first_pair as u32,
            first_cost: first_cost as u32,
            ..planned
        }
    }

    /// The members of every step of a problem.
    pub fn members(&self, i: usize, sample: &ContextSample) -> Vec<Range> {
        let region = &self.regions[i];
        let first = |step| (region.first_member + step * region.place_capacity) as u32;
        let steps = 0..sample.horizon();
        steps
            .map(|h| [first(h), sample.step(h).shared.entries.len() as u32])
            .collect()
    }

    /// First word of a problem's records and of its offers.
    pub fn records_and_offers(&self, i: usize) -> [u32; 2] {
        let region = &self.regions[i];
        let record = self.sections.records + region.first_record;
        let offer = self.sections.offers + 2 * region.first_pair;
        [record as u32, offer as u32]
    }
}

/// Shared contexts of the step that has most.
fn longest_step(sample: &ContextSample) -> usize {
    let lengths = (0..sample.horizon()).map(|h| sample.step(h).shared.entries.len());
    lengths.max().unwrap_or(0)
}

impl Region {
    /// Whether the region belongs to this sample and is large enough for it.
    fn holds(&self, request: &PlanRequest) -> bool {
        let sample = request.sample;
        self.id == sample.id()
            && self.reward_scale == request.reward_scale()
            && sample.shared() <= self.entry_capacity
            && longest_step(sample) <= self.place_capacity
    }

    fn write_entry(
        &self,
        bellman: Bellman,
        sections: &Sections,
        sample: &ContextSample,
        entry: usize,
        write: &mut dyn FnMut(usize, u32),
    ) {
        let actions = sample.actions();
        let context = sample.context(entry);
        let record = sections.records + self.first_record + entry * (context.features.len() + 1);
        write(record, context.step as u32);
        for (i, x) in context.features.iter().enumerate() {
            write(record + 1 + i, (*x as f32).to_bits());
        }
        let mut order: Vec<usize> = (0..actions).collect();
        if bellman.is_narrow() {
            order.sort_by_key(|a| sample.cost(entry, a + 1));
            let marks = (1..=actions).map(|a| cost_mark(sample.cost(entry, a)));
            let place = sections.costs + self.first_entry + entry;
            write(place, marks.sum::<u32>());
        }
        let first = self.first_pair + entry * actions;
        for (slot, &a) in order.iter().enumerate() {
            let reward = sample.rewards()[entry * actions + a] / self.reward_scale;
            let offer = sections.offers + 2 * (first + a);
            write(offer, (reward as f32).to_bits());
            write(offer + 1, slot as u32);
            if !bellman.is_narrow() {
                write(sections.costs + first + slot, sample.cost(entry, a + 1));
            }
        }
    }
}
