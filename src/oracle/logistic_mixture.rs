//! The logistic oracle with bounds from the likelihood mixture (`bounds = "mixture"`), phi = (theta, action value):
//!
//! ```text
//! x        phi_i / max |phi_i| over the task's contexts and actions, so that every column is at most 1
//! set      { mu : |mu - mu_hat| in the norm of Hc is at most sqrt(2 beta) }, for all times at once
//! bounds   f( x.mu_hat -+ sqrt(2 beta) |x| in the norm of Hc^-1, clamped to -+ S |x| )
//! ```
//!
//! [`super::likelihood_mixture`] derives mu_hat, beta and Hc. S bounds the norm of the truth on the scaled columns; it is
//! generous by default, because a larger S costs little once there are data.

use nalgebra::DVector;
use rand::rngs::ChaCha8Rng;

use super::Diagnosis;
use super::design::Design;
use super::drawn::draw_around;
use super::ellipsoid::{Ellipsoid, NormBound};
use super::likelihood_mixture::{LikelihoodMixture, ridge};
use super::newton::Fit;
use super::regression::{FitState, Regression};
use crate::dp::Link;
use crate::task::Task;

/// Parameters of the oracle, all positive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LogisticMixtureParameters {
    /// S, the largest norm of the truth on scaled columns.
    pub norm_bound: f64,
    /// Multiplies the radius; below 1 nothing is promised.
    pub radius_scale: f64,
}

impl Default for LogisticMixtureParameters {
    fn default() -> Self {
        Self {
            norm_bound: 10.0,
            radius_scale: 1.0,
        }
    }
}

/// 1 / max |phi_i| over contexts and actions; a column of zeros is left as it is.
pub(super) fn inverse_sizes(task: &Task) -> Vec<f64> {
    let inverse = |size: f64| if size > 0.0 { 1.0 / size } else { 1.0 };
    task.phi_sizes().into_iter().map(inverse).collect()
}

/// The fitted model and the data it has taken in.
#[derive(Debug, Clone)]
pub struct LogisticMixture {
    parameters: LogisticMixtureParameters,
    inverse_sizes: Vec<f64>,
    state: FitState,
}

impl LogisticMixture {
    /// An oracle for the actions and features of a task.
    pub fn new(task: &Task, parameters: LogisticMixtureParameters) -> Self {
        let inverse_sizes = inverse_sizes(task);
        Self {
            parameters,
            state: FitState::new(task, Design::scaled(inverse_sizes.clone())),
            inverse_sizes,
        }
    }
}

impl Regression for LogisticMixture {
    fn state(&self) -> &FitState {
        &self.state
    }

    fn state_mut(&mut self) -> &mut FitState {
        &mut self.state
    }

    fn solve(&self, delta: f64) -> (Fit, Ellipsoid) {
        let norm_bound = self.parameters.norm_bound;
        let start = self.state.fit.mu.clone();
        let LikelihoodMixture {
            fit, beta, shape, ..
        } = LikelihoodMixture::new(&self.state.design, norm_bound, delta, start);
        let scale = self.parameters.radius_scale * (2.0 * beta).sqrt();
        let bound = NormBound {
            norm_bound,
            inverse_sizes: self.inverse_sizes.clone(),
        };
        let fitted = Ellipsoid::new(Link::Logistic, fit.mu.clone(), shape, scale);
        (fit, fitted.unscaled(&self.inverse_sizes).inside(bound))
    }

    fn anytime(&self) -> bool {
        true
    }

    fn draw_parameter(&self, rng: &mut ChaCha8Rng) -> Option<DVector<f64>> {
        let FitState { design, fit, .. } = &self.state;
        let lambda = ridge(fit.mu.len(), self.parameters.norm_bound);
        let mut mu = draw_around(&fit.mu, design, lambda, rng);
        for (mu, inverse) in mu.iter_mut().zip(&self.inverse_sizes) {
            *mu *= inverse;
        }
        Some(mu)
    }

    fn wide_at_first(&self) -> bool {
        true
    }

    fn diagnosis(&self) -> Diagnosis {
        let (count, norm) = (self.state.design.len(), self.state.fit.mu.norm());
        Diagnosis::free(count, norm, self.parameters.norm_bound)
    }
}
