//! What a learner returns and takes in.

use serde::{Deserialize, Serialize};

/// The decision for a customer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Offer {
    /// The offer's number, to observe its outcome later.
    pub number: u64,
    /// Step within the episode, 1-based.
    pub step: usize,
    /// The action; 0 is no offer.
    pub action: usize,
    /// The price, wage or bid offered, or the number of a table's action; `None` without an offer.
    pub value: Option<f64>,
    /// Units that an acceptance consumes, held until the outcome is known.
    pub cost: u32,
    /// Reward of an acceptance.
    pub reward: f64,
    /// Lower confidence bound of its acceptance; 0 without an offer.
    pub lower: f64,
    /// Upper confidence bound of its acceptance; 0 without an offer.
    pub upper: f64,
    /// The acceptance probability that the plan uses, at most `upper`; 0 without an offer.
    pub planned: f64,
    /// Value of the units in the rest of the episode, by the plan in force.
    pub opportunity_cost: f64,
}

impl Offer {
    /// No offer.
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
            planned: 0.0,
            opportunity_cost: 0.0,
        }
    }
}

/// The result of an episode.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Day {
    /// Number of the episode, 1-based.
    pub episode: usize,
    /// Sum of the rewards observed within the episode.
    pub reward: f64,
    /// Units consumed.
    pub spent: u32,
    /// Acceptances that found no unit: they are neither in `reward` nor in `spent`.
    pub oversold: u32,
    /// Labeled observations of all episodes.
    pub observations: usize,
    /// Whether a new plan was made.
    pub replanned: bool,
}

/// What an outcome changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settled {
    /// The number of its observation among all labeled data, from 0; `None` if nothing is learnt from it.
    pub row: Option<u64>,
    /// Whether units and reward were booked: it was accepted within its episode, and the units were there.
    pub booked: bool,
}

/// A labeled row from elsewhere, such as a log.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Labeled<'a> {
    /// Step within its episode, 1-based.
    pub step: usize,
    /// Features of the context.
    pub features: &'a [f64],
    /// The action offered, from 1.
    pub action: usize,
    /// Whether it was accepted.
    pub accepted: bool,
}
