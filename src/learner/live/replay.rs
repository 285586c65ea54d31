//! From a journal to the state it describes. Recorded actions are taken as they are. Only the last plan is made again, from
//! the fit in its line, so that a restart costs one plan.

use std::path::Path;

use thiserror::Error;

use super::book::Book;
use super::record::{
    self, AdjustRecord, BeginRecord, CancelRecord, CorrectRecord, DecideRecord, EndRecord, FORMAT,
    ForgetRecord, Head, ObserveRecord, OpenRecord, PlanRecord, RecordRecord, ReleaseRecord,
    RepriceRecord,
};
use super::snapshot::{self, Found, Snapshot};
use super::{Intake, Live, LiveSettings, MakeLearner, Refusal, view};
use crate::learner::LearnerError;
use crate::learner::journal::{Journal, JournalError, JournalLines};
use crate::policy::{Terms, WarmStart};

/// Why a live learner cannot start.
#[derive(Debug, Error)]
pub enum LiveError {
    /// The journal cannot be used.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The learner cannot be made.
    #[error(transparent)]
    Learner(#[from] LearnerError),
}

/// What a live learner starts from.
pub struct LiveStart {
    /// Makes the learner without data.
    pub learner: MakeLearner,
    /// Labeled rows to learn from before the first episode.
    pub log: Option<WarmStart>,
    /// The first line of its journal. A journal that begins with another belongs to another learner.
    pub open: OpenRecord,
    /// How raw requests become contexts.
    pub intake: Box<dyn Intake>,
    /// How it serves.
    pub settings: LiveSettings,
}

impl Live {
    /// Opens the journal and restores the state it describes. Returns also notes for the user.
    pub(crate) fn open(path: &Path, start: LiveStart) -> Result<(Self, Vec<String>), LiveError> {
        let (journal, torn) = Journal::open(path, start.settings.sync)?;
        let mut notes = Vec::new();
        if torn > 0 {
            notes.push(format!(
                "{}: the last line was cut short ({torn} bytes) and is removed; its request had no answer yet",
                path.display()
            ));
        }
        let snapshot = match snapshot::read(&snapshot::path_of(path), &journal) {
            Found::Fits(snapshot) => Some(*snapshot),
            Found::Nothing => None,
            Found::Ahead(lines) => {
                notes.push(format!(
                    "{}: the snapshot beside it was made from {lines} lines that are not all here: the journal was cut or \
                     replaced, and what it lacks is lost unless a backup has it",
                    path.display()
                ));
                None
            }
        };
        let (log, open) = (start.log.clone(), start.open.clone());
        let mut live = Self::replayed(journal, start, snapshot)?;
        live.left_open = live.book.open;
        live.limit_holds();
        if live.book.lines == 0 {
            live.write("open", &open);
            live.book.due = log.as_ref().is_some_and(|log| !log.data.is_empty());
        }
        if live.book.due && !live.book.open {
            live.start_planning();
            live.wait_for_planner();
        }
        live.journal.commit().map_err(|reason| JournalError::Io {
            path: path.to_path_buf(),
            reason,
        })?;
        Ok((live, notes))
    }

    /// The state that a journal describes, from its start or from a snapshot.
    pub(super) fn replayed(
        journal: Journal,
        start: LiveStart,
        snapshot: Option<Snapshot>,
    ) -> Result<Self, LiveError> {
        let known = snapshot.as_ref().map_or((0, 0), |s| (s.end, s.book.lines));
        let (mut last_plan, mut task) = last_plan(&journal.reader(), known)?;
        let mut snapshot = snapshot;
        if task.is_some() && snapshot.take().is_some() {
            // Its numbers are those of another price list.
            (last_plan, task) = self::last_plan(&journal.reader(), (0, 0))?;
        }
        let task = task.or_else(|| snapshot.as_ref().and_then(|s| s.book.task.clone()));
        let check =
            |_, _, line: &[u8]| check_open(&record::body(line)?, task.as_deref(), &start.open);
        journal.reader().first(1).each(0, 1, check)?;
        let mut learner = (start.learner)()?;
        let from_snapshot = snapshot.is_some();
        let (book, from) = match snapshot {
            Some(saved) => {
                learner.load_state(saved.learner, last_plan.is_none())?;
                (saved.book, saved.end)
            }
            None => {
                if let Some(log) = &start.log {
                    learner.add_log(log);
                }
                (Book::default(), 0)
            }
        };
        let mut live = Self {
            learner: Some(learner),
            fresh: start.learner,
            planner: None,
            background: None,
            planned: None,
            ended: (0, 0.0, 0.0),
            pending_outcomes: Vec::new(),
            intake: start.intake,
            settings: start.settings,
            journal,
            snapshot_at: book.lines,
            book,
            left_open: false,
            from_snapshot,
            view: view::Cache::default(),
            now_ms: super::engine::now_ms(),
        };
        live.replay(from, last_plan)?;
        Ok(live)
    }

    /// Whether the start read a snapshot in place of the journal's first lines.
    pub fn is_from_snapshot(&self) -> bool {
        self.from_snapshot
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
            self.now_ms = head.recorded_ms;
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
        let learner = self.learner.as_mut().expect("no plan is being made");
        let wrong = |error: LearnerError| error.to_string();
        let refused = |refusal: Refusal| refusal.message;
        match op {
            "open" => {}
            "begin" => {
                let begin: BeginRecord = record::body(line)?;
                // The task may have had more units then.
                learner.raise_ceiling(begin.budget);
                learner.begin(begin.budget).map_err(wrong)?;
                self.book.begin(&begin, place);
            }
            "decide" => {
                let decide: DecideRecord = record::body(line)?;
                let features = self.intake.features(&decide.context);
                let (features, _) = features.map_err(|error| error.to_string())?;
                let terms = Terms {
                    quantity: decide.quantity,
                    ..Terms::default()
                };
                let action = decide.action_in(learner.task());
                let offer = learner.decided(decide.step, &features, action, &terms);
                self.book.decide(&decide, offer.map_err(wrong)?, place);
            }
            "observe" => {
                let observe: ObserveRecord = record::body(line)?;
                let decision = self.book.decisions.get(observe.id.as_str());
                let decision = decision.ok_or("an outcome without its decision")?;
                let settled = match decision.offer {
                    0 => None,
                    offer => {
                        let observed = learner.observe_offer(offer, observe.accepted);
                        Some(observed.map_err(wrong)?)
                    }
                };
                self.book_observe(&observe, settled, place);
                self.forget_late(&observe.id);
            }
            "record" => {
                let record: RecordRecord = record::body(line)?;
                let features = self.intake.features(&record.context);
                let (features, _) = features.map_err(|error| error.to_string())?;
                let settled = self.apply_record(&record, &features).map_err(wrong)?;
                self.book_record(&record, settled, place);
            }
            "cancel" => {
                let cancel: CancelRecord = record::body(line)?;
                self.apply_cancel(&cancel, place).map_err(refused)?;
            }
            "correct" => {
                let correct: CorrectRecord = record::body(line)?;
                self.apply_correct(&correct, place).map_err(refused)?;
            }
            "adjust" => {
                let adjust: AdjustRecord = record::body(line)?;
                let reason = adjust.reason.as_deref();
                let applied = self.apply_adjust(&adjust.id, adjust.units, reason, place);
                applied.map_err(wrong)?;
            }
            "forget" => {
                let forget: ForgetRecord = record::body(line)?;
                self.apply_forget(&forget, place).map_err(refused)?;
            }
            "release" => {
                let release: ReleaseRecord = record::body(line)?;
                let decision = self.book.decisions.get(release.id.as_str());
                let decision = decision.ok_or("a release without its decision")?;
                learner.release(decision.offer).map_err(wrong)?;
                self.book.holds.retain(|(_, id)| **id != *release.id);
            }
            "end" => {
                let end: EndRecord = record::body(line)?;
                let day = learner.close().map_err(wrong)?;
                self.book.end(&end, day.replanned, place);
            }
            "plan" => {
                let plan: PlanRecord = record::body(line)?;
                learner.apply_edits();
                if is_last_plan {
                    learner.plan_again(&plan.fit).map_err(wrong)?;
                } else {
                    learner.skip_plan(&plan.fit);
                }
                self.book.plans = plan.plan;
                self.book.due = false;
            }
            "reprice" => {
                let reprice: RepriceRecord = record::body(line)?;
                self.book.task = Some(reprice.task);
                self.book.due = true;
            }
            other => {
                return Err(format!(
                    "found the event `{other}`; this program does not know it"
                ));
            }
        }
        Ok(())
    }

    /// The whole state as bytes, for tests: equal states have equal bytes. `None` while a plan is made.
    #[doc(hidden)]
    pub fn state_bytes(&self) -> Option<Vec<u8>> {
        let learner = self.learner.as_ref()?.save();
        Some(postcard::to_stdvec(&(&self.book, learner)).expect("states can be written"))
    }
}

/// Checks the first line of a journal against this learner's; `task` is the checksum of a later task.
fn check_open(found: &OpenRecord, task: Option<&str>, ours: &OpenRecord) -> Result<(), String> {
    let other = match found {
        _ if found.format != FORMAT => {
            return Err(format!("found format {}; accepted: {FORMAT}", found.format));
        }
        _ if task.unwrap_or(&found.task) != ours.task => "task.toml",
        _ if found.log != ours.log => "log.csv",
        _ if found.learner != ours.learner => "learner.toml",
        _ => return Ok(()),
    };
    Err(format!(
        "the journal began with another {other}; restore it, or take a new folder"
    ))
}

/// The number of the last line of a plan, and the last task, from a place on, given the number of lines before it.
fn last_plan(
    lines: &JournalLines,
    (from, before): (u64, u64),
) -> Result<(Option<u64>, Option<String>), JournalError> {
    let (mut last, mut task) = (None, None);
    lines.each(from, before + 1, |number, _, line| {
        let start = &line[..line.len().min(48)];
        if start.windows(11).any(|w| w == b"\"op\":\"plan\"") {
            last = Some(number);
        }
        if start.windows(14).any(|w| w == b"\"op\":\"reprice\"") {
            task = Some(record::body::<RepriceRecord>(line)?.task);
        }
        Ok(())
    })?;
    Ok((last, task))
}

/// Reads the first `lines` of a journal, up to its last whole one: `each` gets the event and the text of every line.
pub fn read_journal(
    path: &Path,
    lines: u64,
    mut each: impl FnMut(&str, &[u8]) -> Result<(), String>,
) -> Result<(), JournalError> {
    let lines = JournalLines::of_file(path)?.first(lines);
    lines.each(0, 1, |number, _, line| {
        let head: Head = serde_json::from_slice(line).map_err(|error| error.to_string())?;
        match head.seq == number {
            true => each(head.op, line),
            false => Err(format!("found line {} of the journal", head.seq)),
        }
    })
}
