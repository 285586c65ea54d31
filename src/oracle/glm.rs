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
use super::regression::Regression;
use super::{Diagnosis, LabeledData, newton};
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
    action_values: Vec<f64>,
    design: Design,
    estimate: DVector<f64>,
    /// Where the last fit started.
    start: DVector<f64>,
    fitted: Option<Ellipsoid>,
}

impl Glm {
    /// An oracle for the actions and features of a task and a study of `episodes` episodes.
    pub fn new(task: &Task, parameters: GlmParameters, episodes: usize) -> Self {
        let d = task.phi_dimension();
        let (kappa, lambda) = parameters.in_force(task, episodes);
        Self {
            parameters,
            kappa,
            lambda,
            action_values: task.application().action_values().to_vec(),
            design: Design::new(d),
            estimate: DVector::zeros(d),
            start: DVector::zeros(d),
            fitted: None,
        }
    }

    fn gamma(&self, delta: f64) -> f64 {
        let d = self.design.dimension() as f64;
        let n = self.design.len() as f64;
        let log_terms = 2.0 * (1.0 / delta).ln() + d * (n / (d * self.lambda)).ln_1p();
        let theory = self.lambda.sqrt() + log_terms.sqrt() / self.kappa;
        self.parameters.gamma.unwrap_or(theory)
    }

    fn solve(&self) -> DVector<f64> {
        let ridge = self.kappa * self.lambda;
        match self.parameters.link {
            Link::Logistic => newton::fit(&self.design, ridge, self.estimate.clone()),
            Link::Linear => {
                let d = self.design.dimension();
                let normal = &self.design.gram + DMatrix::from_diagonal_element(d, d, ridge);
                cholesky(normal).solve(&self.design.converted)
            }
        }
    }
}

impl Regression for Glm {
    fn refit(&mut self, data: &LabeledData, delta: f64) {
        self.design.take_in(data, &self.action_values);
        if !data.is_empty() {
            self.start.copy_from(&self.estimate);
            self.estimate = self.solve();
            self.conclude(delta);
        }
    }

    fn start(&self) -> &[f64] {
        self.start.as_slice()
    }

    fn start_from(&mut self, start: &[f64]) {
        self.estimate.copy_from_slice(start);
    }

    fn action_values(&self) -> &[f64] {
        &self.action_values
    }

    fn fitted(&self) -> Option<&Ellipsoid> {
        self.fitted.as_ref()
    }

    fn draw_parameter(&self, rng: &mut ChaCha8Rng) -> Option<DVector<f64>> {
        let ridge = self.kappa * self.lambda;
        match self.parameters.link {
            Link::Logistic => Some(draw_around(&self.estimate, &self.design, ridge, rng)),
            Link::Linear => None,
        }
    }

    fn diagnosis(&self) -> Diagnosis {
        Diagnosis::free(self.design.len(), self.estimate.norm(), 1.0)
    }
}

impl Glm {
    /// The bounds around the estimate.
    fn conclude(&mut self, delta: f64) {
        let d = self.design.dimension();
        let v = &self.design.gram + DMatrix::from_diagonal_element(d, d, self.lambda);
        let scale = self.parameters.radius_scale * self.gamma(delta);
        let link = self.parameters.link;
        self.fitted = Some(Ellipsoid::new(link, self.estimate.clone(), v, scale));
    }
}
