//! The contexts of a step (or of several with the same law).

use std::collections::HashMap;
use std::ops::Range;

/// The shared contexts of one step: entries of the sample and their weights (counts, or probabilities).
#[derive(Debug, Clone, Default)]
pub struct WeightedEntries {
    /// Entry numbers, each at most once.
    pub entries: Vec<u32>,
    /// Weights, divided by [`super::ContextSample::total`] to become probabilities.
    pub weights: Vec<f64>,
    place: HashMap<u32, u32>,
}

impl WeightedEntries {
    /// Neighbouring distinct entries with their weights.
    pub(super) fn of_weights(entries: Range<u32>, weights: Vec<f64>) -> Self {
        Self {
            entries: entries.collect(),
            weights,
            place: HashMap::new(),
        }
    }

    /// Adds weight to an entry, which is new unless it may repeat.
    pub(super) fn add(&mut self, entry: u32, weight: f64, may_repeat: bool) {
        let next = self.entries.len() as u32;
        if may_repeat {
            let place = *self.place.entry(entry).or_insert(next);
            if place != next {
                self.weights[place as usize] += weight;
                return;
            }
        }
        self.entries.push(entry);
        self.weights.push(weight);
    }

    /// The place of an entry that may repeat.
    #[cfg(feature = "gpu")]
    pub(super) fn place_of(&self, entry: u32) -> Option<u32> {
        self.place.get(&entry).copied()
    }
}

/// All contexts of one step.
#[derive(Debug, Clone)]
pub struct StepContexts<'a> {
    /// Those that may serve other steps as well.
    pub shared: &'a WeightedEntries,
    /// Those of this step alone, each of weight 1, by entry number.
    pub singles: Range<usize>,
}

impl<'a> StepContexts<'a> {
    /// Number of contexts.
    pub fn len(&self) -> usize {
        self.shared.entries.len() + self.singles.len()
    }

    /// Whether there are no contexts.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// (entry, weight) of all of them.
    pub fn iter(&self) -> impl Iterator<Item = (usize, f64)> + use<'a> {
        let shared = self.shared;
        let shared = shared.entries.iter().zip(&shared.weights);
        let shared = shared.map(|(&entry, &weight)| (entry as usize, weight));
        shared.chain(self.singles.clone().map(|entry| (entry, 1.0)))
    }
}

/// An arrival of a row that was appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowEntry {
    /// Step, 0-based.
    pub step: u32,
    /// Its entry.
    pub entry: u32,
}
