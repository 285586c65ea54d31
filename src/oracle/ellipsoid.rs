//! Bounds from an ellipsoid around a parameter: f(phi.mu) +- scale |phi| in the norm of V^-1, phi = (theta, action value).

use nalgebra::{DMatrix, DVector};

use super::Bounds;
use super::factor::cholesky;
use super::newton::dot;
use super::sigmoids::{sigmoid, sigmoids};
use crate::dp::{BoundParameters, Link};

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

/// What belongs to theta in phi.mu, and in phi' V^-1 phi: theta' V^-1 theta and the row of V^-1 beside it.
#[derive(Debug, Clone, Copy, Default)]
struct ThetaPart {
    utility: f64,
    square: f64,
    cross: f64,
}

/// Contexts that are evaluated together.
const BULK: usize = 64;

/// One number for each of them.
type Many = [f64; BULK];

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

    fn theta_part(&self, theta: &[f64]) -> ThetaPart {
        let last = theta.len();
        let mut part = ThetaPart {
            utility: dot(theta, self.mu.as_slice()),
            ..ThetaPart::default()
        };
        for (i, column) in self.v_inverse.as_slice().chunks_exact(last + 1).enumerate() {
            let product = dot(theta, column);
            if i < last {
                part.square += product * theta[i];
            } else {
                part.cross = product;
            }
        }
        part
    }

    /// Bounds of all actions in one context. With phi = (theta, a), the part of phi.mu and of phi' V^-1 phi that belongs
    /// to theta serves all actions.
    pub fn bounds(&self, theta: &[f64], action_values: &[f64], out: &mut [Bounds]) {
        let last = theta.len();
        let ThetaPart {
            utility,
            square,
            cross,
        } = self.theta_part(theta);
        let corner = self.v_inverse[(last, last)];
        for (bounds, a) in out.iter_mut().zip(action_values) {
            let norm_squared = square + a * (2.0 * cross + a * corner);
            let radius = self.scale * norm_squared.max(0.0).sqrt();
            *bounds = Bounds::around(self.center(utility + a * self.mu[last]), radius);
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

    /// The same for many contexts, action by action: the square root and f of many numbers at once.
    pub fn bulk_bounds(
        &self,
        features: &[f64],
        action_values: &[f64],
        ucb: &mut [f64],
        lcb: &mut [f64],
    ) {
        let last = self.mu.len() - 1;
        let actions = action_values.len();
        let corner = self.v_inverse[(last, last)];
        let (mut utility, mut square, mut cross) = ([0.0; BULK], [0.0; BULK], [0.0; BULK]);
        let out = ucb
            .chunks_mut(BULK * actions)
            .zip(lcb.chunks_mut(BULK * actions));
        for (features, (ucb, lcb)) in features.chunks(BULK * last).zip(out) {
            for (i, theta) in features.chunks_exact(last).enumerate() {
                let part = self.theta_part(theta);
                (utility[i], square[i], cross[i]) = (part.utility, part.square, part.cross);
            }
            for (action, &a) in action_values.iter().enumerate() {
                let mut center = utility.map(|utility| utility + a * self.mu[last]);
                if self.link == Link::Logistic {
                    sigmoids(&mut center);
                }
                let radius = radii(&square, &cross, a, corner, self.scale);
                let (upper, lower) = clipped(&center, &radius);
                for (row, upper) in ucb.chunks_exact_mut(actions).zip(upper) {
                    row[action] = upper;
                }
                for (row, lower) in lcb.chunks_exact_mut(actions).zip(lower) {
                    row[action] = lower;
                }
            }
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

/// scale |phi| of many contexts with action value `a`.
#[multiversion::multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2", "aarch64+neon"))]
fn radii(square: &Many, cross: &Many, a: f64, corner: f64, scale: f64) -> Many {
    let mut radius = *square;
    for (radius, cross) in radius.iter_mut().zip(cross) {
        let norm_squared = *radius + a * (2.0 * cross + a * corner);
        *radius = scale * norm_squared.max(0.0).sqrt();
    }
    radius
}

/// (ucb, lcb) as [`Bounds::around`] has them.
#[multiversion::multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2", "aarch64+neon"))]
fn clipped(center: &Many, radius: &Many) -> (Many, Many) {
    let (mut upper, mut lower) = (*center, *center);
    for i in 0..BULK {
        upper[i] = (center[i] + radius[i]).clamp(0.0, 1.0);
        lower[i] = (center[i] - radius[i]).clamp(0.0, 1.0);
    }
    (upper, lower)
}

#[cfg(test)]
mod tests {
    use nalgebra::{DMatrix, DVector};

    use super::{BULK, Ellipsoid};
    use crate::dp::Link;
    use crate::oracle::Bounds;

    #[test]
    fn bounds_in_bulk_are_those_of_one_context_after_another() {
        let v = DMatrix::from_row_slice(3, 3, &[4.0, 1.0, 0.5, 1.0, 3.0, 0.2, 0.5, 0.2, 2.0]);
        let values = [0.5, 1.0, 2.0];
        for link in [Link::Linear, Link::Logistic] {
            let mu = DVector::from_column_slice(&[0.4, 0.3, -0.2]);
            let fitted = Ellipsoid::new(link, mu, v.clone(), 0.3);
            for contexts in [1, BULK - 1, BULK, BULK + 1, 200] {
                let theta = |i: usize| [(i as f64 * 0.618).fract(), (i as f64 * 0.382).fract()];
                let features: Vec<f64> = (0..contexts).flat_map(theta).collect();
                let (mut ucb, mut lcb) =
                    (vec![f64::NAN; contexts * 3], vec![f64::NAN; contexts * 3]);
                fitted.bulk_bounds(&features, &values, &mut ucb, &mut lcb);
                let mut row = [Bounds::UNKNOWN; 3];
                for i in 0..contexts {
                    fitted.bounds(&theta(i), &values, &mut row);
                    for (a, bounds) in row.iter().enumerate() {
                        approx::assert_abs_diff_eq!(ucb[3 * i + a], bounds.ucb, epsilon = 1e-15);
                        approx::assert_abs_diff_eq!(lcb[3 * i + a], bounds.lcb, epsilon = 1e-15);
                    }
                }
            }
        }
    }
}
