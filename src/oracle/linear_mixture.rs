//! The linear oracle with bounds from the quadratic mixture (`glm` with `link = "linear"` and `bounds = "mixture"`).
//!
//! ```text
//! x        phi_i / max |phi_i| over the task's contexts and actions, phi = (theta, action value)
//! mu_hat   V^-1 sum_n Y_n x_n,   V = lam I + sum_n x_n x_n'
//! bounds   x.mu_hat -+ |x| sqrt( lam S^2 + (ln det(V/lam) + 2 ln(1/delta)) / 4 ),   |x| in the norm of V^-1
//! ```
//!
//! # Why it holds at all times
//!
//! E Y_n = x_n.mu* with |mu*| <= S. A yes or no is sub-Gaussian with variance proxy 1/4 (Hoeffding), so for any fixed mu
//! exp( 2 sum_n (Y_n - x_n.mu*)^2 - (Y_n - x_n.mu)^2 ) is a supermartingale that starts at 1, and so is its mean over
//! mu ~ N(0, I / (4 lam)), which is fixed before the data. That mean is a Gaussian integral: with
//! R(mu) = sum_n (Y_n - x_n.mu)^2 + lam |mu|^2 it is exp( 2 (R(mu*) - lam |mu*|^2 - R(mu_hat)) ) / sqrt(det(V/lam)), and
//! R(mu*) - R(mu_hat) = |mu* - mu_hat|^2 in the norm of V. By Ville's inequality it stays below 1/delta forever with
//! probability at least 1 - delta, which is the ellipsoid above. Unlike the sum of two radii in Abbasi-Yadkori et al. (2011)
//! the norm bound enters under the root.

use nalgebra::{DMatrix, DVector};

use super::config::{Build, Parameters, Profile};
use super::design::Design;
use super::ellipsoid::Ellipsoid;
use super::factor::cholesky;
use super::logistic_mixture::inverse_sizes;
use super::newton::Estimate;
use super::regression::{Fit, Regression};
use super::{BoundFacts, Oracle};
use crate::dp::Link;
use crate::error::Invalid;
use crate::task::Task;

/// Parameters of the oracle, all positive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinearMixtureParameters {
    /// S, the largest norm of the truth on scaled columns.
    pub norm_bound: f64,
    /// lam.
    pub lambda: f64,
    /// Multiplies the radius; below 1 nothing is promised.
    pub radius_scale: f64,
}

impl Default for LinearMixtureParameters {
    fn default() -> Self {
        Self {
            norm_bound: 1.0,
            lambda: 1.0,
            radius_scale: 1.0,
        }
    }
}

/// S^2 + (ln det + 2 ln(1/delta)) / (4 lam), the square of the radius in units of sqrt(lam): what the linear and the kernel
/// oracle share, with ln det = ln det(V/lam) = ln det(I + K/lam).
pub(super) fn quadratic_mixture(norm_bound: f64, lambda: f64, log_det: f64, delta: f64) -> f64 {
    norm_bound * norm_bound + (log_det - 2.0 * delta.ln()) / (4.0 * lambda)
}

impl Parameters for LinearMixtureParameters {
    fn profile(&self) -> Profile {
        Profile {
            kind: "glm",
            bounds: "mixture",
            facts: BoundFacts {
                anytime: true,
                ..BoundFacts::NONE
            },
            numbers: vec![
                ("lambda", Some(self.lambda), 0.0),
                ("norm_bound", Some(self.norm_bound), 0.0),
                ("radius_scale", Some(self.radius_scale), 0.0),
            ],
            ..Profile::default()
        }
    }

    fn build(&self, request: Build) -> Result<Box<dyn Oracle>, Invalid> {
        Ok(Box::new(LinearMixture::new(request.task, *self)))
    }
}

/// The linear oracle with bounds from the quadratic mixture.
pub type LinearMixture = Regression<LinearMixtureParameters>;

impl LinearMixture {
    /// An oracle for the actions and features of a task.
    pub fn new(task: &Task, parameters: LinearMixtureParameters) -> Self {
        Self::with_scale(task, parameters, inverse_sizes(task))
    }
}

impl Fit for LinearMixtureParameters {
    fn solve(&self, design: &Design, _start: DVector<f64>, delta: f64) -> (Estimate, Ellipsoid) {
        let (d, lambda) = (design.dimension(), self.lambda);
        let v = &design.gram + DMatrix::from_diagonal_element(d, d, lambda);
        let factor = cholesky(v.clone());
        let mu: DVector<f64> = factor.solve(&design.converted);
        let diagonal = factor.l_dirty().diagonal();
        let log_det: f64 = diagonal.iter().map(|x| (x * x / lambda).ln()).sum();
        let square = lambda * quadratic_mixture(self.norm_bound, lambda, log_det, delta);
        let scale = self.radius_scale * square.sqrt();
        let fitted = Ellipsoid::new(Link::Linear, mu.clone(), v, scale);
        (mu.into(), fitted.unscaled(design.scale()))
    }

    fn norm_bound(&self) -> f64 {
        self.norm_bound
    }
}

#[cfg(test)]
mod tests {
    use super::quadratic_mixture;

    /// mpmath 1.4.1: sqrt(1 + (20 + 2 ln 10) / 32).
    #[test]
    fn the_factor_agrees_with_mpmath() {
        let factor = quadratic_mixture(1.0, 8.0, 20.0, 0.1).sqrt();
        approx::assert_abs_diff_eq!(factor, 1.330004348982, epsilon = 1e-12);
    }
}
