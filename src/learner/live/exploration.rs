//! Logged exploration: a share of the decisions is drawn evenly from the feasible offers, and every record has the
//! probability of what was chosen, so that other policies can be judged by it later.

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::LiveSettings;

/// One decision's draw. It depends on the seed and the number of the line alone, so a restart changes nothing.
pub struct Draw {
    explore: f64,
    rng: Option<ChaCha8Rng>,
    /// The offers that were feasible.
    pub feasible: Vec<usize>,
    /// The probability of the action that was chosen.
    pub probability: f64,
}

impl Draw {
    pub fn new(settings: LiveSettings, line: u64) -> Self {
        let stream = || {
            let mut rng = ChaCha8Rng::seed_from_u64(settings.seed);
            rng.set_stream(line);
            rng
        };
        Self {
            explore: settings.explore,
            rng: (settings.explore > 0.0).then(stream),
            feasible: Vec::new(),
            probability: 1.0,
        }
    }

    /// The action, given the plan's and the feasible ones.
    pub fn choose(&mut self, best: usize, feasible: &[usize]) -> usize {
        self.feasible = feasible.to_vec();
        let Some(rng) = self.rng.as_mut().filter(|_| !feasible.is_empty()) else {
            return best;
        };
        let action = match rng.random_bool(self.explore) {
            true => feasible[rng.random_range(0..feasible.len())],
            false => best,
        };
        let even = match feasible.contains(&action) {
            true => self.explore / feasible.len() as f64,
            false => 0.0,
        };
        let kept = if action == best {
            1.0 - self.explore
        } else {
            0.0
        };
        self.probability = even + kept;
        action
    }
}
