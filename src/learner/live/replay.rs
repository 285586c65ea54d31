//! From a journal to the state it tells of. Recorded actions are facts and are taken as they are; of all plans only the last
//! is made again, from the fit that its line keeps, so that a restart costs one plan.

use std::path::{Path, PathBuf};

use thiserror::Error;

use super::book::{Book, Decision, Episode};
use super::record::{self, Begin, Decide, End, FORMAT, Head, Observe, Open, Plan, Release};
use super::{Intake, Live, LiveSettings, snapshot, view};
use crate::learner::journal::{Found, Journal, JournalError, Lines};
use crate::learner::{Learner, LearnerError};
use crate::policy::WarmStart;

/// Why a live learner cannot start.
#[derive(Debug, Error)]
pub enum LiveError {
    /// The journal.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The learner cannot be made.
    #[error(transparent)]
    Learner(#[from] LearnerError),
}

/// What a live learner starts from.
pub struct Start<'a> {
    /// Makes the learner without data.
    pub learner: &'a dyn Fn() -> Result<Learner, LearnerError>,
    /// What it is told before the first episode.
    pub log: Option<WarmStart>,
    /// The first line of its journal: where the journal has another, it is another learner's.
    pub open: Open,
    /// How raw requests become contexts.
    pub intake: Box<dyn Intake>,
    /// How it serves.
    pub settings: LiveSettings,
}

impl std::fmt::Debug for Start<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "Start {{ open: {:?} }}", self.open)
    }
}

impl Live {
    /// Opens the journal and takes up the state that it tells of; returns notes for the user beside it.
    pub fn open(path: &Path, start: Start<'_>) -> Result<(Self, Vec<String>), LiveError> {
        let (journal, Found { torn }) = Journal::open(path, start.settings.sync)?;
        let mut notes = Vec::new();
        if torn > 0 {
            notes.push(format!(
                "{}: the last line was cut short ({torn} bytes) and is removed; nobody had an answer to it",
                path.display()
            ));
        }
        check_first_line(journal.reader(), &start.open)?;
        let snapshot = snapshot::read(&snapshot_path(path), &journal);
        let known = snapshot.as_ref().map_or((0, 0), |s| (s.end, s.book.lines));
        let last_plan = last_plan(&journal.reader(), known)?;
        let (learner, book, from) = match snapshot {
            Some(saved) => {
                let mut learner = (start.learner)()?;
                learner.take_up(saved.learner, last_plan.is_none())?;
                (learner, saved.book, saved.end)
            }
            None => (fresh(&start)?, Book::default(), 0),
        };
        let mut live = Self {
            learner: Some(learner),
            planner: None,
            told_meanwhile: Vec::new(),
            intake: start.intake,
            settings: start.settings,
            journal,
            snapshot_at: book.lines,
            book,
            left_open: false,
            view: view::Cache::default(),
            now_ms: super::engine::now_ms(),
        };
        live.replay(from, last_plan)?;
        live.left_open = live.book.open;
        if live.book.lines == 0 {
            live.write("open", &start.open);
            live.book.due = start.log.as_ref().is_some_and(|log| !log.data.is_empty());
        }
        if live.book.due && !live.book.open {
            live.start_planning();
            live.home();
        }
        live.journal.commit().map_err(|reason| JournalError::Io {
            path: path.to_path_buf(),
            reason,
        })?;
        Ok((live, notes))
    }

    fn replay(&mut self, from: u64, last_plan: Option<u64>) -> Result<(), LiveError> {
        let first = self.book.lines + 1;
        let lines = self.journal.reader();
        Ok(lines.each(from, first, |number, place, line| {
            let head: Head = serde_json::from_slice(line).map_err(|error| error.to_string())?;
            if head.seq != number {
                return Err(format!(
                    "found line {} of the journal; lines are missing or doubled",
                    head.seq
                ));
            }
            self.book.lines = number;
            self.apply(head.op, place, line, last_plan == Some(number))
        })?)
    }

    fn apply(
        &mut self,
        op: &str,
        place: u64,
        line: &[u8],
        is_last_plan: bool,
    ) -> Result<(), String> {
        let learner = self.learner.as_mut().expect("it is home");
        let wrong = |error: LearnerError| error.to_string();
        match op {
            "open" => {}
            "begin" => {
                let begin: Begin = record::body(line)?;
                learner.begin(begin.budget).map_err(wrong)?;
                self.book.begin(Episode {
                    name: begin.episode,
                    budget: begin.budget,
                    hoped: begin.hoped,
                    begun: place,
                    ..Episode::default()
                });
            }
            "decide" => {
                let decide: Decide = record::body(line)?;
                let features = self.intake.features(&decide.context);
                let (features, _) = features.map_err(|error| error.to_string())?;
                let offer = learner.decided(decide.step, &features, decide.action);
                let offer = offer.map_err(wrong)?;
                let decision = Decision {
                    offer: if decide.action > 0 { offer } else { 0 },
                    episode: self.book.episodes.len() as u32 - 1,
                    place,
                    outcome: 0,
                };
                self.book.note_left(decide.step, decide.budget);
                let width = decide.upper - decide.lower;
                self.book
                    .decide(&decide.id, decision, width, decide.hold_until_ms);
            }
            "observe" => {
                let observe: Observe = record::body(line)?;
                let decision = self.book.decisions.get(observe.id.as_str());
                let decision = decision.ok_or("an outcome without its decision")?;
                if decision.offer > 0 {
                    let told = learner.observe_offer(decision.offer, observe.accepted);
                    told.map_err(wrong)?;
                }
                self.book.observe(&observe.id, observe.accepted, place);
            }
            "release" => {
                let release: Release = record::body(line)?;
                let decision = self.book.decisions.get(release.id.as_str());
                let decision = decision.ok_or("a release without its decision")?;
                learner.release(decision.offer).map_err(wrong)?;
                self.book.holds.retain(|(_, id)| **id != *release.id);
            }
            "end" => {
                let end: End = record::body(line)?;
                let day = learner.close().map_err(wrong)?;
                self.book.end(end.reward, end.spent, day.replanned, place);
            }
            "plan" => {
                let plan: Plan = record::body(line)?;
                if is_last_plan {
                    learner.plan_again(&plan.fit).map_err(wrong)?;
                } else {
                    learner.skip_plan(&plan.fit);
                }
                self.book.plans = plan.plan;
                self.book.due = false;
            }
            other => {
                return Err(format!(
                    "found the event `{other}`; this program does not know it"
                ));
            }
        }
        Ok(())
    }

    /// The whole state, as bytes: equal states have equal bytes. There are none while the learner plans.
    pub fn state_bytes(&self) -> Option<Vec<u8>> {
        let learner = self.learner.as_ref()?.save();
        Some(postcard::to_stdvec(&(&self.book, learner)).expect("states can be written"))
    }
}

fn fresh(start: &Start) -> Result<Learner, LiveError> {
    let mut learner = (start.learner)()?;
    if let Some(log) = &start.log {
        learner.add_log(log);
    }
    Ok(learner)
}

/// Whether the journal is this learner's, before anything is made of it.
fn check_first_line(lines: Lines, ours: &Open) -> Result<(), JournalError> {
    lines
        .first(1)
        .each(0, 1, |_, _, line| check_open(&record::body(line)?, ours))
}

fn check_open(found: &Open, ours: &Open) -> Result<(), String> {
    let about = |what: &str| {
        Err(format!(
            "the journal began with another {what}; restore it, or take a new folder"
        ))
    };
    match found {
        _ if found.format != FORMAT => {
            Err(format!("found format {}; accepted: {FORMAT}", found.format))
        }
        _ if found.task != ours.task => about("task.toml"),
        _ if found.log != ours.log => about("log.csv"),
        _ if found.learner != ours.learner => about("learner.toml"),
        _ => Ok(()),
    }
}

/// The number of the last line that tells of a plan, after a place and the lines before it.
fn last_plan(lines: &Lines, (from, before): (u64, u64)) -> Result<Option<u64>, JournalError> {
    let mut last = None;
    lines.each(from, before + 1, |number, _, line| {
        let start = &line[..line.len().min(48)];
        if start.windows(11).any(|w| w == b"\"op\":\"plan\"") {
            last = Some(number);
        }
        Ok(())
    })?;
    Ok(last)
}

/// Where the snapshot of a journal is.
pub(super) fn snapshot_path(journal: &Path) -> PathBuf {
    journal.with_extension("snapshot")
}

/// Reads a journal up to its last whole line: `each` gets what every line tells of, and its text.
pub fn read_journal(
    path: &Path,
    mut each: impl FnMut(&str, &[u8]) -> Result<(), String>,
) -> Result<(), JournalError> {
    Lines::of_file(path)?.each(0, 1, |number, _, line| {
        let head: Head = serde_json::from_slice(line).map_err(|error| error.to_string())?;
        match head.seq == number {
            true => each(head.op, line),
            false => Err(format!("found line {} of the journal", head.seq)),
        }
    })
}
