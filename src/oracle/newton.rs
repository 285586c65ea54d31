//! The L2-penalised logistic maximum-likelihood estimate, by Newton's method with a line search.

use nalgebra::{Cholesky, DMatrix, DVector};

use super::design::Design;
use super::sigmoids::{sigmoid, sigmoids};

/// Newton stops once half the squared decrement, an estimate of the objective's distance to its minimum, is below
/// this.
const GAP: f64 = 1e-22;

/// Or once the step at hand is known to leave less than this, without a look at where it leads.
const SURE_GAP: f64 = 1e-26;

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
    let fit = fit(&design, lambda, DVector::from_column_slice(start));
    fit.mu.as_slice().to_vec()
}

/// A fitted parameter, and where Newton's method found it the Hessian of its objective there or very close by.
#[derive(Debug, Clone)]
pub(super) struct Fit {
    pub mu: DVector<f64>,
    pub hessian: Option<DMatrix<f64>>,
}

impl From<DVector<f64>> for Fit {
    /// By another way.
    fn from(mu: DVector<f64>) -> Self {
        Self { mu, hessian: None }
    }
}

/// Where a fit to a little more data does well to start: one step of Newton's from the last fit, whose gradient is that of
/// the rows from number `known` on.
pub(super) fn forecast(design: &Design, known: usize, last: &Fit) -> DVector<f64> {
    let Some(mut hessian) = last.hessian.clone() else {
        return last.mu.clone();
    };
    let mut gradient = DVector::zeros(design.dimension());
    for n in known..design.len() {
        let phi = design.row(n);
        let f = sigmoid(phi.dot(&last.mu));
        hessian.ger(f * (1.0 - f), &phi, &phi, 1.0);
        gradient.axpy(f - design.labels()[n], &phi, 1.0);
    }
    match Cholesky::new(hessian).map(|factor| factor.solve(&gradient)) {
        Some(step) if design.longest() * step.norm() <= SAFE_MOVE => &last.mu - step,
        _ => last.mu.clone(),
    }
}

pub(super) fn fit(design: &Design, lambda: f64, start: DVector<f64>) -> Fit {
    let mut mu = start;
    let mut last = DMatrix::zeros(0, 0);
    for _ in 0..STEPS {
        let (psi, hessian) = psi_and_jacobian(design, lambda, &mu);
        let gradient = psi - &design.converted;
        last.clone_from(&hessian);
        let Some(factor) = Cholesky::new(hessian) else {
            break;
        };
        let step = factor.solve(&gradient);
        let decrement = gradient.dot(&step);
        if decrement.is_nan() || decrement <= 0.0 {
            break;
        }
        let most = design.longest() * step.norm();
        let is_safe = |moves: Vec<f64>| moves.iter().all(|w| w.abs() <= SAFE_MOVE);
        let length = if most <= SAFE_MOVE || is_safe(design.products(&step)) {
            1.0
        } else {
            search(design, lambda, &mu, &step, decrement)
        };
        mu -= length * &step;
        // Where no phi_n.mu moves by more than m <= 1, the next decrement is at most 3/2 m^2 times this one: the Hessian
        // changes by factors of exp(-m) to exp(m) on the way.
        let sure = most <= SAFE_MOVE && 0.75 * most * most * decrement < SURE_GAP;
        if sure || 0.5 * decrement < GAP {
            break;
        }
    }
    Fit {
        mu,
        hessian: Some(last),
    }
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
    of_probabilities(design, lambda, mu, probabilities(design, mu))
}

/// f(phi_n.mu) of every observation.
pub(super) fn probabilities(design: &Design, mu: &DVector<f64>) -> Vec<f64> {
    let mut f = design.products(mu);
    sigmoids(&mut f);
    f
}

/// psi and its Jacobian, given f(phi_n.mu).
pub(super) fn of_probabilities(
    design: &Design,
    lambda: f64,
    mu: &DVector<f64>,
    mut f: Vec<f64>,
) -> (DVector<f64>, DMatrix<f64>) {
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
