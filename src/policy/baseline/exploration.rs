//! Two textbook ways to explore, around a plan that trusts the estimates (Slivkins, *Introduction to multi-armed bandits*, 2019):
//!
//! ```text
//! explore-then-commit  (Algorithm 1.1)  random offers in the first n episodes, then one plan for good
//! epsilon-greedy       (Algorithm 1.2)  at step number s of all, a random offer with probability epsilon_s, else the plan's
//! n          ceil(T^(2/3))                           (Theorem 1.5: T^(2/3) rounds up to constants and logarithms)
//! epsilon_s  min(1, s^(-1/3) (K ln s)^(1/3))         (Theorem 1.6)
//! ```
//!
//! Adapted: a round of exploration is an episode, or a step; a random offer is uniform over the feasible non-null actions. What
//! is exploited is not an arm but a plan: Optimistic-DP with ucb = lcb = the oracle's estimate, over the contexts of all
//! episodes so far, made anew after every episode (`epsilon-greedy`) or once (`explore-then-commit`). Both defaults can be
//! replaced: `episodes`, `epsilon` (then constant).

use std::sync::Arc;

use rand::RngExt;
use rand::rngs::ChaCha8Rng;

use crate::dp::{PlanRequest, ValueTable};
use crate::error::Invalid;
use crate::oracle::Oracle;
use crate::policy::saved::position;
use crate::policy::{MimicOptDp, Plan, Policy, SavedPolicy};
use crate::task::{Context, EpisodeContexts, Task};

/// When offers are random.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Exploration {
    /// In the first episodes, after which the policy stays as it is.
    First {
        /// Number of episodes.
        episodes: usize,
    },
    /// At any step, with the probability of the theory or a constant one.
    Always {
        /// The constant.
        epsilon: Option<f64>,
    },
}

/// A plug-in plan with random offers.
#[derive(Debug)]
pub struct Exploring {
    task: Arc<Task>,
    learner: MimicOptDp,
    exploration: Exploration,
    rng: ChaCha8Rng,
    episode: usize,
    feasible: Vec<usize>,
}

impl Exploring {
    /// `learner` plans with point estimates.
    pub(super) fn new(
        task: Arc<Task>,
        learner: MimicOptDp,
        exploration: Exploration,
        rng: ChaCha8Rng,
    ) -> Self {
        Self {
            task,
            learner,
            exploration,
            rng,
            episode: 1,
            feasible: Vec::new(),
        }
    }

    /// Whether the policy has stopped learning.
    fn has_committed(&self) -> bool {
        matches!(self.exploration, Exploration::First { episodes } if self.episode > episodes)
    }

    /// Whether the offer at a step (0-based) is random; consumes a random number only if chance decides.
    fn explores(&mut self, step: usize) -> bool {
        let epsilon = match self.exploration {
            Exploration::First { episodes } => return self.episode <= episodes,
            Exploration::Always { epsilon: Some(own) } => own,
            Exploration::Always { epsilon: None } => {
                let s = ((self.episode - 1) * self.task.horizon() + step + 1) as f64;
                (self.task.actions() as f64 * s.ln() / s).cbrt().min(1.0)
            }
        };
        self.rng.random::<f64>() < epsilon
    }
}

impl Policy for Exploring {
    fn start_episode(&mut self, episode: usize, b_t: u32) {
        self.episode = episode;
        self.learner.start_episode(episode, b_t);
    }

    fn choose(&mut self, context: &Context, budget: u32) -> usize {
        if !self.explores(context.step) {
            return self.learner.choose(context, budget);
        }
        let task = &self.task;
        let actions = 1..=task.actions();
        self.feasible.clear();
        self.feasible
            .extend(actions.filter(|&a| task.feasible(context, a, budget)));
        match self.feasible.len() {
            0 => 0,
            n => self.feasible[self.rng.random_range(0..n)],
        }
    }

    fn observe(&mut self, context: &Context, action: usize, converted: bool) {
        if !self.has_committed() {
            self.learner.observe(context, action, converted);
        }
    }

    fn learn(&mut self, contexts: &EpisodeContexts) -> bool {
        if self.has_committed() {
            return false;
        }
        let due = self.learner.learn(contexts);
        match self.exploration {
            Exploration::First { episodes } => self.episode == episodes,
            Exploration::Always { .. } => due,
        }
    }

    fn fit(&mut self, t: usize) {
        self.learner.fit(t);
    }

    fn plan_request(&self) -> Option<PlanRequest<'_>> {
        self.learner.plan_request()
    }

    fn install(&mut self, u_hat: ValueTable) {
        self.learner.install(u_hat);
    }

    fn oracle(&self) -> Option<&dyn Oracle> {
        Some(self.learner.beliefs())
    }

    fn save(&self) -> Option<SavedPolicy> {
        let stream = position(&self.rng);
        Some(SavedPolicy::Exploring(stream, self.learner.save()))
    }

    fn restore(&mut self, saved: SavedPolicy) -> Result<(), Invalid> {
        let SavedPolicy::Exploring(stream, learner) = saved else {
            return Err(SavedPolicy::mismatch());
        };
        self.rng.set_word_pos(stream.into());
        self.learner.restore(learner, true)?;
        Ok(())
    }

    /// The plan after the commitment; random offers are not part of a plan.
    fn plan(&self) -> Option<Plan<'_>> {
        match self.exploration {
            Exploration::First { episodes } if self.episode >= episodes => self.learner.plan(),
            _ => None,
        }
    }
}
