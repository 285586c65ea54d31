//! Context rows: one row is the H contexts of one episode, as in the unlabeled sample of Section 3.4.

/// Rows of contexts, steps 1..=H all present in each.
#[derive(Debug, Clone, PartialEq)]
pub struct ContextRows {
    horizon: usize,
    dimension: usize,
    features: Vec<f64>,
    arrived: Vec<bool>,
}

impl ContextRows {
    /// Without rows.
    pub fn new(horizon: usize, dimension: usize) -> Self {
        Self {
            horizon,
            dimension,
            features: Vec::new(),
            arrived: Vec::new(),
        }
    }

    /// Reserves memory for so many more rows.
    pub fn reserve(&mut self, rows: usize) {
        let contexts = rows * self.horizon;
        self.arrived.reserve_exact(contexts);
        self.features.reserve_exact(contexts * self.dimension);
    }

    /// Appends the context of the next step (row by row, steps in order); `None` is no arrival.
    pub fn push(&mut self, features: Option<&[f64]>) {
        self.arrived.push(features.is_some());
        match features {
            Some(features) => self.features.extend_from_slice(&features[..self.dimension]),
            None => self
                .features
                .resize(self.features.len() + self.dimension, 0.0),
        }
    }

    /// Takes the rows from number `row` on, and frees their memory here.
    pub(crate) fn split_off(&mut self, row: usize) -> Self {
        let index = row * self.horizon;
        let rest = Self {
            features: self.features.split_off(index * self.dimension),
            arrived: self.arrived.split_off(index),
            ..*self
        };
        self.features.shrink_to_fit();
        self.arrived.shrink_to_fit();
        rest
    }

    /// Number of complete rows.
    pub fn len(&self) -> usize {
        self.arrived.len() / self.horizon
    }

    /// Whether there is no complete row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of steps H in each row.
    pub fn horizon(&self) -> usize {
        self.horizon
    }

    /// Number of features of a context.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// The features seen in `row` at `step` (both 0-based); `None` is no arrival.
    pub fn get(&self, row: usize, step: usize) -> Option<&[f64]> {
        let index = row * self.horizon + step;
        let start = index * self.dimension;
        self.arrived[index].then(|| &self.features[start..start + self.dimension])
    }

    /// All arrivals, row by row.
    pub fn iter(&self) -> impl Iterator<Item = &[f64]> {
        let all = self
            .arrived
            .iter()
            .zip(self.features.chunks_exact(self.dimension));
        all.filter(|(arrived, _)| **arrived)
            .map(|(_, features)| features)
    }
}
