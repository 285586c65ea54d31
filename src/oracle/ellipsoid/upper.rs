//! Upper bounds of one action alone in many contexts, for those who need no others.

use super::{BULK, Ellipsoid, Many, clamped, clipped, radii};
use crate::dp::Link;
use crate::oracle::sigmoids::sigmoids;

impl Ellipsoid {
    /// ucb of the action with value `a` in many contexts, with the bits of [`Ellipsoid::bulk_bounds`].
    pub fn upper_bounds(&self, features: &[f64], a: f64, ucb: &mut [f64]) {
        let last = self.mu.len() - 1;
        let v_inverse = self.v_inverse.as_slice();
        let corner = self.v_inverse[(last, last)];
        let mut columns = vec![[0.0; BULK]; last];
        let mut limit_squared = [0.0; BULK];
        for (features, ucb) in features.chunks(BULK * last).zip(ucb.chunks_mut(BULK)) {
            for (i, theta) in features.chunks_exact(last).enumerate() {
                for (column, x) in columns.iter_mut().zip(theta) {
                    column[i] = *x;
                }
                if let Some(bound) = &self.inside {
                    limit_squared[i] = bound.theta_part(theta);
                }
            }
            let mut center = products(&columns, self.mu.as_slice());
            center.iter_mut().for_each(|x| *x += a * self.mu[last]);
            let square = squares(&columns, v_inverse);
            let cross = products(&columns, &v_inverse[last * (last + 1)..]);
            let radius = radii(&square, &cross, a, corner, self.scale);
            let upper = match &self.inside {
                None => {
                    if self.link == Link::Logistic {
                        sigmoids(&mut center);
                    }
                    clipped(&center, &radius).0
                }
                Some(bound) => {
                    let more = bound.action_part(a);
                    let (mut upper, _) = clamped(&center, &radius, &limit_squared, more);
                    sigmoids(&mut upper);
                    upper
                }
            };
            ucb.copy_from_slice(&upper[..ucb.len()]);
        }
    }
}

/// theta.x of many contexts, whose features come as columns.
#[multiversion::multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2", "aarch64+neon"))]
fn products(columns: &[Many], x: &[f64]) -> Many {
    let mut sums = [0.0; BULK];
    for (column, x) in columns.iter().zip(x) {
        for (sum, feature) in sums.iter_mut().zip(column) {
            *sum += feature * x;
        }
    }
    sums
}

/// theta' V^-1 theta of many contexts.
#[multiversion::multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2", "aarch64+neon"))]
fn squares(columns: &[Many], v_inverse: &[f64]) -> Many {
    let mut squares = [0.0; BULK];
    for (own, row) in columns.iter().zip(v_inverse.chunks(columns.len() + 1)) {
        let mut sums = [0.0; BULK];
        for (column, x) in columns.iter().zip(row) {
            for (sum, feature) in sums.iter_mut().zip(column) {
                *sum += feature * x;
            }
        }
        for ((square, sum), x) in squares.iter_mut().zip(sums).zip(own) {
            *square += sum * x;
        }
    }
    squares
}

#[cfg(test)]
mod tests {
    use nalgebra::{DMatrix, DVector};

    use super::super::NormBound;
    use super::{BULK, Ellipsoid};
    use crate::dp::Link;

    #[test]
    fn upper_bounds_of_one_action_are_those_of_all() {
        let v = DMatrix::from_row_slice(3, 3, &[4.0, 1.0, 0.5, 1.0, 3.0, 0.2, 0.5, 0.2, 2.0]);
        let values = [0.5, 1.0, 2.0];
        let bound = NormBound {
            norm_bound: 0.7,
            inverse_sizes: vec![1.0, 2.0, 0.5],
        };
        let kinds = [
            (Link::Linear, None),
            (Link::Logistic, None),
            (Link::Logistic, Some(bound)),
        ];
        for (link, bound) in kinds {
            let mu = DVector::from_column_slice(&[0.4, 0.3, -0.2]);
            let mut fitted = Ellipsoid::new(link, mu, v.clone(), 0.3);
            if let Some(bound) = bound {
                fitted = fitted.inside(bound);
            }
            for contexts in [1, BULK - 1, BULK, BULK + 1, 200] {
                let theta = |i: usize| [(i as f64 * 0.618).fract(), (i as f64 * 0.382).fract()];
                let features: Vec<f64> = (0..contexts).flat_map(theta).collect();
                let (mut all, mut lcb) = (vec![0.0; contexts * 3], vec![0.0; contexts * 3]);
                fitted.bulk_bounds(&features, &values, &mut all, &mut lcb);
                for (action, &a) in values.iter().enumerate() {
                    let mut ucb = vec![f64::NAN; contexts];
                    fitted.upper_bounds(&features, a, &mut ucb);
                    for (i, ucb) in ucb.iter().enumerate() {
                        approx::assert_abs_diff_eq!(*ucb, all[3 * i + action], epsilon = 1e-15);
                    }
                }
            }
        }
    }
}
