//! A learner that runs a real shop: requests in, answers out. Every answer is in a journal before it is given, and the state
//! is the replay of the journal.
//!
//! The plan of an episode follows from all earlier episodes. `end` answers at once and the plan is made in the background;
//! `begin` waits for it, `decide` never does. So a live learner decides exactly as one in a simulation.

mod answer;
mod book;
mod check;
mod decide;
mod engine;
mod events;
mod fields;
mod figures;
mod lookup;
mod members;
mod page;
mod pilot;
mod planning;
mod rails;
mod record;
mod refusal;
mod replay;
mod request;
mod served;
mod snapshot;
mod threads;
mod view;

use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Map, Value};

use super::journal::{Journal, with_checksum};
use super::{Learner, LearnerError, Settled};
use crate::error::Invalid;
use answer::Answer;
use book::{Book, Episode};
use events::repeated;
use record::ObserveRecord;

pub(crate) use super::journal::whole_journal_bytes;
pub use check::Repaired;
pub(crate) use check::{check_journal, repair};
pub use engine::{Engine, Job, Level, Notices, RequestQueue};
pub use figures::Figures;
pub use pilot::{Baseline, Pilot, PilotDay};
pub use rails::Rails;
pub(crate) use record::{
    BeginRecord, CancelRecord, DecideRecord, EndRecord, FORMAT, OpenRecord, RecordRecord,
    RepriceRecord,
};
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

    /// The raw columns that a customer may have, for the page.
    fn columns(&self) -> Vec<Value> {
        Vec::new()
    }

    /// The step (1-based) of a time, with a note on its zone.
    fn step(&self, time: &str) -> Result<(usize, Option<String>), Invalid>;
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
    /// A comparison with what was done before.
    pub pilot: Option<Pilot>,
}

/// Makes a learner without data.
pub(crate) type MakeLearner = Arc<dyn Fn() -> Result<Learner, LearnerError> + Send + Sync>;

/// A learner in use, with its journal.
pub struct Live {
    /// `None` while it plans.
    learner: Option<Learner>,
    /// Makes a learner without data.
    fresh: MakeLearner,
    planner: Option<Receiver<planning::Planned>>,
    background: Option<planning::Background>,
    /// When the last plan was made, and how long that took.
    planned: Option<(u64, Duration)>,
    /// The number of ended episodes, what was expected of them and what they earned.
    ended: (usize, f64, f64),
    /// Outcomes observed while it plans: the id and the number of the offer.
    pending_outcomes: Vec<(String, u64, bool)>,
    intake: Box<dyn Intake>,
    settings: LiveSettings,
    journal: Journal,
    book: Book,
    /// Whether the open episode is from before the start and has had no request since.
    left_open: bool,
    /// Whether it was restored from a snapshot.
    from_snapshot: bool,
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
        let most = budget.min(u_hat.budget_max());
        let optimistic = u_hat.start(most);
        let expected = learner.expected(most);
        let begin = BeginRecord {
            episode: name.into(),
            number,
            budget,
            plan: self.book.plans,
            expected,
            optimistic,
            pilot: self
                .settings
                .pilot
                .map(|p| p.draw(name, self.settings.seed)),
            note,
        };
        let place = self.write("begin", &begin);
        self.book.begin(&begin, place);
        self.left_open = false;
        Ok(begin.answer())
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
        self.book_observe(&observe, settled, place);
        self.forget_late(id);
        self.left_open = false;
        Ok(observe.answer())
    }

    fn book_observe(&mut self, record: &ObserveRecord, settled: Option<Settled>, place: u64) {
        self.book.observe(record, settled, place);
        if record.oversold {
            let words = format!("{} accepted with no unit left", record.id);
            self.book.tell(self.now_ms, words);
        }
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
        let open = self.book.open_episode();
        let drawn = open.and_then(|open| open.pilot.map(|day| (day, open.budget)));
        let expected = drawn.and_then(|(day, budget)| day.replay(learner, budget));
        let day = learner.close()?;
        let end = EndRecord {
            episode: name.unwrap_or_default(),
            reward: day.reward,
            spent: day.spent,
            oversold: day.oversold,
            expected,
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
