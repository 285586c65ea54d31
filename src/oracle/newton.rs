//! Penalised logistic regression, with or without weights, by Newton's method with a line search:
//!
//! ```text
//! argmin over mu of  sum_n w_n [ ln(1 + exp(phi_n.mu)) - y_n phi_n.mu ]  +  1/2 sum_j lambda_j mu_j^2
//! ```

use nalgebra::{Cholesky, DMatrix, DVector, Dyn};

use super::design::Design;
use super::sigmoids::{sigmoid, sigmoids};

/// Without a given accuracy, Newton stops after a step whose decrement estimates the objective's distance to its minimum
/// below this.
const GAP: f64 = 1e-22;

/// Or after a step that provably leaves less than this.
const SURE_GAP: f64 = 1e-26;

/// A bound on Newton steps; the objective is strongly convex, a handful is usual.
const STEPS: usize = 100;

/// A full step that moves no phi_n.mu by more than this lowers the objective by at least a quarter of the decrement: the
/// third derivative of the logistic loss is at most its second (Bach 2010, Proposition 1).
const SAFE_MOVE: f64 = 1.0;

/// The penalised estimate without weights. `phi` holds one row of `start.len()` features per label (0 or 1); `start` is
/// where Newton begins. The objective is minimised to about 1e-22, which strong convexity turns into 1e-11 / sqrt(lambda)
/// in mu.
pub fn penalised_logistic_mle(phi: &[f64], labels: &[f64], lambda: f64, start: &[f64]) -> Vec<f64> {
    let design = Design::of_rows(start.len(), phi, labels);
    let estimate = fit(&design, lambda, DVector::from_column_slice(start));
    estimate.mu.as_slice().to_vec()
}

/// A fitted parameter; Newton's method adds the Hessian of its objective there or very close by.
#[derive(Debug, Clone)]
pub(crate) struct Estimate {
    pub mu: DVector<f64>,
    pub hessian: Option<DMatrix<f64>>,
}

impl From<DVector<f64>> for Estimate {
    fn from(mu: DVector<f64>) -> Self {
        Self { mu, hessian: None }
    }
}

/// A good start for a fit to a little more data: one Newton step from the last fit, whose gradient is that of the rows
/// from number `known` on.
pub(super) fn forecast(design: &Design, known: usize, last: &Estimate) -> DVector<f64> {
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

/// The estimate with every entry penalised by `lambda`, as exactly as rounding permits.
pub(super) fn fit(design: &Design, lambda: f64, start: DVector<f64>) -> Estimate {
    let penalty = Penalty {
        lambda,
        constant: None,
    };
    let problem = LogisticProblem {
        design,
        weights: None,
        penalty,
    };
    problem.fit(start, None)
}

/// The weights lambda_j of the squares of mu.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Penalty {
    /// Of all entries.
    pub lambda: f64,
    /// Of the first entry, if it differs.
    pub constant: Option<f64>,
}

impl Penalty {
    fn of(&self, entry: usize) -> f64 {
        match (entry, self.constant) {
            (0, Some(constant)) => constant,
            _ => self.lambda,
        }
    }

    /// 1/2 sum_j lambda_j mu_j^2.
    fn value(&self, mu: &DVector<f64>) -> f64 {
        match self.constant {
            None => 0.5 * self.lambda * mu.norm_squared(),
            Some(constant) => {
                let rest = mu.rows(1, mu.len() - 1).norm_squared();
                0.5 * (constant * mu[0] * mu[0] + self.lambda * rest)
            }
        }
    }
}

/// A regression to be fitted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LogisticProblem<'a> {
    pub design: &'a Design,
    /// One per observation. Without weights every entry of mu has the same penalty.
    pub weights: Option<&'a [f64]>,
    pub penalty: Penalty,
}

impl LogisticProblem<'_> {
    /// Newton's method. With a `gap` it stops where the objective is about that far from its minimum, or at rounding.
    pub fn fit(&self, start: DVector<f64>, gap: Option<f64>) -> Estimate {
        let design = self.design;
        let mut mu = start;
        let mut last = DMatrix::zeros(0, 0);
        let mut last_decrement = f64::INFINITY;
        for _ in 0..STEPS {
            let (gradient, hessian) = self.derivatives(&mu);
            last.clone_from(&hessian);
            let Some(factor) = Cholesky::new(hessian) else {
                break;
            };
            let step = factor.solve(&gradient);
            let decrement = gradient.dot(&step);
            if decrement.is_nan() || decrement <= 0.0 {
                break;
            }
            // Close to the minimum every step squares the decrement, until only rounding is left.
            let at_rounding = decrement < 1e-8 && decrement > 0.25 * last_decrement;
            if gap.is_some_and(|gap| decrement <= 2.0 * gap || at_rounding) {
                break;
            }
            last_decrement = decrement;
            let most = design.longest() * step.norm();
            let is_safe = |moves: Vec<f64>| moves.iter().all(|w| w.abs() <= SAFE_MOVE);
            let length = if most <= SAFE_MOVE || is_safe(design.products(&step)) {
                1.0
            } else {
                self.search(&mu, &step, decrement)
            };
            mu -= length * &step;
            // If no phi_n.mu moves by more than m <= 1, the next decrement is at most 3/2 m^2 times this one: the Hessian
            // changes by factors of exp(-m) to exp(m) on the way.
            let sure = most <= SAFE_MOVE && 0.75 * most * most * decrement < SURE_GAP;
            if gap.is_none() && (sure || 0.5 * decrement < GAP) {
                break;
            }
        }
        Estimate {
            mu,
            hessian: Some(last),
        }
    }

    /// The factor of the Hessian at a point; its inverse is the covariance of the estimate.
    pub fn precision(&self, mu: &DVector<f64>) -> Option<Cholesky<f64, Dyn>> {
        Cholesky::new(self.derivatives(mu).1)
    }

    /// The step length at which the objective falls enough.
    fn search(&self, mu: &DVector<f64>, step: &DVector<f64>, decrement: f64) -> f64 {
        let value = self.objective(mu);
        let mut length = 1.0;
        while length > 1e-10 {
            let next = self.objective(&(mu - length * step));
            if next <= value - 1e-4 * length * decrement {
                break;
            }
            length *= 0.5;
        }
        length
    }

    fn objective(&self, mu: &DVector<f64>) -> f64 {
        let products = self.design.products(mu);
        let losses = products
            .iter()
            .zip(self.design.labels())
            // ln(1 + e^w) - y w, without overflow.
            .map(|(w, y)| w.max(0.0) + (-w.abs()).exp().ln_1p() - y * w);
        let loss: f64 = match self.weights {
            None => losses.sum(),
            Some(weights) => losses.zip(weights).map(|(loss, w)| w * loss).sum(),
        };
        loss + self.penalty.value(mu)
    }

    /// Gradient and Hessian of the objective.
    fn derivatives(&self, mu: &DVector<f64>) -> (DVector<f64>, DMatrix<f64>) {
        let mut f = probabilities(self.design, mu);
        let Some(weights) = self.weights else {
            let (psi, hessian) = of_probabilities(self.design, self.penalty.lambda, mu, f);
            return (psi - &self.design.converted, hessian);
        };
        // Residuals lose fewer digits than the difference of two sums.
        let rows = f.iter().zip(self.design.labels()).zip(weights);
        let residuals: Vec<f64> = rows.map(|((f, y), w)| w * (f - y)).collect();
        let mut gradient = self.design.sum(&residuals);
        for (f, w) in f.iter_mut().zip(weights) {
            *f *= w * (1.0 - *f);
        }
        let mut hessian = self.design.weighted_gram(&f);
        for i in 0..mu.len() {
            gradient[i] += self.penalty.of(i) * mu[i];
            hessian[(i, i)] += self.penalty.of(i);
        }
        (gradient, hessian)
    }
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
