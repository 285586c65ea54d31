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
//! |mu| <= 1 and |phi| <= q. Both may be set directly: the paper's experiment takes gamma = 0.5, kappa = 8.

use nalgebra::{Cholesky, DMatrix, DVector};

use super::newton::{self, Design, add_outer};
use super::{Bounds, LabeledData, Oracle, projection};
use crate::dp::BoundParameters;
use crate::model::{Context, Instance, sigmoid};

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

/// The fitted model and the data it has taken in.
#[derive(Debug, Clone)]
pub struct Logistic {
    parameters: LogisticParameters,
    kappa: f64,
    action_values: Vec<f64>,
    design: Design,
    gram: DMatrix<f64>,
    estimate: DVector<f64>,
    fitted: Option<Fitted>,
}

/// What bounds are computed from.
#[derive(Debug, Clone)]
struct Fitted {
    mu: DVector<f64>,
    v_inverse: DMatrix<f64>,
    /// The inverse of the Cholesky factor of V: its rows' products with phi, squared and summed, are phi' V^-1 phi.
    factor_inverse: DMatrix<f64>,
    scale: f64,
}

impl Logistic {
    /// An oracle for the actions and features of an instance.
    pub fn new(instance: &Instance, parameters: LogisticParameters) -> Self {
        let slope = sigmoid(instance.phi_norm_max());
        let kappa = parameters.kappa.unwrap_or(slope * (1.0 - slope));
        let action_values = instance.application().action_values().to_vec();
        Self::with_dimension(instance.phi_dimension(), action_values, kappa, parameters)
    }

    fn with_dimension(
        d: usize,
        action_values: Vec<f64>,
        kappa: f64,
        parameters: LogisticParameters,
    ) -> Self {
        Self {
            parameters,
            kappa,
            action_values,
            design: Design {
                dimension: d,
                ..Design::default()
            },
            gram: DMatrix::zeros(d, d),
            estimate: DVector::zeros(d),
            fitted: None,
        }
    }

    fn take_in(&mut self, data: &LabeledData) {
        let d = self.design.dimension;
        for observation in data.since(self.design.labels.len()) {
            let start = self.design.phi.len();
            self.design.phi.extend_from_slice(observation.features);
            self.design
                .phi
                .push(self.action_values[observation.action - 1]);
            self.design
                .labels
                .push(f64::from(u8::from(observation.converted)));
            add_outer(&mut self.gram, &self.design.phi[start..start + d], 1.0);
        }
    }

    fn gamma(&self, delta: f64) -> f64 {
        let lambda = self.parameters.lambda;
        let d = self.design.dimension as f64;
        let n = self.design.labels.len() as f64;
        let log_term = d * 2f64.ln() - delta.ln() + 0.5 * d * (n / (4.0 * d * lambda)).ln_1p();
        self.parameters
            .gamma
            .unwrap_or(1.5 * lambda.sqrt() + 2.0 / lambda.sqrt() * log_term)
    }
}

impl Oracle for Logistic {
    fn fit(&mut self, data: &LabeledData, delta: f64) {
        self.take_in(data);
        if data.is_empty() {
            return;
        }
        let d = self.design.dimension;
        let lambda = self.parameters.lambda;
        // The estimate of the data so far is a good start for a little more data.
        self.estimate = newton::fit(&self.design, lambda, self.estimate.clone());
        let mu = if self.estimate.norm() > 1.0 {
            projection::project(&self.design, lambda, &self.estimate)
        } else {
            self.estimate.clone()
        };
        let v = &self.gram + DMatrix::from_diagonal_element(d, d, lambda / self.kappa);
        let factor = Cholesky::new(v)
            .expect("V is positive definite: lambda and kappa are positive and data are finite");
        let identity = DMatrix::identity(d, d);
        let factor_inverse = factor
            .l()
            .solve_lower_triangular(&identity)
            .expect("the factor of a positive definite matrix has a positive diagonal");
        self.fitted = Some(Fitted {
            mu,
            v_inverse: factor.inverse(),
            factor_inverse,
            scale: self.parameters.radius_scale * self.gamma(delta) * (1.5 / self.kappa).sqrt(),
        });
    }

    fn bounds(&self, context: &Context, out: &mut [Bounds]) {
        let Some(Fitted {
            mu,
            v_inverse,
            scale,
            ..
        }) = &self.fitted
        else {
            out.fill(Bounds::UNKNOWN);
            return;
        };
        // With phi = (theta, a), the part of phi.mu and of phi' V^-1 phi that belongs to theta serves all actions.
        let theta = context.features;
        let last = theta.len();
        let utility = newton::dot(theta, mu.as_slice());
        let (mut square, mut cross) = (0.0, 0.0);
        for (i, column) in v_inverse.as_slice().chunks_exact(last + 1).enumerate() {
            let product = newton::dot(theta, column);
            if i < last {
                square += product * theta[i];
            } else {
                cross = product;
            }
        }
        for (bounds, a) in out.iter_mut().zip(&self.action_values) {
            let norm_squared = square + a * (2.0 * cross + a * v_inverse[(last, last)]);
            let radius = scale * norm_squared.max(0.0).sqrt();
            *bounds = Bounds::around(sigmoid(utility + a * mu[last]), radius);
        }
    }

    fn bound_parameters(&self) -> Option<BoundParameters> {
        let fitted = self.fitted.as_ref()?;
        let d = self.design.dimension;
        let rows = (0..d).flat_map(|i| (0..=i).map(move |j| (i, j)));
        Some(BoundParameters::Logistic {
            action_values: self.action_values.clone(),
            mu: fitted.mu.as_slice().to_vec(),
            factor: rows.map(|place| fitted.factor_inverse[place]).collect(),
            scale: fitted.scale,
        })
    }
}
