//! Guard rails: limits on offers that a manager sets, whatever the plan says.

use serde::{Deserialize, Serialize};

use crate::error::{Invalid, shown};

/// Limits on offers. `None` means no limit.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rails {
    /// The lowest offer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub floor: Option<f64>,
    /// The highest offer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceiling: Option<f64>,
    /// The largest change from one offer of an episode to the next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<f64>,
    /// The offer that is made as long as there is no plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback: Option<f64>,
}

impl Rails {
    /// Whether an offer is within the limits, after `last` in the same episode.
    pub fn allow(&self, offer: f64, last: Option<f64>) -> bool {
        // Differences of decimal prices are rounded.
        let near = |last: f64, most: f64| (offer - last).abs() <= most * (1.0 + 1e-9);
        self.floor.is_none_or(|floor| offer >= floor)
            && self.ceiling.is_none_or(|ceiling| offer <= ceiling)
            && last.zip(self.change).is_none_or(|(l, c)| near(l, c))
    }

    /// Checks the limits for a list of offers.
    pub fn check(&self, offers: &[f64]) -> Result<(), Invalid> {
        let members = [
            ("rails.floor", self.floor),
            ("rails.ceiling", self.ceiling),
            ("rails.change", self.change),
            ("rails.fallback", self.fallback),
        ];
        for (field, value) in members {
            if let Some(x) = value.filter(|x| !(*x > 0.0 && x.is_finite())) {
                return Err(Invalid::new(field, shown(x), "a number above 0"));
            }
        }
        let list = || format!("{offers:?}");
        if !offers.iter().any(|offer| self.allow(*offer, None)) {
            let found = "limits that no offer meets";
            let accepted = format!("a floor and a ceiling with one of {} between", list());
            return Err(Invalid::new("rails", found, accepted));
        }
        match self.fallback {
            Some(x) if !offers.contains(&x) || !self.allow(x, None) => {
                let accepted = format!("one of {} between floor and ceiling", list());
                Err(Invalid::new("rails.fallback", shown(x), accepted))
            }
            _ => Ok(()),
        }
    }
}
