//! Follows the fluid relaxation of Appendix A.3; rho, the context laws and the type of the day are known. At each step it solves the program over
//! the remaining steps and budget (or, without re-solving, over the whole episode and its starting budget), and draws an
//! action from the current context's row. If the draw exceeds the budget left, it plays the null action.

use std::sync::Arc;

use rand::rngs::ChaCha8Rng;

use super::saved::position;
use super::{Plan, Policy, SavedPolicy};
use crate::error::Invalid;
use crate::fluid::{FluidPlan, Hull};
use crate::task::{Context, Task};

/// Follows the fluid relaxation of Appendix A.3 with the truth known.
#[derive(Debug)]
pub struct Fluid {
    task: Arc<Task>,
    plans: Vec<Arc<FluidPlan>>,
    day: usize,
    resolve: bool,
    rng: ChaCha8Rng,
    b_t: u32,
    hull: Hull,
}

impl Fluid {
    /// `plans` has one plan per type of day. With `resolve`, the program is solved again at every step.
    pub fn new(
        task: Arc<Task>,
        plans: Vec<Arc<FluidPlan>>,
        resolve: bool,
        rng: ChaCha8Rng,
    ) -> Self {
        Self {
            task,
            plans,
            day: 0,
            resolve,
            rng,
            b_t: 0,
            hull: Hull::default(),
        }
    }
}

impl Policy for Fluid {
    fn start_episode(&mut self, _episode: usize, b_t: u32) {
        self.b_t = b_t;
    }

    fn start_day(&mut self, day: usize) {
        self.day = day;
    }

    fn choose(&mut self, context: &Context, budget: u32) -> usize {
        let (from, units) = if self.resolve {
            (context.step, budget)
        } else {
            (0, self.b_t)
        };
        let mix = self.plans[self.day].mix(context, from, units, &mut self.hull);
        let action = mix.draw(&mut self.rng);
        if action > 0 && self.task.feasible(context, action, budget) {
            action
        } else {
            0
        }
    }

    fn save(&self) -> Option<SavedPolicy> {
        Some(SavedPolicy::Stream(position(&self.rng)))
    }

    fn restore(&mut self, saved: SavedPolicy) -> Result<(), Invalid> {
        let SavedPolicy::Stream(stream) = saved else {
            return Err(SavedPolicy::mismatch());
        };
        self.rng.set_word_pos(stream.into());
        Ok(())
    }

    fn plan(&self) -> Option<Plan<'_>> {
        self.plan_of(self.day)
    }

    fn plan_of(&self, day: usize) -> Option<Plan<'_>> {
        self.resolve.then_some(Plan::Fluid(&self.plans[day]))
    }
}
