//! The settings of Algorithm 1: the paper's, and those that learn faster.

use std::sync::Arc;

use rand::rngs::ChaCha8Rng;

use super::{MimicOptDp, ReservedEpisodes};
use crate::error::{Invalid, shown};
use crate::oracle::{BoundFacts, Coupled, Oracle, Sampled, Sides};
use crate::task::Task;

/// Which probability of a conversion an optimist plans with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Optimism {
    /// The paper's: the upper bound for the reward, the lower one for the consumption.
    Separate,
    /// One probability for both, the upper bound ([`Coupled`]).
    Coupled,
    /// Coupled, with two exceptions, for which the other earned more in all that was measured. Bounds that are
    /// [wide at first](BoundFacts::wide_at_first), where every action costs one unit: a coupled optimist waits for the
    /// highest price, of which it knows too little. And bounds that depend on the step, where the budget lasts for half
    /// of the steps or more: they stay wide for H times as long, while costs matter little. Figures are in
    /// [`measured`](super::measured).
    Auto,
}

/// Which episodes teach what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataUse {
    /// The paper's: an episode teaches the context laws or conversion, never both, so that the two are independent.
    Split,
    /// Every episode teaches both. Optimism needs no independence; the rest of the proof does: a practical variant.
    Shared,
}

/// The settings of the learner, not yet checked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LearnerSpec {
    /// What optimism means.
    pub optimism: Optimism,
    /// Which episodes teach what.
    pub data: DataUse,
    /// Share of episodes reserved for the context laws, where data are split.
    pub alpha: f64,
    /// The oracle is fitted and the plan made anew once the labeled data have grown by this share; 0 is after every
    /// episode that teaches conversion.
    pub replan_growth: f64,
    /// Whether plans are made with a draw from the oracle's posterior in place of its bounds.
    pub sampling: bool,
}

impl LearnerSpec {
    /// The settings of the paper.
    pub const PAPER: Self = Self {
        optimism: Optimism::Separate,
        data: DataUse::Split,
        alpha: 0.5,
        replan_growth: 0.0,
        sampling: false,
    };

    /// The settings for tight bounds: fewer reserved episodes, and the optimism that suits the costs.
    pub const TIGHT: Self = Self {
        optimism: Optimism::Auto,
        alpha: 0.1,
        ..Self::PAPER
    };

    /// Posterior sampling, a heuristic.
    pub const THOMPSON: Self = Self {
        sampling: true,
        ..Self::TIGHT
    };

    /// Checks the settings for a task, an oracle with such bounds, and a learner with `initial_rows` unlabeled rows; `field`
    /// is their place in the study.
    pub fn check(
        &self,
        field: &str,
        task: &Task,
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
        Ok(LearnerConfig {
            sampling: self.sampling,
            coupled: match self.optimism {
                // A draw is one probability for both as it is.
                _ if self.sampling => false,
                Optimism::Separate => false,
                Optimism::Coupled => true,
                Optimism::Auto => {
                    let unit_cost = task.cost_max() <= 1;
                    let ample = 2 * task.budget_max() as usize >= task.horizon();
                    !(unit_cost && bounds.wide_at_first || ample && bounds.by_step)
                }
            },
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
    reserved: Option<ReservedEpisodes>,
    replan_growth: f64,
}

impl LearnerConfig {
    /// Which bounds the learner needs of its oracle.
    pub fn sides(&self) -> Sides {
        match self.coupled {
            true => Sides::Upper,
            false => Sides::Both,
        }
    }

    /// Whether episode `t` (1-based) teaches nothing but the context laws.
    pub fn is_reserved(&self, t: usize) -> bool {
        self.reserved.is_some_and(|reserved| reserved.contains(t))
    }

    /// Whether episode `t` (1-based) teaches the context laws.
    pub fn teaches_contexts(&self, t: usize) -> bool {
        self.reserved.is_none_or(|reserved| reserved.contains(t))
    }

    /// How many rows of contexts are in hand after `episodes` episodes.
    pub fn rows_after(&self, episodes: usize) -> usize {
        self.reserved
            .map_or(episodes, |reserved| reserved.rows_after(episodes))
    }

    /// Whether `observations` labeled data are enough to learn again after a fit on `fitted` of them.
    pub fn is_worth_a_plan(&self, observations: usize, fitted: usize) -> bool {
        let grown = (1.0 + self.replan_growth) * fitted as f64;
        self.replan_growth == 0.0 || (observations > fitted && observations as f64 >= grown)
    }

    /// The learner without data; `oracle` says what it knows, and is coupled or sampled from here where that was asked
    /// for. `rng` is for the draws.
    pub fn learner(
        &self,
        task: Arc<Task>,
        oracle: Box<dyn Oracle>,
        delta: f64,
        rng: ChaCha8Rng,
    ) -> MimicOptDp {
        let oracle: Box<dyn Oracle> = match (self.sampling, self.coupled) {
            (true, _) => Box::new(Sampled::new(oracle, rng)),
            (false, true) => Box::new(Coupled::new(oracle)),
            (false, false) => oracle,
        };
        MimicOptDp::new(task, oracle, delta, *self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::{ApplicationSpec, TaskSpec};

    fn task(application: ApplicationSpec) -> Task {
        TaskSpec::new(4, 3, application, 1).check().unwrap()
    }

    #[test]
    fn auto_couples_but_for_two_exceptions() {
        let coupled = |task: &Task, wide_at_first: bool, by_step: bool| {
            let bounds = BoundFacts {
                by_step,
                wide_at_first,
                ..BoundFacts::NONE
            };
            let config = LearnerSpec::TIGHT.check("p", task, bounds, 0).unwrap();
            config.sides() == Sides::Upper
        };
        let prices = vec![1.0, 2.0];
        let pricing = task(ApplicationSpec::Pricing { prices });
        assert!(coupled(&pricing, false, false) && !coupled(&pricing, true, false));
        let wages = || ApplicationSpec::Procurement { wages: vec![1, 2] };
        let hiring = task(wages());
        assert!(coupled(&hiring, false, false) && coupled(&hiring, true, false));
        // Three units last for half of four steps, and not of seven.
        assert!(!coupled(&hiring, false, true));
        let scarce = TaskSpec::new(7, 3, wages(), 1).check().unwrap();
        assert!(coupled(&scarce, false, true));
    }

    #[test]
    fn plans_wait_for_growth() {
        let prices = vec![1.0];
        let pricing = task(ApplicationSpec::Pricing { prices });
        let growth = |replan_growth| {
            let spec = LearnerSpec {
                replan_growth,
                ..LearnerSpec::PAPER
            };
            spec.check("p", &pricing, BoundFacts::default(), 0).unwrap()
        };
        assert!(growth(0.0).is_worth_a_plan(7, 7));
        let half = growth(0.5);
        assert!(half.is_worth_a_plan(1, 0) && half.is_worth_a_plan(15, 10));
        assert!(!half.is_worth_a_plan(0, 0) && !half.is_worth_a_plan(14, 10));
    }
}
