//! The data of the neural oracle: distinct inputs with counts and mean labels, eight side by side. A loss that sums squares
//! over observations sees no difference, up to a constant: n observations of one input are n times one of their mean label.

use std::collections::HashMap;

use super::lanes::{LANES, Lanes};

/// Distinct inputs, their labels and how often each was observed.
#[derive(Debug, Clone)]
pub(super) struct Samples {
    inputs: usize,
    place_of: HashMap<Vec<u64>, usize>,
    /// Inputs of eight samples side by side, then those of the next eight.
    x: Vec<Lanes>,
    /// Mean labels.
    labels: Vec<Lanes>,
    /// 0 where there is no sample.
    counts: Vec<Lanes>,
    /// N.
    pub total: f64,
}

/// Some samples, eight to a block.
#[derive(Debug, Clone, Copy)]
pub(super) struct Batch<'s> {
    pub x: &'s [Lanes],
    pub labels: &'s [Lanes],
    pub counts: &'s [Lanes],
}

impl Samples {
    /// None yet, for networks with `inputs` inputs.
    pub fn new(inputs: usize) -> Self {
        Self {
            inputs,
            place_of: HashMap::new(),
            x: Vec::new(),
            labels: Vec::new(),
            counts: Vec::new(),
            total: 0.0,
        }
    }

    /// Takes in an observation.
    pub fn push(&mut self, x: &[f64], label: f64) {
        let bits = x.iter().map(|x| x.to_bits()).collect();
        let next = self.place_of.len();
        let place = *self.place_of.entry(bits).or_insert(next);
        let (block, lane) = (place / LANES, place % LANES);
        if block == self.labels.len() {
            self.x.resize(self.x.len() + self.inputs, [0.0; LANES]);
            self.labels.push([0.0; LANES]);
            self.counts.push([0.0; LANES]);
        }
        for (lanes, x) in self.x[block * self.inputs..].iter_mut().zip(x) {
            lanes[lane] = *x;
        }
        self.total += 1.0;
        self.counts[block][lane] += 1.0;
        let away = label - self.labels[block][lane];
        self.labels[block][lane] += away / self.counts[block][lane];
    }

    /// All samples, so many times eight together.
    pub fn batches(&self, blocks: usize) -> impl Iterator<Item = Batch<'_>> {
        let labels = self.labels.chunks(blocks).zip(self.counts.chunks(blocks));
        self.x
            .chunks(blocks * self.inputs)
            .zip(labels)
            .map(|(x, (labels, counts))| Batch { x, labels, counts })
    }
}

/// Inputs of up to eight samples, side by side; the last one fills up what is left.
pub(super) fn side_by_side(samples: &[Vec<f64>]) -> Vec<Lanes> {
    let last = samples.len() - 1;
    (0..samples[0].len())
        .map(|i| std::array::from_fn(|lane| samples[lane.min(last)][i]))
        .collect()
}
