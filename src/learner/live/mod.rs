//! A learner that runs a real shop: requests in, answers out. Every answer is in a journal before it is given, and the state
//! is the replay of the journal.
//!
//! The plan of an episode follows from all earlier episodes. `end` answers at once and the plan is made in the background;
//! `begin` waits for it, `decide` never does. So a live learner decides exactly as one in a simulation.

mod book;
mod engine;
mod planning;
mod record;
mod replay;
mod request;
mod snapshot;
mod view;

use std::sync::mpsc::Receiver;

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::journal::{Journal, with_checksum};
use super::{Learner, LearnerError};
use crate::error::Invalid;
use book::{Book, Episode};
use record::{BeginRecord, EndRecord, ObserveRecord};

pub use engine::{Engine, Job, RequestQueue};
pub(crate) use record::{DecideRecord, FORMAT, OpenRecord};
pub use replay::LiveError;
pub(crate) use replay::{LiveStart, read_journal};
pub use request::{Code, Refusal, Reply, Request, When};

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
}

/// A learner in use, with its journal.
pub struct Live {
    /// `None` while it plans.
    learner: Option<Learner>,
    planner: Option<Receiver<(Learner, Result<(), LearnerError>)>>,
    /// Outcomes observed while it plans.
    pending_outcomes: Vec<(u64, bool)>,
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
            Request::Begin {
                episode,
                budget,
                close,
            } => self.begin(episode, *budget, *close),
            Request::Decide { id, when, context } => self.decide(id, when, context),
            Request::Observe { id, accepted } => self.observe(id, *accepted),
            Request::End { episode } => self.end(episode),
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

    fn begin(&mut self, name: &str, budget: u32, close: bool) -> Reply {
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
            return Ok(self.recorded::<BeginRecord>(place)?.answer());
        }
        let most = self.learner.as_ref().map(|l| l.task().budget_max());
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
        let optimistic = learner.policy().u_hat().start(budget);
        let expected = learner.expected(budget);
        let begin = BeginRecord {
            episode: name.into(),
            number,
            budget,
            plan: self.book.plans,
            expected,
            optimistic,
            note,
        };
        let place = self.write("begin", &begin);
        self.book.begin(&begin, place);
        self.left_open = false;
        Ok(begin.answer())
    }

    fn decide(&mut self, id: &str, when: &When, context: &Map<String, Value>) -> Reply {
        if let Some(decision) = self.book.decisions.get(id).copied() {
            let record: DecideRecord = self.recorded(decision.place)?;
            if !record.is_of(when, context) {
                let message = format!("id `{id}` was used for another request");
                return Err(Refusal::new(Code::Conflict, message));
            }
            return Ok(record.answer());
        }
        let Some(episode) = self.book.open_episode() else {
            return Err(LearnerError::NoEpisode.into());
        };
        let episode = episode.name.clone();
        let (step, time) = match when {
            When::Step(step) => (*step, None),
            When::Time(time) => (self.intake.step(time)?, Some(time.clone())),
        };
        let (features, notes) = self.intake.features(context)?;
        let (settings, line) = (self.settings, self.book.lines + 1);
        let (mut feasible, mut probability) = (Vec::new(), 1.0);
        let learner = self.learner.as_mut().ok_or(LearnerError::NoEpisode)?;
        let budget = learner.budget().unwrap_or(0);
        let offer = learner.decide_with(step, &features, |best, possible| {
            feasible = possible.to_vec();
            let action;
            (action, probability) = explore(settings, line, best, possible);
            action
        })?;
        let hold = self.settings.hold_ms.filter(|_| offer.action > 0);
        let decide = DecideRecord {
            id: id.into(),
            episode,
            step,
            time,
            context: context.clone(),
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
            notes,
        };
        let place = self.write("decide", &decide);
        self.book.decide(&decide, offer.number, place);
        self.left_open = false;
        Ok(decide.answer())
    }

    fn observe(&mut self, id: &str, accepted: bool) -> Reply {
        let Some(decision) = self.book.decisions.get(id).copied() else {
            let message = format!("no decision has the id `{id}`");
            return Err(Refusal::new(Code::Unknown, message));
        };
        if decision.outcome > 0 {
            let record: ObserveRecord = self.recorded(decision.outcome)?;
            if record.accepted != accepted {
                let message = format!("the outcome of `{id}` was told as {}", record.accepted);
                return Err(Refusal::new(Code::Conflict, message));
            }
            return Ok(record.answer());
        }
        match (decision.offer, &mut self.learner) {
            (0, _) if accepted => {
                let message = format!("accepted: nothing was offered to `{id}`");
                return Err(Refusal::invalid(message));
            }
            (0, _) => {}
            (offer, Some(learner)) => learner.observe_offer(offer, accepted)?,
            (offer, None) => self.pending_outcomes.push((offer, accepted)),
        }
        let is_open = self.book.open && decision.episode as usize + 1 == self.book.episodes.len();
        let learner = self.learner.as_ref().filter(|_| is_open);
        let observe = ObserveRecord {
            id: id.into(),
            accepted,
            budget: learner.and_then(Learner::budget),
        };
        let place = self.write("observe", &observe);
        self.book.observe(&observe, place);
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
                Ok(self.recorded::<EndRecord>(ended)?.answer())
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

    fn recorded<T: DeserializeOwned>(&mut self, place: u64) -> Result<T, Refusal> {
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
