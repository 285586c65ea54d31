//! The settings of Algorithm 1: the paper's, and settings that learn faster.

use std::sync::Arc;

use rand::rngs::ChaCha8Rng;

use super::{MimicOptDp, ReservedEpisodes};
use crate::error::{Invalid, shown};
use crate::oracle::{BoundFacts, Coupled, Oracle, Sampled, Sides};
use crate::task::Task;

/// Which conversion probability an optimistic plan uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Optimism {
    /// The paper's: the upper bound for the reward, the lower bound for the consumption.
    Separate,
    /// One probability for both, the upper bound ([`Coupled`]).
    Coupled,
    /// Coupled, with two exceptions where separate optimism earned more in every measurement
    /// ([`measured`](super::measured)). First: bounds that are [wide at first](BoundFacts::wide_at_first), if every action
    /// costs one unit; a coupled plan then waits for the highest price, about which little is known. Second: bounds that
    /// depend on the step, if the budget lasts for at least half of the steps; such bounds stay wide H times as long, and
    /// costs matter little.
    Auto,
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
        sampling: false,
    };

    /// The settings for tight bounds: fewer reserved episodes and automatic optimism.
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

    /// Checks the settings for a task, an oracle's `bounds` and a number of unlabeled initial rows. Errors name `field`.
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
                // A posterior draw is already one probability for both.
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

    /// Whether a new fit is due with `observations` labeled data, if the last fit used `fitted` of them.
    pub fn is_replan_due(&self, observations: usize, fitted: usize) -> bool {
        let grown = (1.0 + self.replan_growth) * fitted as f64;
        self.replan_growth == 0.0 || (observations > fitted && observations as f64 >= grown)
    }

    /// A learner without data. Wraps `oracle` for coupled optimism or posterior sampling, if set; `rng` is for the draws.
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
    fn auto_couples_with_two_exceptions() {
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
        // Three units last for half of four steps, but not for half of seven.
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
        assert!(growth(0.0).is_replan_due(7, 7));
        let half = growth(0.5);
        assert!(half.is_replan_due(1, 0) && half.is_replan_due(15, 10));
        assert!(!half.is_replan_due(0, 0) && !half.is_replan_due(14, 10));
    }
}
