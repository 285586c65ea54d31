//! Bounds from an ellipsoid around a parameter: f(phi.mu) +- scale |phi| in the norm of V^-1, phi = (theta, action value).

use nalgebra::{DMatrix, DVector};

use super::Bounds;
use super::factor::cholesky;
use super::newton::dot;
use super::sigmoids::sigmoids;
use crate::dp::{BoundParameters, Link};
use crate::model::sigmoid;

/// A fitted parameter and the shape of its uncertainty.
#[derive(Debug, Clone)]
pub(super) struct Ellipsoid {
    link: Link,
    mu: DVector<f64>,
    v_inverse: DMatrix<f64>,
    /// The inverse of the Cholesky factor of V: its rows' products with phi, squared and summed, are phi' V^-1 phi.
    factor_inverse: DMatrix<f64>,
    scale: f64,
}

impl Ellipsoid {
    /// V has a positive ridge.
    pub fn new(link: Link, mu: DVector<f64>, v: DMatrix<f64>, scale: f64) -> Self {
        let d = mu.len();
        let factor = cholesky(v);
        let factor_inverse = factor
            .l()
            .solve_lower_triangular(&DMatrix::identity(d, d))
            .expect("the factor of a positive definite matrix has a positive diagonal");
        Self {
            link,
            mu,
            v_inverse: factor.inverse(),
            factor_inverse,
            scale,
        }
    }

    /// Bounds of all actions in one context. With phi = (theta, a), the part of phi.mu and of phi' V^-1 phi that belongs
    /// to theta serves all actions.
    pub fn bounds(&self, theta: &[f64], action_values: &[f64], out: &mut [Bounds]) {
        let last = theta.len();
        let utility = dot(theta, self.mu.as_slice());
        let (square, cross) = self.forms(theta);
        let corner = self.v_inverse[(last, last)];
        for (bounds, a) in out.iter_mut().zip(action_values) {
            let norm_squared = square + a * (2.0 * cross + a * corner);
            let radius = self.scale * norm_squared.max(0.0).sqrt();
            let center = self.center(utility + a * self.mu[last]);
            *bounds = Bounds::around(center, radius);
        }
    }

    /// Parts of phi' V^-1 phi with phi = (theta, a): theta' V^-1 theta, and what multiplies 2 a.
    #[inline]
    fn forms(&self, theta: &[f64]) -> (f64, f64) {
        let last = theta.len();
        let (mut square, mut cross) = (0.0, 0.0);
        for (i, column) in self.v_inverse.as_slice().chunks_exact(last + 1).enumerate() {
            let product = dot(theta, column);
            if i < last {
                square += product * theta[i];
            } else {
                cross = product;
            }
        }
        (square, cross)
    }

    /// Appends the ucb of all actions in many contexts, whose features are flat.
    pub fn ucbs(&self, thetas: &[f64], action_values: &[f64], out: &mut Vec<f64>) {
        let last = self.mu.len() - 1;
        let corner = self.v_inverse[(last, last)];
        let start = out.len();
        let mut radii = Vec::new();
        for theta in thetas.chunks_exact(last) {
            let utility = dot(theta, self.mu.as_slice());
            let (square, cross) = self.forms(theta);
            out.extend(action_values.iter().map(|a| utility + a * self.mu[last]));
            radii.extend(action_values.iter().map(|a| {
                let norm_squared = square + a * (2.0 * cross + a * corner);
                self.scale * norm_squared.max(0.0).sqrt()
            }));
        }
        let out = &mut out[start..];
        if self.link == Link::Logistic {
            sigmoids(out);
        }
        for (ucb, radius) in out.iter_mut().zip(radii) {
            *ucb = (*ucb + radius).clamp(0.0, 1.0);
        }
    }

    /// Point estimates f(phi.mu) of all actions in one context.
    pub fn estimate(&self, theta: &[f64], action_values: &[f64], out: &mut [f64]) {
        let utility = dot(theta, self.mu.as_slice());
        for (estimate, a) in out.iter_mut().zip(action_values) {
            let center = self.center(utility + a * self.mu[theta.len()]);
            *estimate = center.clamp(0.0, 1.0);
        }
    }

    fn center(&self, utility: f64) -> f64 {
        match self.link {
            Link::Logistic => sigmoid(utility),
            Link::Linear => utility,
        }
    }

    /// What an adapter needs to evaluate the same.
    pub fn parameters(&self, action_values: &[f64]) -> BoundParameters {
        let rows = (0..self.mu.len()).flat_map(|i| (0..=i).map(move |j| (i, j)));
        BoundParameters::Ellipsoid {
            link: self.link,
            action_values: action_values.to_vec(),
            mu: self.mu.as_slice().to_vec(),
            factor: rows.map(|place| self.factor_inverse[place]).collect(),
            scale: self.scale,
        }
    }
}
