//! Logistic-UCB1, Box B of Li and Stoltz (2022), with any confidence-bound oracle: the program of [`LinearProgram`] with
//! p = ucb, refitted on all data at confidence delta, and (B_t - b_T) / H per step.

use std::sync::Arc;

use rand::rngs::ChaCha8Rng;

use super::learnt::Learnt;
use super::linear_program::{LinearProgram, PerStep};
use crate::oracle::Oracle;
use crate::task::Task;

impl LinearProgram {
    /// Logistic-UCB1 (Li and Stoltz, 2022); `correction` is b_T, units of the budget to set aside.
    pub fn logistic_ucb1(
        task: Arc<Task>,
        oracle: Box<dyn Oracle>,
        delta: f64,
        correction: f64,
        rng: ChaCha8Rng,
    ) -> Self {
        let learnt = Learnt::new(&task, oracle, delta);
        Self::new(task, learnt, PerStep::OfStart { correction }, rng)
    }
}
