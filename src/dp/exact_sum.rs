//! Running sums over very many terms.

/// A running sum that keeps what rounding drops (Neumaier).
#[derive(Debug, Default)]
pub(super) struct ExactSum {
    sum: f64,
    dropped: f64,
}

impl ExactSum {
    /// Adds a term; returns the sum so far.
    pub(super) fn add(&mut self, x: f64) -> f64 {
        let sum = self.sum + x;
        self.dropped += if self.sum.abs() >= x.abs() {
            (self.sum - sum) + x
        } else {
            (x - sum) + self.sum
        };
        self.sum = sum;
        self.sum + self.dropped
    }
}
