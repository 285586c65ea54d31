//! Mimic-Opt-DP (Algorithm 1): learn conversion through the oracle, plan with Optimistic-DP, mimic the plan.

use std::sync::Arc;

use super::{Decider, LearnerConfig, Plan, Policy, SavedPolicy, WarmStart};
use crate::dp::{ContextSample, PlanRequest, ValueTable};
use crate::error::Invalid;
use crate::oracle::{LabeledData, Oracle};
use crate::task::{Context, ContextRows, EpisodeContexts, Task};

/// The learner of one replication, or of one real decision maker.
#[derive(Debug)]
pub struct MimicOptDp {
    pub(super) task: Arc<Task>,
    pub(super) oracle: Box<dyn Oracle>,
    delta: f64,
    config: LearnerConfig,
    pub(super) episode: usize,
    pub(super) s_t: ContextSample,
    pub(super) d_t: LabeledData,
    /// Observations at the last fit, and the episode it was made for; 0 where there was none.
    pub(super) fitted: usize,
    pub(super) fitted_for: usize,
    pub(super) u_hat: ValueTable,
    decider: Decider,
}

impl MimicOptDp {
    /// A learner without data: u_hat = 0, ucb = 1, lcb = 0.
    pub fn new(
        task: Arc<Task>,
        oracle: Box<dyn Oracle>,
        delta: f64,
        config: LearnerConfig,
    ) -> Self {
        Self {
            s_t: ContextSample::new(&task, oracle.facts().by_step),
            d_t: LabeledData::new(task.dimension()),
            u_hat: ValueTable::zeros(task.horizon(), task.budget_max()),
            decider: Decider::new(task.actions()),
            episode: 1,
            fitted: 0,
            fitted_for: 0,
            task,
            oracle,
            delta,
            config,
        }
    }

    /// Takes in unlabeled rows, which must be contexts of the task.
    pub fn add_rows(&mut self, rows: &ContextRows) {
        for row in 0..rows.len() {
            let steps = 0..rows.horizon();
            let contexts = || {
                let seen = |step| Some(self.task.context(step, rows.get(row, step)?));
                steps.clone().filter_map(seen)
            };
            for context in contexts().filter(|context| self.s_t.find(context).is_none()) {
                self.oracle.watch(&context);
            }
            self.s_t.append(&self.task, contexts());
        }
    }

    /// Takes in the contexts of an episode.
    pub fn add_contexts(&mut self, contexts: &EpisodeContexts) {
        self.s_t.append(&self.task, contexts.iter());
        for context in contexts.iter() {
            self.oracle.watch(&context);
        }
    }

    /// Takes in the contexts of the episode that is over, where it teaches them; returns whether a fit and a plan are due.
    pub fn take_in(&mut self, contexts: &EpisodeContexts) -> bool {
        let t = self.episode;
        if self.config.teaches_contexts(t) {
            self.add_contexts(contexts);
        }
        !self.config.is_reserved(t) && self.config.is_worth_a_plan(self.d_t.len(), self.fitted)
    }

    /// Takes in a labeled observation of a non-null action.
    pub fn add_observation(&mut self, context: &Context, action: usize, converted: bool) {
        self.d_t.push(context, action, converted);
    }

    /// Takes in labeled rows from before the start; the plan of the first episode makes use of them.
    pub fn add_log(&mut self, log: &WarmStart) {
        log.contexts
            .iter()
            .for_each(|episode| self.add_contexts(episode));
        self.d_t.append(&log.data);
    }

    /// Fits the oracle to all labeled data for use in episode `t` (1-based): at delta_t = delta / t^2, or at delta where
    /// the oracle's bounds hold at all times at once.
    pub fn fit(&mut self, t: usize) {
        self.oracle.fit(&self.d_t, self.delta_of(t));
        self.fitted = self.d_t.len();
        self.fitted_for = t;
    }

    pub(super) fn delta_of(&self, t: usize) -> f64 {
        match self.oracle.facts().anytime {
            true => self.delta,
            false => self.delta / (t as f64).powi(2),
        }
    }

    /// What the learner believes of conversion.
    pub fn beliefs(&self) -> &dyn Oracle {
        self.oracle.as_ref()
    }

    /// u_hat of the plan in force.
    pub fn u_hat(&self) -> &ValueTable {
        &self.u_hat
    }

    /// d_t.
    pub fn observations(&self) -> &LabeledData {
        &self.d_t
    }

    /// s_t.
    pub fn contexts(&self) -> &ContextSample {
        &self.s_t
    }

    /// Its settings.
    pub fn config(&self) -> &LearnerConfig {
        &self.config
    }
}

impl Policy for MimicOptDp {
    fn prepare(&mut self) -> bool {
        if self.d_t.is_empty() {
            return false;
        }
        self.fit(1);
        true
    }

    fn start_episode(&mut self, episode: usize, _b_t: u32) {
        self.episode = episode;
    }

    fn choose(&mut self, context: &Context, budget: u32) -> usize {
        let oracle = self.oracle.as_ref();
        self.decider
            .choose(&self.task, oracle, &self.u_hat, context, budget)
    }

    fn observe(&mut self, context: &Context, action: usize, converted: bool) {
        if action > 0 && !self.config.is_reserved(self.episode) {
            self.add_observation(context, action, converted);
        }
    }

    fn learn(&mut self, contexts: &EpisodeContexts) -> bool {
        let due = self.take_in(contexts);
        if due {
            self.fit(self.episode + 1);
        }
        due
    }

    fn plan_request(&self) -> Option<PlanRequest<'_>> {
        Some(PlanRequest {
            sample: &self.s_t,
            source: self.oracle.as_ref(),
            budget_max: self.u_hat.budget_max(),
            reward_max: self.task.reward_max(),
        })
    }

    fn install(&mut self, u_hat: ValueTable) {
        self.u_hat = u_hat;
    }

    fn save(&self) -> Option<SavedPolicy> {
        Some(SavedPolicy::Learner(Self::save(self)))
    }

    fn restore(&mut self, saved: SavedPolicy) -> Result<(), Invalid> {
        match saved {
            SavedPolicy::Learner(saved) => Self::restore(self, saved, true),
            _ => Err(SavedPolicy::refused()),
        }
    }

    fn plan(&self) -> Option<Plan<'_>> {
        Some(Plan::Greedy {
            oracle: self.oracle.as_ref(),
            u_hat: &self.u_hat,
        })
    }
}
