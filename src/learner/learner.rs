//! The learner itself: begin, decide, observe, end.

use std::sync::Arc;

use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;

use super::state::{LearnerState, OpenEpisode, OpenOffer};
use super::{Day, Labeled, LearnerError, Offer};
use crate::dp::Backend;
use crate::error::{Invalid, shown};
use crate::oracle::{Bounds, Oracle};
use crate::policy::{self, LearnerSpec, MimicOptDp, Policy, Turn};
use crate::task::{Context, ContextRows, EpisodeContexts, Task};

/// How a learner learns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LearnerSettings {
    /// Algorithm 1's own settings.
    pub learning: LearnerSpec,
    /// Confidence: bounds hold with probability 1 - delta.
    pub delta: f64,
    /// Seed of the draws of posterior sampling.
    pub seed: u64,
}

impl Default for LearnerSettings {
    fn default() -> Self {
        Self {
            learning: LearnerSpec::TIGHT,
            delta: 0.1,
            seed: 1,
        }
    }
}

/// A learner in use. Every argument is checked; nothing a caller passes makes it panic.
pub struct Learner {
    task: Arc<Task>,
    policy: MimicOptDp,
    backend: Box<dyn Backend>,
    state: State,
}

/// What changes between plans.
#[derive(Debug, Clone, Default)]
struct State {
    /// Episodes begun so far.
    episodes: usize,
    /// Offers made so far.
    offers: u64,
    open: Option<OpenEpisode>,
    /// Offers whose outcome is not known, this episode's and earlier ones'.
    waiting: Vec<OpenOffer>,
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
        } = settings;
        if !(delta > 0.0 && delta < 1.0) {
            let found = Invalid::new("delta", shown(delta), "a number between 0 and 1");
            return Err(found.into());
        }
        let config = learning.check("learner", &task, 0)?;
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
        let episode = self.state.episodes;
        let open = self.state.waiting.iter().filter(|o| o.episode == episode);
        match self.state.open {
            Some(_) => open.map(|offer| offer.cost).sum(),
            None => 0,
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
        let held = self.held();
        let Some(open) = &mut self.state.open else {
            return Err(LearnerError::NoEpisode);
        };
        check_arrival(&self.task, step, features)?;
        let context = self.task.context(step - 1, features);
        open.contexts.arrive(step - 1, |slot| {
            slot.copy_from_slice(features);
            context.point
        });
        let budget = open.budget - held;
        let action = self.policy.choose(&context, budget);
        let number = self.state.offers + 1;
        let offer = self.offer(number, &context, action, budget);
        self.state.offers = number;
        if action > 0 {
            self.state.waiting.push(OpenOffer {
                number,
                episode: self.state.episodes,
                step: step - 1,
                features: features.to_vec(),
                action,
                cost: offer.cost,
                reward: offer.reward,
            });
        }
        Ok(offer)
    }

    fn offer(&self, number: u64, context: &Context, action: usize, budget: u32) -> Offer {
        let step = context.step + 1;
        if action == 0 {
            return Offer {
                number,
                step,
                action,
                value: None,
                cost: 0,
                reward: 0.0,
                lower: 0.0,
                upper: 0.0,
                opportunity_cost: 0.0,
            };
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
        match self.state.waiting[..] {
            [OpenOffer { number, .. }] => self.observe_offer(number, accepted),
            ref others => Err(LearnerError::Ambiguous { open: others.len() }),
        }
    }

    /// The outcome of an offer by its number. After its episode has ended it is learnt from, and moves no budget.
    pub fn observe_offer(&mut self, number: u64, accepted: bool) -> Result<(), LearnerError> {
        let place = self.state.waiting.iter().position(|o| o.number == number);
        let place = place.ok_or(LearnerError::NoOffer { number })?;
        let offer = self.state.waiting.remove(place);
        if !self.policy.config().is_reserved(offer.episode) {
            let context = self.task.context(offer.step, &offer.features);
            self.policy
                .add_observation(&context, offer.action, accepted);
        }
        if let Some(open) = &mut self.state.open
            && accepted
            && offer.episode == self.state.episodes
        {
            open.budget -= offer.cost;
            open.spent += offer.cost;
            open.reward += offer.reward;
        }
        Ok(())
    }

    /// Forgets an offer whose outcome will never be known, and releases its units.
    pub fn withdraw(&mut self, number: u64) -> Result<(), LearnerError> {
        let place = self.state.waiting.iter().position(|o| o.number == number);
        let place = place.ok_or(LearnerError::NoOffer { number })?;
        self.state.waiting.remove(place);
        Ok(())
    }

    /// The episode is over: learn from it, and plan the next where that is due. Offers without an outcome hold nothing any
    /// more; their outcomes may still come.
    pub fn end(&mut self) -> Result<Day, LearnerError> {
        let open = self.state.open.take().ok_or(LearnerError::NoEpisode)?;
        let mut turns = [Turn::new(&mut self.policy, &open.contexts)];
        policy::learn(&mut turns);
        policy::replan(&mut turns, self.backend.as_mut())?;
        let replanned = turns[0].changed();
        Ok(Day {
            episode: self.state.episodes,
            reward: open.reward,
            spent: open.spent,
            observations: self.policy.observations().len(),
            replanned,
        })
    }

    /// Takes in labeled rows from elsewhere, such as a log; all are checked before the first counts. [`Learner::replan`]
    /// makes use of them at once.
    pub fn extend<'r>(
        &mut self,
        rows: impl IntoIterator<Item = Labeled<'r>>,
    ) -> Result<usize, LearnerError> {
        let rows: Vec<Labeled> = rows.into_iter().collect();
        for row in &rows {
            check_arrival(&self.task, row.step, row.features)?;
            if !(1..=self.task.actions()).contains(&row.action) {
                let accepted = format!("an action from 1 to {}", self.task.actions());
                return Err(Invalid::new("action", row.action, accepted).into());
            }
        }
        for row in &rows {
            let context = self.task.context(row.step - 1, row.features);
            self.policy
                .add_observation(&context, row.action, row.accepted);
        }
        Ok(rows.len())
    }

    /// Takes in rows of contexts without outcomes. [`Learner::replan`] makes use of them at once.
    pub fn extend_contexts(&mut self, rows: &ContextRows) -> Result<usize, LearnerError> {
        if rows.horizon() != self.task.horizon() {
            let accepted = format!("{} steps in each", self.task.horizon());
            let found = format!("{} steps in each", rows.horizon());
            return Err(Invalid::new("context rows", found, accepted).into());
        }
        self.task.check_rows(rows)?;
        self.policy.add_rows(rows);
        Ok(rows.len())
    }

    /// Takes in the contexts of whole episodes from elsewhere, such as a log, where a step may have several arrivals.
    /// [`Learner::replan`] makes use of them at once.
    pub fn extend_episodes(&mut self, episodes: &[EpisodeContexts]) -> Result<usize, LearnerError> {
        for episode in episodes {
            self.task.check_contexts(episode)?;
        }
        for episode in episodes {
            self.policy.add_contexts(episode);
        }
        Ok(episodes.len())
    }

    /// Fits the oracle and plans anew from all that is known, also within an episode.
    pub fn replan(&mut self) -> Result<(), LearnerError> {
        let next = self.state.episodes + usize::from(self.state.open.is_none());
        self.policy.fit(next.max(1));
        let request = self.policy.plan_request().expect("the learner plans");
        let table = self.backend.plan(&[request])?.tables.remove(0);
        self.policy.install(table);
        Ok(())
    }

    /// All that a restart needs, for [`Learner::restore`].
    pub fn save(&self) -> LearnerState {
        LearnerState {
            episodes: self.state.episodes,
            offers: self.state.offers,
            open: self.state.open.clone(),
            waiting: self.state.waiting.clone(),
            policy: self.policy.save(),
        }
    }

    /// A learner as it was when it was saved, to the bit: task, oracle and settings must be those it was made with, the
    /// oracle without data.
    pub fn restore(
        task: Task,
        oracle: Box<dyn Oracle>,
        settings: LearnerSettings,
        backend: Box<dyn Backend>,
        state: LearnerState,
    ) -> Result<Self, LearnerError> {
        let mut learner = Self::new(task, oracle, settings, backend)?;
        state.check(&learner.task)?;
        learner.policy.restore(state.policy)?;
        learner.state = State {
            episodes: state.episodes,
            offers: state.offers,
            open: state.open,
            waiting: state.waiting,
        };
        Ok(learner)
    }
}

fn check_arrival(task: &Task, step: usize, features: &[f64]) -> Result<(), LearnerError> {
    if !(1..=task.horizon()).contains(&step) {
        let accepted = format!("a step from 1 to {}", task.horizon());
        return Err(Invalid::new("step", step, accepted).into());
    }
    Ok(task.check_context(features)?)
}
