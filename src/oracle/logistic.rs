//! The refined oracle for contextual logistic bandits (Appendix A.2.3), phi = (theta, action value):
//!
//! ```text
//! mu~      the L2-penalised maximum-likelihood estimate; mu_hat its projection if |mu~| > 1
//! bounds   f(phi.mu_hat) +- gamma sqrt(3 / (2 kappa)) |phi| in the norm of V^-1,   |x| = sqrt(x' V^-1 x)
//! V        (lambda / kappa) I + sum_n phi_n phi_n'
//! gamma    (3/2) sqrt(lambda) + (2 / sqrt(lambda)) ln( (2^d / delta) (1 + N / (4 d lambda))^(d/2) )
//! ```
//!
//! The paper writes the norm without the root; the root is meant. kappa defaults to f'(q), the least slope of f on
//! |mu| <= 1 and |phi| <= q: larger than the paper's, the least slope on |mu - mu*| <= 2, which is f'(3q) over every mu* in the
//! unit ball. The projection keeps mu_hat in the unit ball with mu*, and the slope matters between the two. Both may be set directly: the paper's experiment takes gamma = 0.5, kappa = 8. That is a
//! practical radius and not a confidence bound: it covers all pairs of the paper's pricing at once in 3 to 7% of data sets.
//! Tight bounds that hold are in [`super::LogisticMixture`].

use nalgebra::{DMatrix, DVector};

use super::config::{Build, Parameters, Profile};
use super::design::Design;
use super::ellipsoid::Ellipsoid;
use super::newton::{self, Estimate};
use super::regression::{Fit, Regression};
use super::sigmoids::sigmoid;
use super::{Oracle, OracleSpec, projection};
use crate::dp::Link;
use crate::error::Invalid;
use crate::task::Task;

/// Parameters of the oracle, all positive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LogisticParameters {
    /// Weight of the penalty.
    pub lambda: f64,
    /// Overrides gamma.
    pub gamma: Option<f64>,
    /// Overrides kappa.
    pub kappa: Option<f64>,
    /// Multiplies the radius.
    pub radius_scale: f64,
}

impl Default for LogisticParameters {
    fn default() -> Self {
        Self {
            lambda: 1.0,
            gamma: None,
            kappa: None,
            radius_scale: 1.0,
        }
    }
}

impl Parameters for LogisticParameters {
    fn profile(&self) -> Profile {
        Profile {
            kind: "logistic",
            bounds: "paper",
            posterior: true,
            tight: Some(OracleSpec::LogisticMixture(Default::default())),
            numbers: vec![
                ("lambda", Some(self.lambda), 0.0),
                ("gamma", self.gamma, 0.0),
                ("kappa", self.kappa, 0.0),
                ("radius_scale", Some(self.radius_scale), 0.0),
            ],
            ..Profile::default()
        }
    }

    fn build(&self, request: Build) -> Result<Box<dyn Oracle>, Invalid> {
        Ok(Box::new(Logistic::new(request.task, *self)))
    }

    fn derived(&self, task: &Task, _episodes: usize) -> Vec<(&'static str, f64)> {
        let kappa = self.kappa.is_none().then(|| ("kappa", least_slope(task)));
        kappa.into_iter().collect()
    }
}

/// f'(q), kept above 0 for very long features.
pub(super) fn least_slope(task: &Task) -> f64 {
    let q = task.phi_norm_max();
    (sigmoid(q) * sigmoid(-q)).max(1e-100)
}

/// The refined logistic oracle.
pub type Logistic = Regression<LogisticParameters>;

impl Logistic {
    /// An oracle for the actions and features of a task.
    pub fn new(task: &Task, parameters: LogisticParameters) -> Self {
        let kappa = Some(parameters.kappa.unwrap_or(least_slope(task)));
        let resolved = LogisticParameters {
            kappa,
            ..parameters
        };
        Self::with_scale(task, resolved, vec![1.0; task.phi_dimension()])
    }
}

impl Fit for LogisticParameters {
    const PROJECTS: bool = true;

    fn solve(&self, design: &Design, start: DVector<f64>, delta: f64) -> (Estimate, Ellipsoid) {
        let lambda = self.lambda;
        let kappa = self.kappa.expect("set when the oracle was built");
        let estimate = newton::fit(design, lambda, start);
        let mu = if estimate.mu.norm() > 1.0 {
            projection::project(design, lambda, &estimate.mu)
        } else {
            estimate.mu.clone()
        };
        let v = &design.gram + DMatrix::from_diagonal_element(mu.len(), mu.len(), lambda / kappa);
        let (d, n) = (design.dimension() as f64, design.len() as f64);
        let log_term = d * 2f64.ln() - delta.ln() + 0.5 * d * (n / (4.0 * d * lambda)).ln_1p();
        let theory = 1.5 * lambda.sqrt() + 2.0 / lambda.sqrt() * log_term;
        let gamma = self.gamma.unwrap_or(theory);
        let scale = self.radius_scale * gamma * (1.5 / kappa).sqrt();
        (estimate, Ellipsoid::new(Link::Logistic, mu, v, scale))
    }

    fn posterior_ridge(&self, _d: usize) -> Option<f64> {
        Some(self.lambda)
    }
}
