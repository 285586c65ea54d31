//! What policies know at the end of a study. Warns about bounds that learnt nothing or guarantee nothing.

use serde::{Deserialize, Serialize};

use crate::dp::ContextSample;
use crate::oracle::{Bounds, Oracle};

/// An interval at least this wide is vacuous.
const VACUOUS: f64 = 0.99;

/// What a policy's oracle knows at the end of a replication, over the pairs (context, action) of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Knowledge {
    /// Number of observations.
    pub observations: f64,
    /// Mean width of the confidence intervals.
    pub width: f64,
    /// Share of pairs with a vacuous interval.
    pub vacuous: f64,
    /// Share of fits with a parameter on the boundary of the norm bound that the intervals assume.
    pub at_norm_bound: f64,
}

impl Knowledge {
    /// The knowledge of one oracle.
    pub fn of(oracle: &dyn Oracle, sample: &ContextSample) -> Self {
        let mut intervals = vec![Bounds::UNKNOWN; sample.actions()];
        let (mut width, mut vacuous) = (0.0, 0.0);
        for entry in 0..sample.len() {
            oracle.interval(&sample.context(entry), &mut intervals);
            for interval in &intervals {
                let size = interval.ucb - interval.lcb;
                width += size;
                vacuous += f64::from(u8::from(size >= VACUOUS));
            }
        }
        let pairs = (sample.len() * sample.actions()).max(1) as f64;
        let diagnosis = oracle.diagnosis();
        let at_bound = diagnosis.norm.is_some_and(|norm| norm.at_bound);
        Self {
            observations: diagnosis.observations as f64,
            width: width / pairs,
            vacuous: vacuous / pairs,
            at_norm_bound: f64::from(u8::from(at_bound)),
        }
    }

    /// Warnings, one line each; `by_hand` names the radius parameters that were set by hand.
    pub fn warnings(&self, by_hand: &[&str]) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.vacuous > 0.5 && self.width > 0.9 {
            warnings.push(format!(
                "the oracle has learnt nothing: mean width {:.2} after {:.0} observations; see calibrate, and tight-opt-dp if these are the paper's bounds",
                self.width, self.observations
            ));
        }
        if self.at_norm_bound > 0.5 {
            warnings.push(
                "the fitted parameter lies on the boundary of the norm bound: the truth may lie outside, and then the error stops falling; raise norm_bound (bounds = \"mixture\")".into(),
            );
        }
        if !by_hand.is_empty() {
            warnings.push(format!(
                "the radius is set by hand ({}): not a confidence bound",
                by_hand.join(", ")
            ));
        }
        warnings
    }
}

/// The mean over replications, added in their order.
#[derive(Debug, Clone, Copy, Default)]
pub struct KnowledgeTally {
    sum: Knowledge,
    replications: usize,
}

impl KnowledgeTally {
    /// Adds the next replication, if its policy has an oracle.
    pub fn add(&mut self, knowledge: Option<Knowledge>) {
        let Some(one) = knowledge else { return };
        self.replications += 1;
        self.sum.observations += one.observations;
        self.sum.width += one.width;
        self.sum.vacuous += one.vacuous;
        self.sum.at_norm_bound += one.at_norm_bound;
    }

    /// The mean; `None` if no policy had an oracle.
    pub fn mean(&self) -> Option<Knowledge> {
        let n = self.replications as f64;
        (self.replications > 0).then(|| Knowledge {
            observations: self.sum.observations / n,
            width: self.sum.width / n,
            vacuous: self.sum.vacuous / n,
            at_norm_bound: self.sum.at_norm_bound / n,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_name_only_actual_problems() {
        let fine = Knowledge {
            observations: 2400.0,
            width: 0.2,
            vacuous: 0.0,
            at_norm_bound: 0.0,
        };
        assert!(fine.warnings(&[]).is_empty());
        let nothing = Knowledge {
            width: 1.0,
            vacuous: 0.9,
            ..fine
        };
        let said = nothing.warnings(&[]);
        let start =
            "the oracle has learnt nothing: mean width 1.00 after 2400 observations; see calibrate";
        assert!(said.len() == 1 && said[0].starts_with(start), "{said:?}");
        let outside = Knowledge {
            at_norm_bound: 1.0,
            ..fine
        };
        assert!(outside.warnings(&[])[0].contains("boundary of the norm bound"));
        let said = fine.warnings(&["gamma", "kappa"]);
        let hand = "the radius is set by hand (gamma, kappa): not a confidence bound";
        assert_eq!(said, [hand]);
    }
}
