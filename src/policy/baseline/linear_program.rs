//! Policies that solve a linear program at every step over all contexts so far, the current one included:
//!
//! ```text
//! max  mean over contexts of  sum_a p r pi(a)   subject to   mean over contexts of  sum_a p cost pi(a) <= budget per step
//! ```
//!
//! and draw an action from the current context's row; if the draw exceeds the budget left, they play the null action. What p
//! and the budget per step are is the policy's: see the constructors. A step without an arrival counts as a context that
//! earns and costs nothing. If no action is feasible, the program is not solved.
//!
//! The program often has many solutions: with prices, the first edge of every context has the slope of the largest price.
//! The order of tied contexts is shuffled at every step. With a fixed order some contexts, perhaps the current one, would
//! never be served, and the policy would learn nothing.

use std::sync::Arc;

use rand::RngExt;
use rand::rngs::ChaCha8Rng;

use super::learnt::Learnt;
use super::seen::{CostBound, SeenContexts};
use crate::error::Invalid;
use crate::oracle::Oracle;
use crate::policy::saved::position;
use crate::policy::{Policy, SavedPolicy};
use crate::task::{Context, Task};

/// The budget per step of the program.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum PerStep {
    /// (B_t - correction) / H.
    OfStart {
        /// Units to set aside.
        correction: f64,
    },
    /// The budget left over the steps left.
    OfRest,
}

/// A policy that solves a linear program at every step.
#[derive(Debug)]
pub struct LinearProgram {
    task: Arc<Task>,
    learnt: Learnt,
    per_step: PerStep,
    /// Whether p is a draw from the oracle's posterior, a new one at every step, in place of its upper bound.
    draws: bool,
    seen: SeenContexts,
    rng: ChaCha8Rng,
    episode: usize,
    b_t: u32,
}

impl LinearProgram {
    /// A policy without data; p is the oracle's upper bound.
    pub(super) fn new(task: Arc<Task>, learnt: Learnt, per_step: PerStep, rng: ChaCha8Rng) -> Self {
        let by_step = learnt.oracle().facts().by_step;
        Self {
            seen: SeenContexts::new(&task, by_step, CostBound::Upper),
            learnt,
            task,
            per_step,
            draws: false,
            rng,
            episode: 1,
            b_t: 0,
        }
    }

    /// The same where p is drawn from the posterior.
    pub(super) fn drawing(self) -> Self {
        Self {
            draws: true,
            ..self
        }
    }

    fn budget_per_step(&self, step: usize, budget: u32) -> f64 {
        let horizon = self.task.horizon();
        match self.per_step {
            PerStep::OfStart { correction } => {
                (f64::from(self.b_t) - correction).max(0.0) / horizon as f64
            }
            PerStep::OfRest => f64::from(budget) / (horizon - step) as f64,
        }
    }

    fn count(&mut self, context: &Context) -> usize {
        let (entry, is_new) = self.seen.count(context);
        if is_new {
            self.learnt.watch(context);
        }
        entry
    }
}

impl Policy for LinearProgram {
    fn oracle(&self) -> Option<&dyn Oracle> {
        Some(self.learnt.oracle())
    }

    fn start_episode(&mut self, episode: usize, b_t: u32) {
        self.episode = episode;
        self.b_t = b_t;
    }

    fn choose(&mut self, context: &Context, budget: u32) -> usize {
        let entry = self.count(context);
        let feasible = |a: usize| self.task.feasible(context, a, budget);
        if !(1..=self.task.actions()).any(feasible) {
            return 0;
        }
        let refitted = self.learnt.refit();
        let drawn = match self.draws {
            true => self.learnt.oracle().draw(&mut self.rng),
            false => None,
        };
        if refitted || drawn.is_some() {
            self.seen.forget_bounds();
        }
        let steps = (self.episode - 1) * self.task.horizon() + context.step + 1;
        let budgeted = steps as f64 * self.budget_per_step(context.step, budget);
        let shuffle = self.rng.random();
        let oracle = drawn.as_deref().unwrap_or(self.learnt.oracle());
        let mix = self.seen.solve(oracle, entry, budgeted, shuffle);
        let action = mix.draw(&mut self.rng);
        if action > 0 && self.task.feasible(context, action, budget) {
            action
        } else {
            0
        }
    }

    fn observe(&mut self, context: &Context, action: usize, converted: bool) {
        self.learnt.observe(context, action, converted);
    }

    fn save(&self) -> Option<SavedPolicy> {
        Some(SavedPolicy::LinearProgram {
            stream: position(&self.rng),
            contexts: self.seen.save(),
            fit: self.learnt.save(),
        })
    }

    fn restore(&mut self, saved: SavedPolicy) -> Result<(), Invalid> {
        let SavedPolicy::LinearProgram {
            stream,
            contexts,
            fit,
        } = saved
        else {
            return Err(SavedPolicy::mismatch());
        };
        self.task.check_contexts(&contexts)?;
        contexts.iter().for_each(|context| {
            self.count(&context);
        });
        self.rng.set_word_pos(stream.into());
        self.learnt.restore(fit)
    }
}
