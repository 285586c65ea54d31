//! Appendix A.2: confidence-bound oracles. An oracle turns labeled data and a confidence delta into bounds
//! lcb <= rho <= ucb for every (context, action), all at once with probability at least 1 - delta.

mod armed;
mod coupled;
mod data;
mod design;
mod ellipsoid;
mod factor;
mod glm;
mod gp;
mod kernel;
mod known;
mod logistic;
mod network;
mod neural;
mod newton;
mod posterior;
mod projection;
mod regression;
mod sigmoids;
mod spec;

use std::ops::Range;

use rayon::prelude::*;

use crate::dp::{BoundParameters, BoundSource, Coefficients, ContextSample};
use crate::error::Invalid;
use crate::task::Context;

pub use armed::Armed;
pub use coupled::Coupled;
pub use data::{LabeledData, Observation};
pub use glm::{Glm, GlmParameters};
pub use gp::{GaussianProcess, GpParameters};
pub use kernel::{KernelOracle, KernelParameters};
pub use known::{Known, Truth};
pub use logistic::{Logistic, LogisticParameters};
pub use neural::{Neural, NeuralParameters};
pub use newton::penalised_logistic_mle;
pub use projection::project_onto_unit_ball;
pub use sigmoids::sigmoid;
pub use spec::{OracleConfig, OracleSpec};

/// An interval that holds rho with confidence: 0 <= lcb <= ucb <= 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    /// Lower confidence bound.
    pub lcb: f64,
    /// Upper confidence bound.
    pub ucb: f64,
}

impl Bounds {
    /// What is known without data.
    pub const UNKNOWN: Self = Self { lcb: 0.0, ucb: 1.0 };

    /// `center` +- `radius`, clipped into [0, 1].
    pub fn around(center: f64, radius: f64) -> Self {
        Self {
            lcb: (center - radius).clamp(0.0, 1.0),
            ucb: (center + radius).clamp(0.0, 1.0),
        }
    }
}

/// Entries evaluated by one task in bulk.
const BULK_CHUNK: usize = 512;

/// A confidence-bound oracle. Before the first fit every bound is (0, 1).
pub trait Oracle: BoundSource {
    /// Learns from all of `data` (which only grows between calls) at confidence `delta`.
    fn fit(&mut self, data: &LabeledData, delta: f64);

    /// Bounds of all non-null actions in one context; `out[a - 1]` belongs to action `a`.
    fn bounds(&self, context: &Context, out: &mut [Bounds]);

    /// The interval that holds rho with confidence, where [`Oracle::bounds`] says something else to a planner.
    fn interval(&self, context: &Context, out: &mut [Bounds]) {
        self.bounds(context, out);
    }

    /// Point estimates of rho, in [0, 1], laid out as in [`Oracle::bounds`]; 1/2 where nothing is known.
    fn estimate(&self, context: &Context, out: &mut [f64]);

    /// Numbers that a fit on the same data would not give again to the bit, such as where an iteration starts.
    fn save(&self) -> Vec<f64> {
        Vec::new()
    }

    /// Takes up the state after a fit on `data` at `delta`, with what [`Oracle::save`] kept of it; the oracle has no data yet.
    fn restore(&mut self, data: &LabeledData, delta: f64, saved: &[f64]) -> Result<(), Invalid> {
        if !saved.is_empty() {
            let found = format!("{} numbers of an oracle", saved.len());
            return Err(Invalid::new("state", found, "a state of the same oracle"));
        }
        self.fit(data, delta);
        Ok(())
    }

    /// The context belongs to the sample and will be asked for at every plan: an oracle with costly bounds may keep
    /// what it needs for it.
    fn watch(&mut self, _context: &Context) {}

    /// Bounds of neighbouring entries of a sample, `actions` of each together. Oracles with a faster way than one context
    /// after another have their own.
    fn bulk_bounds(
        &self,
        sample: &ContextSample,
        entries: Range<usize>,
        ucb: &mut [f64],
        lcb: &mut [f64],
    ) {
        let actions = sample.actions();
        let mut row = vec![Bounds::UNKNOWN; actions];
        let out = ucb
            .chunks_exact_mut(actions)
            .zip(lcb.chunks_exact_mut(actions));
        for (entry, (ucb, lcb)) in entries.zip(out) {
            self.bounds(&sample.context(entry), &mut row);
            for ((bounds, ucb), lcb) in row.iter().zip(ucb).zip(lcb) {
                (*ucb, *lcb) = (bounds.ucb, bounds.lcb);
            }
        }
    }

    /// Whether bounds hold at all times at once, on data collected by whatever rule: they are then asked for at one and
    /// the same delta throughout. Others are asked for at delta / t^2 in episode t.
    fn anytime(&self) -> bool {
        false
    }

    /// Whether bounds depend on the step beyond the context.
    fn depends_on_step(&self) -> bool {
        false
    }

    /// The fitted parameters, where bounds are a simple function of them.
    fn bound_parameters(&self) -> Option<BoundParameters> {
        None
    }
}

/// Bulk evaluation, in parallel.
impl<T: Oracle> BoundSource for T {
    fn fill(&self, sample: &ContextSample, coefficients: &mut Coefficients) {
        let actions = sample.actions();
        coefficients.resize_for(sample);
        let size = BULK_CHUNK * actions;
        let rewards = sample.rewards();
        let gains = coefficients.gain.par_chunks_mut(size);
        let lcbs = coefficients.lcb.par_chunks_mut(size);
        gains
            .zip(lcbs)
            .enumerate()
            .for_each(|(chunk, (gain, lcb))| {
                let first = chunk * BULK_CHUNK;
                let entries = first..first + gain.len() / actions;
                // ucb and lcb first; then the gain takes ucb's place.
                self.bulk_bounds(sample, entries, gain, lcb);
                let rewards = &rewards[first * actions..];
                for ((gain, lcb), reward) in gain.iter_mut().zip(lcb).zip(rewards) {
                    (*gain, *lcb) = Coefficients::of(*gain, *lcb, *reward);
                }
            });
    }

    fn parameters(&self) -> Option<BoundParameters> {
        self.bound_parameters()
    }
}
