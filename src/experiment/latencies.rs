//! How long decisions take: a histogram with 16 buckets for every factor of two, so that a quantile is off by at most 2.2%.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// One decision in this many is timed: reading a clock would slow down the fastest policies.
const ONE_IN: usize = 8;

/// Buckets for a factor of two.
const BUCKETS: f64 = 16.0;

/// Times of decisions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Latencies(BTreeMap<u16, u64>);

impl Latencies {
    /// Whether decision number `number` is timed.
    pub(super) fn are_due(number: usize) -> bool {
        number.is_multiple_of(ONE_IN)
    }

    /// Adds the time of a decision.
    pub fn push(&mut self, time: Duration) {
        let nanoseconds = time.as_nanos().max(1) as f64;
        *self
            .0
            .entry((BUCKETS * nanoseconds.log2()) as u16)
            .or_default() += 1;
    }

    /// Adds the times of others.
    pub fn add(&mut self, others: &Self) {
        for (bucket, count) in &others.0 {
            *self.0.entry(*bucket).or_default() += count;
        }
    }

    /// The time in seconds that a share of all decisions does not exceed; `None` without decisions.
    pub fn quantile(&self, share: f64) -> Option<f64> {
        let all: u64 = self.0.values().sum();
        let mut rank = (share * all as f64).ceil().max(1.0) as u64;
        let bucket = self.0.iter().find(|(_, count)| {
            let found = rank <= **count;
            rank = rank.saturating_sub(**count);
            found
        });
        bucket.map(|(bucket, _)| 1e-9 * ((f64::from(*bucket) + 0.5) / BUCKETS).exp2())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_times() {
        let (mut first, mut second) = (Latencies::default(), Latencies::default());
        for n in 1..=1000u64 {
            let half = if n % 2 == 0 { &mut first } else { &mut second };
            half.push(Duration::from_nanos(n * n));
        }
        first.add(&second);
        for (share, n) in [(0.5, 500.0f64), (0.99, 990.0), (1.0, 1000.0)] {
            let (found, exact) = (first.quantile(share).unwrap(), 1e-9 * n * n);
            assert!(
                (found / exact - 1.0).abs() < 0.03,
                "{share}: {found}, {exact}"
            );
        }
        assert_eq!(Latencies::default().quantile(0.5), None);
    }
}
