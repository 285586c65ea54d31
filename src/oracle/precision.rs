//! Z of the neural oracle: lambda I and the outer products of gradients, whole or as its diagonal.

use nalgebra::{Cholesky, DMatrix, DVector, Dyn};

use super::eights::{EIGHT, Eight, solve_lower};

/// Z, full or as its diagonal.
#[derive(Debug, Clone)]
pub(super) enum Precision {
    Full {
        factor: Cholesky<f64, Dyn>,
        /// The rows of the factor, up to their diagonals.
        rows: Vec<Vec<f64>>,
    },
    Diagonal(Vec<f64>),
}

impl Precision {
    /// lambda I.
    pub fn new(full: bool, weights: usize, lambda: f64) -> Self {
        if !full {
            return Self::Diagonal(vec![lambda; weights]);
        }
        let root = DMatrix::from_diagonal_element(weights, weights, lambda.sqrt());
        Self::Full {
            factor: Cholesky::pack_dirty(root),
            rows: Vec::new(),
        }
    }

    /// Z += g g' / m for a column of gradients.
    pub fn add(&mut self, gradients: &[Eight], lane: usize, m: f64) {
        match self {
            Self::Full { factor, .. } => {
                let g = DVector::from_iterator(gradients.len(), gradients.iter().map(|g| g[lane]));
                factor.rank_one_update(&g, 1.0 / m);
            }
            Self::Diagonal(z) => {
                for (z, g) in z.iter_mut().zip(gradients) {
                    *z += g[lane] * g[lane] / m;
                }
            }
        }
    }

    /// To be called after additions.
    pub fn update_rows(&mut self) {
        if let Self::Full { factor, rows } = self {
            let l = factor.l_dirty();
            *rows = (0..l.nrows())
                .map(|i| l.row(i).iter().take(i + 1).copied().collect())
                .collect();
        }
    }

    /// g' Z^-1 g of eight gradients.
    pub fn norms_squared(&self, g: &mut [Eight]) -> Eight {
        let mut sums = [0.0; EIGHT];
        match self {
            Self::Full { rows, .. } => {
                solve_lower(rows, g);
                for g in g {
                    for lane in 0..EIGHT {
                        sums[lane] += g[lane] * g[lane];
                    }
                }
            }
            Self::Diagonal(z) => {
                for (g, z) in g.iter().zip(z) {
                    for lane in 0..EIGHT {
                        sums[lane] += g[lane] * g[lane] / z;
                    }
                }
            }
        }
        sums
    }
}
