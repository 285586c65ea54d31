//! What a live learner knows besides its data: names, the places of their lines in the journal, what each episode brought.
//! All of it follows from the journal.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::record::{BeginRecord, DecideRecord, EndRecord, ObserveRecord};

/// The book of a journal.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Book {
    /// Lines so far.
    pub lines: u64,
    /// Plans so far.
    pub plans: u64,
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
    /// Offers of the open episode that hold units until a time: milliseconds since 1970, id.
    pub holds: BTreeSet<(u64, Box<str>)>,
    /// For the page: units left before the last decision of each step of the open episode, as (step, units).
    pub left: Vec<(usize, u32)>,
}

/// A decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// The learner's number of the offer; 0 if nothing was offered.
    pub offer: u64,
    /// Its episode, from 0.
    pub episode: u32,
    /// Place of its line.
    pub place: u64,
    /// Place of the line of its outcome; 0 if there is none.
    pub outcome: u64,
}

/// An episode.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Episode {
    /// Its name.
    pub name: String,
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
            begun: place,
            ..Episode::default()
        });
        self.left.clear();
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
            outcome: 0,
        };
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

    /// An outcome was observed.
    pub fn observe(&mut self, record: &ObserveRecord, place: u64) {
        let Some(decision) = self.decisions.get_mut(record.id.as_str()) else {
            return;
        };
        decision.outcome = place;
        if decision.offer > 0 {
            let episode = &mut self.episodes[decision.episode as usize];
            episode.outcomes += 1;
            episode.accepted += u32::from(record.accepted);
        }
    }

    /// The open episode ended; `due` says whether a new plan is due.
    pub fn end(&mut self, record: &EndRecord, due: bool, place: u64) {
        if let Some(episode) = self.episodes.last_mut() {
            (episode.reward, episode.spent) = (record.reward, record.spent);
            episode.ended = place;
        }
        self.open = false;
        self.due |= due;
        self.holds.clear();
    }
}
