//! Ridge logistic regression with weights, by Newton's method. The constant (the first column) is not penalised:
//!
//! ```text
//! argmin over beta of  sum_n w_n [ ln(1 + exp(x_n.beta)) - y_n x_n.beta ]  +  lambda/2 sum_(j >= 1) beta_j^2
//! ```

use nalgebra::{Cholesky, DMatrix, DVector, Dyn};

/// A bound on Newton steps; a handful is usual.
const STEPS: usize = 60;

/// Keeps the problem strictly convex where nothing else does: the constant of data with one outcome only.
const FLOOR: f64 = 1e-10;

/// A regression: rows of `columns` numbers, labels 0 or 1, a weight for each row (1 where there are none).
#[derive(Debug, Clone, Copy)]
pub struct Regression<'a> {
    /// All rows.
    pub rows: &'a [f64],
    /// Numbers in a row.
    pub columns: usize,
    /// Labels.
    pub labels: &'a [f64],
    /// Weights.
    pub weights: Option<&'a [f64]>,
    /// Penalty.
    pub lambda: f64,
}

/// Objective, gradient and Hessian at a point.
struct Point {
    beta: DVector<f64>,
    value: f64,
    gradient: DVector<f64>,
    hessian: DMatrix<f64>,
}

impl Regression<'_> {
    /// The minimum, from a start that may be far away, to about `gap` in the objective.
    pub fn fit(&self, start: &[f64], gap: f64) -> Vec<f64> {
        let mut here = self.at(DVector::from_column_slice(start));
        for _ in 0..STEPS {
            let Some(factor) = Cholesky::new(here.hessian.clone()) else {
                break;
            };
            let step = factor.solve(&here.gradient);
            let decrement = here.gradient.dot(&step);
            if decrement.is_nan() || decrement <= 2.0 * gap {
                break;
            }
            let mut length = 1.0;
            let next = loop {
                let next = self.at(&here.beta - length * &step);
                if next.value <= here.value - 1e-4 * length * decrement {
                    break Some(next);
                }
                length *= 0.5;
                if length < 1e-8 {
                    break None;
                }
            };
            match next {
                Some(next) => here = next,
                // Rounding is all that is left.
                None => break,
            }
        }
        here.beta.as_slice().to_vec()
    }

    /// The factor of the Hessian at a point, whose inverse is the covariance of the estimate.
    pub fn precision(&self, beta: &[f64]) -> Option<Cholesky<f64, Dyn>> {
        Cholesky::new(self.at(DVector::from_column_slice(beta)).hessian)
    }

    fn at(&self, beta: DVector<f64>) -> Point {
        let p = self.columns;
        let mut value = 0.0;
        let mut gradient = vec![0.0; p];
        let mut lower = vec![0.0; p * p];
        let b = beta.as_slice();
        for (n, (x, &y)) in self.rows.chunks_exact(p).zip(self.labels).enumerate() {
            let weight = self.weights.map_or(1.0, |w| w[n]);
            if weight == 0.0 {
                continue;
            }
            let eta: f64 = x.iter().zip(b).map(|(x, b)| x * b).sum();
            let e = (-eta.abs()).exp();
            let near_one = 1.0 / (1.0 + e);
            let f = if eta >= 0.0 { near_one } else { e * near_one };
            value += weight * (eta.max(0.0) + e.ln_1p() - y * eta);
            let residual = weight * (f - y);
            let slope = weight * e * near_one * near_one;
            for i in 0..p {
                gradient[i] += residual * x[i];
                let scaled = slope * x[i];
                for (sum, x) in lower[i * p..=i * p + i].iter_mut().zip(x) {
                    *sum += scaled * x;
                }
            }
        }
        for i in 0..p {
            let lambda = if i == 0 {
                FLOOR
            } else {
                self.lambda.max(FLOOR)
            };
            value += 0.5 * lambda * b[i] * b[i];
            gradient[i] += lambda * b[i];
            lower[i * p + i] += lambda;
        }
        let hessian = DMatrix::from_fn(p, p, |i, j| lower[i.max(j) * p + i.min(j)]);
        Point {
            beta,
            value,
            gradient: DVector::from_vec(gradient),
            hessian,
        }
    }
}
