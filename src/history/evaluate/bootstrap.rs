//! Cross-fitted comparison, and its bootstrap over episodes.
//!
//! A plan looks too good in the world it was made from. So episodes are split into halves: the plan is made in a world fitted
//! to one half, and both policies are evaluated in a world fitted to the other half. Then the halves swap. The bootstrap draws
//! episodes with replacement and repeats all of this. Copies of an episode stay in the same half.

use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rayon::prelude::*;

use super::worlds::{LogWorld, Play, Worlds};

/// A policy to compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compared {
    /// The plan made from the other half.
    Plan,
    /// One action, by its number among the planned actions.
    Fixed(usize),
    /// The log's own rewards.
    Logged,
}

/// Mean rewards per episode of two compared policies.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Pair {
    /// The policy's.
    pub policy: f64,
    /// The other's.
    pub against: f64,
}

impl Pair {
    /// Policy minus the other.
    pub fn difference(&self) -> f64 {
        self.policy - self.against
    }
}

/// Number of splits and bootstrap draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resampling {
    /// Splits into halves; every estimate is averaged over them.
    pub splits: usize,
    /// Bootstrap draws.
    pub draws: usize,
    /// Random seed.
    pub seed: u64,
}

impl Default for Resampling {
    fn default() -> Self {
        Self {
            splits: 5,
            draws: 200,
            seed: 1,
        }
    }
}

/// The estimate from the original log, and one from every draw.
pub fn estimate(
    worlds: &Worlds,
    compared: (Compared, Compared),
    resampling: Resampling,
    done: &(dyn Fn() + Sync),
) -> (Pair, Vec<Pair>) {
    let episodes = worlds.earned().len();
    let of_draw = |draw: usize| {
        let mut stream = stream(resampling.seed, draw);
        let mut weights = vec![f64::from(u8::from(draw == 0)); episodes];
        if draw > 0 {
            for _ in 0..episodes {
                weights[stream.random_range(0..episodes)] += 1.0;
            }
        }
        let pair = cross_fitted(worlds, compared, &weights, resampling.splits, &mut stream);
        done();
        pair
    };
    let mut all: Vec<Pair> = (0..=resampling.draws)
        .into_par_iter()
        .map(of_draw)
        .collect();
    let point = all.remove(0);
    (point, all)
}

/// The random stream of a draw; draw 0 is the original log.
fn stream(seed: u64, draw: usize) -> ChaCha8Rng {
    let mut key = [0; 32];
    let words = [seed, draw as u64, u64::from_le_bytes(*b"episodes"), 0];
    for (bytes, word) in key.chunks_exact_mut(8).zip(words) {
        bytes.copy_from_slice(&u64::to_le_bytes(word));
    }
    ChaCha8Rng::from_seed(key)
}

fn cross_fitted(
    worlds: &Worlds,
    compared: (Compared, Compared),
    weights: &[f64],
    splits: usize,
    stream: &mut ChaCha8Rng,
) -> Pair {
    let mut sum = Pair::default();
    let mut order: Vec<usize> = (0..weights.len()).filter(|&e| weights[e] > 0.0).collect();
    for _ in 0..splits {
        order.shuffle(stream);
        let half = order.len() / 2;
        let world = |part: &[usize]| {
            let mut own = vec![0.0; weights.len()];
            part.iter().for_each(|&e| own[e] = weights[e]);
            worlds.world(&own)
        };
        let halves = [world(&order[..half]), world(&order[half..])];
        for (made, judged) in [(&halves[0], &halves[1]), (&halves[1], &halves[0])] {
            let share = 1.0 / (2 * splits) as f64;
            sum.policy += share * reward(worlds, compared.0, made, judged);
            sum.against += share * reward(worlds, compared.1, made, judged);
        }
    }
    sum
}

fn reward(worlds: &Worlds, what: Compared, made: &LogWorld, judged: &LogWorld) -> f64 {
    match what {
        Compared::Plan => {
            let table = worlds.plan(made);
            worlds.reward(judged, Play::Plan(&made.model, &table))
        }
        Compared::Fixed(action) => worlds.reward(judged, Play::Fixed(action)),
        Compared::Logged => judged.logged,
    }
}

/// The 95% percentile interval.
pub fn percentile_interval(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let at = |share: f64| {
        let place = share * (values.len() - 1) as f64;
        let (below, rest) = (place.floor() as usize, place.fract());
        let above = (below + 1).min(values.len() - 1);
        values[below] + rest * (values[above] - values[below])
    };
    match values.is_empty() {
        true => (f64::NAN, f64::NAN),
        false => (at(0.025), at(0.975)),
    }
}
