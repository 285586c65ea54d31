//! What a live learner remembers beside what it has learnt: names, places of their lines in the journal, what each episode
//! brought. All of it follows from the journal.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// The book of a journal.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Book {
    /// Lines so far.
    pub lines: u64,
    /// Plans so far.
    pub plans: u64,
    /// Whether a plan is due that no line tells of yet.
    pub due: bool,
    /// Whether the last episode is open.
    pub open: bool,
    /// All episodes, in order.
    pub episodes: Vec<Episode>,
    /// Their numbers by name, from 0.
    pub names: BTreeMap<Box<str>, u32>,
    /// All decisions by id.
    pub decisions: BTreeMap<Box<str>, Decision>,
    /// Units of the open episode that are free at a time: milliseconds since 1970, id.
    pub holds: BTreeSet<(u64, Box<str>)>,
    /// For the page: units left before the last decision of each step of the open episode, as (step, units).
    pub left: Vec<(usize, u32)>,
}

/// A decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// The learner's number of the offer; 0 where nothing was offered.
    pub offer: u64,
    /// Its episode, from 0.
    pub episode: u32,
    /// Where its line is.
    pub place: u64,
    /// Where the line of its outcome is; 0 where there is none.
    pub outcome: u64,
}

/// An episode.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Episode {
    /// Its name.
    pub name: String,
    /// Units at its start.
    pub budget: u32,
    /// What the plan hoped to earn.
    pub hoped: f64,
    /// Where the line of its beginning is.
    pub begun: u64,
    /// Where the line of its end is; 0 where there is none.
    pub ended: u64,
    /// What it earned.
    pub reward: f64,
    /// Units it spent.
    pub spent: u32,
    /// Arrivals, offers, outcomes and acceptances.
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

    /// An episode by its name, with its number.
    pub fn episode(&self, name: &str) -> Option<(usize, &Episode)> {
        let number = *self.names.get(name)? as usize;
        Some((number, &self.episodes[number]))
    }

    /// An episode began.
    pub fn begin(&mut self, episode: Episode) {
        let number = self.episodes.len() as u32;
        self.names.insert(episode.name.as_str().into(), number);
        self.episodes.push(episode);
        self.left.clear();
        self.open = true;
        self.due = false;
    }

    /// A decision was made; `hold` is when its units are free.
    pub fn decide(&mut self, id: &str, decision: Decision, width: f64, hold: Option<u64>) {
        let episode = &mut self.episodes[decision.episode as usize];
        episode.arrivals += 1;
        if decision.offer > 0 {
            episode.offers += 1;
            episode.widths += width;
            self.holds.extend(hold.map(|until| (until, id.into())));
        }
        self.decisions.insert(id.into(), decision);
    }

    /// Units before a decision; the last word of each step counts.
    pub fn note_left(&mut self, step: usize, budget: u32) {
        match self.left.last_mut() {
            Some(last) if last.0 >= step => last.1 = budget,
            _ => self.left.push((step, budget)),
        }
    }

    /// An outcome was told.
    pub fn observe(&mut self, id: &str, accepted: bool, place: u64) {
        let Some(decision) = self.decisions.get_mut(id) else {
            return;
        };
        decision.outcome = place;
        if decision.offer > 0 {
            let episode = &mut self.episodes[decision.episode as usize];
            episode.outcomes += 1;
            episode.accepted += u32::from(accepted);
        }
    }

    /// The open episode ended.
    pub fn end(&mut self, reward: f64, spent: u32, due: bool, place: u64) {
        if let Some(episode) = self.episodes.last_mut() {
            (episode.reward, episode.spent, episode.ended) = (reward, spent, place);
        }
        self.open = false;
        self.due |= due;
        self.holds.clear();
    }
}
