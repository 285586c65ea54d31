//! What a learner says and is told.

use serde::{Deserialize, Serialize};

/// An answer to an arrival.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Offer {
    /// The offer's number, by which its outcome may be told later.
    pub number: u64,
    /// Step within the episode, 1-based.
    pub step: usize,
    /// The action; 0 is no offer.
    pub action: usize,
    /// The price, wage or bid that is offered, or the number of a table's action; `None` without an offer.
    pub value: Option<f64>,
    /// Units that an acceptance consumes, held until the outcome is known.
    pub cost: u32,
    /// What an acceptance earns.
    pub reward: f64,
    /// Lower confidence bound of its acceptance; 0 without an offer.
    pub lower: f64,
    /// Upper confidence bound of its acceptance; 0 without an offer.
    pub upper: f64,
    /// What the units are worth in the rest of the episode, by the plan in force.
    pub opportunity_cost: f64,
}

impl Offer {
    /// No offer at all.
    pub(super) fn none(number: u64, step: usize) -> Self {
        Self {
            number,
            step,
            action: 0,
            value: None,
            cost: 0,
            reward: 0.0,
            lower: 0.0,
            upper: 0.0,
            opportunity_cost: 0.0,
        }
    }
}

/// What an episode brought.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Day {
    /// Number of the episode, 1-based.
    pub episode: usize,
    /// Sum of rewards whose outcome came within the episode.
    pub reward: f64,
    /// Units consumed.
    pub spent: u32,
    /// Labeled observations in hand, all episodes together.
    pub observations: usize,
    /// Whether a new plan was made.
    pub replanned: bool,
}

/// A labeled row from elsewhere, such as a log.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Labeled<'a> {
    /// Step within its episode, 1-based.
    pub step: usize,
    /// Features of the context.
    pub features: &'a [f64],
    /// The action that was offered, from 1.
    pub action: usize,
    /// Whether it was accepted.
    pub accepted: bool,
}
