//! What a live learner knows besides its data: names, the places of their lines in the journal, what each episode brought.
//! All of it follows from the journal.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::pilot::PilotDay;
use super::record::{BeginRecord, DecideRecord, EndRecord, ObserveRecord, RecordRecord};
use crate::learner::Settled;

/// Most events of a day that the page shows.
const TOLD: usize = 50;

/// The book of a journal.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Book {
    /// Lines so far.
    pub lines: u64,
    /// Plans so far.
    pub plans: u64,
    /// SHA-256 of the task, if it changed after the start.
    pub task: Option<String>,
    /// Whether a plan is due.
    pub due: bool,
    /// Whether the last episode is open.
    pub open: bool,
    /// All episodes, in order.
    pub episodes: Vec<Episode>,
    /// Their numbers by name, from 0.
    pub names: BTreeMap<Box<str>, u32>,
    /// All decisions by id.
    pub decisions: BTreeMap<Box<str>, Decision>,
    /// Places of the lines of deliveries and the like, by id.
    pub others: BTreeMap<Box<str>, u64>,
    /// The last offer of the open episode.
    pub last_offer: Option<f64>,
    /// Offers of the open episode that hold units until a time: milliseconds since 1970, id.
    pub holds: BTreeSet<(u64, Box<str>)>,
    /// For the page: what happened in the open episode besides offers, with its time in milliseconds since 1970.
    pub told: Vec<(u64, String)>,
    /// For the page: units left before the last decision of each step of the open episode, as (step, units).
    pub left: Vec<(usize, u32)>,
}

/// A decision, or an offer that was made without the learner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Decision {
    /// The learner's number of the offer; 0 if nothing was offered, or not by the learner.
    pub offer: u64,
    /// Its episode, from 0.
    pub episode: u32,
    /// Place of its line.
    pub place: u64,
    /// Place of the line of its outcome; 0 if there is none.
    pub outcome: u64,
    /// Place of the line of its last cancellation; 0 if there is none.
    pub cancel: u64,
    /// Place of the line of its last correction; 0 if there is none.
    pub correct: u64,
    /// Whether it was made without the learner.
    pub outside: bool,
    /// The outcome, after corrections.
    pub accepted: Option<bool>,
    /// The number of its observation among the data.
    pub row: Option<u64>,
    /// Whether units and reward of it stand in the books.
    pub booked: bool,
    /// Whether the sale was given back after its outcome.
    pub cancelled: bool,
    /// Whether its outcome is no data.
    pub forgotten: bool,
}

/// An episode.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Episode {
    /// Its name.
    pub name: String,
    /// The draw of a pilot.
    pub pilot: Option<PilotDay>,
    /// Units at its start.
    pub budget: u32,
    /// What it was expected to earn, if that was known.
    pub expected: Option<f64>,
    /// Place of its first line.
    pub begun: u64,
    /// Place of its last line; 0 while it is open.
    pub ended: u64,
    /// Its reward.
    pub reward: f64,
    /// Units it spent.
    pub spent: u32,
    /// Units that were delivered, less those taken away.
    pub adjusted: i64,
    /// Acceptances that found no unit.
    pub oversold: u32,
    /// Acceptances that were given back.
    pub cancelled: u32,
    /// Arrivals.
    pub arrivals: u32,
    /// Offers.
    pub offers: u32,
    /// Outcomes of its offers.
    pub outcomes: u32,
    /// Acceptances.
    pub accepted: u32,
    /// Sum of the widths of the bounds of its offers.
    pub widths: f64,
}

impl Book {
    /// The open episode.
    pub fn open_episode(&self) -> Option<&Episode> {
        self.episodes.last().filter(|_| self.open)
    }

    /// An episode by its name.
    pub fn episode(&self, name: &str) -> Option<&Episode> {
        let number = *self.names.get(name)?;
        self.episodes.get(number as usize)
    }

    /// An episode began; `place` is that of the record's line, here and below.
    pub fn begin(&mut self, record: &BeginRecord, place: u64) {
        let number = self.episodes.len() as u32;
        self.names.insert(record.episode.as_str().into(), number);
        self.episodes.push(Episode {
            name: record.episode.clone(),
            budget: record.budget,
            expected: record.expected,
            pilot: record.pilot,
            begun: place,
            ..Episode::default()
        });
        self.left.clear();
        self.told.clear();
        self.last_offer = None;
        self.open = true;
        self.due = false;
    }

    /// A decision was made; `offer` is the learner's number of it.
    pub fn decide(&mut self, record: &DecideRecord, offer: u64, place: u64) {
        match self.left.last_mut() {
            Some(last) if last.0 >= record.step => last.1 = record.budget,
            _ => self.left.push((record.step, record.budget)),
        }
        let decision = Decision {
            offer: if record.action > 0 { offer } else { 0 },
            episode: self.episodes.len() as u32 - 1,
            place,
            ..Decision::default()
        };
        self.last_offer = record.offer.or(self.last_offer);
        let id: &str = &record.id;
        let episode = &mut self.episodes[decision.episode as usize];
        episode.arrivals += 1;
        if record.action > 0 {
            episode.offers += 1;
            episode.widths += record.upper - record.lower;
            let hold = record.hold_until_ms.map(|until| (until, id.into()));
            self.holds.extend(hold);
        }
        self.decisions.insert(id.into(), decision);
    }

    /// An offer was made without the learner.
    pub fn record(&mut self, record: &RecordRecord, settled: Settled, place: u64) {
        let number = self.episodes.len() as u32 - 1;
        let decision = Decision {
            episode: number,
            place,
            outcome: place,
            outside: true,
            accepted: Some(record.accepted),
            row: settled.row,
            booked: settled.booked,
            ..Decision::default()
        };
        self.decisions.insert(record.id.as_str().into(), decision);
        let episode = &mut self.episodes[number as usize];
        episode.arrivals += 1;
        episode.outcomes += 1;
        episode.accepted += u32::from(record.accepted);
    }

    /// An outcome was observed.
    pub fn observe(&mut self, record: &ObserveRecord, settled: Option<Settled>, place: u64) {
        let Some(decision) = self.decisions.get_mut(record.id.as_str()) else {
            return;
        };
        decision.outcome = place;
        decision.accepted = Some(record.accepted);
        if let Some(settled) = settled {
            (decision.row, decision.booked) = (settled.row, settled.booked);
        }
        if decision.offer > 0 {
            let episode = &mut self.episodes[decision.episode as usize];
            episode.outcomes += 1;
            episode.accepted += u32::from(record.accepted);
        }
    }

    /// Keeps what happened, in words, for the page.
    pub fn tell(&mut self, ms: u64, words: String) {
        if self.told.len() == TOLD {
            self.told.remove(0);
        }
        self.told.push((ms, words));
    }

    /// Whether an episode (numbered from 0) is the open one.
    pub fn is_open(&self, episode: u32) -> bool {
        self.open && episode as usize + 1 == self.episodes.len()
    }

    /// The open episode ended; `due` says whether a new plan is due.
    pub fn end(&mut self, record: &EndRecord, due: bool, place: u64) {
        if let Some(episode) = self.episodes.last_mut() {
            (episode.reward, episode.spent) = (record.reward, record.spent);
            episode.oversold = record.oversold;
            episode.ended = place;
        }
        self.open = false;
        self.due |= due;
        self.holds.clear();
    }
}
