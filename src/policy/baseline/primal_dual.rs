//! PrimalDualBwK: Badanidiyuru, Kleinberg and Slivkins, *Bandits with knapsacks* (2013; 2018), for the budget and time.
//!
//! ```text
//! weights  v_time = v_budget = 1 at first
//! play     the arm with the largest "bang per buck"  u / (v . L):  u = ucb r, L_budget = lcb cost / cost_max, L_time = B' / H
//! update   v_i multiplied by (1 + eta)^(L_i of the arm),  B' = B_t / cost_max: all budgets are equal, consumption is in [0, 1]
//! eta      sqrt(ln 2 / B'), at most 1: two resources
//! ```
//!
//! Adapted: their arms have no contexts. Here an arm is a map from contexts to actions, as in *Resourceful contextual bandits*
//! (2014); its u and L are means over the contexts seen so far. The best map plays, in each context, the action that maximises
//! ucb r - ratio v_budget lcb cost / cost_max, where `ratio` is the best bang per buck, found by Dinkelbach's iteration; the null
//! action has 0 and costs time alone. Their first pass over all arms is left out: without data ucb = 1 and lcb = 0 do the same. The
//! oracle's bounds replace their radius. An episode is a run; v starts anew in each (`reset_dual = false` carries v over,
//! scaled to sum to 2), and data carry over.

use std::sync::Arc;

use super::DualSettings;
use super::learnt::Learnt;
use super::seen::{CostBound, SeenContexts};
use crate::error::Invalid;
use crate::oracle::Oracle;
use crate::policy::{Decider, Policy, SavedPolicy, Terms};
use crate::task::{Context, EpisodeContexts, Task};

/// PrimalDualBwK (Badanidiyuru, Kleinberg and Slivkins, 2013).
#[derive(Debug)]
pub struct PrimalDual {
    task: Arc<Task>,
    learnt: Learnt,
    seen: SeenContexts,
    settings: DualSettings,
    decider: Decider,
    worth: Vec<f64>,
    /// v of time and of the budget.
    weights: [f64; 2],
    /// The best bang per buck and its scaled spending per step, at the last choice.
    ratio: f64,
    spending: f64,
    episode: usize,
    b_t: u32,
    /// The next step (0-based) for the weights to observe.
    step: usize,
}

impl PrimalDual {
    /// A policy without data; the oracle is fitted at `delta` after every outcome.
    pub fn new(
        task: Arc<Task>,
        oracle: Box<dyn Oracle>,
        delta: f64,
        settings: DualSettings,
    ) -> Self {
        let by_step = oracle.facts().by_step;
        Self {
            seen: SeenContexts::new(&task, by_step, CostBound::Lower),
            learnt: Learnt::new(&task, oracle, delta).lazy(),
            decider: Decider::new(task.actions()),
            task,
            settings,
            worth: Vec::new(),
            weights: [1.0; 2],
            ratio: 0.0,
            spending: 0.0,
            episode: 1,
            b_t: 0,
            step: 0,
        }
    }

    /// v of time and of the budget.
    pub fn weights(&self) -> [f64; 2] {
        self.weights
    }

    /// B'.
    fn scaled_budget(&self) -> f64 {
        f64::from(self.b_t) / f64::from(self.task.cost_max())
    }

    fn horizon(&self) -> f64 {
        self.task.horizon() as f64
    }

    /// Moves the weights for the steps before `step`.
    fn catch_up(&mut self, step: usize) {
        let eta = (2f64.ln() / self.scaled_budget()).sqrt().min(1.0);
        let grow = self.settings.eta.unwrap_or(eta).ln_1p();
        let steps = step.saturating_sub(self.step) as f64;
        let time = self.scaled_budget() / self.horizon();
        self.weights[0] *= (grow * steps * time).exp();
        self.weights[1] *= (grow * steps * self.spending).exp();
        self.step = self.step.max(step);
    }

    /// The best ratio over all maps from contexts to actions, and what its map spends per step, scaled.
    fn best_ratio(&mut self, steps: f64) {
        let cost_max = f64::from(self.task.cost_max());
        let time = self.weights[0] * self.scaled_budget() / self.horizon();
        let program = self.seen.whole_program(self.learnt.oracle());
        for _ in 0..ITERATIONS {
            let price = self.ratio * self.weights[1] / cost_max;
            let (spent, earned) = program.at_price(price);
            let (spending, earning) = (spent / cost_max / steps, earned / steps);
            let ratio = earning / (time + self.weights[1] * spending);
            let done = (ratio - self.ratio).abs() <= CLOSE * ratio;
            (self.ratio, self.spending) = (ratio, spending);
            if done {
                break;
            }
        }
    }

    fn count(&mut self, context: &Context) {
        if self.seen.count(context).1 {
            self.learnt.watch(context);
        }
    }
}

/// Dinkelbach's iteration converges faster than linearly; this many are never needed.
const ITERATIONS: usize = 50;

/// Relative change at which it stops.
const CLOSE: f64 = 1e-12;

impl Policy for PrimalDual {
    fn oracle(&self) -> Option<&dyn Oracle> {
        Some(self.learnt.oracle())
    }

    fn start_episode(&mut self, episode: usize, b_t: u32) {
        self.episode = episode;
        self.b_t = b_t;
        (self.step, self.ratio, self.spending) = (0, 0.0, 0.0);
        let sum: f64 = self.weights.iter().sum();
        self.weights = match self.settings.reset_dual {
            true => [1.0; 2],
            false => self.weights.map(|v| 2.0 * v / sum),
        };
    }

    fn choose(&mut self, context: &Context, budget: u32) -> usize {
        self.catch_up(context.step);
        self.count(context);
        let feasible = |a: usize| self.task.feasible(context, a, budget);
        if !(1..=self.task.actions()).any(feasible) {
            return 0;
        }
        if self.learnt.refit() {
            self.seen.forget_bounds();
        }
        let steps = (self.episode - 1) * self.task.horizon() + context.step + 1;
        self.best_ratio(steps as f64);
        let price = self.ratio * self.weights[1] / f64::from(self.task.cost_max());
        // More units than the dearest action costs do not matter.
        let budget = budget.min(self.task.cost_max());
        self.worth.clear();
        self.worth
            .extend((0..=budget).map(|b| price * f64::from(b)));
        let oracle = self.learnt.oracle();
        self.decider.choose_on(
            &self.task,
            oracle,
            &self.worth,
            context,
            budget,
            &Terms::default(),
        )
    }

    fn observe(&mut self, context: &Context, action: usize, converted: bool) {
        self.learnt.observe(context, action, converted);
    }

    fn learn(&mut self, _contexts: &EpisodeContexts) -> bool {
        self.catch_up(self.task.horizon());
        false
    }

    fn save(&self) -> Option<SavedPolicy> {
        Some(SavedPolicy::PrimalDual {
            weights: self.weights,
            contexts: self.seen.save(),
            fit: self.learnt.save(),
        })
    }

    fn restore(&mut self, saved: SavedPolicy) -> Result<(), Invalid> {
        let SavedPolicy::PrimalDual {
            weights,
            contexts,
            fit,
        } = saved
        else {
            return Err(SavedPolicy::mismatch());
        };
        self.task.check_contexts(&contexts)?;
        contexts.iter().for_each(|context| self.count(&context));
        self.weights = weights;
        self.learnt.restore(fit)
    }
}
