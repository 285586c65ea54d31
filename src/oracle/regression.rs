//! What the regressions share, `glm` and `logistic` and their mixtures: once fitted, all they say comes from an ellipsoid.

use std::fmt::Debug;
use std::ops::Range;

use nalgebra::DVector;
use rand::rngs::ChaCha8Rng;

use super::design::Design;
use super::drawn::DrawnParameter;
use super::ellipsoid::Ellipsoid;
use super::newton::{self, Fit};
use super::{BoundFacts, Bounds, Diagnosis, LabeledData, Oracle};
use crate::dp::{BoundParameters, ContextSample};
use crate::error::Invalid;
use crate::task::{Context, Task};

/// What a regression has taken in, and what it made of it.
#[derive(Debug, Clone)]
pub(super) struct FitState {
    /// The last entry of phi, by action.
    pub action_values: Vec<f64>,
    /// All observations.
    pub design: Design,
    /// The parameter, on the columns of the design.
    pub fit: Fit,
    /// Where the last fit started.
    start: DVector<f64>,
    fitted: Option<Ellipsoid>,
}

impl FitState {
    /// Before any data.
    pub fn new(task: &Task, design: Design) -> Self {
        let d = design.dimension();
        Self {
            action_values: task.application().action_values().to_vec(),
            design,
            fit: DVector::zeros(d).into(),
            start: DVector::zeros(d),
            fitted: None,
        }
    }

    /// With a fit that needs no data.
    pub fn concluded(action_values: &[f64], estimate: DVector<f64>, fitted: Ellipsoid) -> Self {
        Self {
            action_values: action_values.to_vec(),
            design: Design::new(estimate.len()),
            start: estimate.clone(),
            fit: estimate.into(),
            fitted: Some(fitted),
        }
    }
}

/// A regression on phi = (theta, action value).
pub(super) trait Regression: Debug + Send + Sync {
    /// What it holds.
    fn state(&self) -> &FitState;

    /// Likewise, to be changed.
    fn state_mut(&mut self) -> &mut FitState;

    /// The parameter of the design's observations, of which there are some, and the bounds around it at confidence `delta`;
    /// the state's parameter is a good start.
    fn solve(&self, delta: f64) -> (Fit, Ellipsoid);

    /// The last entry of phi, by action.
    fn action_values(&self) -> &[f64] {
        &self.state().action_values
    }

    /// What was fitted, where there were data.
    fn fitted(&self) -> Option<&Ellipsoid> {
        self.state().fitted.as_ref()
    }

    /// See [`Oracle::anytime`].
    fn anytime(&self) -> bool {
        false
    }

    /// See [`BoundFacts::wide_at_first`].
    fn wide_at_first(&self) -> bool {
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
        let state = self.state_mut();
        let known = state.design.len();
        state.design.take_in(data, &state.action_values);
        if data.is_empty() {
            return;
        }
        state.fit.mu = newton::forecast(&state.design, known, &state.fit);
        state.start.copy_from(&state.fit.mu);
        let (fit, fitted) = self.solve(delta);
        let state = self.state_mut();
        (state.fit, state.fitted) = (fit, Some(fitted));
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
        self.state().start.as_slice().to_vec()
    }

    fn restore(&mut self, data: &LabeledData, delta: f64, saved: &[f64]) -> Result<(), Invalid> {
        let start = &mut self.state_mut().fit.mu;
        if saved.len() != start.len() || saved.iter().any(|x| !x.is_finite()) {
            let found = format!("{} numbers of an oracle", saved.len());
            return Err(Invalid::new("state", found, "a state of the same oracle"));
        }
        start.copy_from_slice(saved);
        self.fit(data, delta);
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

    fn upper_bounds(
        &self,
        sample: &ContextSample,
        entries: Range<usize>,
        action: usize,
        ucb: &mut [f64],
    ) -> bool {
        match self.fitted() {
            Some(fitted) => {
                let value = self.action_values()[action - 1];
                fitted.upper_bounds(sample.features_of(entries), value, ucb);
            }
            None => ucb.fill(Bounds::UNKNOWN.ucb),
        }
        true
    }

    fn bounds_by_action(
        &self,
        sample: &ContextSample,
        entries: Range<usize>,
        apart: usize,
        ucb: &mut [f64],
        lcb: &mut [f64],
    ) {
        match self.fitted() {
            Some(fitted) => {
                let features = sample.features_of(entries);
                fitted.bounds_by_action(features, self.action_values(), apart, ucb, lcb);
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

    fn facts(&self) -> BoundFacts {
        BoundFacts {
            by_step: false,
            wide_at_first: self.wide_at_first(),
        }
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
