//! Thompson sampling with a linear program: Ferreira, Simchi-Levi and Wang, *Online network revenue management using Thompson
//! sampling* (2018), Algorithm 1 (TS-fixed) and Algorithm 2 (TS-update), in their version for contexts. At every step:
//!
//! ```text
//! 1  draw      rho from the posterior given all outcomes so far
//! 2  optimise  the linear program with the drawn rho;  c = B_t / H (TS-fixed) or c = budget left / steps left (TS-update)
//! 3  offer     an action drawn from the current context's row, the null action with the rest
//! 4  observe   whether it converts, and update the posterior
//! ```
//!
//! Adapted: they know the law of the contexts; here it is that of the contexts seen so far. Posterior and contexts carry over to
//! the next episode, where the budget starts anew. The posterior is the oracle's ([`Oracle::draw`]): Beta(1/2, 1/2) arms in
//! place of their Beta(1, 1), or the Laplace approximation of a logistic regression. No defaults to choose.

use std::sync::Arc;

use rand::rngs::ChaCha8Rng;

use super::learnt::Learnt;
use super::linear_program::{LinearProgram, PerStep};
use crate::oracle::Oracle;
use crate::task::Task;

impl LinearProgram {
    /// TS-fixed, or TS-update if `updates` (Ferreira, Simchi-Levi and Wang, 2018), with an oracle that has a posterior.
    pub fn thompson(
        task: Arc<Task>,
        oracle: Box<dyn Oracle>,
        delta: f64,
        updates: bool,
        rng: ChaCha8Rng,
    ) -> Self {
        let per_step = match updates {
            true => PerStep::OfRest,
            false => PerStep::OfStart { correction: 0.0 },
        };
        let learnt = Learnt::new(&task, oracle, delta).lazy();
        Self::new(task, learnt, per_step, rng).drawing()
    }
}
