//! Bounds from an ellipsoid around a parameter, phi = (theta, action value), |phi| in the norm of V^-1:
//!
//! ```text
//! bonus outside f   f(phi.mu) +- scale |phi|, clipped into [0, 1]
//! bonus inside f    f( clamp(phi.mu +- scale |phi|, -+ S |phi / sizes|_2) )
//! ```

mod many;

use nalgebra::{DMatrix, DVector};

use super::design::Design;
use super::factor::{cholesky, lower_inverse};
use super::sigmoids::{sigmoid, sigmoids};
use super::{Belief, Beside, Bounds, Layout};
use crate::dp::{BoundParameters, EllipsoidParameters, Link};
use many::{BULK, clamped, clipped, limits_squared, radii, raised, set_columns, theta_parts};

/// A fitted parameter and the shape of its uncertainty.
#[derive(Debug, Clone)]
pub(super) struct Ellipsoid {
    link: Link,
    mu: DVector<f64>,
    v_inverse: DMatrix<f64>,
    /// The inverse of the Cholesky factor of V: its rows' products with phi, squared and summed, are phi' V^-1 phi.
    factor_inverse: DMatrix<f64>,
    scale: f64,
    /// Set if the bonus is inside f.
    inside: Option<NormBound>,
}

/// |mu*| <= S for the parameter that belongs to phi / sizes.
#[derive(Debug, Clone)]
pub(super) struct NormBound {
    /// S.
    pub norm_bound: f64,
    /// 1 / size of every entry of phi.
    pub inverse_sizes: Vec<f64>,
}

impl NormBound {
    /// (S |theta / sizes|)^2.
    fn theta_part(&self, theta: &[f64]) -> f64 {
        let scaled = theta.iter().zip(&self.inverse_sizes).map(|(x, i)| x * i);
        self.norm_bound * self.norm_bound * scaled.map(|x| x * x).sum::<f64>()
    }

    /// (S a / size)^2.
    fn action_part(&self, a: f64) -> f64 {
        let scaled = a * self.inverse_sizes[self.inverse_sizes.len() - 1];
        self.norm_bound * self.norm_bound * scaled * scaled
    }
}

/// The parts of phi.mu and phi' V^-1 phi that depend on theta: theta' V^-1 theta and the last row of V^-1 times theta.
#[derive(Debug, Clone, Copy, Default)]
struct ThetaPart {
    utility: f64,
    square: f64,
    cross: f64,
}

impl Ellipsoid {
    /// V has a positive ridge.
    pub fn new(link: Link, mu: DVector<f64>, v: DMatrix<f64>, scale: f64) -> Self {
        let factor = cholesky(v);
        let factor_inverse = lower_inverse(&factor);
        Self {
            link,
            mu,
            v_inverse: factor.inverse(),
            factor_inverse,
            scale,
            inside: None,
        }
    }

    /// Converts an ellipsoid that was fitted to phi / sizes to unscaled phi.
    pub fn unscaled(mut self, inverse_sizes: &[f64]) -> Self {
        for (j, inverse) in inverse_sizes.iter().enumerate() {
            self.mu[j] *= inverse;
            self.factor_inverse.column_mut(j).scale_mut(*inverse);
            self.v_inverse.column_mut(j).scale_mut(*inverse);
            self.v_inverse.row_mut(j).scale_mut(*inverse);
        }
        self
    }

    /// With the bonus inside the logistic function.
    pub fn inside(self, bound: NormBound) -> Self {
        debug_assert_eq!(self.link, Link::Logistic);
        Self {
            inside: Some(bound),
            ..self
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

    /// Estimates and bounds of all actions in one context. With phi = (theta, a), the part of phi.mu and of phi' V^-1 phi
    /// that belongs to theta serves all actions.
    pub fn beliefs(
        &self,
        theta: &[f64],
        action_values: &[f64],
        mut see: impl FnMut(usize, Belief),
    ) {
        let last = theta.len();
        let ThetaPart {
            utility,
            square,
            cross,
        } = self.theta_part(theta);
        let corner = self.v_inverse[(last, last)];
        for (action, a) in action_values.iter().enumerate() {
            let norm_squared = square + a * (2.0 * cross + a * corner);
            let radius = self.scale * norm_squared.max(0.0).sqrt();
            let utility = utility + a * self.mu[last];
            let estimate = self.center(utility).clamp(0.0, 1.0);
            let bounds = match &self.inside {
                None => Bounds::around(self.center(utility), radius),
                Some(bound) => {
                    let limit = (bound.theta_part(theta) + bound.action_part(*a)).sqrt();
                    Bounds {
                        lcb: sigmoid((utility - radius).clamp(-limit, limit)),
                        ucb: sigmoid((utility + radius).clamp(-limit, limit)),
                    }
                }
            };
            see(action, Belief::new(estimate, bounds));
        }
    }

    /// Bounds of all actions in one context.
    pub fn bounds(&self, theta: &[f64], action_values: &[f64], out: &mut [Bounds]) {
        self.beliefs(theta, action_values, |action, belief| {
            out[action] = belief.bounds;
        });
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

    /// The bounds of many contexts, given their features one after another.
    pub fn fill(
        &self,
        features: &[f64],
        action_values: &[f64],
        (layout, beside): (Layout, Beside),
        ucb: &mut [f64],
        lcb: &mut [f64],
    ) {
        let actions = action_values.len();
        let below = match beside {
            Beside::Lcb => 1.0,
            Beside::Estimate => 0.0,
        };
        self.for_each_action(
            features,
            action_values,
            below,
            |first, action, upper, lower| {
                for (out, new) in [(&mut *ucb, upper), (&mut *lcb, lower)] {
                    match layout {
                        Layout::ByEntry => {
                            let rows = out[first * actions..].chunks_exact_mut(actions);
                            rows.zip(new).for_each(|(row, x)| row[action] = *x);
                        }
                        Layout::ByAction { apart } => {
                            out[action * apart + first..][..new.len()].copy_from_slice(new);
                        }
                    }
                }
            },
        );
    }

    /// Calls `take` with (first context, action, ucbs, lcbs) for one batch of contexts after another, action by action:
    /// square roots and f are evaluated for many numbers at once. Lower bounds are `below` radii below the estimates: with
    /// 0 they are the estimates, clamped like them.
    fn for_each_action(
        &self,
        features: &[f64],
        action_values: &[f64],
        below: f64,
        mut take: impl FnMut(usize, usize, &[f64], &[f64]),
    ) {
        let last = self.mu.len() - 1;
        let corner = self.v_inverse[(last, last)];
        let mut thetas = vec![[0.0; BULK]; last];
        for (bulk, features) in features.chunks(BULK * last).enumerate() {
            set_columns(features, &mut thetas);
            let (utility, square, cross) =
                theta_parts(&thetas, self.mu.as_slice(), self.v_inverse.as_slice());
            let limit_squared = self.inside.as_ref().map(|bound| {
                let factor = bound.norm_bound * bound.norm_bound;
                limits_squared(&thetas, &bound.inverse_sizes, factor)
            });
            let count = features.len() / last;
            for (action, &a) in action_values.iter().enumerate() {
                let mut center = raised(&utility, a * self.mu[last]);
                let radius = radii(&square, &cross, a, corner, self.scale);
                let (upper, lower) = match (&self.inside, &limit_squared) {
                    (Some(bound), Some(limit_squared)) => {
                        let more = bound.action_part(a);
                        let (mut upper, mut lower) =
                            clamped(&center, &radius, below, limit_squared, more);
                        sigmoids(&mut upper);
                        sigmoids(&mut lower);
                        (upper, lower)
                    }
                    _ => {
                        if self.link == Link::Logistic {
                            sigmoids(&mut center);
                        }
                        clipped(&center, &radius, below)
                    }
                };
                take(bulk * BULK, action, &upper[..count], &lower[..count]);
            }
        }
    }

    /// The same as parameters, for a GPU.
    pub fn parameters(&self, action_values: &[f64]) -> BoundParameters {
        let rows = (0..self.mu.len()).flat_map(|i| (0..=i).map(move |j| (i, j)));
        BoundParameters::Ellipsoid(EllipsoidParameters {
            link: self.link,
            action_values: action_values.to_vec(),
            mu: self.mu.as_slice().to_vec(),
            factor: rows.map(|place| self.factor_inverse[place]).collect(),
            scale: self.scale,
            limits: self.inside.as_ref().map(|bound| {
                let sizes = bound.inverse_sizes.iter();
                sizes.map(|inverse| bound.norm_bound * inverse).collect()
            }),
            tolerance: vec![0.0; action_values.len()],
            coupled: false,
        })
    }

    /// The estimate and ucb of each row of a design.
    pub fn each_observed(&self, design: &Design, see: &mut dyn FnMut(f64, f64, f64)) {
        let (scale, d) = (design.scale(), self.mu.len());
        let mu = DVector::from_fn(d, |i, _| self.mu[i] / scale[i]);
        let lower = DMatrix::from_fn(d, d, |i, j| self.factor_inverse[(i, j)] / scale[j]);
        let mut centers = design.products(&mu);
        let mut uppers = design.norms(&lower);
        let limits = self.inside.as_ref().map(|bound| {
            let inverse = |i: usize| bound.norm_bound * bound.inverse_sizes[i] / scale[i];
            design.norms(&DMatrix::from_diagonal(&DVector::from_fn(d, |i, _| {
                inverse(i)
            })))
        });
        if let (Link::Logistic, None) = (self.link, &limits) {
            sigmoids(&mut centers);
        }
        for (n, (center, upper)) in centers.iter_mut().zip(&mut uppers).enumerate() {
            *upper = *center + self.scale * *upper;
            let (low, high) = limits.as_ref().map_or((0.0, 1.0), |all| (-all[n], all[n]));
            (*center, *upper) = (center.clamp(low, high), upper.clamp(low, high));
        }
        if limits.is_some() {
            sigmoids(&mut centers);
            sigmoids(&mut uppers);
        }
        for (center, upper) in centers.iter().zip(&uppers) {
            see(1.0, *center, *upper);
        }
    }
}

#[inline]
fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

#[cfg(test)]
mod tests {
    use nalgebra::{DMatrix, DVector};

    use super::{BULK, Ellipsoid, NormBound};
    use crate::dp::Link;
    use crate::oracle::{Beside, Bounds, Layout};

    #[test]
    fn bounds_in_bulk_are_those_of_one_context_after_another() {
        let v = DMatrix::from_row_slice(3, 3, &[4.0, 1.0, 0.5, 1.0, 3.0, 0.2, 0.5, 0.2, 2.0]);
        let values = [0.5, 1.0, 2.0];
        let bound = NormBound {
            norm_bound: 0.7,
            inverse_sizes: vec![1.0, 2.0, 0.5],
        };
        for (link, bound) in [
            (Link::Linear, None),
            (Link::Logistic, None),
            (Link::Logistic, Some(bound)),
        ] {
            let mu = DVector::from_column_slice(&[0.4, 0.3, -0.2]);
            let fitted = Ellipsoid::new(link, mu, v.clone(), 0.3);
            let fitted = match bound {
                Some(bound) => fitted.inside(bound),
                None => fitted,
            };
            for contexts in [1, BULK - 1, BULK, BULK + 1, 200] {
                let theta = |i: usize| [(i as f64 * 0.618).fract(), (i as f64 * 0.382).fract()];
                let features: Vec<f64> = (0..contexts).flat_map(theta).collect();
                let (mut ucb, mut lcb) =
                    (vec![f64::NAN; contexts * 3], vec![f64::NAN; contexts * 3]);
                let by_entry = (Layout::ByEntry, Beside::Lcb);
                fitted.fill(&features, &values, by_entry, &mut ucb, &mut lcb);
                let mut row = [Bounds::UNKNOWN; 3];
                for i in 0..contexts {
                    fitted.bounds(&theta(i), &values, &mut row);
                    for (a, bounds) in row.iter().enumerate() {
                        approx::assert_abs_diff_eq!(ucb[3 * i + a], bounds.ucb, epsilon = 1e-15);
                        approx::assert_abs_diff_eq!(lcb[3 * i + a], bounds.lcb, epsilon = 1e-15);
                    }
                }
                // The same bits in the other layout, and of one action alone.
                let apart = contexts + 1;
                let layout = (Layout::ByAction { apart }, Beside::Lcb);
                let (mut upper, mut lower) = (vec![f64::NAN; 3 * apart], vec![f64::NAN; 3 * apart]);
                fitted.fill(&features, &values, layout, &mut upper, &mut lower);
                for (a, value) in values.iter().enumerate() {
                    let (mut one, mut rest) = (vec![f64::NAN; contexts], vec![f64::NAN; contexts]);
                    fitted.fill(&features, &[*value], layout, &mut one, &mut rest);
                    for i in 0..contexts {
                        let place = a * apart + i;
                        assert_eq!((upper[place], lower[place]), (one[i], rest[i]));
                        assert_eq!((one[i], rest[i]), (ucb[3 * i + a], lcb[3 * i + a]));
                    }
                }
            }
        }
    }
}
