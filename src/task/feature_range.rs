//! How large features get: the largest feature vectors and columns of a task.

/// The largest features of contexts: some bounds are scaled by them, and they limit rewards that depend on theta.
#[derive(Debug, Clone, PartialEq)]
pub struct FeatureRange {
    sizes: Vec<f64>,
    pub(super) norm_squared: f64,
}

impl FeatureRange {
    /// Features of sizes up to these.
    pub fn of_sizes(sizes: Vec<f64>) -> Self {
        Self::of_contexts(sizes.len(), std::iter::once(&sizes[..]))
    }

    /// The range of some contexts.
    pub fn of_contexts<'c>(dimension: usize, contexts: impl Iterator<Item = &'c [f64]>) -> Self {
        let mut range = Self {
            sizes: vec![0.0; dimension],
            norm_squared: 0.0,
        };
        contexts.for_each(|theta| range.include(theta));
        range
    }

    /// Widens the range to a context.
    pub fn include(&mut self, theta: &[f64]) {
        for (size, x) in self.sizes.iter_mut().zip(theta) {
            *size = size.max(x.abs());
        }
        let square = theta.iter().map(|x| x * x).sum();
        self.norm_squared = self.norm_squared.max(square);
    }

    /// The largest size of each feature.
    pub fn sizes(&self) -> &[f64] {
        &self.sizes
    }
}
