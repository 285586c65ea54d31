//! A number of a customer that multiplies rewards or costs.

use super::finite_numbers;
use crate::error::{Invalid, shown};

/// How far a quantity may be from a whole number, which scaled features are by rounding.
const SLACK: f64 = 1e-6;

/// A number of a customer, `mean + deviation * theta[feature]`: features may be scaled.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Multiplier {
    /// The feature, from 0.
    pub feature: usize,
    /// Mean of the number.
    pub mean: f64,
    /// Deviation of the number.
    pub deviation: f64,
    /// The largest number that occurs.
    pub most: f64,
}

impl Multiplier {
    /// A feature that is not scaled, of size up to `most`.
    pub fn unscaled(feature: usize, most: f64) -> Self {
        Self {
            feature,
            mean: 0.0,
            deviation: 1.0,
            most,
        }
    }

    /// The number of a customer.
    pub fn of(&self, features: &[f64]) -> f64 {
        self.mean + self.deviation * features[self.feature]
    }

    /// Checks the description itself.
    pub(super) fn check(&self, field: &str, dimension: usize, limit: f64) -> Result<(), Invalid> {
        finite_numbers(field, &[self.mean, self.deviation, self.most])?;
        if self.feature >= dimension {
            let found = self.feature + 1;
            let accepted = format!("the number of a feature, from 1 to {dimension}");
            return Err(Invalid::new(format!("{field}.feature"), found, accepted));
        }
        if !(self.most > 0.0 && self.most <= limit) {
            let accepted = format!("a positive number up to {limit}");
            return Err(Invalid::new(
                format!("{field}.most"),
                shown(self.most),
                accepted,
            ));
        }
        Ok(())
    }

    /// Checks that the number of a customer is whole, from 1 to the most.
    pub(super) fn check_whole(&self, features: &[f64]) -> Result<(), Invalid> {
        let x = self.of(features);
        if (x - x.round()).abs() <= SLACK && (1.0..=self.most).contains(&x.round()) {
            return Ok(());
        }
        let accepted = format!("a whole number from 1 to {}", self.most);
        Err(Invalid::new("quantity", shown(x), accepted))
    }

    /// Checks that the number of a customer is positive, up to the most.
    pub(super) fn check_positive(&self, features: &[f64]) -> Result<(), Invalid> {
        let x = self.of(features);
        if x > 0.0 && x <= self.most * (1.0 + SLACK) {
            return Ok(());
        }
        let accepted = format!("a positive number up to {}", self.most);
        Err(Invalid::new("rate", shown(x), accepted))
    }
}
