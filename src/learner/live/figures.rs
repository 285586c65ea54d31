//! Numbers for whoever watches a service. They name no customer.

use super::Live;
use crate::learner::Learner;

/// A shop in numbers.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Figures {
    /// Whether the journal could be written last time.
    pub writable: bool,
    /// Bytes of the journal.
    pub journal_bytes: u64,
    /// Lines of the journal.
    pub lines: u64,
    /// Syncs of the journal since the start.
    pub syncs: u64,
    /// Seconds they took.
    pub sync_seconds: f64,
    /// Plans so far.
    pub plans: u64,
    /// Whether one is being made.
    pub planning: bool,
    /// Seconds that the last one took since the start of the service.
    pub plan_seconds: Option<f64>,
    /// When it was made, in milliseconds since 1970.
    pub planned_ms: Option<u64>,
    /// Whether an episode is open.
    pub open: bool,
    /// Episodes that have begun.
    pub episodes: u64,
    /// Decisions.
    pub decisions: u64,
    /// Units left in the open episode, held ones included.
    pub units: u32,
    /// Units held by offers without an outcome.
    pub held: u32,
    /// Accepted offers of the open episode for which no unit was left.
    pub oversold: u32,
    /// Expected reward of the ended episodes, where it was known at their start.
    pub expected: f64,
    /// Reward of the ended episodes.
    pub earned: f64,
}

impl Live {
    /// Its numbers now.
    pub(super) fn figures(&mut self) -> Figures {
        let learner = self.learner.as_ref();
        let (syncs, sync_time) = self.journal.syncs();
        let episodes = &self.book.episodes;
        let ended = episodes.len() - usize::from(self.book.open);
        let known = self.ended;
        for episode in &episodes[known.0.min(ended)..ended] {
            self.ended.1 += episode.expected.unwrap_or(0.0);
            self.ended.2 += episode.reward;
        }
        self.ended.0 = ended;
        Figures {
            writable: true,
            journal_bytes: self.journal.written(),
            lines: self.book.lines,
            syncs,
            sync_seconds: sync_time.as_secs_f64(),
            plans: self.book.plans,
            planning: self.is_planning(),
            plan_seconds: self.planned.map(|(_, time)| time.as_secs_f64()),
            planned_ms: self.planned.map(|(when, _)| when),
            open: self.book.open,
            episodes: episodes.len() as u64,
            decisions: self.book.decisions.len() as u64,
            units: learner.and_then(Learner::budget).unwrap_or(0),
            held: learner.map_or(0, Learner::held),
            oversold: learner
                .and_then(Learner::so_far)
                .map_or(0, |day| day.oversold),
            expected: self.ended.1,
            earned: self.ended.2,
        }
    }
}
