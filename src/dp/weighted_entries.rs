//! The list of contexts of a step (or of several with the same law).

use std::collections::HashMap;

/// The contexts of one step: entries of the sample and their weights (counts, or probabilities).
#[derive(Debug, Clone, Default)]
pub struct WeightedEntries {
    /// Entry numbers, each at most once.
    pub entries: Vec<u32>,
    /// Weights, divided by [`super::ContextSample::total`] to become probabilities.
    pub weights: Vec<f64>,
    place: HashMap<u32, u32>,
}

impl WeightedEntries {
    /// Adds weight to an entry, in a new place or its old one; returns the place.
    pub(super) fn add(&mut self, entry: u32, weight: f64, may_repeat: bool) -> u32 {
        let next = self.entries.len() as u32;
        if may_repeat {
            let place = *self.place.entry(entry).or_insert(next);
            if place != next {
                self.weights[place as usize] += weight;
                return place;
            }
        }
        self.entries.push(entry);
        self.weights.push(weight);
        next
    }
}
