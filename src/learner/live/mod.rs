//! A learner that runs a real shop: requests in, answers out. Every answer is in a journal before it is given, and the state
//! is the replay of the journal.
//!
//! The plan of an episode follows from all earlier episodes. `end` answers at once and the plan is made in the background;
//! `begin` waits for it, `decide` never does. So a live learner decides exactly as one in a simulation.

mod answer;
mod book;
mod engine;
mod events;
mod members;
mod planning;
mod rails;
mod record;
mod refusal;
mod replay;
mod request;
mod snapshot;
mod view;

use std::sync::Arc;
use std::sync::mpsc::Receiver;

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::journal::{Journal, with_checksum};
use super::{Learner, LearnerError};
use crate::error::Invalid;
use crate::policy::Terms;
use answer::Answer;
use book::{Book, Episode};
use events::{repeated, used};
use record::{BeginRecord, EndRecord, ObserveRecord};

pub use engine::{Engine, Job, RequestQueue};
pub use rails::Rails;
pub(crate) use record::{DecideRecord, FORMAT, OpenRecord, RecordRecord, RepriceRecord};
pub use refusal::{Code, Refusal, Reply};
pub use replay::LiveError;
pub(crate) use replay::{LiveStart, read_journal};
pub use request::{
    Adjust, Begin, Cancel, Decide, EVENTS, End, Forget, Observe, Quote, Record, Request, When,
};

/// How raw requests become contexts: the encoding and the clock of a task.
pub trait Intake: Send {
    /// The features of raw columns, with notes on missing values and unseen levels.
    fn features(&self, context: &Map<String, Value>) -> Result<(Vec<f64>, Vec<String>), Invalid>;

    /// The step (1-based) of a time.
    fn step(&self, time: &str) -> Result<usize, Invalid>;
}

/// How a live learner serves.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LiveSettings {
    /// Share of decisions drawn uniformly from the feasible offers.
    pub explore: f64,
    /// Seed of these draws.
    pub seed: u64,
    /// Milliseconds for which an open offer holds its units; `None` means without limit.
    pub hold_ms: Option<u64>,
    /// Whether answers wait until their lines are synced to disk.
    pub sync: bool,
    /// Limits on offers.
    pub rails: Rails,
    /// An offer that is always made, where it can be, in place of the learner's.
    pub fixed: Option<f64>,
}

/// Makes a learner without data.
pub(crate) type MakeLearner = Arc<dyn Fn() -> Result<Learner, LearnerError> + Send + Sync>;

/// A learner in use, with its journal.
pub struct Live {
    /// `None` while it plans.
    learner: Option<Learner>,
    /// Makes a learner without data.
    fresh: MakeLearner,
    planner: Option<Receiver<(Learner, Result<(), LearnerError>)>>,
    /// Outcomes observed while it plans: the id and the number of the offer.
    pending_outcomes: Vec<(String, u64, bool)>,
    intake: Box<dyn Intake>,
    settings: LiveSettings,
    journal: Journal,
    book: Book,
    /// Whether the open episode is from before the start and has had no request since.
    left_open: bool,
    view: view::Cache,
    snapshot_at: u64,
    now_ms: u64,
}

impl std::fmt::Debug for Live {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "Live {{ journal: {:?} }}", self.journal.path())
    }
}

impl Live {
    /// Answers a request at a time (milliseconds since 1970). The answer is valid once [`Live::commit`] has succeeded.
    pub fn handle(&mut self, request: &Request, now_ms: u64) -> Reply {
        self.now_ms = now_ms;
        if !request.only_reads() {
            self.release_due();
        }
        match request {
            Request::Begin(begin) => self.begin(begin),
            Request::Decide(decide) => self.decide(decide),
            Request::Observe(observe) => self.observe(observe),
            Request::Record(record) => self.record(record),
            Request::Cancel(cancel) => self.cancel(cancel),
            Request::Correct(correct) => self.correct(correct),
            Request::Adjust(adjust) => self.adjust(adjust),
            Request::Forget(forget) => self.forget(forget),
            Request::Quote(quote) => self.quote(quote),
            Request::End(end) => self.end(&end.episode),
            Request::State => Ok(self.state()),
            Request::View => Ok(self.view()),
        }
    }

    /// Writes and syncs the lines of all answers.
    pub fn commit(&mut self) -> Result<(), Refusal> {
        self.journal.commit().map_err(|error| {
            let message = format!("the journal cannot be written ({error}); try again later");
            Refusal::new(Code::Storage, message)
        })
    }

    /// Writes that the task changes; the learner that is opened next has the new one.
    pub(crate) fn reprice(&mut self, record: &RepriceRecord) {
        self.wait_for_planner();
        self.write("reprice", record);
    }

    fn begin(&mut self, request: &Begin) -> Reply {
        let (name, budget, close) = (request.episode.as_str(), request.budget, request.close);
        if let Some(episode) = self.book.episode(name) {
            if episode.ended > 0 {
                let message = format!("episode `{name}` has ended; a new one needs a new name");
                return Err(Refusal::new(Code::Closed, message));
            }
            if episode.budget != budget {
                let message = format!("episode `{name}` began with budget {}", episode.budget);
                return Err(Refusal::new(Code::Conflict, message));
            }
            let place = episode.begun;
            self.left_open = false;
            return Ok(repeated(&self.recorded::<BeginRecord>(place)?));
        }
        let most = self.learner.as_ref().map(|l| l.policy().ceiling());
        if let Some(most) = most.filter(|most| budget > *most) {
            let accepted = format!("units from 0 to {most}");
            return Err(Invalid::new("budget", budget, accepted).into());
        }
        let mut note = None;
        if let Some(open) = self.book.open_episode() {
            let open = open.name.clone();
            if !(self.left_open || close) {
                let message = format!("episode `{open}` is open; end it first");
                return Err(Refusal::new(Code::Conflict, message));
            }
            self.close()?;
            note = Some(format!("episode `{open}` was never ended; it ends here"));
        }
        let learner = self.wait_for_planner();
        let number = learner.begin(budget)?;
        let u_hat = learner.policy().u_hat();
        let hoped = u_hat.start(budget.min(u_hat.budget_max()));
        let begin = BeginRecord {
            episode: name.into(),
            number,
            budget,
            plan: self.book.plans,
            hoped,
            note,
        };
        let place = self.write("begin", &begin);
        self.book.begin(&begin, place);
        self.left_open = false;
        Ok(begin.answer())
    }

    fn decide(&mut self, request: &Decide) -> Reply {
        let id = &request.id;
        if let Some(decision) = self.book.decisions.get(id.as_str()).copied() {
            if decision.outside {
                return Err(used(id));
            }
            let record: DecideRecord = self.recorded(decision.place)?;
            return match record.is_of(request) {
                true => Ok(repeated(&record)),
                false => Err(used(id)),
            };
        }
        self.check_new(id)?;
        let episode = self.open_name()?;
        let (step, time) = self.moment(request.when()?)?;
        let (features, mut notes) = self.intake.features(&request.context)?;
        let terms = Terms {
            actions: self.allowed(request.offers.as_deref(), &mut notes)?,
            quantity: request.quantity,
        };
        let (settings, line) = (self.settings, self.book.lines + 1);
        let (mut feasible, mut probability, mut is_fallback) = (Vec::new(), 1.0, false);
        let (fallback, fixed) = (self.fallback(), self.fixed());
        let learner = self.learner.as_mut().ok_or(LearnerError::NoEpisode)?;
        let budget = learner.budget().unwrap_or(0);
        let offer = learner.decide_with(step, &features, &terms, |best, possible| {
            feasible = possible.to_vec();
            if let Some(action) = fallback.filter(|action| possible.contains(action)) {
                is_fallback = true;
                return action;
            }
            let best = fixed.map_or(best, |action| match possible.contains(&action) {
                true => action,
                false => 0,
            });
            let action;
            (action, probability) = explore(settings, line, best, possible);
            action
        })?;
        let hold = self.settings.hold_ms.filter(|_| offer.action > 0);
        let decide = DecideRecord {
            id: id.clone(),
            episode,
            step,
            time,
            context: request.context.clone(),
            budget,
            held: learner.held(),
            feasible,
            action: offer.action,
            offer: offer.value,
            probability,
            lower: offer.lower,
            upper: offer.upper,
            opportunity_cost: offer.opportunity_cost,
            plan: self.book.plans,
            hold_until_ms: hold.map(|ms| self.now_ms + ms),
            offers: request.offers.clone(),
            quantity: request.quantity,
            fallback: is_fallback,
            notes,
        };
        let place = self.write("decide", &decide);
        self.book.decide(&decide, offer.number, place);
        self.left_open = false;
        Ok(decide.answer())
    }

    /// What would be offered to a customer now, without exploring.
    fn quote(&mut self, request: &Quote) -> Reply {
        let episode = self.open_name()?;
        let (step, _) = self.moment(request.when()?)?;
        let (features, mut notes) = self.intake.features(&request.context)?;
        let terms = Terms {
            actions: self.allowed(request.offers.as_deref(), &mut notes)?,
            quantity: request.quantity,
        };
        let learner = self.learner.as_mut().ok_or(LearnerError::NoEpisode)?;
        let offer = learner.preview(step, &features, &terms)?;
        Ok(json!({
            "ok": true,
            "episode": episode,
            "step": step,
            "offer": offer.value,
            "lower": offer.lower,
            "upper": offer.upper,
            "opportunity_cost": offer.opportunity_cost,
            "notes": notes,
        }))
    }

    /// The step of a moment, and its time if that was given.
    fn moment(&self, when: When<'_>) -> Result<(usize, Option<String>), Refusal> {
        Ok(match when {
            When::Step(step) => (step, None),
            When::Time(time) => (self.intake.step(time)?, Some(time.to_string())),
        })
    }

    /// The actions that the caller and the guard rails allow; `None` means all.
    fn allowed(
        &self,
        offers: Option<&[f64]>,
        notes: &mut Vec<String>,
    ) -> Result<Option<Vec<usize>>, Refusal> {
        let rails = self.settings.rails;
        let learner = self.learner.as_ref().ok_or(LearnerError::NoEpisode)?;
        let values = learner.task().application().action_values();
        if let Some(unknown) = offers.and_then(|o| o.iter().find(|o| !values.contains(o))) {
            let message = format!("offers: found {unknown}; accepted: some of {values:?}");
            return Err(Refusal::invalid(message));
        }
        if offers.is_none() && rails == Rails::default() {
            return Ok(None);
        }
        let last = self.book.last_offer;
        let asked = |value: &f64| offers.is_none_or(|offers| offers.contains(value));
        let actions = (1..).zip(values);
        let allowed = actions.filter(|(_, v)| asked(v) && rails.allow(**v, last));
        let allowed: Vec<usize> = allowed.map(|(action, _)| action).collect();
        if allowed.is_empty() {
            notes.push("the guard rails allow none of the offers".into());
        }
        Ok(Some(allowed))
    }

    /// The action of the offer that is always made.
    fn fixed(&self) -> Option<usize> {
        let task = self.learner.as_ref()?.task();
        task.application().action_at(self.settings.fixed?)
    }

    /// The fallback offer's action, as long as there is no plan.
    fn fallback(&self) -> Option<usize> {
        let value = self
            .settings
            .rails
            .fallback
            .filter(|_| self.book.plans == 0)?;
        let task = self.learner.as_ref()?.task();
        task.application().action_at(value)
    }

    fn observe(&mut self, request: &Observe) -> Reply {
        let (id, accepted) = (request.id.as_str(), request.accepted);
        let decision = self.decision(id)?;
        if decision.outside {
            let message =
                format!("the outcome of `{id}` was told with it; correct it if it is wrong");
            return Err(Refusal::conflict(message));
        }
        let episode = self.name_of(&decision);
        if decision.outcome > 0 {
            let mut record: ObserveRecord = self.recorded(decision.outcome)?;
            if record.accepted != accepted {
                let message = format!("the outcome of `{id}` was told as {}", record.accepted);
                return Err(Refusal::conflict(message));
            }
            record.episode = episode;
            return Ok(repeated(&record));
        }
        let mut settled = None;
        match (decision.offer, &mut self.learner) {
            (0, _) if accepted => {
                let message = format!("accepted: nothing was offered to `{id}`");
                return Err(Refusal::invalid(message));
            }
            (0, _) => {}
            (offer, Some(learner)) => settled = Some(learner.observe_offer(offer, accepted)?),
            (offer, None) => self.pending_outcomes.push((id.into(), offer, accepted)),
        }
        let budget = self.budget_in(&decision);
        let observe = ObserveRecord {
            id: id.into(),
            episode,
            accepted,
            budget,
            oversold: accepted && budget.is_some() && settled.is_some_and(|s| !s.booked),
        };
        let place = self.write("observe", &observe);
        self.book.observe(&observe, settled, place);
        self.forget_late(id);
        self.left_open = false;
        Ok(observe.answer())
    }

    fn end(&mut self, name: &str) -> Reply {
        match self.book.episode(name) {
            None => {
                let message = format!("no episode has the name `{name}`");
                Err(Refusal::new(Code::Unknown, message))
            }
            Some(&Episode { ended, .. }) if ended > 0 => {
                Ok(repeated(&self.recorded::<EndRecord>(ended)?))
            }
            Some(_) => Ok(self.close()?.answer()),
        }
    }

    /// Ends the open episode. If a plan is due, it is made in the background.
    fn close(&mut self) -> Result<EndRecord, Refusal> {
        let name = self.book.open_episode().map(|open| open.name.clone());
        let learner = self.learner.as_mut().ok_or(LearnerError::NoEpisode)?;
        let day = learner.close()?;
        let end = EndRecord {
            episode: name.unwrap_or_default(),
            reward: day.reward,
            spent: day.spent,
            oversold: day.oversold,
            observations: day.observations,
            replanned: day.replanned,
        };
        let place = self.write("end", &end);
        self.book.end(&end, day.replanned, place);
        if self.book.due {
            self.start_planning();
        }
        Ok(end)
    }

    fn write(&mut self, op: &str, body: &impl Serialize) -> u64 {
        self.book.lines += 1;
        let line = record::line(self.book.lines, op, self.now_ms, body);
        self.journal.append(&with_checksum(line))
    }

    fn recorded<T: Answer>(&mut self, place: u64) -> Result<T, Refusal> {
        let line = self.journal.line_at(place);
        let line = line.map_err(|error| error.to_string());
        line.and_then(|line| record::body(&line)).map_err(|error| {
            let message = format!("the journal cannot be read ({error})");
            Refusal::new(Code::Storage, message)
        })
    }
}

/// The action for a decision, and its probability, which is recorded so that other policies can be evaluated later: a share
/// of the decisions is drawn uniformly from the feasible offers. The draw depends on the seed and the line number alone, so
/// a restart changes nothing.
fn explore(settings: LiveSettings, line: u64, best: usize, feasible: &[usize]) -> (usize, f64) {
    let share = settings.explore;
    if share <= 0.0 || feasible.is_empty() {
        return (best, 1.0);
    }
    let mut rng = ChaCha8Rng::seed_from_u64(settings.seed);
    rng.set_stream(line);
    let action = match rng.random_bool(share) {
        true => feasible[rng.random_range(0..feasible.len())],
        false => best,
    };
    let uniform = match feasible.contains(&action) {
        true => share / feasible.len() as f64,
        false => 0.0,
    };
    let kept = if action == best { 1.0 - share } else { 0.0 };
    (action, uniform + kept)
}
