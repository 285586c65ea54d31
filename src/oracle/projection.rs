//! The projection of the refined logistic oracle (Appendix A.2.3), needed where the estimate mu~ leaves the unit ball:
//!
//! ```text
//! mu_hat in argmin over |mu| <= 1 of  G(mu) = | psi(mu) - psi(mu~) |^2 in the norm of W(mu)^-1
//! psi(mu) = lambda mu + sum_n f(phi_n.mu) phi_n        W(mu) = lambda I + sum_n f'(phi_n.mu) phi_n phi_n'
//! ```
//!
//! W is the Jacobian of psi. With r = psi(mu) - psi(mu~), z = W^-1 r and M = sum_n f''(phi_n.mu) (phi_n.z) phi_n phi_n',
//!
//! ```text
//! grad G = 2 r - sum_n f'' (phi_n.z)^2 phi_n
//! hess G = 2 W - sum_n f''' (phi_n.z)^2 phi_n phi_n' - 2 M + 2 M W^-1 M
//! ```
//!
//! Each iteration minimises the quadratic model of G over the ball, exactly (a trust-region problem, through the
//! eigenvectors of the Hessian), and searches along the line to its minimum, which stays in the convex ball. 2 W replaces a
//! Hessian that is not positive definite. G is not convex: the descent starts from the better of two points that are close
//! to the minimum in practice.

use nalgebra::{Cholesky, DMatrix, DVector, SymmetricEigen};

use super::design::Design;
use super::newton::{of_probabilities, probabilities, psi_and_jacobian};

/// A Newton step shorter than this is the last one: the remaining error is about its square.
const LAST_STEP: f64 = 1e-6;

/// A bound on iterations; fewer than ten are usual.
const ITERATIONS: usize = 100;

/// Projects the penalised estimate `mu` (of norm above 1) onto the unit ball.
///
/// `phi` holds one row of `mu.len()` features per observation; labels are not needed.
pub fn project_onto_unit_ball(phi: &[f64], lambda: f64, mu: &[f64]) -> Vec<f64> {
    let design = Design::of_rows(mu.len(), phi, &vec![0.0; phi.len() / mu.len()]);
    project(&design, lambda, &DVector::from_column_slice(mu))
        .as_slice()
        .to_vec()
}

/// psi, W and their products at a point.
struct Point {
    mu: DVector<f64>,
    /// f(phi_n.mu).
    probabilities: Vec<f64>,
    jacobian: DMatrix<f64>,
    residual: DVector<f64>,
    direction: DVector<f64>,
    value: f64,
}

pub(super) fn project(design: &Design, lambda: f64, estimate: &DVector<f64>) -> DVector<f64> {
    let (target, metric) = psi_and_jacobian(design, lambda, estimate);
    let evaluate = |mu: DVector<f64>| -> Point {
        let probabilities = probabilities(design, &mu);
        let (psi, jacobian) = of_probabilities(design, lambda, &mu, probabilities.clone());
        let residual = psi - &target;
        let direction = match Cholesky::new(jacobian.clone()) {
            Some(factor) => factor.solve(&residual),
            None => residual.clone() / lambda,
        };
        let value = residual.dot(&direction);
        Point {
            mu,
            probabilities,
            jacobian,
            residual,
            direction,
            value,
        }
    };
    // Start 1: the estimate scaled back. Start 2: the nearest point of the ball in the metric W(mu~).
    let scaled = evaluate(estimate / estimate.norm());
    let nearest = evaluate(minimise_on_ball(&metric, &(&metric * estimate)));
    let mut point = if nearest.value < scaled.value {
        nearest
    } else {
        scaled
    };
    for _ in 0..ITERATIONS {
        let (gradient, hessian) = derivatives(design, &point);
        let step = newton_step(&point, &gradient, hessian);
        let slope = gradient.dot(&step);
        if slope.is_nan() || slope >= 0.0 {
            break;
        }
        if step.norm() < LAST_STEP {
            return &point.mu + step;
        }
        let mut length = 1.0;
        let next = loop {
            let next = evaluate(&point.mu + length * &step);
            if next.value <= point.value + 1e-4 * length * slope {
                break Some(next);
            }
            length *= 0.5;
            if length < 1e-9 {
                break None;
            }
        };
        match next {
            Some(next) => point = next,
            None => break,
        }
    }
    point.mu
}

/// From a point to the minimum over the ball of the quadratic model there.
fn newton_step(point: &Point, gradient: &DVector<f64>, hessian: DMatrix<f64>) -> DVector<f64> {
    let convex = Cholesky::new(hessian.clone()).is_some();
    let half = if convex {
        0.5 * hessian
    } else {
        point.jacobian.clone()
    };
    minimise_on_ball(&half, &(&half * &point.mu - 0.5 * gradient)) - &point.mu
}

/// Gradient and Hessian of G.
fn derivatives(design: &Design, point: &Point) -> (DVector<f64>, DMatrix<f64>) {
    let f = &point.probabilities;
    let along = design.products(&point.direction);
    let slope = |f: f64| f * (1.0 - f);
    let rows = || f.iter().zip(&along);
    let second: Vec<f64> = rows()
        .map(|(f, z)| slope(*f) * (1.0 - 2.0 * f) * z)
        .collect();
    let third: Vec<f64> = rows()
        .map(|(f, z)| slope(*f) * (1.0 - 6.0 * slope(*f)) * z * z)
        .collect();
    let second_twice: Vec<f64> = second.iter().zip(&along).map(|(s, z)| s * z).collect();
    let gradient = 2.0 * &point.residual - design.sum(&second_twice);
    let mut hessian = 2.0 * &point.jacobian - design.weighted_gram(&third);
    let m = design.weighted_gram(&second);
    hessian -= 2.0 * &m;
    if let Some(factor) = Cholesky::new(point.jacobian.clone()) {
        hessian += 2.0 * &m * factor.solve(&m);
    }
    (gradient, hessian)
}

/// argmin over |x| <= 1 of x'Wx - 2 x'c: x = (W + nu I)^-1 c with the smallest nu >= 0 that puts x into the ball.
fn minimise_on_ball(w: &DMatrix<f64>, c: &DVector<f64>) -> DVector<f64> {
    let eigen = SymmetricEigen::new(w.clone());
    let rotated = eigen.eigenvectors.tr_mul(c);
    let least = eigen.eigenvalues.min().max(f64::MIN_POSITIVE);
    let at = |nu: f64| {
        DVector::from_fn(c.len(), |i, _| {
            rotated[i] / (eigen.eigenvalues[i].max(least) + nu)
        })
    };
    let mut x = at(0.0);
    if x.norm() > 1.0 {
        // |x(nu)| falls in nu and is at most |c| / (least + nu): bisect between 0 and |c|, sharpened by Newton on
        // 1/|x| - 1, which is concave and almost linear.
        let (mut low, mut high) = (0.0, c.norm());
        let mut nu = 0.0;
        for _ in 0..200 {
            let norm = x.norm();
            if norm > 1.0 {
                low = nu;
            } else {
                high = nu;
            }
            let slope: f64 = (0..c.len())
                .map(|i| x[i] * x[i] / (eigen.eigenvalues[i].max(least) + nu))
                .sum();
            let newton = nu + (norm - 1.0) * norm * norm / slope;
            let next = if newton > low && newton < high {
                newton
            } else {
                0.5 * (low + high)
            };
            if (norm - 1.0).abs() < 1e-15 || next == nu {
                break;
            }
            nu = next;
            x = at(nu);
        }
        let norm = x.norm();
        if norm > 1.0 {
            x /= norm;
        }
    }
    eigen.eigenvectors * x
}
