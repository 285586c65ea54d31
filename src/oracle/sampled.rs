//! Posterior sampling: plans with one draw of the conversion probabilities instead of bounds. A heuristic: a draw promises
//! nothing, and no regret bound of the paper covers it.

use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;

use super::bulk::fill_unknown;
use super::{Belief, Bounds, LabeledData, Oracle, Pairs, Wrapper, fill_bounds};
use crate::dp::BoundParameters;
use crate::task::Context;

/// An oracle whose bounds are both a draw from its posterior, a new one at every fit.
#[derive(Debug)]
pub struct Sampled {
    inner: Box<dyn Oracle>,
    seed: [u8; 32],
    /// Draws so far; each has its own random stream, so that a restart can repeat the last one.
    draws: u64,
    drawn: Option<Box<dyn Oracle>>,
}

impl Sampled {
    /// Samples from an oracle that has a posterior; `rng` seeds the draws.
    pub fn new(inner: Box<dyn Oracle>, mut rng: ChaCha8Rng) -> Self {
        let mut seed = [0; 32];
        rand::Rng::fill_bytes(&mut rng, &mut seed);
        Self {
            inner,
            seed,
            draws: 0,
            drawn: None,
        }
    }
}

impl Wrapper for Sampled {
    fn inner(&self) -> &dyn Oracle {
        &*self.inner
    }

    fn inner_mut(&mut self) -> &mut dyn Oracle {
        &mut *self.inner
    }

    fn adjust_all(&self, context: &Context, beliefs: &mut [Belief]) {
        let mut bounds = vec![Bounds::UNKNOWN; beliefs.len()];
        if let Some(drawn) = &self.drawn {
            drawn.bounds(context, &mut bounds);
        }
        for (belief, bounds) in beliefs.iter_mut().zip(bounds) {
            belief.bounds = bounds;
        }
    }

    fn fill(&self, pairs: &Pairs, ucb: &mut [f64], lcb: &mut [f64]) {
        match &self.drawn {
            Some(drawn) => fill_bounds(&**drawn, pairs, ucb, lcb),
            None => fill_unknown(pairs, ucb, lcb),
        }
    }

    fn parameters(&self) -> Option<BoundParameters> {
        self.drawn.as_ref()?.bulk()?.parameters()
    }

    fn after_fit(&mut self, _data: &LabeledData, saved: Option<f64>) {
        self.draws = saved.map_or(self.draws + 1, |draws| draws as u64);
        let mut rng = ChaCha8Rng::from_seed(self.seed);
        rng.set_stream(self.draws);
        self.drawn = self.inner.draw(&mut rng);
    }

    fn saved(&self) -> Option<f64> {
        Some(self.draws as f64)
    }
}
