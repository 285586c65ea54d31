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
//! The paper writes the norm without the root; it is meant with it. f is the identity (linear link, kappa = 1, mu_hat in
//! closed form) or the logistic function (kappa defaults to f'(q), the least slope of f on |mu| <= 1 and |phi| <= q).
//! Tighter bounds for the linear link are in [`super::LinearMixture`].

use nalgebra::{DMatrix, DVector};
use rand::rngs::ChaCha8Rng;

use super::design::Design;
use super::drawn::draw_around;
use super::ellipsoid::Ellipsoid;
use super::factor::cholesky;
use super::logistic::least_slope;
use super::newton::Fit;
use super::regression::{FitState, Regression};
use super::{Diagnosis, newton};
use crate::dp::Link;
use crate::task::Task;

/// Parameters of the oracle; those that are set are positive.
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
    /// kappa and lambda: those that are set, or what the theory says for a task and so many episodes.
    pub fn in_force(&self, task: &Task, episodes: usize) -> (f64, f64) {
        let d = task.phi_dimension();
        let kappa = self.kappa.unwrap_or(match self.link {
            Link::Linear => 1.0,
            Link::Logistic => least_slope(task),
        });
        let theory = 4.0 * d as f64 * (episodes as f64 / (d * d) as f64).ln_1p() / (kappa * kappa);
        (kappa, self.lambda.unwrap_or(theory))
    }
}

/// The fitted model and the data it has taken in.
#[derive(Debug, Clone)]
pub struct Glm {
    parameters: GlmParameters,
    kappa: f64,
    lambda: f64,
    state: FitState,
}

impl Glm {
    /// An oracle for the actions and features of a task and a study of `episodes` episodes.
    pub fn new(task: &Task, parameters: GlmParameters, episodes: usize) -> Self {
        let (kappa, lambda) = parameters.in_force(task, episodes);
        Self {
            parameters,
            kappa,
            lambda,
            state: FitState::new(task, Design::new(task.phi_dimension())),
        }
    }

    fn gamma(&self, delta: f64) -> f64 {
        let d = self.state.design.dimension() as f64;
        let n = self.state.design.len() as f64;
        let log_terms = 2.0 * (1.0 / delta).ln() + d * (n / (d * self.lambda)).ln_1p();
        let theory = self.lambda.sqrt() + log_terms.sqrt() / self.kappa;
        self.parameters.gamma.unwrap_or(theory)
    }

    fn estimate(&self) -> Fit {
        let FitState { design, fit, .. } = &self.state;
        let ridge = self.kappa * self.lambda;
        match self.parameters.link {
            Link::Logistic => newton::fit(design, ridge, fit.mu.clone()),
            Link::Linear => {
                let d = design.dimension();
                let normal = &design.gram + DMatrix::from_diagonal_element(d, d, ridge);
                cholesky(normal).solve(&design.converted).into()
            }
        }
    }
}

impl Regression for Glm {
    fn state(&self) -> &FitState {
        &self.state
    }

    fn state_mut(&mut self) -> &mut FitState {
        &mut self.state
    }

    fn solve(&self, delta: f64) -> (Fit, Ellipsoid) {
        let fit = self.estimate();
        let d = fit.mu.len();
        let v = &self.state.design.gram + DMatrix::from_diagonal_element(d, d, self.lambda);
        let scale = self.parameters.radius_scale * self.gamma(delta);
        let fitted = Ellipsoid::new(self.parameters.link, fit.mu.clone(), v, scale);
        (fit, fitted)
    }

    fn draw_parameter(&self, rng: &mut ChaCha8Rng) -> Option<DVector<f64>> {
        let ridge = self.kappa * self.lambda;
        match self.parameters.link {
            Link::Logistic => Some(draw_around(
                &self.state.fit.mu,
                &self.state.design,
                ridge,
                rng,
            )),
            Link::Linear => None,
        }
    }

    fn diagnosis(&self) -> Diagnosis {
        Diagnosis::free(self.state.design.len(), self.state.fit.mu.norm(), 1.0)
    }
}
