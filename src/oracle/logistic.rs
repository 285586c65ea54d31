//! The refined oracle for contextual logistic bandits (Appendix A.2.3), phi = (theta, action value):
//!
//! ```text
//! mu~      the L2-penalised maximum-likelihood estimate; mu_hat its projection where |mu~| > 1
//! bounds   f(phi.mu_hat) +- gamma sqrt(3 / (2 kappa)) |phi| in the norm of V^-1,   |x| = sqrt(x' V^-1 x)
//! V        (lambda / kappa) I + sum_n phi_n phi_n'
//! gamma    (3/2) sqrt(lambda) + (2 / sqrt(lambda)) ln( (2^d / delta) (1 + N / (4 d lambda))^(d/2) )
//! ```
//!
//! The paper writes the norm without the root; it is meant with it. kappa defaults to f'(q), the least slope of f on
//! |mu| <= 1 and |phi| <= q. Both may be set directly: the paper's experiment takes gamma = 0.5, kappa = 8. That is a
//! practical radius and not a confidence bound: it covers all pairs of the paper's pricing at once in 3 to 7% of data sets.
//! Bounds that are tight and hold are in [`super::LogisticMixture`].

use nalgebra::{DMatrix, DVector};
use rand::rngs::ChaCha8Rng;

use super::design::Design;
use super::drawn::draw_around;
use super::ellipsoid::Ellipsoid;
use super::newton::Fit;
use super::regression::{FitState, Regression};
use super::sigmoids::sigmoid;
use super::{Diagnosis, newton, projection};
use crate::dp::Link;
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

impl LogisticParameters {
    /// kappa: what is set, or f'(q).
    pub fn kappa_in_force(&self, task: &Task) -> f64 {
        self.kappa.unwrap_or(least_slope(task))
    }
}

/// f'(q), kept away from 0 where features are so long that it would vanish.
pub(super) fn least_slope(task: &Task) -> f64 {
    let q = task.phi_norm_max();
    (sigmoid(q) * sigmoid(-q)).max(1e-100)
}

/// The fitted model and the data it has taken in.
#[derive(Debug, Clone)]
pub struct Logistic {
    parameters: LogisticParameters,
    kappa: f64,
    state: FitState,
}

impl Logistic {
    /// An oracle for the actions and features of a task.
    pub fn new(task: &Task, parameters: LogisticParameters) -> Self {
        Self {
            parameters,
            kappa: parameters.kappa_in_force(task),
            state: FitState::new(task, Design::new(task.phi_dimension())),
        }
    }

    fn gamma(&self, delta: f64) -> f64 {
        let lambda = self.parameters.lambda;
        let d = self.state.design.dimension() as f64;
        let n = self.state.design.len() as f64;
        let log_term = d * 2f64.ln() - delta.ln() + 0.5 * d * (n / (4.0 * d * lambda)).ln_1p();
        self.parameters
            .gamma
            .unwrap_or(1.5 * lambda.sqrt() + 2.0 / lambda.sqrt() * log_term)
    }
}

impl Regression for Logistic {
    fn state(&self) -> &FitState {
        &self.state
    }

    fn state_mut(&mut self) -> &mut FitState {
        &mut self.state
    }

    fn solve(&self, delta: f64) -> (Fit, Ellipsoid) {
        let design = &self.state.design;
        let lambda = self.parameters.lambda;
        let fit = newton::fit(design, lambda, self.state.fit.mu.clone());
        let mu = if fit.mu.norm() > 1.0 {
            projection::project(design, lambda, &fit.mu)
        } else {
            fit.mu.clone()
        };
        let d = mu.len();
        let v = &design.gram + DMatrix::from_diagonal_element(d, d, lambda / self.kappa);
        let scale = self.parameters.radius_scale * self.gamma(delta) * (1.5 / self.kappa).sqrt();
        (fit, Ellipsoid::new(Link::Logistic, mu, v, scale))
    }

    fn draw_parameter(&self, rng: &mut ChaCha8Rng) -> Option<DVector<f64>> {
        let lambda = self.parameters.lambda;
        Some(draw_around(
            &self.state.fit.mu,
            &self.state.design,
            lambda,
            rng,
        ))
    }

    fn wide_at_first(&self) -> bool {
        true
    }

    fn diagnosis(&self) -> Diagnosis {
        Diagnosis::projected(self.state.design.len(), self.state.fit.mu.norm(), 1.0)
    }
}
