//! Posterior sampling: plans with one draw of the conversion probabilities in place of bounds. A heuristic: a draw promises
//! nothing, and no regret bound of the paper covers it.

use std::ops::Range;

use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;

use super::{Bounds, Diagnosis, LabeledData, Oracle};
use crate::dp::{BoundParameters, ContextSample};
use crate::error::Invalid;
use crate::task::Context;

/// An oracle whose bounds are both a draw from its posterior, a new one at every fit.
#[derive(Debug)]
pub struct Sampled {
    inner: Box<dyn Oracle>,
    seed: [u8; 32],
    /// Draws so far; each has a random stream of its own, so that a restart can draw the last one again.
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

    fn draw_again(&mut self) {
        let mut rng = ChaCha8Rng::from_seed(self.seed);
        rng.set_stream(self.draws);
        self.drawn = self.inner.draw(&mut rng);
    }
}

impl Oracle for Sampled {
    fn fit(&mut self, data: &LabeledData, delta: f64) {
        self.inner.fit(data, delta);
        self.draws += 1;
        self.draw_again();
    }

    fn bounds(&self, context: &Context, out: &mut [Bounds]) {
        match &self.drawn {
            Some(drawn) => drawn.bounds(context, out),
            None => out.fill(Bounds::UNKNOWN),
        }
    }

    fn interval(&self, context: &Context, out: &mut [Bounds]) {
        self.inner.interval(context, out);
    }

    fn estimate(&self, context: &Context, out: &mut [f64]) {
        self.inner.estimate(context, out);
    }

    fn save(&self) -> Vec<f64> {
        let mut saved = self.inner.save();
        saved.push(self.draws as f64);
        saved
    }

    fn restore(&mut self, data: &LabeledData, delta: f64, saved: &[f64]) -> Result<(), Invalid> {
        let Some((draws, inner)) = saved.split_last() else {
            let accepted = "a state of the same oracle";
            return Err(Invalid::new("state", "0 numbers of an oracle", accepted));
        };
        self.inner.restore(data, delta, inner)?;
        self.draws = *draws as u64;
        self.draw_again();
        Ok(())
    }

    fn watch(&mut self, context: &Context) {
        self.inner.watch(context);
    }

    fn bulk_bounds(
        &self,
        sample: &ContextSample,
        entries: Range<usize>,
        ucb: &mut [f64],
        lcb: &mut [f64],
    ) {
        match &self.drawn {
            Some(drawn) => drawn.bulk_bounds(sample, entries, ucb, lcb),
            None => {
                ucb.fill(Bounds::UNKNOWN.ucb);
                lcb.fill(Bounds::UNKNOWN.lcb);
            }
        }
    }

    fn bounds_by_action(
        &self,
        sample: &ContextSample,
        entries: Range<usize>,
        apart: usize,
        ucb: &mut [f64],
        lcb: &mut [f64],
    ) {
        match &self.drawn {
            Some(drawn) => drawn.bounds_by_action(sample, entries, apart, ucb, lcb),
            None => {
                ucb.fill(Bounds::UNKNOWN.ucb);
                lcb.fill(Bounds::UNKNOWN.lcb);
            }
        }
    }

    fn depends_on_step(&self) -> bool {
        self.inner.depends_on_step()
    }

    fn anytime(&self) -> bool {
        self.inner.anytime()
    }

    fn diagnosis(&self) -> Diagnosis {
        self.inner.diagnosis()
    }

    fn bound_parameters(&self) -> Option<BoundParameters> {
        self.drawn.as_ref()?.bound_parameters()
    }
}
