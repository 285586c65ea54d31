//! The learner itself: begin, decide, observe, end.

use std::collections::BTreeMap;
use std::sync::Arc;

use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;

use super::state::{OpenEpisode, OpenOffer};
use super::{Day, LearnerError, Offer, Settled};
use crate::dp::Backend;
use crate::error::{Invalid, shown};
use crate::oracle::{Belief, Oracle};
use crate::policy::{LearnerSpec, MimicOptDp, Policy, Terms};
use crate::task::{Context, EpisodeContexts, Task};

/// Settings of a learner.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LearnerSettings {
    /// Settings of Algorithm 1.
    pub learning: LearnerSpec,
    /// Confidence: bounds hold with probability 1 - delta.
    pub delta: f64,
    /// Seed of posterior sampling.
    pub seed: u64,
    /// Number of episodes with contexts given in advance; they postpone the episodes reserved for contexts.
    pub initial_rows: usize,
}

impl Default for LearnerSettings {
    fn default() -> Self {
        Self {
            learning: LearnerSpec::TIGHT,
            delta: 0.1,
            seed: 1,
            initial_rows: 0,
        }
    }
}

/// A live learner. It checks every argument; no input makes it panic.
pub struct Learner {
    pub(super) task: Arc<Task>,
    pub(super) policy: MimicOptDp,
    pub(super) backend: Box<dyn Backend>,
    pub(super) state: State,
    /// Expected rewards by budget, once computed for the current plan and contexts.
    pub(super) expected: Option<Option<Vec<f64>>>,
}

/// The state that changes between plans.
#[derive(Debug, Clone, Default)]
pub(super) struct State {
    /// Episodes started so far.
    pub episodes: usize,
    /// Offers made so far.
    pub offers: u64,
    pub open: Option<OpenEpisode>,
    /// Offers without an outcome, of this episode and earlier ones, by number.
    pub waiting: BTreeMap<u64, OpenOffer>,
    /// Corrections of observations that the next plan applies, by their number.
    pub edits: BTreeMap<u64, Option<bool>>,
    /// Numbers of the observations that were removed, in rising order.
    pub removed: Vec<u64>,
}

impl std::fmt::Debug for Learner {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        let (policy, state) = (&self.policy, &self.state);
        write!(f, "Learner {{ policy: {policy:?}, state: {state:?} }}")
    }
}

impl Learner {
    /// A learner without data.
    pub fn new(
        task: Task,
        oracle: Box<dyn Oracle>,
        settings: LearnerSettings,
        backend: Box<dyn Backend>,
    ) -> Result<Self, LearnerError> {
        let LearnerSettings {
            learning,
            delta,
            seed,
            initial_rows,
        } = settings;
        if !(delta > 0.0 && delta < 1.0) {
            let found = Invalid::new("delta", shown(delta), "a number between 0 and 1");
            return Err(found.into());
        }
        let config = learning.check("learner", oracle.facts(), initial_rows)?;
        let task = Arc::new(task);
        let rng = ChaCha8Rng::seed_from_u64(seed);
        Ok(Self {
            policy: config.learner(Arc::clone(&task), oracle, delta, rng),
            task,
            backend,
            state: State::default(),
            expected: None,
        })
    }

    /// The task.
    pub fn task(&self) -> &Arc<Task> {
        &self.task
    }

    /// The policy with its data, bounds and plan.
    pub fn policy(&self) -> &MimicOptDp {
        &self.policy
    }

    /// Number of the open episode, 1-based.
    pub fn episode(&self) -> Option<usize> {
        self.state.open.as_ref().map(|_| self.state.episodes)
    }

    /// Units left in the open episode, including those held by open offers.
    pub fn budget(&self) -> Option<u32> {
        self.state.open.as_ref().map(|open| open.budget)
    }

    /// Units held by offers of the open episode that have no outcome yet.
    pub fn held(&self) -> u32 {
        self.state.open.as_ref().map_or(0, |open| open.held)
    }

    /// What an episode with `budget` units is expected to earn under the plan, if customers come as before and convert as
    /// estimated; `None` before any contexts are known. The plan's own value, [`crate::dp::ValueTable::start`], is optimistic.
    pub fn expected(&mut self, budget: u32) -> Option<f64> {
        let policy = &self.policy;
        let by_budget = self
            .expected
            .get_or_insert_with(|| policy.expected_rewards());
        by_budget.as_ref()?.get(budget as usize).copied()
    }

    /// Totals of the open episode so far.
    pub fn so_far(&self) -> Option<Day> {
        let open = self.state.open.as_ref()?;
        Some(self.day(open, false))
    }

    fn day(&self, open: &OpenEpisode, replanned: bool) -> Day {
        Day {
            episode: self.state.episodes,
            reward: open.reward,
            spent: open.spent,
            oversold: open.oversold,
            observations: self.policy.observations().len(),
            replanned,
        }
    }

    /// Starts an episode with `budget` units and returns its number.
    pub fn begin(&mut self, budget: u32) -> Result<usize, LearnerError> {
        if self.state.open.is_some() {
            return Err(LearnerError::EpisodeOpen);
        }
        if budget > self.policy.ceiling() {
            let accepted = format!("units from 0 to {}", self.policy.ceiling());
            return Err(Invalid::new("budget", budget, accepted).into());
        }
        self.state.episodes += 1;
        self.state.open = Some(OpenEpisode {
            budget,
            held: 0,
            spent: 0,
            oversold: 0,
            reward: 0.0,
            contexts: EpisodeContexts::new(self.task.dimension()),
        });
        self.policy.start_episode(self.state.episodes, budget);
        Ok(self.state.episodes)
    }

    /// The offer for an arrival at `step` (1-based). Units held by open offers are not offered again. The model expects at
    /// most one arrival per step; further ones use the same row of the plan.
    pub fn decide(&mut self, step: usize, features: &[f64]) -> Result<Offer, LearnerError> {
        self.decide_with(step, features, &Terms::default(), |best, _| best)
    }

    /// Like [`Learner::decide`], but the caller picks the action, for example to explore: `choose` gets the plan's action and
    /// the feasible non-null actions, and returns one of them or 0. `terms` are the customer's.
    pub fn decide_with(
        &mut self,
        step: usize,
        features: &[f64],
        terms: &Terms,
        choose: impl FnOnce(usize, &[usize]) -> usize,
    ) -> Result<Offer, LearnerError> {
        let open = self.state.open.as_ref().ok_or(LearnerError::NoEpisode)?;
        check_arrival(&self.task, step, features)?;
        let context = self.task.context(step - 1, features);
        let budget = open.budget - open.held;
        let feasible = self.feasible(&context, budget, terms);
        let best = self.policy.choose_on(&context, budget, terms);
        let action = choose(best, &feasible);
        if action != 0 && action != best && !feasible.contains(&action) {
            let accepted = format!("0, {best} or one of {feasible:?}");
            return Err(Invalid::new("action", action, accepted).into());
        }
        let offer = self.offer(&context, action, budget, terms);
        self.record_offer(&context, &offer, terms);
        Ok(offer)
    }

    /// The offer that [`Learner::decide`] would make; nothing is recorded.
    pub fn preview(
        &mut self,
        step: usize,
        features: &[f64],
        terms: &Terms,
    ) -> Result<Offer, LearnerError> {
        let open = self.state.open.as_ref().ok_or(LearnerError::NoEpisode)?;
        check_arrival(&self.task, step, features)?;
        let context = self.task.context(step - 1, features);
        let budget = open.budget - open.held;
        let action = self.policy.choose_on(&context, budget, terms);
        Ok(self.offer(&context, action, budget, terms))
    }

    /// Non-null actions that are feasible with `budget` units.
    fn feasible(&self, context: &Context, budget: u32, terms: &Terms) -> Vec<usize> {
        let fits = |a: &usize| {
            let (reward, cost) = terms.sale(&self.task, context, *a);
            cost <= budget && reward >= 0.0
        };
        (1..=self.task.actions()).filter(fits).collect()
    }

    /// Records an offer that was made earlier, as read from a journal; returns its number. `terms` were the customer's.
    pub fn decided(
        &mut self,
        step: usize,
        features: &[f64],
        action: usize,
        terms: &Terms,
    ) -> Result<u64, LearnerError> {
        let open = self.state.open.as_ref().ok_or(LearnerError::NoEpisode)?;
        check_arrival(&self.task, step, features)?;
        let context = self.task.context(step - 1, features);
        let mut offer = Offer::none(self.state.offers + 1, step);
        if action > 0 {
            if action > self.task.actions() {
                let accepted = format!("an action from 0 to {}", self.task.actions());
                return Err(Invalid::new("action", action, accepted).into());
            }
            offer.action = action;
            (offer.reward, offer.cost) = terms.made(&self.task, &context, action);
            let free = open.budget - open.held;
            if offer.cost > free {
                let accepted = format!("an offer of up to {free} units");
                return Err(Invalid::new("action", action, accepted).into());
            }
        }
        self.record_offer(&context, &offer, terms);
        Ok(offer.number)
    }

    fn record_offer(&mut self, context: &Context, offer: &Offer, terms: &Terms) {
        let open = self.state.open.as_mut().expect("an episode is open");
        if offer.action == 0 {
            let budget = open.budget - open.held;
            self.policy.decline(context, budget, terms);
        }
        open.arrive(context);
        self.state.offers = offer.number;
        if offer.action > 0 {
            open.held += offer.cost;
            let waiting = OpenOffer {
                number: offer.number,
                episode: self.state.episodes,
                step: context.step,
                features: context.features.to_vec(),
                action: offer.action,
                cost: offer.cost,
                reward: offer.reward,
                holds: true,
            };
            self.state.waiting.insert(offer.number, waiting);
        }
    }

    fn offer(&self, context: &Context, action: usize, budget: u32, terms: &Terms) -> Offer {
        let (number, step) = (self.state.offers + 1, context.step + 1);
        if action == 0 {
            return Offer::none(number, step);
        }
        let mut beliefs = vec![Belief::UNKNOWN; self.task.actions()];
        self.policy.beliefs().beliefs(context, &mut beliefs);
        let belief = &beliefs[action - 1];
        let (reward, cost) = terms.sale(&self.task, context, action);
        let next = self.policy.u_hat().row(step);
        // With more units than the plan has, its last column serves.
        let budget = (budget as usize).min(next.len() - 1);
        Offer {
            number,
            step,
            action,
            value: Some(self.task.application().action_value(action)),
            cost,
            reward,
            lower: belief.interval.lcb,
            upper: belief.interval.ucb,
            planned: belief.bounds.ucb,
            opportunity_cost: next[budget] - next[budget.saturating_sub(cost as usize)],
        }
    }

    /// Observes the outcome of the only open offer.
    pub fn observe(&mut self, accepted: bool) -> Result<(), LearnerError> {
        let mut numbers = self.state.waiting.keys();
        match (numbers.next(), numbers.next()) {
            (Some(&number), None) => self.observe_offer(number, accepted).map(|_| ()),
            _ => Err(LearnerError::Ambiguous {
                open: self.state.waiting.len(),
            }),
        }
    }

    /// Observes the outcome of an offer, by number. After its episode has ended, the outcome still counts as data but does
    /// not change the budget. If its units were released and used by other offers, it is oversold: [`Day::oversold`] counts
    /// it, and neither units nor reward are booked.
    pub fn observe_offer(&mut self, number: u64, accepted: bool) -> Result<Settled, LearnerError> {
        let offer = self.take_waiting(number)?;
        let row = self.next_row();
        let context = self.task.context(offer.step, &offer.features);
        self.policy
            .observe_in(offer.episode, &context, offer.action, accepted);
        let within = offer.episode == self.state.episodes;
        Ok(Settled {
            row: (self.next_row() > row).then_some(row),
            booked: accepted && within && self.sell(offer.cost, offer.reward),
        })
    }

    /// Removes an open offer and releases its units.
    fn take_waiting(&mut self, number: u64) -> Result<OpenOffer, LearnerError> {
        self.release(number)?;
        let offer = self.state.waiting.remove(&number);
        offer.ok_or(LearnerError::NoOffer { number })
    }

    /// Releases the units of an open offer; its outcome may still come.
    pub fn release(&mut self, number: u64) -> Result<(), LearnerError> {
        let offer = self.state.waiting.get_mut(&number);
        let offer = offer.ok_or(LearnerError::NoOffer { number })?;
        let held = std::mem::take(&mut offer.holds);
        if let Some(open) = &mut self.state.open
            && held
            && offer.episode == self.state.episodes
        {
            open.held -= offer.cost;
        }
        Ok(())
    }

    /// Whether the offer has no outcome yet.
    pub fn waits(&self, number: u64) -> bool {
        self.state.waiting.contains_key(&number)
    }

    /// Forgets an offer whose outcome will never be known, and releases its units.
    pub fn withdraw(&mut self, number: u64) -> Result<(), LearnerError> {
        self.take_waiting(number).map(|_| ())
    }

    /// Ends the episode: learns from it, and replans if that is due. Offers without an outcome hold no units any more; their
    /// outcomes may still come.
    pub fn end(&mut self) -> Result<Day, LearnerError> {
        let day = self.close()?;
        if day.replanned {
            self.replan()?;
        }
        Ok(day)
    }

    /// The first half of [`Learner::end`], which is fast: the current plan stays. If `replanned` is set in the result, a new
    /// plan is due: call [`Learner::replan`], the second half.
    pub fn close(&mut self) -> Result<Day, LearnerError> {
        let open = self.state.open.take().ok_or(LearnerError::NoEpisode)?;
        self.expected = None;
        let due = self.policy.learn(&open.contexts);
        Ok(self.day(&open, due))
    }
}

pub(super) fn check_arrival(
    task: &Task,
    step: usize,
    features: &[f64],
) -> Result<(), LearnerError> {
    if !(1..=task.horizon()).contains(&step) {
        let accepted = format!("a step from 1 to {}", task.horizon());
        return Err(Invalid::new("step", step, accepted).into());
    }
    Ok(task.check_context(features)?)
}
