//! Kernel ridge regression on (x, s), clipped into [0, 1]: a candidate for few offers, because its cost is cubic in their
//! number.

use nalgebra::{Cholesky, DMatrix, DVector, Dyn};

use super::data::OfferData;

/// The most offers for a kernel regression.
pub const KERNEL_LIMIT: usize = 400;

/// Points (x, s) of offers.
#[derive(Debug, Clone)]
pub struct Points {
    /// Coordinates of a point: features without the constant, then the scaled action.
    pub width: usize,
    /// All points.
    pub coordinates: Vec<f64>,
}

impl Points {
    /// The points of all offers.
    pub fn of(data: &OfferData) -> Self {
        let first = usize::from(data.has_constant);
        let width = data.dimension - first + 1;
        let mut coordinates = Vec::with_capacity(data.len() * width);
        for (i, &action) in data.actions.iter().enumerate() {
            coordinates.extend_from_slice(&data.theta(i)[first..]);
            coordinates.push(data.scaled[action as usize - 1]);
        }
        Self { width, coordinates }
    }

    /// A moderate length scale for scaled coordinates.
    pub fn length(&self) -> f64 {
        2.0 * (self.width as f64).sqrt()
    }

    /// A point.
    pub fn point(&self, i: usize) -> &[f64] {
        &self.coordinates[i * self.width..(i + 1) * self.width]
    }
}

/// exp(-|x - y|^2 / (2 length^2)).
pub fn squared_exponential(x: &[f64], y: &[f64], length: f64) -> f64 {
    let square: f64 = x.iter().zip(y).map(|(x, y)| (x - y) * (x - y)).sum();
    (-0.5 * square / (length * length)).exp()
}

/// The regression of labels on points: weights of the kernel at each, and the factor of K + lambda / w.
#[derive(Debug, Clone)]
pub struct KernelFit {
    /// Indices of the points used.
    pub used: Vec<usize>,
    /// One weight per point used.
    pub weights: Vec<f64>,
    /// The factor.
    pub factor: Cholesky<f64, Dyn>,
}

/// Fits the points with positive weight. A weight w counts as w equal observations.
pub fn fit(
    points: &Points,
    labels: &[f64],
    weights: Option<&[f64]>,
    lambda: f64,
) -> Option<KernelFit> {
    let weight = |i: usize| weights.map_or(1.0, |w| w[i]);
    let used: Vec<usize> = (0..labels.len()).filter(|&i| weight(i) > 0.0).collect();
    let length = points.length();
    let n = used.len();
    let gram = DMatrix::from_fn(n, n, |i, j| {
        let k = squared_exponential(points.point(used[i]), points.point(used[j]), length);
        k + if i == j {
            lambda / weight(used[i])
        } else {
            0.0
        }
    });
    let factor = Cholesky::new(gram)?;
    let y = DVector::from_iterator(n, used.iter().map(|&i| labels[i]));
    let weights = factor.solve(&y).as_slice().to_vec();
    Some(KernelFit {
        used,
        weights,
        factor,
    })
}
