//! LinCBwK: Agrawal and Devanur, *Linear contextual bandits with knapsacks* (2016), Algorithm 1, for one resource.
//!
//! ```text
//! play      argmax_a  r~(a) - Z theta c~(a)         r~ = ucb r,  c~ = lcb cost / L: optimistic in the oracle's confidence set
//! gradient  g = c / L - B_t / (L H)                 c: what the step has spent, L the largest cost
//! update    theta = w / (1 + w),  w multiplied by (1 + eta)^g if g >= 0, (1 - eta)^(-g) if g < 0;  w = 1 at first
//! ```
//!
//! The update is the paper's multiplicative-weights choice for its online learner over { theta >= 0, |theta|_1 <= 1 }, with one
//! weight more for doing nothing. With `oracle = { kind = "glm", link = "linear" }` the confidence set is the paper's.
//!
//! Adapted: reward and consumption follow from one conversion, so one regression serves both. The paper is for one run of T
//! rounds; here an episode is a run, theta starts anew in each (`reset_dual = false` carries it over), and data carry over. Z must
//! be at least OPT / B; the paper estimates OPT in a phase of exploration. Default: r_max min(H, B_t) / B_t per unit, which is
//! never less, since an accepted offer earns at most r_max and costs at least one unit. eta defaults to sqrt(ln 2 / H).

use std::sync::Arc;

use super::priced::{Price, Priced};
use super::{DualSettings, rounds};
use crate::oracle::Oracle;
use crate::task::Task;

/// Z theta / L by multiplicative weights.
#[derive(Debug)]
struct Weights {
    task: Arc<Task>,
    settings: DualSettings,
    eta: f64,
    b_t: u32,
    /// ln w.
    log_w: f64,
}

impl Weights {
    /// Z per unit.
    fn z(&self) -> f64 {
        let b_t = f64::from(self.b_t.max(1));
        let theory = self.task.reward_max() * b_t.min(self.task.horizon() as f64) / b_t;
        self.settings.z.unwrap_or(theory)
    }
}

impl Price for Weights {
    fn start_episode(&mut self, b_t: u32) {
        self.b_t = b_t;
        if self.settings.reset_dual {
            self.log_w = 0.0;
        }
    }

    fn price(&self) -> f64 {
        self.z() / (1.0 + (-self.log_w).exp())
    }

    fn pay(&mut self, units: f64) {
        let rate = f64::from(self.b_t) / self.task.horizon() as f64;
        let g = (units - rate) / f64::from(self.task.cost_max());
        self.log_w += match g >= 0.0 {
            true => g * self.eta.ln_1p(),
            false => -g * (-self.eta).ln_1p(),
        };
    }

    fn state(&mut self) -> &mut f64 {
        &mut self.log_w
    }
}

impl Priced {
    /// LinCBwK (Agrawal and Devanur, 2016) for a study of `episodes` episodes.
    pub fn lin_cbwk(
        task: Arc<Task>,
        oracle: Box<dyn Oracle>,
        delta: f64,
        settings: DualSettings,
        episodes: usize,
    ) -> Self {
        let theory = (2f64.ln() / rounds(&task, settings.reset_dual, episodes)).sqrt();
        let price = Weights {
            task: Arc::clone(&task),
            // (1 - eta)^x needs eta < 1; H = 1 has sqrt(ln 2) = 0.83.
            eta: settings.eta.unwrap_or(theory).min(1.0 - 1e-9),
            settings,
            b_t: 0,
            log_w: 0.0,
        };
        Self::new(task, oracle, delta, Box::new(price))
    }
}
