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

use super::config::{Build, Parameters, Profile};
use super::design::Design;
use super::ellipsoid::{Ellipsoid, NormBound};
use super::likelihood_mixture::{LikelihoodMixture, ridge};
use super::newton::Estimate;
use super::regression::{Fit, Regression};
use super::{BoundFacts, Oracle};
use crate::dp::Link;
use crate::error::Invalid;
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

impl Parameters for LogisticMixtureParameters {
    fn profile(&self) -> Profile {
        Profile {
            kind: "logistic",
            bounds: "mixture",
            facts: BoundFacts {
                anytime: true,
                ..BoundFacts::NONE
            },
            posterior: true,
            numbers: vec![
                ("norm_bound", Some(self.norm_bound), 0.0),
                ("radius_scale", Some(self.radius_scale), 0.0),
            ],
            ..Profile::default()
        }
    }

    fn build(&self, request: Build) -> Result<Box<dyn Oracle>, Invalid> {
        Ok(Box::new(LogisticMixture::new(request.task, *self)))
    }
}

/// The logistic oracle with bounds from the likelihood mixture.
pub type LogisticMixture = Regression<LogisticMixtureParameters>;

impl LogisticMixture {
    /// An oracle for the actions and features of a task.
    pub fn new(task: &Task, parameters: LogisticMixtureParameters) -> Self {
        Self::with_scale(task, parameters, inverse_sizes(task))
    }
}

impl Fit for LogisticMixtureParameters {
    fn solve(&self, design: &Design, start: DVector<f64>, delta: f64) -> (Estimate, Ellipsoid) {
        let set = LikelihoodMixture::new(design, self.norm_bound, delta, start);
        let scale = self.radius_scale * (2.0 * set.beta).sqrt();
        let bound = NormBound {
            norm_bound: self.norm_bound,
            inverse_sizes: design.scale().to_vec(),
        };
        let mu = set.estimate.mu.clone();
        let fitted = Ellipsoid::new(Link::Logistic, mu, set.shape, scale);
        (set.estimate, fitted.unscaled(design.scale()).inside(bound))
    }

    fn norm_bound(&self) -> f64 {
        self.norm_bound
    }

    fn posterior_ridge(&self, d: usize) -> Option<f64> {
        Some(ridge(d, self.norm_bound))
    }
}
