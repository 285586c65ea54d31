//! A learner that runs a real shop: requests in, answers out, and every answer in a journal before it is given. Its state is
//! the replay of the journal.
//!
//! An episode takes the plan that follows from all episodes before it. `end` answers at once and the plan is made in the
//! background; `begin` waits for it, `decide` never does. So a learner in use decides exactly as one in a simulation.

mod answer;
mod book;
mod engine;
mod exploration;
mod planning;
mod record;
mod replay;
mod request;
mod snapshot;
mod view;

use std::sync::mpsc::Receiver;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::journal::{Journal, with_checksum};
use super::{Learner, LearnerError};
use crate::error::Invalid;
use answer::{begin_answer, decide_answer, end_answer, observe_answer, same_request};
use book::{Book, Decision, Episode};
use record::{Begin, Decide, End, Observe};

pub use answer::{Code, Refusal, Reply};
pub use engine::{Desk, Engine, Job};
pub use record::{Decide as DecideRecord, FORMAT, Open};
pub use replay::{LiveError, Start, read_journal};
pub use request::{Request, When};

/// How raw requests become contexts: the encoding and the clock of a task.
pub trait Intake: Send {
    /// The features of raw columns, with notes on what is missing or was never seen.
    fn features(&self, context: &Map<String, Value>) -> Result<(Vec<f64>, Vec<String>), Invalid>;

    /// The step (1-based) of a time.
    fn step(&self, time: &str) -> Result<usize, Invalid>;
}

/// How a live learner serves.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LiveSettings {
    /// Share of decisions that are drawn evenly from the feasible offers.
    pub explore: f64,
    /// Seed of these draws.
    pub seed: u64,
    /// Milliseconds for which an open offer holds its units; for ever where there is none.
    pub hold_ms: Option<u64>,
    /// Whether answers wait until the disk has their lines.
    pub sync: bool,
}

/// A learner in use, with its journal.
pub struct Live {
    /// Away while it plans.
    learner: Option<Learner>,
    planner: Option<Receiver<(Learner, Result<(), LearnerError>)>>,
    /// Outcomes that were told while it planned.
    told_meanwhile: Vec<(u64, bool)>,
    intake: Box<dyn Intake>,
    settings: LiveSettings,
    journal: Journal,
    book: Book,
    /// Whether the open episode is from before the start, and nothing was asked of it since.
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
    /// Answers a request at a time (milliseconds since 1970). The answer holds once [`Live::commit`] has succeeded.
    pub fn handle(&mut self, request: &Request, now_ms: u64) -> Reply {
        self.now_ms = now_ms;
        if !request.is_question() {
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

    /// Writes and syncs what was answered.
    pub fn commit(&mut self) -> Result<(), Refusal> {
        self.journal.commit().map_err(|error| {
            let message = format!("the journal cannot be written ({error}); try again later");
            Refusal::new(Code::Storage, message)
        })
    }

    fn begin(&mut self, name: &str, budget: u32, close: bool) -> Reply {
        if let Some((_, episode)) = self.book.episode(name) {
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
            return Ok(begin_answer(&self.recorded(place)?));
        }
        let most = self.task_budget();
        if most.is_some_and(|most| budget > most) {
            let accepted = format!("units from 0 to {}", most.unwrap_or(0));
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
        let learner = self.home();
        let number = learner.begin(budget)?;
        let hoped = learner.policy().u_hat().start(budget);
        let begin = Begin {
            episode: name.into(),
            number,
            budget,
            plan: self.book.plans,
            hoped,
            note,
        };
        let begun = self.write("begin", &begin);
        self.book.begin(Episode {
            name: name.into(),
            budget,
            hoped,
            begun,
            ..Episode::default()
        });
        self.left_open = false;
        Ok(begin_answer(&begin))
    }

    fn decide(&mut self, id: &str, when: &When, context: &Map<String, Value>) -> Reply {
        if let Some(decision) = self.book.decisions.get(id).copied() {
            let record: Decide = self.recorded(decision.place)?;
            if !same_request(&record, when, context) {
                let message = format!("id `{id}` was used for another request");
                return Err(Refusal::new(Code::Conflict, message));
            }
            return Ok(decide_answer(&record));
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
        let mut draw = exploration::Draw::new(self.settings, self.book.lines + 1);
        let learner = self.learner.as_mut().ok_or(LearnerError::NoEpisode)?;
        let budget = learner.budget().unwrap_or(0);
        let offer = learner.decide_with(step, &features, |best, feasible| {
            draw.choose(best, feasible)
        })?;
        let hold = self.settings.hold_ms.filter(|_| offer.action > 0);
        let decide = Decide {
            id: id.into(),
            episode,
            step,
            time,
            context: context.clone(),
            budget,
            held: learner.held(),
            feasible: draw.feasible,
            action: offer.action,
            offer: offer.value,
            probability: draw.probability,
            lower: offer.lower,
            upper: offer.upper,
            opportunity_cost: offer.opportunity_cost,
            plan: self.book.plans,
            hold_until_ms: hold.map(|ms| self.now_ms + ms),
            notes,
        };
        let place = self.write("decide", &decide);
        let decision = Decision {
            offer: if offer.action > 0 { offer.number } else { 0 },
            episode: self.book.episodes.len() as u32 - 1,
            place,
            outcome: 0,
        };
        self.book.note_left(step, budget);
        let width = offer.upper - offer.lower;
        self.book.decide(id, decision, width, decide.hold_until_ms);
        self.left_open = false;
        Ok(decide_answer(&decide))
    }

    fn observe(&mut self, id: &str, accepted: bool) -> Reply {
        let Some(decision) = self.book.decisions.get(id).copied() else {
            let message = format!("no decision has the id `{id}`");
            return Err(Refusal::new(Code::Unknown, message));
        };
        if decision.outcome > 0 {
            let record: Observe = self.recorded(decision.outcome)?;
            if record.accepted != accepted {
                let message = format!("the outcome of `{id}` was told as {}", record.accepted);
                return Err(Refusal::new(Code::Conflict, message));
            }
            return Ok(observe_answer(&record));
        }
        match (decision.offer, &mut self.learner) {
            (0, _) if accepted => {
                let message = format!("accepted: nothing was offered to `{id}`");
                return Err(Refusal::invalid(message));
            }
            (0, _) => {}
            (offer, Some(learner)) => learner.observe_offer(offer, accepted)?,
            (offer, None) => self.told_meanwhile.push((offer, accepted)),
        }
        let is_open = self.book.open && decision.episode as usize + 1 == self.book.episodes.len();
        let learner = self.learner.as_ref().filter(|_| is_open);
        let observe = Observe {
            id: id.into(),
            accepted,
            budget: learner.and_then(Learner::budget),
        };
        let place = self.write("observe", &observe);
        self.book.observe(id, accepted, place);
        self.left_open = false;
        Ok(observe_answer(&observe))
    }

    fn end(&mut self, name: &str) -> Reply {
        match self.book.episode(name) {
            None => {
                let message = format!("no episode has the name `{name}`");
                Err(Refusal::new(Code::Unknown, message))
            }
            Some((_, episode)) if episode.ended > 0 => {
                let place = episode.ended;
                Ok(end_answer(&self.recorded(place)?))
            }
            Some(_) => Ok(end_answer(&self.close()?)),
        }
    }

    /// Ends the open episode; where a plan is due, it is made in the background.
    fn close(&mut self) -> Result<End, Refusal> {
        let name = self.book.open_episode().map(|open| open.name.clone());
        let learner = self.learner.as_mut().ok_or(LearnerError::NoEpisode)?;
        let day = learner.close()?;
        let end = End {
            episode: name.unwrap_or_default(),
            reward: day.reward,
            spent: day.spent,
            observations: day.observations,
            replanned: day.replanned,
        };
        let place = self.write("end", &end);
        self.book.end(day.reward, day.spent, day.replanned, place);
        if self.book.due {
            self.start_planning();
        }
        Ok(end)
    }

    fn task_budget(&self) -> Option<u32> {
        self.learner.as_ref().map(|l| l.task().budget_max())
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
