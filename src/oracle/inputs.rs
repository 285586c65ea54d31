//! The data of the neural oracle: distinct inputs with counts and mean labels, in blocks of eight. A sum of squares over
//! observations is the same up to a constant: n observations of one input count as n times one with their mean label.

use super::eights::{EIGHT, Eight};
use crate::task::Support;

/// Distinct inputs with their mean labels and counts, in blocks of eight.
#[derive(Debug, Clone)]
pub(super) struct DistinctInputs {
    inputs: usize,
    distinct: Support,
    /// Block after block.
    x: Vec<Eight>,
    /// Mean labels.
    labels: Vec<Eight>,
    /// 0 in empty places.
    counts: Vec<Eight>,
    /// N.
    pub total: f64,
}

impl DistinctInputs {
    /// Without data, for networks with `inputs` inputs.
    pub fn new(inputs: usize) -> Self {
        Self {
            inputs,
            distinct: Support::new(inputs),
            x: Vec::new(),
            labels: Vec::new(),
            counts: Vec::new(),
            total: 0.0,
        }
    }

    /// Adds an observation.
    pub fn push(&mut self, x: &[f64], label: f64) {
        let place = self.distinct.insert(x) as usize;
        let (block, lane) = (place / EIGHT, place % EIGHT);
        if block == self.labels.len() {
            self.x.resize(self.x.len() + self.inputs, [0.0; EIGHT]);
            self.labels.push([0.0; EIGHT]);
            self.counts.push([0.0; EIGHT]);
        }
        for (lanes, x) in self.x[block * self.inputs..].iter_mut().zip(x) {
            lanes[lane] = *x;
        }
        self.total += 1.0;
        self.counts[block][lane] += 1.0;
        let away = label - self.labels[block][lane];
        self.labels[block][lane] += away / self.counts[block][lane];
    }

    /// Inputs, labels and counts of so many blocks at a time.
    pub fn batches(&self, blocks: usize) -> impl Iterator<Item = (&[Eight], &[Eight], &[Eight])> {
        let x = self.x.chunks(blocks * self.inputs);
        let labels = x.zip(self.labels.chunks(blocks));
        labels
            .zip(self.counts.chunks(blocks))
            .map(|((x, labels), counts)| (x, labels, counts))
    }
}

/// Inputs of up to eight observations as a block; the last one fills empty places.
pub(super) fn block_of(inputs: &[Vec<f64>]) -> Vec<Eight> {
    let last = inputs.len() - 1;
    (0..inputs[0].len())
        .map(|i| std::array::from_fn(|lane| inputs[lane.min(last)][i]))
        .collect()
}
