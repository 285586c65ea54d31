//! What the regressions share, `glm` and `logistic` and their mixtures: once fitted, all they say comes from an ellipsoid.

use std::fmt::Debug;
use std::ops::Range;

use nalgebra::DVector;
use rand::rngs::ChaCha8Rng;

use super::drawn::DrawnParameter;
use super::ellipsoid::Ellipsoid;
use super::{Bounds, Diagnosis, LabeledData, Oracle};
use crate::dp::{BoundParameters, ContextSample};
use crate::error::Invalid;
use crate::task::Context;

/// A regression on phi = (theta, action value).
pub(super) trait Regression: Debug + Send + Sync {
    /// Learns from all of `data` at confidence `delta`.
    fn refit(&mut self, data: &LabeledData, delta: f64);

    /// Where the last fit started; empty where a fit needs no start.
    fn start(&self) -> &[f64] {
        &[]
    }

    /// Has the next fit start there.
    fn start_from(&mut self, _start: &[f64]) {}

    /// The last entry of phi, by action.
    fn action_values(&self) -> &[f64];

    /// What was fitted, where there were data.
    fn fitted(&self) -> Option<&Ellipsoid>;

    /// See [`Oracle::anytime`].
    fn anytime(&self) -> bool {
        false
    }

    /// A parameter drawn from a posterior, on phi as it is; f is logistic.
    fn draw_parameter(&self, _rng: &mut ChaCha8Rng) -> Option<DVector<f64>> {
        None
    }

    /// See [`Oracle::diagnosis`].
    fn diagnosis(&self) -> Diagnosis;
}

impl<R: Regression> Oracle for R {
    fn fit(&mut self, data: &LabeledData, delta: f64) {
        self.refit(data, delta);
    }

    fn bounds(&self, context: &Context, out: &mut [Bounds]) {
        match self.fitted() {
            Some(fitted) => fitted.bounds(context.features, self.action_values(), out),
            None => out.fill(Bounds::UNKNOWN),
        }
    }

    fn estimate(&self, context: &Context, out: &mut [f64]) {
        match self.fitted() {
            Some(fitted) => fitted.estimate(context.features, self.action_values(), out),
            None => out.fill(0.5),
        }
    }

    fn save(&self) -> Vec<f64> {
        self.start().to_vec()
    }

    fn restore(&mut self, data: &LabeledData, delta: f64, saved: &[f64]) -> Result<(), Invalid> {
        if saved.len() != self.start().len() || saved.iter().any(|x| !x.is_finite()) {
            let found = format!("{} numbers of an oracle", saved.len());
            return Err(Invalid::new("state", found, "a state of the same oracle"));
        }
        self.start_from(saved);
        self.refit(data, delta);
        Ok(())
    }

    fn bulk_bounds(
        &self,
        sample: &ContextSample,
        entries: Range<usize>,
        ucb: &mut [f64],
        lcb: &mut [f64],
    ) {
        match self.fitted() {
            Some(fitted) => {
                let features = sample.features_of(entries);
                fitted.bulk_bounds(features, self.action_values(), ucb, lcb);
            }
            None => {
                ucb.fill(Bounds::UNKNOWN.ucb);
                lcb.fill(Bounds::UNKNOWN.lcb);
            }
        }
    }

    fn bound_parameters(&self) -> Option<BoundParameters> {
        Some(self.fitted()?.parameters(self.action_values()))
    }

    fn anytime(&self) -> bool {
        Regression::anytime(self)
    }

    fn draw(&self, rng: &mut ChaCha8Rng) -> Option<Box<dyn Oracle>> {
        let mu = self.draw_parameter(rng)?;
        Some(Box::new(DrawnParameter::new(mu, self.action_values())))
    }

    fn diagnosis(&self) -> Diagnosis {
        Regression::diagnosis(self)
    }
}
