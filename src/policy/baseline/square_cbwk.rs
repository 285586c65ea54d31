//! SquareCBwK (Han et al. 2023) for one resource: a regression estimate, a price for the budget from multiplicative
//! weights, and inverse gap weighting over the feasible actions.
//!
//! ```text
//! scaled    r_est = r rho_est / r_max,  c_est = cost rho_est / cost_max,  rate = B_t / (cost_max H);  null: both 0
//! price     lambda = Z w,  Z = H cost_max / B_t,  dual weights (w, 1 - w) from (1/2, 1/2)
//! score     r_est - lambda (c_est - rate)
//! play      p_a = 1 / (k + gamma gap_a) for all but the best of the k feasible actions, which gets the rest
//! update    w is multiplied by exp(-eta (rate - cost paid / cost_max)), and the dual is normalised
//! eta       2 ln 2 / sqrt(H)          gamma   2 sqrt(k H / ln H)
//! ```
//!
//! rho_est is the oracle's point estimate, refitted after every observation. A step without an arrival pays nothing and
//! updates the dual too. If H = 1, ln 2 replaces ln H.

use std::sync::Arc;

use rand::RngExt;
use rand::rngs::ChaCha8Rng;

use super::learnt::Learnt;
use crate::error::Invalid;
use crate::oracle::Oracle;
use crate::policy::saved::position;
use crate::policy::{Policy, SavedPolicy};
use crate::task::{Context, EpisodeContexts, Task};

/// Settings of SquareCBwK; `Some` values are positive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SquareSettings {
    /// Overrides eta, the learning rate of the dual.
    pub eta: Option<f64>,
    /// Overrides gamma, which turns gaps into probabilities.
    pub gamma: Option<f64>,
    /// Whether the dual is reset in every episode.
    pub reset_dual: bool,
}

/// SquareCBwK (Han et al., 2023): regression, inverse gap weighting, dual prices.
#[derive(Debug)]
pub struct SquareCbwk {
    task: Arc<Task>,
    learnt: Learnt,
    settings: SquareSettings,
    rng: ChaCha8Rng,
    /// The first dual weight.
    w: f64,
    b_t: u32,
    /// The next step (0-based) for the dual to observe.
    step: usize,
    estimates: Vec<f64>,
    feasible: Vec<usize>,
    scores: Vec<f64>,
    probabilities: Vec<f64>,
}

impl SquareCbwk {
    /// A policy without data. The oracle is fitted at `delta`; point estimates do not depend on it.
    pub fn new(
        task: Arc<Task>,
        oracle: Box<dyn Oracle>,
        delta: f64,
        settings: SquareSettings,
        rng: ChaCha8Rng,
    ) -> Self {
        Self {
            learnt: Learnt::new(&task, oracle, delta),
            estimates: vec![0.0; task.actions()],
            task,
            settings,
            rng,
            w: 0.5,
            b_t: 0,
            step: 0,
            feasible: Vec::new(),
            scores: Vec::new(),
            probabilities: Vec::new(),
        }
    }

    fn horizon(&self) -> f64 {
        self.task.horizon() as f64
    }

    fn cost_max(&self) -> f64 {
        f64::from(self.task.cost_max())
    }

    /// B_t / (cost_max H), the scaled budget per step.
    fn rate(&self) -> f64 {
        f64::from(self.b_t) / (self.cost_max() * self.horizon())
    }

    /// The dual weights (w, 1 - w); w is the budget's.
    pub fn dual(&self) -> (f64, f64) {
        (self.w, 1.0 - self.w)
    }

    /// The feasible actions of the last choice, and their probabilities.
    pub fn last_choice(&self) -> (&[usize], &[f64]) {
        (&self.feasible, &self.probabilities)
    }

    fn gamma(&self, k: usize) -> f64 {
        let theory = 2.0 * (k as f64 * self.horizon() / self.horizon().max(2.0).ln()).sqrt();
        self.settings.gamma.unwrap_or(theory)
    }

    /// Updates the dual for steps before `step` without an arrival: they cost nothing.
    fn catch_up(&mut self, step: usize) {
        while self.step < step {
            self.pay(0.0);
        }
    }

    /// Updates the dual with the scaled cost of one step.
    fn pay(&mut self, cost: f64) {
        let theory = 2.0 * 2f64.ln() / self.horizon().sqrt();
        let eta = self.settings.eta.unwrap_or(theory);
        let grown = self.w * (-eta * (self.rate() - cost)).exp();
        self.w = grown / (grown + (1.0 - self.w));
        self.step += 1;
    }
}

impl Policy for SquareCbwk {
    fn start_episode(&mut self, _episode: usize, b_t: u32) {
        self.b_t = b_t;
        self.step = 0;
        if self.settings.reset_dual {
            self.w = 0.5;
        }
    }

    fn choose(&mut self, context: &Context, budget: u32) -> usize {
        self.catch_up(context.step);
        let task = &self.task;
        self.feasible.clear();
        self.feasible.push(0);
        let actions = 1..=task.actions();
        self.feasible
            .extend(actions.filter(|&a| task.feasible(context, a, budget)));
        if self.feasible.len() == 1 {
            self.probabilities.clear();
            self.probabilities.push(1.0);
            return 0;
        }
        self.learnt.refit();
        self.learnt.oracle().estimate(context, &mut self.estimates);
        let (reward_max, cost_max) = (task.reward_max(), self.cost_max());
        let rate = self.rate();
        let lambda = self.w / rate;
        self.scores.clear();
        self.scores.extend(self.feasible.iter().map(|&a| {
            let rho = if a == 0 { 0.0 } else { self.estimates[a - 1] };
            let reward = if a == 0 { 0.0 } else { task.reward(context, a) };
            let cost = if a == 0 { 0 } else { task.cost(context, a) };
            let r_est = if reward > 0.0 {
                reward * rho / reward_max
            } else {
                0.0
            };
            let c_est = f64::from(cost) * rho / cost_max;
            r_est - lambda * (c_est - rate)
        }));
        let gamma = self.gamma(self.feasible.len());
        inverse_gap_weighting(&self.scores, gamma, &mut self.probabilities);
        self.feasible[draw(&self.probabilities, self.rng.random())]
    }

    fn observe(&mut self, context: &Context, action: usize, converted: bool) {
        self.learnt.observe(context, action, converted);
        self.pay(match action > 0 && converted {
            true => f64::from(self.task.cost(context, action)) / self.cost_max(),
            false => 0.0,
        });
    }

    fn learn(&mut self, _contexts: &EpisodeContexts) -> bool {
        self.catch_up(self.task.horizon());
        false
    }

    fn save(&self) -> Option<SavedPolicy> {
        Some(SavedPolicy::SquareCbwk {
            stream: position(&self.rng),
            w: self.w,
            fit: self.learnt.save(),
        })
    }

    fn restore(&mut self, saved: SavedPolicy) -> Result<(), Invalid> {
        let SavedPolicy::SquareCbwk { stream, w, fit } = saved else {
            return Err(SavedPolicy::mismatch());
        };
        self.rng.set_word_pos(stream.into());
        self.w = w;
        self.learnt.restore(fit)
    }
}

/// p_a = 1 / (k + gamma gap_a), and the rest for the best action (the first one in a tie).
pub fn inverse_gap_weighting(scores: &[f64], gamma: f64, probabilities: &mut Vec<f64>) {
    let k = scores.len() as f64;
    let mut best = 0;
    for (i, score) in scores.iter().enumerate() {
        if *score > scores[best] {
            best = i;
        }
    }
    probabilities.clear();
    probabilities.extend(
        scores
            .iter()
            .map(|score| 1.0 / (k + gamma * (scores[best] - score))),
    );
    probabilities[best] = 0.0;
    probabilities[best] = 1.0 - probabilities.iter().sum::<f64>();
}

/// The index that a uniform draw selects.
fn draw(probabilities: &[f64], uniform: f64) -> usize {
    let mut sum = 0.0;
    let within = |p: &f64| {
        sum += p;
        uniform < sum
    };
    // Rounding may leave the sum a little below 1.
    let last = probabilities.iter().rposition(|p| *p > 0.0).unwrap_or(0);
    probabilities.iter().position(within).unwrap_or(last)
}
