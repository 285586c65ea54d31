//! Regressions on phi = (theta, action value): `glm`, `logistic` and their mixtures. Each fits an ellipsoid, from which all
//! bounds follow.

use std::fmt::Debug;

use nalgebra::{DMatrix, DVector};
use rand::RngExt;
use rand::rngs::ChaCha8Rng;
use rand_distr::StandardNormal;

use super::bulk::fill_unknown;
use super::config::Parameters;
use super::design::Design;
use super::ellipsoid::Ellipsoid;
use super::factor::{cholesky, lower_inverse};
use super::newton::{self, Estimate, psi_and_jacobian};
use super::{
    Belief, BoundFacts, Bounds, BulkBounds, Diagnosis, FittedNorm, LabeledData, Oracle, Pairs,
    wrong_state,
};
use crate::dp::{BoundParameters, Link};
use crate::error::Invalid;
use crate::task::{Context, Task};

/// A regression oracle: its parameters P, which say how to fit, its data and its fit.
#[derive(Debug, Clone)]
pub struct Regression<P> {
    parameters: P,
    /// The last entry of phi, by action.
    action_values: Vec<f64>,
    /// All observations.
    design: Design,
    /// The parameter, on the columns of the design.
    estimate: Estimate,
    /// Where the last fit started.
    start: DVector<f64>,
    /// `None` before the first fit.
    fitted: Option<Ellipsoid>,
}

/// An estimate that is not projected is taken to touch the ball from this share of its radius on.
const NEAR: f64 = 0.9;

/// How a regression is fitted.
pub(super) trait Fit: Parameters + Debug + Clone + Send + Sync + 'static {
    /// Whether an estimate of a norm above the bound is projected.
    const PROJECTS: bool = false;

    /// The parameter for the observations of a design, which is not empty, and the ellipsoid around it at confidence
    /// `delta`. An iteration begins at `start`.
    fn solve(&self, design: &Design, start: DVector<f64>, delta: f64) -> (Estimate, Ellipsoid);

    /// S, the largest norm of the true parameter on scaled columns.
    fn norm_bound(&self) -> f64 {
        1.0
    }

    /// The ridge of a logistic fit to d columns, whose posterior is N(mu, H^-1) with H the Hessian of its objective.
    fn posterior_ridge(&self, _d: usize) -> Option<f64> {
        None
    }
}

impl<P> Regression<P> {
    /// Without data; entries of phi are multiplied by `scale`.
    pub(super) fn with_scale(task: &Task, parameters: P, scale: Vec<f64>) -> Self {
        let d = scale.len();
        Self {
            parameters,
            action_values: task.application().action_values().to_vec(),
            design: Design::scaled(scale),
            estimate: DVector::zeros(d).into(),
            start: DVector::zeros(d),
            fitted: None,
        }
    }
}

impl<P: Fit> Oracle for Regression<P> {
    fn fit(&mut self, data: &LabeledData, delta: f64) {
        let known = self.design.len();
        self.design.append(data, &self.action_values);
        if data.is_empty() {
            return;
        }
        self.start = newton::forecast(&self.design, known, &self.estimate);
        let (estimate, fitted) = self
            .parameters
            .solve(&self.design, self.start.clone(), delta);
        (self.estimate, self.fitted) = (estimate, Some(fitted));
    }

    fn bounds(&self, context: &Context, out: &mut [Bounds]) {
        match &self.fitted {
            Some(fitted) => fitted.bounds(context.features, &self.action_values, out),
            None => out.fill(Bounds::UNKNOWN),
        }
    }

    fn estimate(&self, context: &Context, out: &mut [f64]) {
        match &self.fitted {
            Some(fitted) => fitted.estimate(context.features, &self.action_values, out),
            None => out.fill(0.5),
        }
    }

    fn beliefs(&self, context: &Context, out: &mut [Belief]) {
        match &self.fitted {
            Some(fitted) => fitted.beliefs(context.features, &self.action_values, |a, belief| {
                out[a] = belief;
            }),
            None => out.fill(Belief::UNKNOWN),
        }
    }

    fn each_observed(&self, _: &Task, _: &LabeledData, see: &mut dyn FnMut(f64, f64, f64)) {
        if let Some(fitted) = &self.fitted {
            fitted.each_observed(&self.design, see);
        }
    }

    fn facts(&self) -> BoundFacts {
        self.parameters.profile().facts
    }

    fn bulk(&self) -> Option<&dyn BulkBounds> {
        Some(self)
    }

    fn save(&self) -> Vec<f64> {
        self.start.as_slice().to_vec()
    }

    fn restore(&mut self, data: &LabeledData, delta: f64, saved: &[f64]) -> Result<(), Invalid> {
        if saved.len() != self.start.len() || saved.iter().any(|x| !x.is_finite()) {
            return Err(wrong_state(saved));
        }
        self.estimate.mu.copy_from_slice(saved);
        self.fit(data, delta);
        Ok(())
    }

    /// f(phi.mu) with mu drawn and f the logistic function.
    fn draw(&self, rng: &mut ChaCha8Rng) -> Option<Box<dyn Oracle>> {
        let d = self.estimate.mu.len();
        let ridge = self.parameters.posterior_ridge(d)?;
        let normal = DVector::from_fn(d, |_, _| rng.sample::<f64, _>(StandardNormal));
        let (_, hessian) = psi_and_jacobian(&self.design, ridge, &self.estimate.mu);
        // With H = L L', L'^-1 z has the covariance H^-1.
        let mut mu = &self.estimate.mu + lower_inverse(&cholesky(hessian)).tr_mul(&normal);
        mu.iter_mut()
            .zip(self.design.scale())
            .for_each(|(mu, scale)| *mu *= scale);
        let point = Ellipsoid::new(Link::Logistic, mu.clone(), DMatrix::identity(d, d), 0.0);
        Some(Box::new(Self {
            parameters: self.parameters.clone(),
            action_values: self.action_values.clone(),
            design: Design::scaled(vec![1.0; d]),
            start: mu.clone(),
            estimate: mu.into(),
            fitted: Some(point),
        }))
    }

    fn diagnosis(&self) -> Diagnosis {
        let (fitted, bound) = (self.estimate.mu.norm(), self.parameters.norm_bound());
        let at_bound = if P::PROJECTS {
            fitted > bound
        } else {
            fitted >= NEAR * bound
        };
        Diagnosis {
            observations: self.design.len(),
            norm: Some(FittedNorm {
                fitted,
                bound,
                at_bound,
            }),
        }
    }
}

impl<P: Fit> BulkBounds for Regression<P> {
    fn fill(&self, pairs: &Pairs, ucb: &mut [f64], lcb: &mut [f64]) {
        let Some(fitted) = &self.fitted else {
            return fill_unknown(pairs, ucb, lcb);
        };
        let features = pairs.sample.features_of(pairs.entries.clone());
        let values = &self.action_values[pairs.actions.clone()];
        fitted.fill(features, values, (pairs.layout, pairs.beside), ucb, lcb);
    }

    fn parameters(&self) -> Option<BoundParameters> {
        Some(self.fitted.as_ref()?.parameters(&self.action_values))
    }
}
