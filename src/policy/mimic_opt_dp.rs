//! Mimic-Opt-DP (Algorithm 1): learn conversion through the oracle, plan with Optimistic-DP, mimic the plan.

use std::sync::Arc;

use super::{Decider, Plan, Policy, ReservedEpisodes};
use crate::dp::{ContextSample, PlanRequest, ValueTable};
use crate::oracle::{LabeledData, Oracle};
use crate::task::{Context, ContextRows, EpisodeContexts, Task};

/// The learner of one replication.
#[derive(Debug)]
pub struct MimicOptDp {
    task: Arc<Task>,
    oracle: Box<dyn Oracle>,
    delta: f64,
    reserved: ReservedEpisodes,
    episode: usize,
    s_t: ContextSample,
    d_t: LabeledData,
    u_hat: ValueTable,
    decider: Decider,
}

impl MimicOptDp {
    /// A learner with the unlabeled rows `s_1` (possibly none), u_hat = 0, ucb = 1, lcb = 0.
    ///
    /// `reserved` must be made for as many initial rows as `s_1` holds.
    pub fn new(
        task: Arc<Task>,
        mut oracle: Box<dyn Oracle>,
        delta: f64,
        reserved: ReservedEpisodes,
        s_1: Option<&ContextRows>,
    ) -> Self {
        let mut s_t = ContextSample::new(&task, oracle.depends_on_step());
        if let Some(rows) = s_1 {
            s_t.append_rows(&task, rows);
            (0..s_t.len()).for_each(|entry| oracle.watch(&s_t.context(entry)));
        }
        Self {
            d_t: LabeledData::new(task.dimension()),
            u_hat: ValueTable::zeros(task.horizon(), task.budget_max()),
            decider: Decider::new(task.actions()),
            episode: 1,
            task,
            oracle,
            delta,
            reserved,
            s_t,
        }
    }
}

impl Policy for MimicOptDp {
    fn start_episode(&mut self, episode: usize, _b_t: u32) {
        self.episode = episode;
    }

    fn choose(&mut self, context: &Context, budget: u32) -> usize {
        let oracle = self.oracle.as_ref();
        self.decider
            .choose(&self.task, oracle, &self.u_hat, context, budget)
    }

    fn observe(&mut self, context: &Context, action: usize, converted: bool) {
        if action > 0 && !self.reserved.contains(self.episode) {
            self.d_t.push(context, action, converted);
        }
    }

    fn learn(&mut self, contexts: &EpisodeContexts) -> bool {
        let t = self.episode;
        if self.reserved.contains(t) {
            self.s_t.append(&self.task, contexts.iter());
            contexts
                .iter()
                .for_each(|context| self.oracle.watch(&context));
            return false;
        }
        let delta_next = self.delta / ((t + 1) as f64).powi(2);
        self.oracle.fit(&self.d_t, delta_next);
        true
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

    fn plan(&self) -> Option<Plan<'_>> {
        Some(Plan::Greedy {
            oracle: self.oracle.as_ref(),
            u_hat: &self.u_hat,
        })
    }
}
