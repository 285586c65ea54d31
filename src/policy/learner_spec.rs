//! The settings of Algorithm 1: the paper's, and settings that learn faster.

use std::sync::Arc;

use rand::rngs::ChaCha8Rng;

use super::{MimicOptDp, ReservedEpisodes};
use crate::error::{Invalid, shown};
use crate::oracle::{BoundFacts, Coupled, Oracle, Sampled, Sides, Tolerant};
use crate::task::Task;

/// Which conversion probability an optimistic plan uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Optimism {
    /// The paper's: the upper bound for the reward, the lower bound for the consumption.
    Separate,
    /// One probability for both, the upper bound ([`Coupled`]).
    Coupled,
}

/// Which episodes supply which data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataUse {
    /// The paper's: an episode supplies contexts or conversion data, never both, so the two are independent.
    Split,
    /// Every episode supplies both. A practical variant: optimism needs no independence, but the rest of the proof does.
    Shared,
}

/// Unchecked settings of the learner.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LearnerSpec {
    /// Kind of optimism.
    pub optimism: Optimism,
    /// Which episodes supply which data.
    pub data: DataUse,
    /// Share of episodes reserved for contexts; used if data are split.
    pub alpha: f64,
    /// The learner refits and replans once its labeled data have grown by this share; 0 means after every episode that
    /// supplies conversion data.
    pub replan_growth: f64,
    /// kappa of [`Tolerant`]: how much better than the played pairs a pair must be known to lose its bonus. 0 means no
    /// tolerance, infinity a plan with plain estimates; `None` stands for 2, or 1 if bounds depend on the step.
    pub tolerance: Option<f64>,
    /// Whether plans use a draw from the oracle's posterior instead of its bounds.
    pub sampling: bool,
}

impl LearnerSpec {
    /// The settings of the paper.
    pub const PAPER: Self = Self {
        optimism: Optimism::Separate,
        data: DataUse::Split,
        alpha: 0.5,
        replan_growth: 0.0,
        tolerance: Some(0.0),
        sampling: false,
    };

    /// The settings for tight bounds: fewer reserved episodes, and coupled optimism with a tolerance.
    pub const TIGHT: Self = Self {
        optimism: Optimism::Coupled,
        alpha: 0.1,
        tolerance: None,
        ..Self::PAPER
    };

    /// Posterior sampling, a heuristic.
    pub const THOMPSON: Self = Self {
        sampling: true,
        tolerance: Some(0.0),
        ..Self::TIGHT
    };

    /// The plan with plain estimates, without any bonus: what optimism is worth is the difference from it.
    pub const PLUG_IN: Self = Self {
        tolerance: Some(f64::INFINITY),
        ..Self::TIGHT
    };

    /// The default of `tolerance` for an oracle's `bounds`: those that differ by step stay wide H times as long.
    pub fn default_tolerance(bounds: BoundFacts) -> f64 {
        if bounds.by_step { 1.0 } else { 2.0 }
    }

    /// Checks the settings for an oracle's `bounds` and a number of unlabeled initial rows. Errors name `field`.
    pub fn check(
        &self,
        field: &str,
        bounds: BoundFacts,
        initial_rows: usize,
    ) -> Result<LearnerConfig, Invalid> {
        let alpha = format!("{field}.alpha");
        let reserved = ReservedEpisodes::new(self.alpha, initial_rows, &alpha)?;
        if !(0.0..=1e6).contains(&self.replan_growth) {
            return Err(Invalid::new(
                format!("{field}.replan_growth"),
                shown(self.replan_growth),
                "a number from 0 to 1e6",
            ));
        }
        let tolerance = self.tolerance;
        let tolerance = tolerance.unwrap_or_else(|| Self::default_tolerance(bounds));
        if !(tolerance == f64::INFINITY || (0.0..=1e6).contains(&tolerance)) {
            return Err(Invalid::new(
                format!("{field}.tolerance"),
                shown(tolerance),
                "a number from 0 to 1e6",
            ));
        }
        Ok(LearnerConfig {
            sampling: self.sampling,
            // A posterior draw is already one probability for both.
            coupled: self.optimism == Optimism::Coupled && !self.sampling,
            tolerance,
            reserved: match self.data {
                DataUse::Split => Some(reserved),
                DataUse::Shared => None,
            },
            replan_growth: self.replan_growth,
        })
    }
}

/// Checked settings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LearnerConfig {
    sampling: bool,
    coupled: bool,
    tolerance: f64,
    reserved: Option<ReservedEpisodes>,
    replan_growth: f64,
}

impl LearnerConfig {
    /// Which bounds the learner needs from its oracle.
    pub fn sides(&self) -> Sides {
        match self.coupled {
            true => Sides::Upper,
            false => Sides::Both,
        }
    }

    /// Whether episode `t` (1-based) is reserved for contexts.
    pub fn is_reserved(&self, t: usize) -> bool {
        self.reserved.is_some_and(|reserved| reserved.contains(t))
    }

    /// Whether the contexts of episode `t` (1-based) are added to s_t.
    pub fn teaches_contexts(&self, t: usize) -> bool {
        self.reserved.is_none_or(|reserved| reserved.contains(t))
    }

    /// Number of context rows after `episodes` episodes.
    pub fn rows_after(&self, episodes: usize) -> usize {
        self.reserved
            .map_or(episodes, |reserved| reserved.rows_after(episodes))
    }

    /// Whether a new fit is due after so many decisions, if the last fit was made after `fitted` of them.
    pub fn is_replan_due(&self, decisions: usize, fitted: usize) -> bool {
        let grown = (1.0 + self.replan_growth) * fitted as f64;
        self.replan_growth == 0.0 || (decisions > fitted && decisions as f64 >= grown)
    }

    /// A learner without data. Wraps `oracle` for tolerance, coupled optimism or posterior sampling, if set; `rng` is for
    /// the draws.
    pub fn learner(
        &self,
        task: Arc<Task>,
        mut oracle: Box<dyn Oracle>,
        delta: f64,
        rng: ChaCha8Rng,
    ) -> MimicOptDp {
        if self.sampling {
            oracle = Box::new(Sampled::new(oracle, rng));
        } else if self.tolerance > 0.0 {
            let task = Arc::clone(&task);
            oracle = Box::new(Tolerant::new(oracle, task, self.tolerance, self.sides()));
        }
        if self.coupled {
            oracle = Box::new(Coupled::new(oracle));
        }
        MimicOptDp::new(task, oracle, delta, *self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_by_step_have_half_the_tolerance() {
        let tolerance = |spec: LearnerSpec, by_step| {
            let facts = BoundFacts {
                by_step,
                ..BoundFacts::NONE
            };
            spec.check("p", facts, 0).map(|config| config.tolerance)
        };
        assert_eq!(tolerance(LearnerSpec::TIGHT, false), Ok(2.0));
        assert_eq!(tolerance(LearnerSpec::TIGHT, true), Ok(1.0));
        assert_eq!(tolerance(LearnerSpec::PAPER, false), Ok(0.0));
        for wrong in [-1.0, 1e7, f64::NAN] {
            let spec = LearnerSpec {
                tolerance: Some(wrong),
                ..LearnerSpec::TIGHT
            };
            assert!(tolerance(spec, false).is_err(), "{wrong}");
        }
    }

    #[test]
    fn plans_wait_for_growth() {
        let growth = |replan_growth| {
            let spec = LearnerSpec {
                replan_growth,
                ..LearnerSpec::PAPER
            };
            spec.check("p", BoundFacts::default(), 0).unwrap()
        };
        assert!(growth(0.0).is_replan_due(7, 7));
        let half = growth(0.5);
        assert!(half.is_replan_due(1, 0) && half.is_replan_due(15, 10));
        assert!(!half.is_replan_due(0, 0) && !half.is_replan_due(14, 10));
    }
}
