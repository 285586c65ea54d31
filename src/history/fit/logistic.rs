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

/// A full step that moves no x_n.beta by more than this lowers the objective by at least a quarter of the decrement: the
/// third derivative of the logistic loss is at most its second (Bach 2010, Proposition 1).
const SAFE_MOVE: f64 = 1.0;

/// Gradient and Hessian at a point.
struct Slope {
    gradient: DVector<f64>,
    hessian: DMatrix<f64>,
}

impl Regression<'_> {
    /// The minimum, from a start that may be far away, to about `gap` in the objective, or to rounding.
    pub fn fit(&self, start: &[f64], gap: f64) -> Vec<f64> {
        let mut beta = DVector::from_column_slice(start);
        let mut last = f64::INFINITY;
        for _ in 0..STEPS {
            let slope = self.slope(&beta);
            let Some(factor) = Cholesky::new(slope.hessian) else {
                break;
            };
            let step = factor.solve(&slope.gradient);
            let decrement = slope.gradient.dot(&step);
            // Close to the minimum every step squares the decrement, until rounding is all that is left.
            let stuck = decrement < 1e-8 && decrement > 0.25 * last;
            if decrement.is_nan() || decrement <= 2.0 * gap || stuck {
                break;
            }
            last = decrement;
            let length = match self.largest_move(&step) <= SAFE_MOVE {
                true => 1.0,
                false => self.search(&beta, &step, decrement),
            };
            beta -= length * step;
        }
        beta.as_slice().to_vec()
    }

    /// The factor of the Hessian at a point, whose inverse is the covariance of the estimate.
    pub fn precision(&self, beta: &[f64]) -> Option<Cholesky<f64, Dyn>> {
        Cholesky::new(self.slope(&DVector::from_column_slice(beta)).hessian)
    }

    /// Rows that count, with labels and weights.
    fn counted(&self) -> impl Iterator<Item = (&[f64], f64, f64)> {
        let rows = self.rows.chunks_exact(self.columns).zip(self.labels);
        let weighted = rows
            .enumerate()
            .map(|(n, (x, &y))| (x, y, self.weights.map_or(1.0, |w| w[n])));
        weighted.filter(|(_, _, weight)| *weight > 0.0)
    }

    fn penalty(&self, column: usize) -> f64 {
        match column {
            0 => FLOOR,
            _ => self.lambda.max(FLOOR),
        }
    }

    fn largest_move(&self, step: &DVector<f64>) -> f64 {
        let moves = self
            .counted()
            .map(|(x, _, _)| dot(x, step.as_slice()).abs());
        moves.fold(0.0, f64::max)
    }

    /// How far to go along a step so that the objective falls enough.
    fn search(&self, beta: &DVector<f64>, step: &DVector<f64>, decrement: f64) -> f64 {
        let value = self.objective(beta);
        let mut length = 1.0;
        while length > 1e-8 {
            let next = self.objective(&(beta - length * step));
            if next <= value - 1e-4 * length * decrement {
                break;
            }
            length *= 0.5;
        }
        length
    }

    fn objective(&self, beta: &DVector<f64>) -> f64 {
        let loss = |(x, y, weight): (&[f64], f64, f64)| {
            let eta = dot(x, beta.as_slice());
            // ln(1 + e^eta) - y eta, without overflow.
            weight * (eta.max(0.0) + (-eta.abs()).exp().ln_1p() - y * eta)
        };
        let ridge = beta
            .iter()
            .enumerate()
            .map(|(i, b)| 0.5 * self.penalty(i) * b * b);
        self.counted().map(loss).sum::<f64>() + ridge.sum::<f64>()
    }

    fn slope(&self, beta: &DVector<f64>) -> Slope {
        let p = self.columns;
        let mut gradient = vec![0.0; p];
        let mut lower = vec![0.0; p * p];
        for (x, y, weight) in self.counted() {
            let eta = dot(x, beta.as_slice());
            let e = (-eta.abs()).exp();
            let near_one = 1.0 / (1.0 + e);
            let f = if eta >= 0.0 { near_one } else { e * near_one };
            let residual = weight * (f - y);
            let curvature = weight * e * near_one * near_one;
            for i in 0..p {
                gradient[i] += residual * x[i];
                let scaled = curvature * x[i];
                for (sum, x) in lower[i * p..=i * p + i].iter_mut().zip(x) {
                    *sum += scaled * x;
                }
            }
        }
        for i in 0..p {
            gradient[i] += self.penalty(i) * beta[i];
            lower[i * p + i] += self.penalty(i);
        }
        Slope {
            gradient: DVector::from_vec(gradient),
            hessian: DMatrix::from_fn(p, p, |i, j| lower[i.max(j) * p + i.min(j)]),
        }
    }
}

#[inline]
fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}
