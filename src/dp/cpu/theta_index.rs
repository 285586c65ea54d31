//! What `auction_envelope` needs of samples: their thetas in order, list by list. An index is made when a sample is first
//! solved, grows with it from plan to plan, and is forgotten once nobody asks for it.

use std::collections::HashMap;

use rayon::prelude::*;

use super::sorted_thetas::SortedThetas;
use crate::dp::ContextSample;

/// An index that so many batches did without is forgotten: its sample is likely gone. Should it come back, the same index
/// is made anew.
const KEPT_BATCHES: u64 = 64;

/// The thetas of an auction's sample.
#[derive(Debug, Clone)]
pub(super) struct ThetaIndex {
    lists: Vec<SortedThetas>,
    /// Entries and arrivals of the sample that are in it, and contexts with weights of their own.
    entries: usize,
    arrivals: usize,
    weighted: usize,
    /// Single contexts that are in it, list by list.
    singles: Vec<usize>,
    /// The batch that last needed it.
    used: u64,
}

impl ThetaIndex {
    /// An index of no sample yet.
    fn new() -> Self {
        Self {
            lists: Vec::new(),
            entries: 0,
            arrivals: 0,
            weighted: 0,
            singles: Vec::new(),
            used: 0,
        }
    }

    fn is_up_to_date(&self, sample: &ContextSample) -> bool {
        self.entries == sample.len()
            && self.arrivals == sample.arrivals().len()
            && self.weighted == sample.weighted()
    }

    /// Adds what the sample has and the index has not.
    fn update(&mut self, sample: &ContextSample) {
        let theta = |entry: u32| sample.context(entry as usize).features[0];
        if self.lists.is_empty() || self.weighted != sample.weighted() {
            self.lists.clear();
            let bids = sample.bids().unwrap_or(&[]).iter().copied();
            let origin = bids.fold(f64::INFINITY, f64::min);
            self.singles.clear();
            for list in (0..sample.lists()).map(|list| sample.list(list).shared) {
                let mut thetas = SortedThetas::new(origin);
                for (&entry, &weight) in list.entries.iter().zip(&list.weights) {
                    thetas.push(theta(entry), weight);
                }
                self.lists.push(thetas);
                self.singles.push(0);
            }
        } else {
            for arrival in &sample.arrivals()[self.arrivals..] {
                let list = sample.list_of_step(arrival.step as usize);
                self.lists[list].push(theta(arrival.entry), 1.0);
            }
        }
        for (list, (thetas, known)) in self.lists.iter_mut().zip(&mut self.singles).enumerate() {
            let singles = sample.list(list).singles;
            let new = sample.features_of(singles.start + *known..singles.end);
            new.iter().for_each(|theta| thetas.push(*theta, 1.0));
            *known = singles.len();
            thetas.update();
        }
        self.entries = sample.len();
        self.arrivals = sample.arrivals().len();
        self.weighted = sample.weighted();
    }

    /// The thetas of a step of the sample.
    pub fn step(&self, sample: &ContextSample, step: usize) -> &SortedThetas {
        &self.lists[sample.list_of_step(step)]
    }
}

/// The indices of all samples that are being solved.
#[derive(Debug, Clone, Default)]
pub(super) struct ThetaIndices {
    by_sample: HashMap<u64, ThetaIndex>,
    batch: u64,
}

impl ThetaIndices {
    /// Brings the indices of some auctions' samples up to date.
    pub fn update<'s>(&mut self, samples: impl Iterator<Item = &'s ContextSample>) {
        self.batch += 1;
        let mut outdated: HashMap<u64, (&ContextSample, ThetaIndex)> = HashMap::new();
        for sample in samples {
            let id = sample.id();
            match self.by_sample.get_mut(&id) {
                Some(index) if index.is_up_to_date(sample) => index.used = self.batch,
                _ if outdated.contains_key(&id) => {}
                _ => {
                    let index = self.by_sample.remove(&id);
                    outdated.insert(id, (sample, index.unwrap_or_else(ThetaIndex::new)));
                }
            }
        }
        if outdated.is_empty() {
            return;
        }
        let batch = self.batch;
        let updated = outdated.into_par_iter().map(|(id, (sample, mut index))| {
            index.update(sample);
            index.used = batch;
            (id, index)
        });
        self.by_sample.par_extend(updated);
        self.by_sample
            .retain(|_, index| batch - index.used <= KEPT_BATCHES);
    }

    /// The index of a sample, where it is up to date.
    pub fn of(&self, sample: &ContextSample) -> Option<&ThetaIndex> {
        let index = self.by_sample.get(&sample.id());
        index.filter(|index| index.is_up_to_date(sample))
    }
}
