//! The points of finite context laws: each distinct feature vector once, in order of first appearance.

use std::collections::HashMap;

/// Distinct feature vectors, numbered from 0.
#[derive(Debug, Clone, Default)]
pub struct Support {
    dimension: usize,
    features: Vec<f64>,
    index: HashMap<Box<[u64]>, u32>,
}

impl Support {
    /// An empty support of feature vectors with `dimension` entries.
    pub fn new(dimension: usize) -> Self {
        Self {
            dimension,
            ..Self::default()
        }
    }

    /// Number of points.
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// Whether there is no point.
    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    /// Features of a point.
    pub fn features(&self, point: u32) -> &[f64] {
        let start = point as usize * self.dimension;
        &self.features[start..start + self.dimension]
    }

    /// The number of the point with these features, if there is one.
    pub fn find(&self, features: &[f64]) -> Option<u32> {
        // Continuous laws have no points: the key would be made in vain for every context.
        if self.index.is_empty() {
            return None;
        }
        self.index.get(&key(features)).copied()
    }

    /// The number of the point with these features, which is added if new.
    pub fn insert(&mut self, features: &[f64]) -> u32 {
        let next = self.len() as u32;
        let point = *self.index.entry(key(features)).or_insert(next);
        if point == next {
            self.features.extend_from_slice(features);
        }
        point
    }
}

/// Equality of floats by bits, with -0 equal to 0.
fn key(features: &[f64]) -> Box<[u64]> {
    features.iter().map(|x| (x + 0.0).to_bits()).collect()
}
