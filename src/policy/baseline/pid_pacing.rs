//! A PID pacer: the price of the budget is steered by how far spending is ahead of an even pace, e_h = spent so far - B_t h / H,
//! as in feedback control of advertising budgets (Zhang, Rong, Wang, Zhu and Wang, *Feedback control of real-time display
//! advertising*, 2016, equations 4 to 6, in incremental form):
//!
//! ```text
//! mu = P_[0, r_max] ( mu + k_p (e_h - e_(h-1)) + k_i e_h + k_d (e_h - 2 e_(h-1) + e_(h-2)) ),       e_0 = e_(-1) = 0
//! play  argmax_a  ucb (r - mu cost)
//! ```
//!
//! With k_i = k_d = 0 it is `dual-pacing` with eta = k_p, since e_h - e_(h-1) = z - B_t / H is the dual's gradient (Balseiro, Lu,
//! Mirrokni and Sivan, *On dual-based PI controllers for online allocation problems*, 2022, study k_i > 0).
//!
//! Adapted: their actuator multiplies a bid by exp(-signal); here the signal is the price of a unit, which serves every
//! application. mu goes on from one episode to the next (`reset_dual = true` starts each at 0), e starts anew with the budget.
//! Defaults: k_p = the eta of `dual-pacing`, k_i = k_p / H, so that a deviation that lasts for a whole episode counts as much as
//! its own size, k_d = k_p / 4: a usual ratio of hand-tuned controllers, not optimised for any study.

use std::sync::Arc;

use super::priced::{Price, Priced};
use super::{PidSettings, rounds};
use crate::oracle::{Coupled, Oracle};
use crate::task::Task;

/// mu, and how far spending was ahead of an even pace after the last two steps.
#[derive(Debug)]
struct Controller {
    gains: [f64; 3],
    reset_dual: bool,
    mu_max: f64,
    horizon: f64,
    mu: f64,
    b_t: f64,
    ahead: [f64; 2],
}

impl Price for Controller {
    fn start_episode(&mut self, b_t: u32) {
        self.b_t = f64::from(b_t);
        self.ahead = [0.0; 2];
        if self.reset_dual {
            self.mu = 0.0;
        }
    }

    fn price(&self) -> f64 {
        self.mu
    }

    fn pay(&mut self, units: f64) {
        let [last, before] = self.ahead;
        let ahead = last + units - self.b_t / self.horizon;
        let [k_p, k_i, k_d] = self.gains;
        let move_ = k_p * (ahead - last) + k_i * ahead + k_d * (ahead - 2.0 * last + before);
        self.mu = (self.mu + move_).clamp(0.0, self.mu_max);
        self.ahead = [ahead, last];
    }

    fn state(&mut self) -> &mut f64 {
        &mut self.mu
    }
}

impl Priced {
    /// A PID pacer for a study of `episodes` episodes.
    pub fn pid_pacing(
        task: Arc<Task>,
        oracle: Box<dyn Oracle>,
        delta: f64,
        settings: PidSettings,
        episodes: usize,
    ) -> Self {
        let (horizon, mu_max) = (task.horizon() as f64, task.reward_max());
        let n = rounds(&task, settings.reset_dual, episodes);
        let theory = mu_max / (f64::from(task.cost_max()) * n.sqrt());
        let k_p = settings.proportional.unwrap_or(theory);
        let gains = [
            k_p,
            settings.integral.unwrap_or(k_p / horizon),
            settings.derivative.unwrap_or(k_p / 4.0),
        ];
        let price = Controller {
            gains,
            reset_dual: settings.reset_dual,
            mu_max,
            horizon,
            mu: 0.0,
            b_t: 0.0,
            ahead: [0.0; 2],
        };
        let oracle = Box::new(Coupled::new(oracle));
        Self::new(task, oracle, delta, Box::new(price))
    }
}
