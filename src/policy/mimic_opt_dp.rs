//! Mimic-Opt-DP (Algorithm 1): learn conversion through the oracle, plan with Optimistic-DP, mimic the plan.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{
    Decider, Greedy, LearnerConfig, Plan, Played, Policy, Rule, SavedPolicy, Terms, WarmStart,
};
use crate::dp::{Coefficients, ContextSample, KnownLaw, PlanRequest, ValueTable};
use crate::error::Invalid;
use crate::oracle::{Belief, LabeledData, Oracle};
use crate::task::{Context, ContextRows, EpisodeContexts, Task};

/// Mimic-Opt-DP (Algorithm 1), in one replication or for one real decision maker.
#[derive(Debug)]
pub struct MimicOptDp {
    pub(super) task: Arc<Task>,
    pub(super) oracle: Box<dyn Oracle>,
    delta: f64,
    config: LearnerConfig,
    pub(super) episode: usize,
    pub(super) s_t: ContextSample,
    pub(super) d_t: LabeledData,
    /// Observations at the last fit, and the episode it was made for; 0 without a fit.
    pub(super) fitted: usize,
    pub(super) fitted_for: usize,
    /// Decisions without an offer at the last fit.
    pub(super) fitted_declined: usize,
    pub(super) u_hat: Arc<ValueTable>,
    /// The largest budget of the next plan.
    pub(super) ceiling: u32,
    decider: Decider,
    played: Played,
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
            u_hat: Arc::new(ValueTable::zeros(task.horizon(), task.budget_max())),
            ceiling: task.budget_max(),
            decider: Decider::new(task.actions()),
            episode: 1,
            fitted: 0,
            fitted_for: 0,
            fitted_declined: 0,
            played: Played::default(),
            task,
            oracle,
            delta,
            config,
        }
    }

    /// Adds unlabeled rows, which must be contexts of the task.
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

    /// Adds the contexts of an episode.
    pub fn add_contexts(&mut self, contexts: &EpisodeContexts) {
        self.s_t.append(&self.task, contexts.iter());
        for context in contexts.iter() {
            self.oracle.watch(&context);
        }
    }

    /// Adds the outcome of a non-null action, unless its episode `t` (1-based) is reserved for contexts.
    pub fn observe_in(&mut self, t: usize, context: &Context, action: usize, converted: bool) {
        if !self.config.is_reserved(t) {
            self.add_observation(context, action, converted);
        }
    }

    /// Adds a labeled observation of a non-null action.
    pub fn add_observation(&mut self, context: &Context, action: usize, converted: bool) {
        self.d_t.push(context, action, converted);
    }

    /// Counts a decision without an offer, if one was feasible and the episode teaches conversion.
    pub fn decline(&mut self, theta: &Context, budget: u32, terms: &Terms) {
        let feasible = |a| {
            let (reward, cost) = terms.sale(&self.task, theta, a);
            cost <= budget && reward >= 0.0
        };
        let teaches = !self.config.is_reserved(self.episode);
        if teaches && (1..=self.task.actions()).any(feasible) {
            self.d_t.decline();
        }
    }

    /// Adds labeled rows from before the start; the plan of the first episode uses them.
    pub fn add_log(&mut self, log: &WarmStart) {
        log.contexts
            .iter()
            .for_each(|episode| self.add_contexts(episode));
        self.d_t.append(&log.data);
    }

    /// delta_t = delta / t^2 (line 2), or delta if the oracle's bounds hold at all times at once.
    pub(super) fn delta_of(&self, t: usize) -> f64 {
        match self.oracle.facts().anytime {
            true => self.delta,
            false => self.delta / (t as f64).powi(2),
        }
    }

    /// The value of an episode with budget 0, 1, ... under the plan, if customers come as in s_t and convert as estimated;
    /// `None` without contexts.
    pub fn expected_rewards(&self) -> Option<Vec<f64>> {
        let (sample, actions) = (&self.s_t, self.task.actions());
        if sample.total() == 0.0 {
            return None;
        }
        let mut beliefs = vec![Belief::UNKNOWN; actions];
        let mut rho = Vec::with_capacity(sample.len() * actions);
        for entry in 0..sample.len() {
            self.oracle.beliefs(&sample.context(entry), &mut beliefs);
            rho.extend(beliefs.iter().map(|belief| belief.estimate));
        }
        let mut coefficients = Coefficients::default();
        self.oracle.fill(sample, &mut coefficients);
        let law = KnownLaw {
            sample,
            rho: &rho,
            budget_max: self.u_hat.budget_max(),
        };
        Some(law.expected_rewards(&mut Greedy {
            sample,
            coefficients: &coefficients,
            u_hat: &self.u_hat,
            reward_max: self.task.reward_max(),
            rule: Rule::default(),
        }))
    }

    /// The fitted oracle.
    pub fn beliefs(&self) -> &dyn Oracle {
        self.oracle.as_ref()
    }

    /// u_hat of the current plan.
    pub fn u_hat(&self) -> &ValueTable {
        &self.u_hat
    }

    /// The same, to keep beyond the next plan.
    pub fn shared_u_hat(&self) -> Arc<ValueTable> {
        Arc::clone(&self.u_hat)
    }

    /// d_t.
    pub fn observations(&self) -> &LabeledData {
        &self.d_t
    }

    /// s_t.
    pub fn contexts(&self) -> &ContextSample {
        &self.s_t
    }

    /// The largest budget of the next plan: the task's, unless deliveries have brought more.
    pub fn ceiling(&self) -> u32 {
        self.ceiling
    }

    /// Makes the next plan for at least so many units.
    pub fn raise_ceiling(&mut self, units: u32) {
        self.ceiling = self.ceiling.max(units);
    }

    /// The action for a context with `budget` units left, on the caller's terms. With more units than the plan has, its last
    /// column serves.
    pub fn choose_on(&mut self, theta: &Context, budget: u32, terms: &Terms) -> usize {
        let (oracle, u_hat) = (self.oracle.as_ref(), &self.u_hat);
        let budget = budget.min(u_hat.budget_max());
        let next = u_hat.row(theta.step + 1);
        self.decider
            .choose_on(&self.task, oracle, next, theta, budget, terms)
    }

    /// Corrects observations by their place: another outcome, or `None` to remove one. The oracle must be made anew, because
    /// it may have learnt from them.
    pub fn amend(&mut self, edits: &BTreeMap<usize, Option<bool>>) {
        self.d_t.amend(edits);
    }

    /// The settings.
    pub fn config(&self) -> &LearnerConfig {
        &self.config
    }
}

/// Algorithm 1. The caller, a simulation or a live learner, runs lines 4 to 10; [`super::advance`] runs lines 16 and 17.
///
/// ```text
///  1  Input: oracle O, delta, episodes J reserved for contexts, initial rows S_1
///  2  D_1 = {},  UCB_1 = 1,  LCB_1 = 0,  delta_t = delta / t^2
///  3  U_1[h](b) = 0 for every h, b
///  4  for t = 1, ..., T:
///  5      for h = 1, ..., H:
///  6          observe the budget left b and the context theta
///  7          take the action A that maximises  UCB r + LCB U[h+1](b - d) + (1 - LCB) U[h+1](b)
///  8          observe whether it converts, Y
///  9          earn r Y, spend d Y
/// 10      end for
/// 11      if t is in J:
/// 12          S_(t+1) = S_t with the contexts of the episode
/// 13          all else stays
/// 14      else:
/// 15          D_(t+1) = D_t with (theta, A, Y) of every step with a non-null action
/// 16          UCB_(t+1), LCB_(t+1) = O(D_(t+1), delta_(t+1))
/// 17          U_(t+1) = Optimistic-DP(UCB_(t+1), LCB_(t+1), S_(t+1))
/// 18      end if
/// 19  end for
/// ```
impl Policy for MimicOptDp {
    /// Data from before the start require a fit before the first episode.
    fn prepare(&mut self) -> bool {
        !self.d_t.is_empty()
    }

    /// Line 4.
    fn start_episode(&mut self, t: usize, _b_t: u32) {
        self.episode = t;
        self.played = Played::default();
    }

    /// Lines 6 and 7.
    fn choose(&mut self, theta: &Context, budget: u32) -> usize {
        let action = self.choose_on(theta, budget, &Terms::default());
        match action.checked_sub(1) {
            Some(a) => self.played.add(&self.decider.beliefs()[a]),
            None => self.decline(theta, budget, &Terms::default()),
        }
        action
    }

    /// Lines 8 and 15.
    fn observe(&mut self, theta: &Context, action: usize, converted: bool) {
        if action > 0 {
            self.observe_in(self.episode, theta, action, converted);
        }
    }

    /// Lines 11, 12 and 14.
    fn learn(&mut self, contexts: &EpisodeContexts) -> bool {
        let t = self.episode;
        if self.config.teaches_contexts(t) {
            self.add_contexts(contexts);
        }
        let fitted = self.fitted + self.fitted_declined;
        !self.config.is_reserved(t) && self.config.is_replan_due(self.d_t.decisions(), fitted)
    }

    /// Line 16.
    fn fit(&mut self, t: usize) {
        self.oracle.fit(&self.d_t, self.delta_of(t));
        self.fitted = self.d_t.len();
        self.fitted_declined = self.d_t.declined();
        self.fitted_for = t;
    }

    /// Line 17. Without contexts there is nothing to average over, and the old plan stays.
    fn plan_request(&self) -> Option<PlanRequest<'_>> {
        (self.s_t.total() > 0.0).then(|| PlanRequest {
            sample: &self.s_t,
            source: self.oracle.as_ref(),
            budget_max: self.ceiling,
            reward_max: self.task.reward_max(),
        })
    }

    fn install(&mut self, u_hat: ValueTable) {
        self.u_hat = Arc::new(u_hat);
    }

    fn played(&self) -> Option<Played> {
        Some(self.played)
    }

    fn save(&self) -> Option<SavedPolicy> {
        Some(SavedPolicy::Learner(Self::save(self)))
    }

    fn restore(&mut self, saved: SavedPolicy) -> Result<(), Invalid> {
        match saved {
            SavedPolicy::Learner(saved) => Self::restore(self, saved, true),
            _ => Err(SavedPolicy::mismatch()),
        }
    }

    fn plan(&self) -> Option<Plan<'_>> {
        Some(Plan::Greedy {
            oracle: self.oracle.as_ref(),
            u_hat: &self.u_hat,
        })
    }
}
