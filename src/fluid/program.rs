//! One program, solved exactly from where the last one ended.
//!
//! Most contexts do the same at all prices near the last one: for them one comparison of actions at either end of a
//! window of prices is enough. Only the others need their hulls, and only the edges within the window are sorted. A
//! window that misses the solution is moved.

use std::cmp::Ordering;

use rand::{Rng, RngExt};

use super::Hull;

/// Where buying stops: edges with a larger slope are bought, and of those with this slope the ones of entries that come
/// earlier in the order `ties`; of the edge of `entry` itself only a share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cut {
    /// Reward per cost of the last edge, the price of the budget.
    pub slope: f64,
    /// The context of the last edge, the only one that is randomised.
    pub entry: usize,
    /// How much of the last edge is bought.
    pub share: f64,
    /// The order of entries among equal slopes.
    pub ties: Ties,
}

/// An order of entries. Solutions are often not unique (with prices, every context's first edge has the slope of a
/// price), and a fixed order would always serve the same contexts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ties {
    /// By number.
    ByEntry,
    /// Shuffled; another number gives another order.
    Shuffled(u64),
}

impl Ties {
    /// The place of an entry in the order.
    #[inline]
    pub(super) fn rank(self, entry: usize) -> u64 {
        match self {
            Self::ByEntry => entry as u64,
            // The finaliser of SplitMix64 scatters consecutive numbers.
            Self::Shuffled(salt) => {
                let mut x = (entry as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ salt;
                x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
                x ^ (x >> 31)
            }
        }
    }
}

/// What a context plays: `upper` with probability `share`, otherwise `lower`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mix {
    /// The cheaper action.
    pub lower: usize,
    /// The dearer action; the same where nothing is randomised.
    pub upper: usize,
    /// Probability of the dearer action.
    pub share: f64,
}

impl Mix {
    /// Draws an action; uses the stream only where there is something to draw.
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
        ties: Ties::ByEntry,
    };

    /// What a context with this hull plays; contexts outside the program have no entry.
    pub fn mix(&self, hull: &Hull, entry: Option<usize>) -> Mix {
        let mut lower = 0;
        for corner in &hull.corners()[1..] {
            let rank = |entry| (self.ties.rank(entry), entry);
            let earlier = entry.is_some_and(|entry| rank(entry) < rank(self.entry));
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
        Mix {
            lower,
            upper: lower,
            share: 0.0,
        }
    }
}

/// Contexts with weights and the expected cost and reward of their actions, flat, `actions` numbers per context.
#[derive(Debug, Clone, Copy)]
pub struct Program<'a> {
    /// Non-null actions per context.
    pub actions: usize,
    /// Weight of each context.
    pub weights: &'a [f64],
    /// Expected cost of each (context, action); positive wherever the reward is.
    pub costs: &'a [f64],
    /// Expected reward of each (context, action); at most 0 for actions that may not be taken.
    pub rewards: &'a [f64],
}

/// Where to look first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Search {
    slope: f64,
    width: f64,
}

impl Default for Search {
    /// Anywhere.
    fn default() -> Self {
        Self {
            slope: 0.0,
            width: 0.0,
        }
    }
}

/// Programs of up to this many contexts are sorted whole.
const SMALL: usize = 48;

/// The window of prices, as a share of the last price: at least this wide, and so many times the last change.
const LEAST_WIDTH: f64 = 0.005;
const CHANGES: f64 = 3.0;

/// A choice is certain where it is better than any other by this share of the numbers compared.
const CERTAIN: f64 = 1e-12;

/// An edge of a context's hull.
#[derive(Debug, Clone, Copy)]
pub(super) struct Edge {
    pub slope: f64,
    pub entry: usize,
    pub cost: f64,
    pub rank: u64,
}

impl Edge {
    /// Steepest first; of equal slopes by rank.
    pub fn order(&self, other: &Self) -> Ordering {
        let by_rank = || {
            self.rank
                .cmp(&other.rank)
                .then(self.entry.cmp(&other.entry))
        };
        other.slope.total_cmp(&self.slope).then_with(by_rank)
    }
}

impl Search {
    fn window(&self, contexts: usize) -> (f64, f64) {
        if contexts <= SMALL || self.slope <= 0.0 {
            return (0.0, f64::INFINITY);
        }
        let width = self.width.max(LEAST_WIDTH);
        (
            self.slope * (1.0 - width).max(0.0),
            self.slope * (1.0 + width),
        )
    }

    fn found(&mut self, slope: f64) {
        self.width = if self.slope > 0.0 && slope > 0.0 {
            (CHANGES * (slope / self.slope - 1.0).abs()).clamp(0.5 * self.width, 0.5)
        } else {
            0.5
        };
        self.slope = slope;
    }
}

impl Program<'_> {
    /// The exact solution for a budget.
    pub fn solve(&self, budget: f64, ties: Ties, search: &mut Search) -> Cut {
        let (mut low, mut high) = search.window(self.weights.len());
        let cut = loop {
            let (spent, mut edges) = self.window(low, high, ties);
            if spent > budget && high < f64::INFINITY {
                (low, high) = (high, f64::INFINITY);
                continue;
            }
            match buy(spent, &mut edges, budget, ties) {
                Some(cut) => break cut,
                None if low > 0.0 => (low, high) = (0.0, low),
                None => break Cut::EVERYTHING,
            }
        };
        search.found(cut.slope);
        cut
    }

    /// What is spent on edges steeper than `high`, and the edges with slopes in (low, high].
    fn window(&self, low: f64, high: f64, ties: Ties) -> (f64, Vec<Edge>) {
        let mut spent = 0.0;
        let mut edges = Vec::new();
        let mut hull = Hull::default();
        for (entry, &weight) in self.weights.iter().enumerate() {
            if high < f64::INFINITY
                && let (Some(at_high), Some(at_low)) =
                    (self.best_at(entry, high), self.best_at(entry, low))
                && at_high == at_low
            {
                spent += weight * at_high;
                continue;
            }
            self.set_hull(entry, &mut hull);
            for (slope, cost) in hull.edges() {
                let cost = weight * cost;
                if slope > high {
                    spent += cost;
                } else if slope > low {
                    edges.push(Edge {
                        slope,
                        entry,
                        cost,
                        rank: ties.rank(entry),
                    });
                }
            }
        }
        (spent, edges)
    }

    /// The cost of the action that maximises reward - price * cost, where that is beyond doubt.
    #[inline]
    fn best_at(&self, entry: usize, price: f64) -> Option<f64> {
        let pairs = entry * self.actions..(entry + 1) * self.actions;
        let (mut best, mut second, mut cost_of_best, mut size) =
            (0.0, f64::NEG_INFINITY, 0.0, 0.0f64);
        for (&cost, &reward) in self.costs[pairs.clone()].iter().zip(&self.rewards[pairs]) {
            let value = reward - price * cost;
            size = size.max(reward);
            if value > best {
                (second, best, cost_of_best) = (best, value, cost);
            } else if value > second {
                second = value;
            }
        }
        (best - second > CERTAIN * size).then_some(cost_of_best)
    }

    fn set_hull(&self, entry: usize, hull: &mut Hull) {
        let pairs = entry * self.actions..(entry + 1) * self.actions;
        let costs = self.costs[pairs.clone()].iter().copied();
        hull.set(costs.zip(self.rewards[pairs].iter().copied()));
    }

    /// What a context of the program plays.
    pub fn mix(&self, cut: &Cut, entry: usize) -> Mix {
        let mut hull = Hull::default();
        self.set_hull(entry, &mut hull);
        cut.mix(&hull, Some(entry))
    }
}

/// Buys edges in their order until the budget is spent; `None` where it is not. Halves the edges until few are left, so
/// that they need not be sorted.
fn buy(mut spent: f64, mut edges: &mut [Edge], budget: f64, ties: Ties) -> Option<Cut> {
    while edges.len() > SMALL {
        let half = edges.len() / 2;
        edges.select_nth_unstable_by(half, Edge::order);
        let (first, second) = edges.split_at_mut(half);
        let cost: f64 = first.iter().map(|edge| edge.cost).sum();
        edges = if spent + cost > budget {
            first
        } else {
            spent += cost;
            second
        };
    }
    edges.sort_unstable_by(Edge::order);
    for edge in edges {
        if spent + edge.cost > budget {
            return Some(Cut {
                slope: edge.slope,
                entry: edge.entry,
                share: ((budget - spent) / edge.cost).clamp(0.0, 1.0),
                ties,
            });
        }
        spent += edge.cost;
    }
    None
}
