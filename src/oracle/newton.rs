//! The L2-penalised logistic maximum-likelihood estimate, by Newton's method with a search along each step.

use nalgebra::{Cholesky, DMatrix, DVector};

use super::LabeledData;
use super::blocks::for_each_block;

/// Newton stops once half the squared decrement, an estimate of the objective's distance to its minimum, is below
/// this.
const GAP: f64 = 1e-22;

/// A bound on Newton steps; the objective is strongly convex, a handful is usual.
const STEPS: usize = 100;

/// Rows of features phi_n = (theta, action value) with labels, in a flat array, and their Gram matrix.
#[derive(Debug, Clone)]
pub(super) struct Design {
    pub dimension: usize,
    pub phi: Vec<f64>,
    pub labels: Vec<f64>,
    /// sum_n phi_n phi_n'.
    pub gram: DMatrix<f64>,
}

impl Design {
    pub fn new(dimension: usize) -> Self {
        Self {
            dimension,
            phi: Vec::new(),
            labels: Vec::new(),
            gram: DMatrix::zeros(dimension, dimension),
        }
    }

    /// Rows given as they are; the Gram matrix is left out.
    pub fn of_rows(dimension: usize, phi: &[f64], labels: &[f64]) -> Self {
        Self {
            phi: phi.to_vec(),
            labels: labels.to_vec(),
            ..Self::new(dimension)
        }
    }

    /// Takes in the observations that are new.
    pub fn take_in(&mut self, data: &LabeledData, action_values: &[f64]) {
        for observation in data.since(self.labels.len()) {
            let start = self.phi.len();
            self.phi.extend_from_slice(observation.features);
            self.phi.push(action_values[observation.action - 1]);
            self.labels.push(f64::from(u8::from(observation.converted)));
            add_outer(&mut self.gram, &self.phi[start..], 1.0);
        }
    }

    pub fn rows(&self) -> impl Iterator<Item = (&[f64], f64)> {
        self.phi
            .chunks_exact(self.dimension)
            .zip(self.labels.iter().copied())
    }
}

/// argmin over mu of  lambda/2 |mu|^2 - sum_n [ y_n ln f(phi_n.mu) + (1 - y_n) ln(1 - f(phi_n.mu)) ].
///
/// `phi` holds one row of `start.len()` features per label (0 or 1); `start` is where Newton begins. The minimum is
/// found to a gap of about 1e-22 in the objective, which strong convexity turns into 1e-11 / sqrt(lambda) in mu.
pub fn penalised_logistic_mle(phi: &[f64], labels: &[f64], lambda: f64, start: &[f64]) -> Vec<f64> {
    let design = Design::of_rows(start.len(), phi, labels);
    fit(&design, lambda, DVector::from_column_slice(start))
        .as_slice()
        .to_vec()
}

pub(super) fn fit(design: &Design, lambda: f64, start: DVector<f64>) -> DVector<f64> {
    let mut mu = start;
    let (mut gradient, mut hessian) = derivatives(design, lambda, &mu);
    for _ in 0..STEPS {
        let Some(factor) = Cholesky::new(hessian) else {
            break;
        };
        let step = factor.solve(&gradient);
        let decrement = gradient.dot(&step);
        if decrement.is_nan() || decrement <= 0.0 {
            break;
        }
        if 0.5 * decrement < GAP {
            mu -= step;
            break;
        }
        // The full step is good where it shortens the gradient; a short enough one always is, because the Hessian is
        // positive definite.
        let steepness = gradient.norm();
        let mut length = 1.0;
        loop {
            let next = &mu - length * &step;
            (gradient, hessian) = derivatives(design, lambda, &next);
            let shortened = gradient.norm() <= (1.0 - 1e-4 * length) * steepness;
            // Near the minimum, differences drown in rounding and the full step is safe.
            if shortened || decrement <= 1e-8 || length <= 1e-10 {
                mu = next;
                break;
            }
            length *= 0.5;
        }
    }
    mu
}

/// Gradient and Hessian of the objective.
fn derivatives(design: &Design, lambda: f64, mu: &DVector<f64>) -> (DVector<f64>, DMatrix<f64>) {
    let d = design.dimension;
    let mut gradient = lambda * mu;
    let mut hessian = DMatrix::from_diagonal_element(d, d, lambda);
    for_each_block(design, |block| {
        let f = block.conversions(mu.as_slice());
        block.add_rows(
            &std::array::from_fn(|i| f[i] - block.labels[i]),
            gradient.as_mut_slice(),
        );
        block.add_outer(&f.map(|f| f * (1.0 - f)), &mut hessian);
    });
    (gradient, hessian)
}

#[inline]
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

#[inline]
pub(super) fn add_scaled(sum: &mut [f64], x: &[f64], scale: f64) {
    for (s, x) in sum.iter_mut().zip(x) {
        *s += scale * x;
    }
}

/// matrix += scale * x x', all entries.
#[inline]
pub(super) fn add_outer(matrix: &mut DMatrix<f64>, x: &[f64], scale: f64) {
    for (column, y) in matrix.as_mut_slice().chunks_exact_mut(x.len()).zip(x) {
        add_scaled(column, x, scale * y);
    }
}
