//! The L2-penalised logistic maximum-likelihood estimate, by Newton's method with a line search.

use nalgebra::{Cholesky, DMatrix, DVector};

use super::design::Design;
use super::sigmoids::sigmoids;

/// Newton stops once half the squared decrement, an estimate of the objective's distance to its minimum, is below
/// this.
const GAP: f64 = 1e-22;

/// A bound on Newton steps; the objective is strongly convex, a handful is usual.
const STEPS: usize = 100;

/// A full step that moves no phi_n.mu by more than this lowers the objective by at least a quarter of the decrement: the
/// third derivative of the logistic loss is at most its second (Bach 2010, Proposition 1).
const SAFE_MOVE: f64 = 1.0;

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
    for _ in 0..STEPS {
        let (psi, hessian) = psi_and_jacobian(design, lambda, &mu);
        let gradient = psi - &design.converted;
        let Some(factor) = Cholesky::new(hessian) else {
            break;
        };
        let step = factor.solve(&gradient);
        let decrement = gradient.dot(&step);
        if decrement.is_nan() || decrement <= 0.0 {
            break;
        }
        let moves = design.products(&step);
        let length = if moves.iter().all(|w| w.abs() <= SAFE_MOVE) {
            1.0
        } else {
            search(design, lambda, &mu, &step, decrement)
        };
        mu -= length * &step;
        if 0.5 * decrement < GAP {
            break;
        }
    }
    mu
}

/// How far to go along a step so that the objective falls enough.
fn search(
    design: &Design,
    lambda: f64,
    mu: &DVector<f64>,
    step: &DVector<f64>,
    decrement: f64,
) -> f64 {
    let value = objective(design, lambda, mu);
    let mut length = 1.0;
    while length > 1e-10 {
        let next = objective(design, lambda, &(mu - length * step));
        if next <= value - 1e-4 * length * decrement {
            break;
        }
        length *= 0.5;
    }
    length
}

fn objective(design: &Design, lambda: f64, mu: &DVector<f64>) -> f64 {
    let products = design.products(mu);
    let loss: f64 = products
        .iter()
        .zip(design.labels())
        // ln(1 + e^w) - y w, without overflow.
        .map(|(w, y)| w.max(0.0) + (-w.abs()).exp().ln_1p() - y * w)
        .sum();
    loss + 0.5 * lambda * mu.norm_squared()
}

/// psi(mu) = lambda mu + sum_n f(phi_n.mu) phi_n  and its Jacobian  lambda I + sum_n f'(phi_n.mu) phi_n phi_n', which is
/// the Hessian of the objective; its gradient is psi(mu) - sum_n y_n phi_n.
pub(super) fn psi_and_jacobian(
    design: &Design,
    lambda: f64,
    mu: &DVector<f64>,
) -> (DVector<f64>, DMatrix<f64>) {
    let mut f = design.products(mu);
    sigmoids(&mut f);
    let psi = lambda * mu + design.sum(&f);
    for f in &mut f {
        *f *= 1.0 - *f;
    }
    let mut jacobian = design.weighted_gram(&f);
    for i in 0..design.dimension() {
        jacobian[(i, i)] += lambda;
    }
    (psi, jacobian)
}

#[inline]
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}
