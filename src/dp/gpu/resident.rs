//! Shared contexts that stay on the adapter. A study's samples only grow, by one row at a time: what is new goes up as single
//! words, and a plan then needs no more than the oracle's fitted parameters.
//!
//! All resident data are words of one buffer with four sections: members (entry, weight), costs, records (step,
//! features) and offers (reward, place among the actions sorted by cost). Each sample has a region in each section; when one
//! outgrows its region, everything is laid out anew with regions twice as large.

use super::cut::Place;
use super::kernel::Kernel;
use super::limits::Limits;
use crate::dp::{ContextSample, PlanRequest};

/// Sections start at multiples of this many words, where a binding may.
const ALIGN: usize = 64;

/// More words than this are not worth placing one by one, nor do they fit one dispatch.
const MOST_WORDS: usize = 1 << 20;

/// The four sections, as first words.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sections {
    /// First word of the members.
    pub members: usize,
    /// First word of the costs.
    pub costs: usize,
    /// First word of the records.
    pub records: usize,
    /// First word of the offers.
    pub offers: usize,
    /// Words in all.
    pub end: usize,
}

/// What the adapter holds of the samples of a batch.
#[derive(Debug)]
pub struct Resident {
    kernel: Kernel,
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

/// What must be written to bring the adapter up to date.
#[derive(Debug)]
pub enum Update {
    /// The whole buffer.
    Everything(Vec<u32>),
    /// (place, word) pairs.
    Words(Vec<[u32; 2]>),
}

impl Resident {
    /// Brings what is known of the samples up to date, or lays it out anew; `None` where it would not fit a binding.
    pub fn update(
        known: Option<Self>,
        requests: &[PlanRequest],
        kernel: Kernel,
        limits: &Limits,
    ) -> Option<(Self, Update)> {
        if let Some(mut known) = known
            && known.kernel == kernel
            && known.regions.len() == requests.len()
            && known
                .regions
                .iter()
                .zip(requests)
                .all(|(region, request)| region.holds(request))
        {
            let mut words = Vec::new();
            known.write_new(requests, &mut |place, word| {
                words.push([place as u32, word]);
            });
            if words.len() <= MOST_WORDS {
                return Some((known, Update::Words(words)));
            }
        }
        let mut fresh = Self::lay_out(requests, kernel);
        let widest = fresh.sections.end.max(2 * fresh.pairs());
        if 4 * widest as u64 > limits.binding_bytes {
            return None;
        }
        let mut image = vec![0; fresh.sections.end];
        fresh.write_new(requests, &mut |place, word| image[place] = word);
        Some((fresh, Update::Everything(image)))
    }

    fn lay_out(requests: &[PlanRequest], kernel: Kernel) -> Self {
        let (mut entries, mut pairs, mut records, mut members) = (0, 0, 0, 0);
        let regions: Vec<Region> = requests
            .iter()
            .map(|request| {
                let sample = request.sample;
                let longest = (0..sample.horizon())
                    .map(|h| sample.step(h).shared.entries.len())
                    .max();
                let region = Region {
                    id: sample.id(),
                    reward_scale: request.reward_scale(),
                    entries: 0,
                    arrivals: 0,
                    entry_capacity: (2 * sample.shared()).max(64),
                    place_capacity: (2 * longest.unwrap_or(0)).max(16),
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
        let cost_words = if kernel.is_narrow() { entries } else { pairs };
        let records_start = costs + aligned(cost_words);
        let offers = records_start + aligned(records);
        Self {
            kernel,
            regions,
            sections: Sections {
                members: 0,
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

    /// Hands over the words of all entries and members that are new or changed.
    fn write_new(&mut self, requests: &[PlanRequest], write: &mut dyn FnMut(usize, u32)) {
        let Self {
            kernel,
            regions,
            sections,
        } = self;
        for (region, request) in regions.iter_mut().zip(requests) {
            let sample = request.sample;
            for entry in region.entries..sample.shared() {
                region.write_entry(*kernel, sections, sample, entry, write);
            }
            for arrival in &sample.arrivals()[region.arrivals..] {
                let step = arrival.step as usize;
                let shared = sample.step(step).shared;
                let place = shared.place_of(arrival.entry).unwrap_or(0) as usize;
                let weight = shared.weights[place] as f32;
                let first = 2 * (region.first_member + step * region.place_capacity + place);
                write(sections.members + first, arrival.entry);
                write(sections.members + first + 1, weight.to_bits());
            }
            region.entries = sample.shared();
            region.arrivals = sample.arrivals().len();
        }
    }

    /// Where a problem's coefficients and costs are, for its header; the rest of the place is as planned.
    pub fn place(&self, i: usize, planned: Place) -> Place {
        let region = &self.regions[i];
        let first_cost = if self.kernel.is_narrow() {
            region.first_entry
        } else {
            region.first_pair
        };
        Place {
            first_pair: region.first_pair as u32,
            first_cost: first_cost as u32,
            ..planned
        }
    }

    /// (first, count) of the members of every step of a problem.
    pub fn members(&self, i: usize, sample: &ContextSample) -> Vec<[u32; 2]> {
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
        let records = self.sections.records + region.first_record;
        [
            records as u32,
            (self.sections.offers + 2 * region.first_pair) as u32,
        ]
    }
}

impl Region {
    /// Whether the region is this sample's and large enough for it as it is now.
    fn holds(&self, request: &PlanRequest) -> bool {
        let sample = request.sample;
        let longest = (0..sample.horizon())
            .map(|h| sample.step(h).shared.entries.len())
            .max();
        self.id == sample.id()
            && self.reward_scale == request.reward_scale()
            && sample.shared() <= self.entry_capacity
            && longest.unwrap_or(0) <= self.place_capacity
    }

    fn write_entry(
        &self,
        kernel: Kernel,
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
        if kernel.is_narrow() {
            order.sort_by_key(|a| sample.cost(entry, a + 1));
            let marks = (1..=actions).map(|a| 0x0101_0101 << (8 * (sample.cost(entry, a) - 1)));
            write(
                sections.costs + self.first_entry + entry,
                marks.sum::<u32>(),
            );
        }
        let first = self.first_pair + entry * actions;
        for (slot, &a) in order.iter().enumerate() {
            let reward = sample.rewards()[entry * actions + a] / self.reward_scale;
            let offer = sections.offers + 2 * (first + a);
            write(offer, (reward as f32).to_bits());
            write(offer + 1, slot as u32);
            if !kernel.is_narrow() {
                write(sections.costs + first + slot, sample.cost(entry, a + 1));
            }
        }
    }
}
