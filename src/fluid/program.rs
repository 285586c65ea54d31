//! What one context plays in a program's exact solution, without solving the program for the others.
//!
//! An edge is bought if the budget covers all edges before it. So one pass over the contexts per edge of the given context
//! is enough: it sums what each of them spends on edges that are steeper, or as steep and earlier in the order of equals. At
//! a price s a context takes the action that maximises reward - s cost. Where two actions differ only by rounding, the slope
//! between them is compared with s as in [`Hull`]; where three do, the hull itself is computed.

use super::hull::slope_between;
use super::{Hull, Mix};

/// Contexts with weights and the expected cost and reward of their actions.
#[derive(Debug, Clone)]
pub struct Program<'a> {
    /// Weight of each context.
    pub weights: &'a [f64],
    /// For each action its expected costs, positive wherever the reward is, and rewards, at most 0 where the action is not
    /// allowed; both by context.
    pub actions: Vec<(&'a [f64], &'a [f64])>,
    /// No expected reward is larger.
    pub reward_max: f64,
}

/// Contexts per vector.
const LANES: usize = 8;

/// Values are treated as equal where they differ by at most this share of the largest reward: far more than rounding.
const CLOSE: f64 = 1e-11;

/// An edge's place in the order of buying: steepest first; of equal slopes in an order of contexts that `shuffle` chooses.
/// With prices the first edges of all contexts are equally steep, and a fixed order would always serve the same contexts.
#[derive(Debug, Clone, Copy)]
struct EdgePlace {
    slope: f64,
    entry: usize,
    shuffle: u64,
}

impl EdgePlace {
    /// Whether an edge of the same slope of another context comes before.
    #[inline(always)]
    fn comes_after(&self, entry: usize) -> bool {
        let (rank, own) = (rank(entry, self.shuffle), rank(self.entry, self.shuffle));
        (rank < own) | ((rank == own) & (entry < self.entry))
    }
}

/// The finaliser of SplitMix64, which scatters consecutive numbers.
#[inline(always)]
fn rank(entry: usize, shuffle: u64) -> u64 {
    let mut x = (entry as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ shuffle;
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// What a context plays in the solution for a budget, given its hull and weight; `spent_before(slope)` is what all contexts
/// together spend on edges that come before its own of that slope.
pub fn mix(hull: &Hull, weight: f64, budget: f64, mut spent_before: impl FnMut(f64) -> f64) -> Mix {
    let mut lower = hull.corners()[0];
    for &corner in &hull.corners()[1..] {
        let spent = spent_before(corner.slope);
        if spent > budget {
            break;
        }
        let cost = weight * (corner.cost - lower.cost);
        if spent + cost > budget {
            return Mix {
                lower: lower.action,
                upper: corner.action,
                share: ((budget - spent) / cost).clamp(0.0, 1.0),
            };
        }
        lower = corner;
    }
    Mix::of(lower.action)
}

impl Program<'_> {
    /// What a context of the program plays in the solution for a budget. Where solutions are not unique, `shuffle` selects
    /// one.
    pub fn mix(&self, entry: usize, budget: f64, shuffle: u64) -> Mix {
        let mut hull = Hull::default();
        self.set_hull(entry, &mut hull);
        mix(&hull, self.weights[entry], budget, |slope| {
            self.spent_before(slope, entry, shuffle)
        })
    }

    /// What all contexts together spend on edges before the one of `entry` with this slope. Actions whose reward per cost is
    /// lower everywhere may be left out.
    pub(crate) fn spent_before(&self, slope: f64, entry: usize, shuffle: u64) -> f64 {
        let place = EdgePlace {
            slope,
            entry,
            shuffle,
        };
        let close = CLOSE * self.reward_max;
        let (mut sums, mut hull) = ([0.0; LANES], Hull::default());
        for (block, weights) in self.weights.chunks(LANES).enumerate() {
            let first = block * LANES;
            let mut costs = [0.0; LANES];
            let clear = weights.len() == LANES
                && costs_before(&self.actions, first, place, close, &mut costs);
            if !clear {
                for (i, cost) in costs[..weights.len()].iter_mut().enumerate() {
                    self.set_hull(first + i, &mut hull);
                    *cost = cost_before(&hull, place, first + i);
                }
            }
            for ((sum, weight), cost) in sums.iter_mut().zip(weights).zip(costs) {
                *sum += weight * cost;
            }
        }
        sums.iter().sum()
    }

    /// Total cost and reward, by weight, if every context takes the action that maximises reward - price cost, or the null
    /// action if none is better.
    pub(crate) fn at_price(&self, price: f64) -> (f64, f64) {
        let (mut spent, mut earned) = (0.0, 0.0);
        for (entry, weight) in self.weights.iter().enumerate() {
            let (mut best, mut point) = (0.0, (0.0, 0.0));
            for (costs, rewards) in &self.actions {
                let (cost, reward) = (costs[entry], rewards[entry]);
                let value = reward - price * cost;
                if value > best {
                    (best, point) = (value, (cost, reward));
                }
            }
            spent += weight * point.0;
            earned += weight * point.1;
        }
        (spent, earned)
    }

    fn set_hull(&self, entry: usize, hull: &mut Hull) {
        let actions = self.actions.iter();
        hull.set(actions.map(|(costs, rewards)| (costs[entry], rewards[entry])));
    }
}

/// What each of [`LANES`] contexts spends on edges before a place. Returns whether that is certain: at most two actions have
/// values within `close` of the best.
#[multiversion::multiversion(targets(
    "x86_64+avx512f+avx512vl+avx512dq",
    "x86_64+avx2",
    "aarch64+neon"
))]
fn costs_before(
    actions: &[(&[f64], &[f64])],
    entry: usize,
    place: EdgePlace,
    close: f64,
    out: &mut [f64; LANES],
) -> bool {
    // The three largest values reward - price cost, and the actions of the first two; at first the null action.
    let (mut first, mut first_cost, mut first_reward) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
    let mut second = [f64::NEG_INFINITY; LANES];
    let (mut second_cost, mut second_reward) = ([0.0; LANES], [0.0; LANES]);
    let mut third = [f64::NEG_INFINITY; LANES];
    for (costs, rewards) in actions {
        let (costs, rewards) = (&costs[entry..][..LANES], &rewards[entry..][..LANES]);
        for i in 0..LANES {
            let (cost, reward) = (costs[i], rewards[i]);
            let earns = (cost > 0.0) & (reward > 0.0);
            let value = pick(earns, reward - place.slope * cost, f64::NEG_INFINITY);
            let is_first = value > first[i];
            let is_second = value > second[i];
            let behind = pick(is_second, second[i], value);
            third[i] = pick(behind > third[i], behind, third[i]);
            let own = pick(is_second, value, second[i]);
            second[i] = pick(is_first, first[i], own);
            let own = pick(is_second, cost, second_cost[i]);
            second_cost[i] = pick(is_first, first_cost[i], own);
            let own = pick(is_second, reward, second_reward[i]);
            second_reward[i] = pick(is_first, first_reward[i], own);
            first[i] = pick(is_first, value, first[i]);
            first_cost[i] = pick(is_first, cost, first_cost[i]);
            first_reward[i] = pick(is_first, reward, first_reward[i]);
        }
    }
    let mut unclear = false;
    for i in 0..LANES {
        unclear |= first[i] - third[i] <= close;
        let (cost, other) = (first_cost[i], second_cost[i]);
        let slope = slope_between(cost, first_reward[i], other, second_reward[i]);
        let earlier = place.comes_after(entry + i);
        let bought = (slope > place.slope) | ((slope == place.slope) & earlier);
        // Of two close actions the cheaper one is always bought, the other if its edge comes before.
        let two = first[i] - second[i] <= close;
        out[i] = pick(two & ((other > cost) == bought), other, cost);
    }
    !unclear
}

#[inline(always)]
fn pick(chosen: bool, new: f64, old: f64) -> f64 {
    if chosen { new } else { old }
}

/// What a context with this hull spends on edges that come before a place.
fn cost_before(hull: &Hull, place: EdgePlace, entry: usize) -> f64 {
    let earlier = place.comes_after(entry);
    let before = |slope: f64| slope > place.slope || (slope == place.slope && earlier);
    let bought = hull.corners().iter().take_while(|c| before(c.slope));
    bought.last().map_or(0.0, |corner| corner.cost)
}
