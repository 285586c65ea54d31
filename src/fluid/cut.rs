//! Where buying stops, and what a context then plays.

use std::cmp::Ordering;

use rand::{Rng, RngExt};

use super::Hull;

/// Where buying stops: steeper edges are bought, and edges of the same slope of earlier entries; of the edge of `entry` only
/// a share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cut {
    /// Reward per cost of the last edge, the price of the budget.
    pub slope: f64,
    /// The context of the last edge, the only one that is randomised.
    pub entry: usize,
    /// How much of the last edge is bought.
    pub share: f64,
}

/// What a context plays: `upper` with probability `share`, otherwise `lower`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mix {
    /// The cheaper action.
    pub lower: usize,
    /// The more expensive action; the same as `lower` where nothing is randomised.
    pub upper: usize,
    /// Probability of `upper`.
    pub share: f64,
}

impl Mix {
    /// One action for certain.
    pub fn of(action: usize) -> Self {
        Self {
            lower: action,
            upper: action,
            share: 0.0,
        }
    }

    /// Draws an action; uses the stream only if the two differ.
    pub fn draw(&self, rng: &mut impl Rng) -> usize {
        if self.upper != self.lower && rng.random::<f64>() < self.share {
            self.upper
        } else {
            self.lower
        }
    }
}

impl Cut {
    /// The budget does not bind.
    pub const EVERYTHING: Self = Self {
        slope: 0.0,
        entry: 0,
        share: 0.0,
    };

    /// What a context with this hull plays; contexts outside the program have no entry.
    pub fn mix(&self, hull: &Hull, entry: Option<usize>) -> Mix {
        let mut lower = 0;
        for corner in &hull.corners()[1..] {
            let earlier = entry.is_some_and(|entry| entry < self.entry);
            if corner.slope > self.slope || (corner.slope == self.slope && earlier) {
                lower = corner.action;
            } else if corner.slope == self.slope && entry == Some(self.entry) {
                return Mix {
                    lower,
                    upper: corner.action,
                    share: self.share,
                };
            } else {
                break;
            }
        }
        Mix::of(lower)
    }
}

/// An edge of a context's hull.
#[derive(Debug, Clone, Copy)]
pub(super) struct Edge {
    pub slope: f64,
    pub entry: usize,
    pub cost: f64,
}

impl Edge {
    /// Steepest first; of equal slopes by entry.
    pub fn order(&self, other: &Self) -> Ordering {
        let by_slope = other.slope.total_cmp(&self.slope);
        by_slope.then(self.entry.cmp(&other.entry))
    }
}
