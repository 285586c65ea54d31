//! The labeled data set d_t: one observation per non-null action taken in an episode that teaches conversion, and how many
//! decisions there were without an offer.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::error::Invalid;
use crate::task::{Context, Task};

/// Observations (theta_n, A_n, Y_n) in the order they were made.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LabeledData {
    dimension: usize,
    features: Vec<f64>,
    steps: Vec<u32>,
    actions: Vec<u32>,
    converted: Vec<bool>,
    /// Decisions without an offer.
    #[serde(default)]
    declined: usize,
}

/// One observation.
#[derive(Debug, Clone, Copy)]
pub struct Observation<'a> {
    /// Step within the episode, 0-based.
    pub step: usize,
    /// Features theta of the context.
    pub features: &'a [f64],
    /// Non-null action taken.
    pub action: usize,
    /// Whether the offer was accepted.
    pub converted: bool,
}

impl LabeledData {
    /// Without data, for contexts with `dimension` features.
    pub fn new(dimension: usize) -> Self {
        Self {
            dimension,
            ..Self::default()
        }
    }

    /// Appends an observation; `action` is not the null action.
    pub fn push(&mut self, context: &Context, action: usize, converted: bool) {
        debug_assert!(action > 0, "the null action has no outcome");
        self.features.extend_from_slice(context.features);
        self.steps.push(context.step as u32);
        self.actions.push(action as u32);
        self.converted.push(converted);
    }

    /// Appends all observations of another set.
    pub fn append(&mut self, other: &Self) {
        self.features.extend_from_slice(&other.features);
        self.steps.extend_from_slice(&other.steps);
        self.actions.extend_from_slice(&other.actions);
        self.converted.extend_from_slice(&other.converted);
        self.declined += other.declined;
    }

    /// Counts a decision without an offer: somebody came, an offer was feasible, and none was made.
    pub fn decline(&mut self) {
        self.declined += 1;
    }

    /// How many decisions there were without an offer.
    pub fn declined(&self) -> usize {
        self.declined
    }

    /// All decisions: with an offer and its outcome, and without.
    pub fn decisions(&self) -> usize {
        self.len() + self.declined
    }

    /// N.
    pub fn len(&self) -> usize {
        self.actions.len()
    }

    /// Whether nothing has been observed.
    pub fn is_empty(&self) -> bool {
        self.actions.is_empty()
    }

    /// The first `count` observations, with another number of decisions without an offer.
    pub(crate) fn as_of(&self, count: usize, declined: usize) -> Self {
        Self {
            declined,
            ..self.first(count)
        }
    }

    /// The first `count` observations.
    pub fn first(&self, count: usize) -> Self {
        let mut first = self.clone();
        first.features.truncate(count * self.dimension);
        first.steps.truncate(count);
        first.actions.truncate(count);
        first.converted.truncate(count);
        first
    }

    /// Corrects observations by their place, from 0: another outcome, or `None` to remove one.
    pub fn amend(&mut self, edits: &BTreeMap<usize, Option<bool>>) {
        let before = std::mem::replace(self, Self::new(self.dimension));
        for n in 0..before.len() {
            let converted = edits.get(&n).copied();
            let Some(converted) = converted.unwrap_or(Some(before.converted[n])) else {
                continue;
            };
            let features = n * self.dimension..(n + 1) * self.dimension;
            self.features.extend_from_slice(&before.features[features]);
            self.steps.push(before.steps[n]);
            self.actions.push(before.actions[n]);
            self.converted.push(converted);
        }
    }

    /// Checks data from outside: whole observations of this task.
    pub fn check(&self, task: &Task) -> Result<(), Invalid> {
        let n = self.len();
        let whole = self.dimension == task.dimension()
            && self.features.len() == n * self.dimension
            && self.steps.len() == n
            && self.converted.len() == n;
        let actions = 1..=task.actions() as u32;
        let fits = whole
            && self.steps.iter().all(|h| (*h as usize) < task.horizon())
            && self.actions.iter().all(|a| actions.contains(a));
        if !fits {
            let accepted = "whole observations of the same task";
            return Err(Invalid::new("data", "others", accepted));
        }
        let mut observations = self.since(0);
        observations.try_for_each(|o| task.check_context(o.features))
    }

    /// Observations from number `start` on.
    pub fn since(&self, start: usize) -> impl Iterator<Item = Observation<'_>> {
        (start..self.len()).map(|n| Observation {
            step: self.steps[n] as usize,
            features: &self.features[n * self.dimension..(n + 1) * self.dimension],
            action: self.actions[n] as usize,
            converted: self.converted[n],
        })
    }
}
