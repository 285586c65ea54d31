//! Algorithm 1 and what it is compared with. A policy sees contexts and outcomes of one replication, never the truth
//! (but for the clairvoyant and the fluid policy).

mod advance;
mod decision;
mod fluid;
mod learner_spec;
mod logistic_ucb1;
mod make;
mod mimic_opt_dp;
mod reserved;
mod saved;
mod simple;
mod spec;
mod square_cbwk;
mod warm_start;

use std::fmt::Debug;

use crate::dp::{PlanRequest, ValueTable};
use crate::error::Invalid;
use crate::fluid::FluidPlan;
use crate::oracle::Oracle;
use crate::task::{Context, EpisodeContexts};

pub use advance::{AdvanceTimes, advance, plan};
pub use decision::{Candidate, Decider, Greedy, Rule, TIE_SHARE};
pub use fluid::Fluid;
pub use learner_spec::{DataUse, LearnerConfig, LearnerSpec, Optimism};
pub use logistic_ucb1::LogisticUcb1;
pub use make::{MakePolicy, Setting, Start, WholeWave};
pub use mimic_opt_dp::MimicOptDp;
pub use reserved::ReservedEpisodes;
pub use saved::{LastFit, SavedLearner, SavedOracle, SavedPolicy};
pub use simple::{Clairvoyant, Fixed, Myopic, Random};
pub use spec::{InitialRows, PolicyConfig, PolicySpec};
pub use square_cbwk::{SquareCbwk, SquareSettings, inverse_gap_weighting};
pub use warm_start::{InitialArrival, InitialLog, WarmStart};

#[doc = include_str!("measured.md")]
pub mod measured {}

/// A policy of one replication, or of one real decision maker.
///
/// An episode runs `start_episode`, then `choose` and `observe` for each arrival, then `learn`. Where `learn` says that a
/// new fit is due, [`advance`] calls `fit`, has the backend make the plan of `plan_request`, and hands its table to
/// `install`; all replications of a study do this together, so that their plans form one batch.
pub trait Policy: Debug + Send + Sync {
    /// The study begins; returns whether a fit is due before the first episode.
    fn prepare(&mut self) -> bool {
        false
    }

    /// Episode `episode` (1-based) starts with budget `b_t`.
    fn start_episode(&mut self, _episode: usize, _b_t: u32) {}

    /// The action for a context that has arrived with `budget` units left; 0 is the null action.
    fn choose(&mut self, context: &Context, budget: u32) -> usize;

    /// The outcome of the action.
    fn observe(&mut self, _context: &Context, _action: usize, _converted: bool) {}

    /// The episode is over; returns whether a fit is due.
    fn learn(&mut self, _contexts: &EpisodeContexts) -> bool {
        false
    }

    /// Fits to all data, for use in episode `t` (1-based).
    fn fit(&mut self, _t: usize) {}

    /// The plan that Optimistic-DP is to make after a fit; `None` where the policy does not plan, or has no contexts yet.
    fn plan_request(&self) -> Option<PlanRequest<'_>> {
        None
    }

    /// The plan that was asked for.
    fn install(&mut self, _u_hat: ValueTable) {}

    /// All that a restart between two episodes needs; `None` for policies that cannot be saved, whose replications then
    /// start anew.
    fn save(&self) -> Option<SavedPolicy> {
        None
    }

    /// Takes up what was saved; the policy must be one that [`MakePolicy::make_bare`] has just made.
    fn restore(&mut self, _saved: SavedPolicy) -> Result<(), Invalid> {
        Err(SavedPolicy::refused())
    }

    /// The oracle it decides with, where it has one.
    fn oracle(&self) -> Option<&dyn Oracle> {
        match self.plan()? {
            Plan::Greedy { oracle, .. } => Some(oracle),
            _ => None,
        }
    }

    /// What the policy does throughout an episode, seen from its start; `None` for policies that change on the way.
    fn plan(&self) -> Option<Plan<'_>> {
        None
    }
}

/// A policy frozen at the start of an episode.
#[derive(Debug, Clone, Copy)]
pub enum Plan<'a> {
    /// Maximises with these bounds and this table.
    Greedy {
        /// Bounds of rho.
        oracle: &'a dyn Oracle,
        /// Value to go.
        u_hat: &'a ValueTable,
    },
    /// Plays one action where it is feasible.
    Fixed(usize),
    /// Uniform over the feasible actions, the null action included.
    Uniform,
    /// Follows the fluid relaxation, solved anew at every step.
    Fluid(&'a FluidPlan),
}

impl Plan<'_> {
    /// Whether the plan's bounds depend on the step beyond the context.
    pub fn depends_on_step(&self) -> bool {
        matches!(self, Self::Greedy { oracle, .. } if oracle.facts().by_step)
    }
}
