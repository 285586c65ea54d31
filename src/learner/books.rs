//! The books of the open episode beyond offers and outcomes: deliveries, sales made without the learner, and what is taken
//! back; and corrections of the data. The units left and spent always add up to those that were brought.

use std::mem::take;

use super::learner::check_arrival;
use super::{Learner, LearnerError, Settled};
use crate::error::Invalid;
use crate::task::EpisodeContexts;

/// A sale that the learner did not make.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OutsideSale {
    /// The action, if its price, wage or bid is in the list: then its outcome is learnt from.
    pub action: Option<usize>,
    /// Units that it takes.
    pub units: u32,
    /// What it earns.
    pub reward: f64,
    /// Whether the offer was accepted.
    pub accepted: bool,
}

impl Learner {
    /// Adds units to the open episode, or takes them away, but none that open offers hold. Returns the units left. With more
    /// units than the plan has, the next plan is made for so many.
    pub fn adjust(&mut self, units: i64) -> Result<u32, LearnerError> {
        let most = self.task.ceiling_limit();
        let open = self.state.open.as_mut().ok_or(LearnerError::NoEpisode)?;
        let left = i64::from(open.budget).saturating_add(units);
        if !(i64::from(open.held)..=i64::from(most)).contains(&left) {
            let (low, high) = (open.budget - open.held, most.saturating_sub(open.budget));
            let accepted = format!(
                "units from -{low} to {high}: {} are left, and {} are held by open offers",
                open.budget, open.held
            );
            return Err(Invalid::new("units", units, accepted).into());
        }
        open.budget = left as u32;
        let left = open.budget;
        self.policy.raise_ceiling(left);
        Ok(left)
    }

    /// The contexts of the open episode so far.
    pub(super) fn arrivals(&self) -> Option<&EpisodeContexts> {
        self.state.open.as_ref().map(|open| &open.contexts)
    }

    /// Makes the next plan for at least so many units, and lets episodes begin with them.
    pub(super) fn raise_ceiling(&mut self, units: u32) {
        self.policy
            .raise_ceiling(units.min(self.task.ceiling_limit()));
    }

    /// Books an offer that was made without the learner, with its outcome.
    pub fn record(
        &mut self,
        step: usize,
        features: &[f64],
        sale: &OutsideSale,
    ) -> Result<Settled, LearnerError> {
        let open = self.state.open.as_mut().ok_or(LearnerError::NoEpisode)?;
        check_arrival(&self.task, step, features)?;
        let context = self.task.context(step - 1, features);
        open.arrive(&context);
        let row = self.next_row();
        if let Some(action) = sale.action {
            let t = self.state.episodes;
            let context = self.task.context(step - 1, features);
            self.policy.observe_in(t, &context, action, sale.accepted);
        }
        Ok(Settled {
            row: (self.next_row() > row).then_some(row),
            booked: sale.accepted && self.sell(sale.units, sale.reward),
        })
    }

    /// Books a sale of free units in the open episode. Without enough of them it is oversold: counted, but not booked.
    pub fn sell(&mut self, units: u32, reward: f64) -> bool {
        let Some(open) = &mut self.state.open else {
            return false;
        };
        let fits = units <= open.budget - open.held;
        if fits {
            open.budget -= units;
            open.spent += units;
            open.reward += reward;
        } else {
            open.oversold += 1;
        }
        fits
    }

    /// Takes back a sale that was booked in the open episode.
    pub fn take_back(&mut self, units: u32, reward: f64) {
        if let Some(open) = &mut self.state.open {
            let units = units.min(open.spent);
            open.budget += units;
            open.spent -= units;
            open.reward -= reward;
        }
    }

    /// The number of the next observation. Removed ones keep theirs.
    pub(super) fn next_row(&self) -> u64 {
        (self.policy.observations().len() + self.state.removed.len()) as u64
    }

    /// Corrects an observation by its number: another outcome, or `None` to remove it. The next plan uses it.
    pub fn amend(&mut self, row: u64, outcome: Option<bool>) {
        if row < self.next_row() && self.state.removed.binary_search(&row).is_err() {
            self.state.edits.insert(row, outcome);
        }
    }

    /// Whether corrections wait for the next plan.
    pub fn is_amended(&self) -> bool {
        !self.state.edits.is_empty()
    }

    /// Applies the corrections to the data. An oracle that was fitted before must be made anew.
    pub(super) fn apply_edits(&mut self) {
        let removed = &mut self.state.removed;
        let edits = take(&mut self.state.edits);
        let place = |row: u64| row as usize - removed.partition_point(|r| *r < row);
        let by_place = edits.iter().map(|(row, outcome)| (place(*row), *outcome));
        self.policy.amend(&by_place.collect());
        let gone = edits.iter().filter(|(_, outcome)| outcome.is_none());
        removed.extend(gone.map(|(row, _)| *row));
        removed.sort_unstable();
    }

    /// The learner with its corrections applied; `fresh` is one without data. [`Learner::replan`] must follow.
    pub(super) fn amended(mut self, mut fresh: Self) -> Result<Self, LearnerError> {
        self.apply_edits();
        fresh.load_state(self.save(), false)?;
        Ok(fresh)
    }
}
