//! What an oracle says of one pair (context, action): its interval, its estimate, and the bounds that a plan uses.

use super::Bounds;

/// An oracle's view of a pair.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Belief {
    /// The point estimate of rho. Of an arm with s conversions in n trials it is (s + 1/2) / (n + 1), so that an arm that never
    /// converted is not written off.
    pub estimate: f64,
    /// The confidence interval, two-sided if the oracle has one.
    pub interval: Bounds,
    /// The bounds that plans and decisions use.
    pub bounds: Bounds,
    /// tau, the tolerance in `bounds` ([`super::Tolerant`]); 0 without.
    pub tolerance: f64,
}

impl Belief {
    /// The belief without data.
    pub const UNKNOWN: Self = Self {
        estimate: 0.5,
        interval: Bounds::UNKNOWN,
        bounds: Bounds::UNKNOWN,
        tolerance: 0.0,
    };

    /// An estimate with bounds that are also the interval.
    pub fn new(estimate: f64, bounds: Bounds) -> Self {
        Self {
            estimate,
            interval: bounds,
            bounds,
            tolerance: 0.0,
        }
    }

    /// The estimate, clamped into the bounds.
    pub fn center(&self) -> f64 {
        self.estimate.max(self.bounds.lcb).min(self.bounds.ucb)
    }
}
