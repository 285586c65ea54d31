//! The table of the 32-bit shaders: whole numbers, so that gaps between values are exact, in units of the problem.

use crate::dp::{BackendError, Problem};

/// The table word for what the table cannot hold, in the shaders as here.
const SATURATED: u32 = u32::MAX;

/// Gains up to this many times the unit of reward keep their place among 32-bit floats: infeasible actions are made to
/// lose by ten times as much.
pub const GAIN_LIMIT: f64 = 1e9;

/// The scale of a problem's fixed-point table.
#[derive(Debug, Clone, Copy)]
pub struct FixedPoint {
    /// Rewards are divided by this.
    pub reward: f64,
    /// Table steps per summed (and divided) reward, a power of two.
    pub unit: f64,
    /// What the weights of a step sum to.
    pub total: f64,
}

impl FixedPoint {
    /// The finest scale in which the largest possible value, H times r_max where values are capped and H times the
    /// largest gain where they are not, fits 32 bits. Larger sums of a step are cut off before the cap.
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

    /// Gains as the shaders see them are multiplied by this.
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

    /// The value of a table word; infinite where the table could not hold it.
    pub fn value(&self, word: u32) -> f64 {
        if word == SATURATED {
            return f64::INFINITY;
        }
        f64::from(word) / (self.unit * self.total) * self.reward
    }

    /// The step of the cap min(b, k) * r_max, in table steps.
    pub fn cap(&self, r_max: f64) -> u32 {
        ((r_max / self.reward * self.unit * self.total).round() as u32).max(1)
    }
}
