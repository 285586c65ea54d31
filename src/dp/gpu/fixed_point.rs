//! The table of the 32-bit shaders: whole numbers in units of the problem, so that gaps between values are exact.

use crate::dp::{BackendError, Problem};

/// The table word, also in the shaders, for a value that the table cannot hold.
const SATURATED: u32 = u32::MAX;

/// The largest gain in units of reward; infeasible actions lose by at least ten times as much.
pub const GAIN_LIMIT: f64 = 1e9;

/// The scale of a problem's fixed-point table.
#[derive(Debug, Clone, Copy)]
pub struct FixedPoint {
    /// Rewards are divided by this.
    pub reward: f64,
    /// Table units per summed (and divided) reward, a power of two.
    pub unit: f64,
    /// Sum of the weights of a step.
    pub total: f64,
}

impl FixedPoint {
    /// The finest scale in which the largest possible value fits 32 bits: H times r_max if values are capped, else H times
    /// the largest gain. Larger sums of a step saturate before the cap.
    pub fn of(problem: &Problem) -> Self {
        let largest = || {
            let gains = problem.coefficients.gain.iter().copied();
            gains.fold(f64::MIN_POSITIVE, f64::max)
        };
        let total = problem.sample.total();
        let steps = problem.sample.horizon() as f64 * total * 1.001;
        let unit = (f64::from(u32::MAX) / steps).log2().floor().exp2();
        Self {
            reward: problem.cap.filter(|cap| *cap > 0.0).unwrap_or_else(largest),
            unit,
            total,
        }
    }

    /// Factor of the gains that the shaders read.
    pub fn scale(&self) -> f64 {
        1.0 / self.reward
    }

    /// Refuses gains that 32-bit floats would confuse with infeasible actions.
    pub fn check(&self, gains: &[f64]) -> Result<(), BackendError> {
        let limit = GAIN_LIMIT * self.reward;
        match gains.iter().find(|g| g.is_nan() || g.abs() > limit) {
            None => Ok(()),
            Some(&found) => Err(BackendError::Magnitude {
                what: "a gain".into(),
                found,
                limit,
            }),
        }
    }

    /// The value of a table word; infinite if the table could not hold it.
    pub fn value(&self, word: u32) -> f64 {
        if word == SATURATED {
            return f64::INFINITY;
        }
        f64::from(word) / (self.unit * self.total) * self.reward
    }

    /// The cap per step, r_max, in table units.
    pub fn cap(&self, r_max: f64) -> u32 {
        ((r_max / self.reward * self.unit * self.total).round() as u32).max(1)
    }
}
