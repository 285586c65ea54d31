//! The fluid policy without the truth: UCB-ALP, Algorithm 2 of Wu, Srikant, Liu and Jiang, *Algorithms with logarithmic or
//! sublinear regret for constrained contextual bandits* (2015). The program of [`LinearProgram`] with p = ucb is solved again
//! at every step for the budget left over the steps left (their b_tau / tau), so that it corrects itself as the budget runs.
//!
//! Adapted: their context law is known and all costs are one; here the law is that of the contexts seen so far, and costs
//! differ. Data and contexts carry over to the next episode, where the budget starts anew. With the truth known it is the
//! policy `fluid`.

use std::sync::Arc;

use rand::rngs::ChaCha8Rng;

use super::learnt::Learnt;
use super::linear_program::{LinearProgram, PerStep};
use crate::oracle::Oracle;
use crate::task::Task;

impl LinearProgram {
    /// The fluid relaxation with learnt rho and law, solved again at every step (Wu et al., 2015).
    pub fn resolve(task: Arc<Task>, oracle: Box<dyn Oracle>, delta: f64, rng: ChaCha8Rng) -> Self {
        let learnt = Learnt::new(&task, oracle, delta).lazy();
        Self::new(task, learnt, PerStep::OfRest, rng)
    }
}
