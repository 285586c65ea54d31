//! The oracle for contextual generalized linear bandits (Appendix A.2.2), phi = (theta, action value):
//!
//! ```text
//! mu_hat   solves  sum_n (Y_n - f(phi_n.mu)) phi_n = kappa lambda mu
//! bounds   f(phi.mu_hat) +- gamma |phi| in the norm of V^-1,   |x| = sqrt(x' V^-1 x)
//! V        lambda I + sum_n phi_n phi_n'
//! lambda   4 d ln(1 + T / d^2) / kappa^2
//! gamma    sqrt(lambda) + (1 / kappa) sqrt( 2 ln(1 / delta) + d ln(1 + N / (d lambda)) )
//! ```
//!
//! The paper writes the norm without the root; the root is meant. f is the identity (linear link, kappa = 1, mu_hat in
//! closed form) or the logistic function (kappa defaults to f'(q), the least slope of f on |mu| <= 1 and |phi| <= q).
//!
//! The paper's kappa is smaller: the least slope on |mu - mu*| <= 2 and |phi| <= q. That needs mu*; over every mu* in the unit
//! ball it is f'(3q), and the radius, which falls with kappa, would be useless (q = 4.2 in the paper's pricing: f'(q) = 0.014,
//! f'(3q) = 3e-6). The proof needs the slope between mu_hat and mu* only, so that f'(q) is enough while both are in the unit
//! ball. This oracle does not project mu_hat, so with the logistic link its bounds are the paper's as long as |mu_hat| <= 1;
//! `kappa` sets any other value.
//! Tighter bounds for the linear link are in [`super::LinearMixture`].

use nalgebra::{DMatrix, DVector};

use super::config::{Build, Parameters, Profile};
use super::design::Design;
use super::ellipsoid::Ellipsoid;
use super::factor::cholesky;
use super::logistic::least_slope;
use super::newton::{self, Estimate};
use super::regression::{Fit, Regression};
use super::{Oracle, OracleSpec};
use crate::dp::Link;
use crate::error::Invalid;
use crate::task::Task;

/// Parameters of the generalised-linear oracle; those that are set are positive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GlmParameters {
    /// f.
    pub link: Link,
    /// Overrides lambda.
    pub lambda: Option<f64>,
    /// Overrides gamma.
    pub gamma: Option<f64>,
    /// Overrides kappa.
    pub kappa: Option<f64>,
    /// Multiplies the radius.
    pub radius_scale: f64,
}

impl GlmParameters {
    /// kappa and lambda of an oracle, which are set.
    fn resolved(&self) -> (f64, f64) {
        let set = "set when the oracle was built";
        (self.kappa.expect(set), self.lambda.expect(set))
    }

    /// kappa and lambda: as set, or the theory's for a task and so many episodes.
    fn resolve(&self, task: &Task, episodes: usize) -> (f64, f64) {
        let d = task.phi_dimension();
        let kappa = self.kappa.unwrap_or(match self.link {
            Link::Linear => 1.0,
            Link::Logistic => least_slope(task),
        });
        let theory = 4.0 * d as f64 * (episodes as f64 / (d * d) as f64).ln_1p() / (kappa * kappa);
        (kappa, self.lambda.unwrap_or(theory))
    }
}

impl Parameters for GlmParameters {
    fn profile(&self) -> Profile {
        Profile {
            kind: "glm",
            bounds: "paper",
            posterior: self.link == Link::Logistic,
            tight: (self.link == Link::Linear)
                .then(|| OracleSpec::LinearMixture(Default::default())),
            numbers: vec![
                ("lambda", self.lambda, 0.0),
                ("gamma", self.gamma, 0.0),
                ("kappa", self.kappa, 0.0),
                ("radius_scale", Some(self.radius_scale), 0.0),
            ],
            ..Profile::default()
        }
    }

    fn build(&self, request: Build) -> Result<Box<dyn Oracle>, Invalid> {
        Ok(Box::new(Glm::new(request.task, *self, request.episodes)))
    }

    fn derived(&self, task: &Task, episodes: usize) -> Vec<(&'static str, f64)> {
        let (kappa, lambda) = self.resolve(task, episodes);
        let kappa = self.kappa.is_none().then_some(("kappa", kappa));
        let lambda = self.lambda.is_none().then_some(("lambda", lambda));
        kappa.into_iter().chain(lambda).collect()
    }
}

/// The generalized linear oracle.
pub type Glm = Regression<GlmParameters>;

impl Glm {
    /// An oracle for the actions and features of a task and a study of `episodes` episodes.
    pub fn new(task: &Task, parameters: GlmParameters, episodes: usize) -> Self {
        let (kappa, lambda) = parameters.resolve(task, episodes);
        let resolved = GlmParameters {
            kappa: Some(kappa),
            lambda: Some(lambda),
            ..parameters
        };
        Self::with_scale(task, resolved, vec![1.0; task.phi_dimension()])
    }
}

impl Fit for GlmParameters {
    fn solve(&self, design: &Design, start: DVector<f64>, delta: f64) -> (Estimate, Ellipsoid) {
        let (kappa, lambda) = self.resolved();
        let (d, n) = (design.dimension(), design.len());
        let estimate = match self.link {
            Link::Logistic => newton::fit(design, kappa * lambda, start),
            Link::Linear => {
                let normal = &design.gram + DMatrix::from_diagonal_element(d, d, kappa * lambda);
                cholesky(normal).solve(&design.converted).into()
            }
        };
        let v = &design.gram + DMatrix::from_diagonal_element(d, d, lambda);
        let (d, n) = (d as f64, n as f64);
        let log_terms = 2.0 * (1.0 / delta).ln() + d * (n / (d * lambda)).ln_1p();
        let theory = lambda.sqrt() + log_terms.sqrt() / kappa;
        let scale = self.radius_scale * self.gamma.unwrap_or(theory);
        let fitted = Ellipsoid::new(self.link, estimate.mu.clone(), v, scale);
        (estimate, fitted)
    }

    fn posterior_ridge(&self, _d: usize) -> Option<f64> {
        let (kappa, lambda) = self.resolved();
        (self.link == Link::Logistic).then_some(kappa * lambda)
    }
}
