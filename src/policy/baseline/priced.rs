//! Policies that put a price on a unit of the budget and move it with what is spent. They play the action with the largest
//! `ucb r - price lcb cost`: the rule of decision of [`Decider`] where b units are worth price times b. Prices move after every
//! step, also after one without an arrival, which spends nothing, until the budget does not even cover the cheapest action: the
//! published algorithms stop there. A price that is carried over would otherwise never learn that a budget ran out too soon,
//! because over a whole episode no more than the budget is spent.

use std::fmt::Debug;
use std::sync::Arc;

use super::learnt::Learnt;
use crate::error::Invalid;
use crate::oracle::Oracle;
use crate::policy::{Decider, Policy, SavedPolicy, Terms};
use crate::task::{Context, EpisodeContexts, Task};

/// How the price of a unit moves.
pub(super) trait Price: Debug + Send + Sync {
    /// An episode of starting budget `b_t` begins.
    fn start_episode(&mut self, b_t: u32);

    /// The price of a unit.
    fn price(&self) -> f64;

    /// A step has spent so many units.
    fn pay(&mut self, units: f64);

    /// What it carries from one episode to the next.
    fn state(&mut self) -> &mut f64;
}

/// A policy that prices the budget.
#[derive(Debug)]
pub struct Priced {
    task: Arc<Task>,
    learnt: Learnt,
    price: Box<dyn Price>,
    decider: Decider,
    /// The value of 0, 1, ... units.
    worth: Vec<f64>,
    /// The next step (0-based) for the price to observe.
    step: usize,
    /// Whether the episode's budget has run out.
    stopped: bool,
    /// What the price carries, between two episodes.
    carried: f64,
}

impl Priced {
    /// A policy without data; the oracle is fitted at `delta` after every outcome.
    pub(super) fn new(
        task: Arc<Task>,
        oracle: Box<dyn Oracle>,
        delta: f64,
        mut price: Box<dyn Price>,
    ) -> Self {
        Self {
            learnt: Learnt::new(&task, oracle, delta).lazy(),
            decider: Decider::new(task.actions()),
            carried: *price.state(),
            price,
            worth: Vec::new(),
            step: 0,
            stopped: false,
            task,
        }
    }

    /// The price of a unit now.
    pub fn price(&self) -> f64 {
        self.price.price()
    }

    /// Steps before `step` without an arrival spend nothing.
    fn catch_up(&mut self, step: usize) {
        while self.step < step {
            self.pay(0.0);
        }
    }

    fn pay(&mut self, units: f64) {
        if !self.stopped {
            self.price.pay(units);
        }
        self.step += 1;
    }
}

impl Policy for Priced {
    fn oracle(&self) -> Option<&dyn Oracle> {
        Some(self.learnt.oracle())
    }

    fn start_episode(&mut self, _episode: usize, b_t: u32) {
        self.step = 0;
        self.stopped = false;
        self.price.start_episode(b_t);
    }

    fn choose(&mut self, context: &Context, budget: u32) -> usize {
        self.catch_up(context.step);
        let mut actions = 1..=self.task.actions();
        if actions.all(|a| self.task.cost(context, a) > budget) {
            self.stopped = true;
            return 0;
        }
        self.learnt.refit();
        // More units than the dearest action costs do not matter.
        let budget = budget.min(self.task.cost_max());
        let price = self.price.price();
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
        let units = match action > 0 && converted {
            true => f64::from(self.task.cost(context, action)),
            false => 0.0,
        };
        self.pay(units);
    }

    fn learn(&mut self, _contexts: &EpisodeContexts) -> bool {
        self.catch_up(self.task.horizon());
        self.carried = *self.price.state();
        false
    }

    fn save(&self) -> Option<SavedPolicy> {
        Some(SavedPolicy::Priced(self.carried, self.learnt.save()))
    }

    fn restore(&mut self, saved: SavedPolicy) -> Result<(), Invalid> {
        let SavedPolicy::Priced(carried, fit) = saved else {
            return Err(SavedPolicy::mismatch());
        };
        self.carried = carried;
        *self.price.state() = carried;
        self.learnt.restore(fit)
    }
}
