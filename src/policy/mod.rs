//! Algorithm 1 and the policies it is compared with. A policy sees the contexts and outcomes of one replication. Only the
//! clairvoyant and the fluid policy see the truth.

mod advance;
mod baseline;
mod decision;
mod fluid;
mod learner_spec;
mod make;
mod mimic_opt_dp;
mod reserved;
mod saved;
mod simple;
mod spec;
mod warm_start;

use std::fmt::Debug;

use crate::dp::{PlanRequest, ValueTable};
use crate::error::Invalid;
use crate::fluid::FluidPlan;
use crate::oracle::{Belief, Oracle};
use crate::task::{Context, EpisodeContexts};

pub use advance::{AdvanceTimes, advance, plan};
pub use baseline::{
    Baseline, BaselineSpec, DualSettings, Exploring, LinearProgram, PidSettings, Priced,
    PrimalDual, SquareCbwk, SquareSettings, inverse_gap_weighting,
};
pub use decision::{Candidate, Decider, Greedy, Rule, TIE_SHARE, Terms};
pub use fluid::Fluid;
pub use learner_spec::{DataUse, LearnerConfig, LearnerSpec, Optimism};
pub use make::{MakePolicy, PolicySetting, Start, WholeWave};
pub use mimic_opt_dp::MimicOptDp;
pub use reserved::ReservedEpisodes;
pub use saved::{LastFit, SavedLearner, SavedOracle, SavedPolicy};
pub use simple::{Clairvoyant, Fixed, Myopic, Random};
pub use spec::{InitialRows, PolicyConfig, PolicySpec};
pub use warm_start::{InitialArrival, InitialLog, WarmStart};

#[doc = include_str!("measured.md")]
pub mod measured {}

/// A policy of one replication, or of one real decision maker.
///
/// An episode calls `start_episode`, then `choose` and `observe` for each arrival, then `learn`. If `learn` returns true,
/// [`advance`] calls `fit`, solves `plan_request` on the backend and passes the table to `install`. All replications of a
/// wave do this together, so their plans form one batch.
pub trait Policy: Debug + Send + Sync {
    /// Called before the study; returns whether a fit is due before the first episode.
    fn prepare(&mut self) -> bool {
        false
    }

    /// Starts episode `episode` (1-based) with budget `b_t`.
    fn start_episode(&mut self, _episode: usize, _b_t: u32) {}

    /// Tells policies that know the truth the type of the day that begins; learners do not see it.
    fn start_day(&mut self, _day: usize) {}

    /// The action for an arriving context with `budget` units left; 0 is the null action.
    fn choose(&mut self, context: &Context, budget: u32) -> usize;

    /// Observes the outcome of the action.
    fn observe(&mut self, _context: &Context, _action: usize, _converted: bool) {}

    /// Called after the episode; returns whether a fit is due.
    fn learn(&mut self, _contexts: &EpisodeContexts) -> bool {
        false
    }

    /// Fits to all data, for episode `t` (1-based).
    fn fit(&mut self, _t: usize) {}

    /// The input of Optimistic-DP after a fit; `None` if the policy does not plan or has no contexts yet.
    fn plan_request(&self) -> Option<PlanRequest<'_>> {
        None
    }

    /// Installs the table of the requested plan.
    fn install(&mut self, _u_hat: ValueTable) {}

    /// What regret consists of, in the episode that is played or was played last; `None` for policies without bounds.
    fn played(&self) -> Option<Played> {
        None
    }

    /// The state between two episodes, for a restart. `None` if the policy cannot be saved; its unfinished replications then
    /// start again.
    fn save(&self) -> Option<SavedPolicy> {
        None
    }

    /// Restores a saved state; the policy must come from [`MakePolicy::make_bare`], unused.
    fn restore(&mut self, _saved: SavedPolicy) -> Result<(), Invalid> {
        Err(SavedPolicy::mismatch())
    }

    /// The oracle it decides with, if any.
    fn oracle(&self) -> Option<&dyn Oracle> {
        match self.plan()? {
            Plan::Greedy { oracle, .. } => Some(oracle),
            _ => None,
        }
    }

    /// The policy's rule for the whole episode; `None` if it changes within an episode.
    fn plan(&self) -> Option<Plan<'_>> {
        None
    }

    /// The rule on days of one type, if the policy knows the type.
    fn plan_of(&self, _day: usize) -> Option<Plan<'_>> {
        self.plan()
    }
}

/// The terms of the regret bound, summed over the pairs (context, action) that were offered in an episode.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Played {
    /// Sum of ucb - lcb, of the confidence intervals.
    pub widths: f64,
    /// Sum of tau, the tolerance of [`crate::oracle::Tolerant`].
    pub tolerance: f64,
}

impl Played {
    /// Adds an offer.
    fn add(&mut self, belief: &Belief) {
        self.widths += belief.interval.ucb - belief.interval.lcb;
        self.tolerance += belief.tolerance;
    }
}

/// A policy frozen at the start of an episode.
#[derive(Debug, Clone, Copy)]
pub enum Plan<'a> {
    /// Maximises with these bounds and this table.
    Greedy {
        /// Bounds on rho.
        oracle: &'a dyn Oracle,
        /// Value to go.
        u_hat: &'a ValueTable,
    },
    /// Plays one action if it is feasible.
    Fixed(usize),
    /// Uniform over the feasible actions, including the null action.
    Uniform,
    /// Follows the fluid relaxation, solved again at every step.
    Fluid(&'a FluidPlan),
}

impl Plan<'_> {
    /// Whether the plan's bounds depend on the step as well as the context.
    pub fn depends_on_step(&self) -> bool {
        matches!(self, Self::Greedy { oracle, .. } if oracle.facts().by_step)
    }
}
