//! Adaptive pacing: Balseiro and Gur, *Learning in repeated auctions with budgets* (2019), their adaptive pacing strategy.
//!
//! ```text
//! bid      v / (1 + mu), at most the budget left
//! update   mu = P_[0, mu_max] ( mu - eta (B_t / H - z) )        z: what the step has spent
//! ```
//!
//! It is gradient descent on the dual of the budget constraint; v / (1 + mu) maximises v - (1 + mu) cost where a winner pays the
//! second price. Here a winner pays its own bid, so the same Lagrangian needs the probability of winning, which is learnt: the
//! bid maximises ucb (theta - bid - mu bid). Written as ucb (r - mu cost) it serves every application (for prices it is dual
//! descent for online allocation: Balseiro, Lu and Mirrokni, *The best of many worlds*, 2023), so no application is refused.
//!
//! Adapted: the budget comes anew in every episode, and mu rests from when it runs out until then. mu goes on from one episode
//! to the next, as advertisers do; `reset_dual = true` starts each at 0. mu_max = r_max: a unit never earns more. eta defaults
//! to r_max / (L sqrt(n)), the paper's order for n rounds: n = H T, or H with `reset_dual`; L is the largest cost.

use std::sync::Arc;

use super::priced::Priced;
use super::{DualSettings, PidSettings};
use crate::oracle::Oracle;
use crate::task::Task;

impl Priced {
    /// Adaptive pacing (Balseiro and Gur, 2019) for a study of `episodes` episodes.
    pub fn dual_pacing(
        task: Arc<Task>,
        oracle: Box<dyn Oracle>,
        delta: f64,
        settings: DualSettings,
        episodes: usize,
    ) -> Self {
        // Dual descent is the proportional part of the controller alone.
        let gains = PidSettings {
            proportional: settings.eta,
            integral: Some(0.0),
            derivative: Some(0.0),
            reset_dual: settings.reset_dual,
        };
        Self::pid_pacing(task, oracle, delta, gains, episodes)
    }
}
