//! The learner itself: begin, decide, observe, end.

use std::collections::BTreeMap;
use std::sync::Arc;

use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;

use super::state::{OpenEpisode, OpenOffer};
use super::{Day, LearnerError, Offer};
use crate::dp::Backend;
use crate::error::{Invalid, shown};
use crate::oracle::{Bounds, Oracle};
use crate::policy::{LearnerSpec, MimicOptDp, Policy};
use crate::task::{Context, EpisodeContexts, Task};

/// How a learner learns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LearnerSettings {
    /// Algorithm 1's own settings.
    pub learning: LearnerSpec,
    /// Confidence: bounds hold with probability 1 - delta.
    pub delta: f64,
    /// Seed of the draws of posterior sampling.
    pub seed: u64,
    /// Episodes whose contexts are given before the first one: they postpone the episodes reserved for contexts.
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

/// A learner in use. Every argument is checked; nothing a caller passes makes it panic.
pub struct Learner {
    pub(super) task: Arc<Task>,
    pub(super) policy: MimicOptDp,
    pub(super) backend: Box<dyn Backend>,
    pub(super) state: State,
}

/// What changes between plans.
#[derive(Debug, Clone, Default)]
pub(super) struct State {
    /// Episodes begun so far.
    pub episodes: usize,
    /// Offers made so far.
    pub offers: u64,
    pub open: Option<OpenEpisode>,
    /// Offers whose outcome is not known, this episode's and earlier ones', by their numbers.
    pub waiting: BTreeMap<u64, OpenOffer>,
}

impl std::fmt::Debug for Learner {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        let (policy, state) = (&self.policy, &self.state);
        write!(f, "Learner {{ policy: {policy:?}, state: {state:?} }}")
    }
}

impl Learner {
    /// A learner that knows the task alone.
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
        let config = learning.check("learner", &task, oracle.facts(), initial_rows)?;
        let task = Arc::new(task);
        let rng = ChaCha8Rng::seed_from_u64(seed);
        Ok(Self {
            policy: config.learner(Arc::clone(&task), oracle, delta, rng),
            task,
            backend,
            state: State::default(),
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

    /// Number of the episode that is open, 1-based.
    pub fn episode(&self) -> Option<usize> {
        self.state.open.as_ref().map(|_| self.state.episodes)
    }

    /// Units left in the open episode, those held by open offers included.
    pub fn budget(&self) -> Option<u32> {
        self.state.open.as_ref().map(|open| open.budget)
    }

    /// Units held by offers of the open episode whose outcome is not known.
    pub fn held(&self) -> u32 {
        self.state.open.as_ref().map_or(0, |open| open.held)
    }

    /// What the open episode has brought so far.
    pub fn so_far(&self) -> Option<Day> {
        let open = self.state.open.as_ref()?;
        Some(self.day(open, false))
    }

    fn day(&self, open: &OpenEpisode, replanned: bool) -> Day {
        Day {
            episode: self.state.episodes,
            reward: open.reward,
            spent: open.spent,
            observations: self.policy.observations().len(),
            replanned,
        }
    }

    /// An episode begins with `budget` units.
    pub fn begin(&mut self, budget: u32) -> Result<usize, LearnerError> {
        if self.state.open.is_some() {
            return Err(LearnerError::EpisodeOpen);
        }
        if budget > self.task.budget_max() {
            let accepted = format!("units from 0 to {}", self.task.budget_max());
            return Err(Invalid::new("budget", budget, accepted).into());
        }
        self.state.episodes += 1;
        self.state.open = Some(OpenEpisode {
            budget,
            held: 0,
            spent: 0,
            reward: 0.0,
            contexts: EpisodeContexts::new(self.task.dimension()),
        });
        self.policy.start_episode(self.state.episodes, budget);
        Ok(self.state.episodes)
    }

    /// Somebody has arrived at `step` (1-based): what to offer. Units held by open offers are not offered again. Several
    /// arrivals in one step are served from the same row of the plan, though the model expects one.
    pub fn decide(&mut self, step: usize, features: &[f64]) -> Result<Offer, LearnerError> {
        self.decide_with(step, features, |best, _| best)
    }

    /// Likewise with a word of the caller's: `choose` gets the plan's action and the feasible ones (the null action aside),
    /// and returns one of them, as exploration does.
    pub fn decide_with(
        &mut self,
        step: usize,
        features: &[f64],
        choose: impl FnOnce(usize, &[usize]) -> usize,
    ) -> Result<Offer, LearnerError> {
        let open = self.state.open.as_ref().ok_or(LearnerError::NoEpisode)?;
        check_arrival(&self.task, step, features)?;
        let context = self.task.context(step - 1, features);
        let budget = open.budget - open.held;
        let feasible = self.feasible(&context, budget);
        let best = self.policy.choose(&context, budget);
        let action = choose(best, &feasible);
        if action != best && !feasible.contains(&action) {
            let accepted = format!("{best} or one of {feasible:?}");
            return Err(Invalid::new("action", action, accepted).into());
        }
        let offer = self.offer(self.state.offers + 1, &context, action, budget);
        self.record_offer(&context, &offer);
        Ok(offer)
    }

    /// Actions that can be offered with `budget` units, the null action aside.
    fn feasible(&self, context: &Context, budget: u32) -> Vec<usize> {
        let fits = |a: &usize| {
            self.task.cost(context, *a) <= budget && self.task.reward(context, *a) >= 0.0
        };
        (1..=self.task.actions()).filter(fits).collect()
    }

    /// An offer that was made earlier, as a journal tells of it; returns its number.
    pub fn decided(
        &mut self,
        step: usize,
        features: &[f64],
        action: usize,
    ) -> Result<u64, LearnerError> {
        let open = self.state.open.as_ref().ok_or(LearnerError::NoEpisode)?;
        check_arrival(&self.task, step, features)?;
        let context = self.task.context(step - 1, features);
        let feasible = self.feasible(&context, open.budget - open.held);
        if action > 0 && !feasible.contains(&action) {
            let accepted = format!("0 or one of {feasible:?}");
            return Err(Invalid::new("action", action, accepted).into());
        }
        let mut offer = Offer::none(self.state.offers + 1, step);
        if action > 0 {
            offer.action = action;
            offer.cost = self.task.cost(&context, action);
            offer.reward = self.task.reward(&context, action);
        }
        self.record_offer(&context, &offer);
        Ok(offer.number)
    }

    fn record_offer(&mut self, context: &Context, offer: &Offer) {
        let open = self.state.open.as_mut().expect("an episode is open");
        open.contexts.arrive(context.step, |slot| {
            slot.copy_from_slice(context.features);
            context.point
        });
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

    fn offer(&self, number: u64, context: &Context, action: usize, budget: u32) -> Offer {
        let step = context.step + 1;
        if action == 0 {
            return Offer::none(number, step);
        }
        let mut intervals = vec![Bounds::UNKNOWN; self.task.actions()];
        self.policy.beliefs().interval(context, &mut intervals);
        let cost = self.task.cost(context, action);
        let next = self.policy.u_hat().row(step);
        Offer {
            number,
            step,
            action,
            value: Some(self.task.application().action_value(action)),
            cost,
            reward: self.task.reward(context, action),
            lower: intervals[action - 1].lcb,
            upper: intervals[action - 1].ucb,
            opportunity_cost: next[budget as usize] - next[(budget - cost) as usize],
        }
    }

    /// The outcome of the only offer that waits for one.
    pub fn observe(&mut self, accepted: bool) -> Result<(), LearnerError> {
        let mut numbers = self.state.waiting.keys();
        match (numbers.next(), numbers.next()) {
            (Some(&number), None) => self.observe_offer(number, accepted),
            _ => Err(LearnerError::Ambiguous {
                open: self.state.waiting.len(),
            }),
        }
    }

    /// The outcome of an offer by its number. After its episode has ended it is learnt from, and moves no budget. Where its
    /// units were released and are gone by now, the episode ends up with none.
    pub fn observe_offer(&mut self, number: u64, accepted: bool) -> Result<(), LearnerError> {
        let offer = self.take_waiting(number)?;
        let context = self.task.context(offer.step, &offer.features);
        self.policy
            .observe_in(offer.episode, &context, offer.action, accepted);
        if let Some(open) = &mut self.state.open
            && accepted
            && offer.episode == self.state.episodes
        {
            let units = offer.cost.min(open.budget - open.held);
            open.budget -= units;
            open.spent += units;
            open.reward += offer.reward;
        }
        Ok(())
    }

    /// Takes an offer from those that wait; its units are free again.
    fn take_waiting(&mut self, number: u64) -> Result<OpenOffer, LearnerError> {
        self.release(number)?;
        let offer = self.state.waiting.remove(&number);
        offer.ok_or(LearnerError::NoOffer { number })
    }

    /// The offer holds its units no longer; its outcome may still come.
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

    /// Whether the offer waits for its outcome.
    pub fn waits(&self, number: u64) -> bool {
        self.state.waiting.contains_key(&number)
    }

    /// Forgets an offer whose outcome will never be known, and releases its units.
    pub fn withdraw(&mut self, number: u64) -> Result<(), LearnerError> {
        self.take_waiting(number).map(|_| ())
    }

    /// The episode is over: learn from it, and plan the next where that is due. Offers without an outcome hold nothing any
    /// more; their outcomes may still come.
    pub fn end(&mut self) -> Result<Day, LearnerError> {
        let day = self.close()?;
        if day.replanned {
            self.replan()?;
        }
        Ok(day)
    }

    /// The first half of [`Learner::end`], which takes no time: the plan in force stays. Where the answer says that a new plan
    /// is due, [`Learner::replan`] is the other half.
    pub fn close(&mut self) -> Result<Day, LearnerError> {
        let open = self.state.open.take().ok_or(LearnerError::NoEpisode)?;
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
