//! The design of a regression on phi = (theta, action value): one column per feature, so that sums over all observations
//! run several at a time. Refits after every step of a study depend on their speed.

use nalgebra::{DMatrix, DVector};

use super::LabeledData;

/// Sums are made of this many partial sums, whatever the machine, so that the bits are the same on all of them.
const LANES: usize = 8;

/// Features phi_n and labels y_n of all observations, and the sums of them that only grow.
#[derive(Debug, Clone)]
pub(super) struct Design {
    /// Multiplies the entries of phi as they come in.
    scale: Vec<f64>,
    columns: Vec<Vec<f64>>,
    labels: Vec<f64>,
    longest_squared: f64,
    /// sum_n phi_n phi_n'.
    pub gram: DMatrix<f64>,
    /// sum_n y_n phi_n.
    pub converted: DVector<f64>,
}

impl Design {
    pub fn new(dimension: usize) -> Self {
        Self::scaled(vec![1.0; dimension])
    }

    /// With every entry of phi multiplied by its own `scale`.
    pub fn scaled(scale: Vec<f64>) -> Self {
        let dimension = scale.len();
        Self {
            scale,
            columns: vec![Vec::new(); dimension],
            labels: Vec::new(),
            longest_squared: 0.0,
            gram: DMatrix::zeros(dimension, dimension),
            converted: DVector::zeros(dimension),
        }
    }

    /// Rows given as they are, `dimension` features per label.
    pub fn of_rows(dimension: usize, phi: &[f64], labels: &[f64]) -> Self {
        let mut design = Self::new(dimension);
        for (phi, y) in phi.chunks_exact(dimension).zip(labels) {
            design.push(phi, *y);
        }
        design
    }

    /// Takes in the observations that are new.
    pub fn take_in(&mut self, data: &LabeledData, action_values: &[f64]) {
        let mut phi = Vec::with_capacity(self.dimension());
        for observation in data.since(self.len()) {
            phi.clear();
            phi.extend_from_slice(observation.features);
            phi.push(action_values[observation.action - 1]);
            phi.iter_mut().zip(&self.scale).for_each(|(x, s)| *x *= s);
            self.push(&phi, f64::from(u8::from(observation.converted)));
        }
    }

    fn push(&mut self, phi: &[f64], y: f64) {
        for (column, x) in self.columns.iter_mut().zip(phi) {
            column.push(*x);
        }
        self.labels.push(y);
        let length_squared = phi.iter().map(|x| x * x).sum::<f64>();
        self.longest_squared = self.longest_squared.max(length_squared);
        for (i, x) in phi.iter().enumerate() {
            self.converted[i] += y * x;
            for (j, z) in phi.iter().enumerate() {
                self.gram[(i, j)] += x * z;
            }
        }
    }

    pub fn dimension(&self) -> usize {
        self.columns.len()
    }

    /// N.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    pub fn labels(&self) -> &[f64] {
        &self.labels
    }

    /// phi_n.
    pub fn row(&self, n: usize) -> DVector<f64> {
        DVector::from_iterator(self.dimension(), self.columns.iter().map(|c| c[n]))
    }

    /// phi_n.x for every observation.
    pub fn products(&self, x: &DVector<f64>) -> Vec<f64> {
        let mut sums = vec![0.0; self.len()];
        for (column, x) in self.columns.iter().zip(x.iter()) {
            add_scaled(&mut sums, column, *x);
        }
        sums
    }

    /// |L phi_n| for every observation and a lower triangular L.
    pub fn norms(&self, lower: &DMatrix<f64>) -> Vec<f64> {
        let mut squares = vec![0.0; self.len()];
        let mut products = vec![0.0; self.len()];
        for i in 0..self.dimension() {
            products.fill(0.0);
            for (j, column) in self.columns[..=i].iter().enumerate() {
                add_scaled(&mut products, column, lower[(i, j)]);
            }
            add_squares(&mut squares, &products);
        }
        squares.iter_mut().for_each(|x| *x = x.sqrt());
        squares
    }

    /// The largest |phi_n|.
    pub fn longest(&self) -> f64 {
        self.longest_squared.sqrt()
    }

    /// sum_n weight_n phi_n.
    pub fn sum(&self, weights: &[f64]) -> DVector<f64> {
        let mut sums = vec![0.0; self.dimension()];
        dots(&self.columns, weights, &mut sums);
        DVector::from_vec(sums)
    }

    /// sum_n weight_n phi_n phi_n'.
    pub fn weighted_gram(&self, weights: &[f64]) -> DMatrix<f64> {
        let d = self.dimension();
        let mut gram = DMatrix::zeros(d, d);
        let (mut weighted, mut sums) = (vec![0.0; self.len()], vec![0.0; d]);
        for (i, x) in self.columns.iter().enumerate() {
            products(x, weights, &mut weighted);
            dots(&self.columns[..=i], &weighted, &mut sums);
            for (j, &sum) in sums[..=i].iter().enumerate() {
                gram[(i, j)] = sum;
                gram[(j, i)] = sum;
            }
        }
        gram
    }
}

#[multiversion::multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2", "aarch64+neon"))]
fn add_scaled(sums: &mut [f64], column: &[f64], scale: f64) {
    for (sum, x) in sums.iter_mut().zip(column) {
        *sum += scale * x;
    }
}

#[multiversion::multiversion(targets("x86_64+avx2", "aarch64+neon"))]
fn add_squares(sums: &mut [f64], values: &[f64]) {
    for (sum, x) in sums.iter_mut().zip(values) {
        *sum += x * x;
    }
}

#[multiversion::multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2", "aarch64+neon"))]
fn products(x: &[f64], y: &[f64], out: &mut [f64]) {
    for ((out, x), y) in out.iter_mut().zip(x).zip(y) {
        *out = x * y;
    }
}

/// The inner products of columns with `y`, a few at a time: one sum alone would wait for its own additions.
#[multiversion::multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2", "aarch64+neon"))]
fn dots(columns: &[Vec<f64>], y: &[f64], out: &mut [f64]) {
    for (columns, out) in columns.chunks(4).zip(out.chunks_mut(4)) {
        match columns {
            [a, b, c, d] => out.copy_from_slice(&dots_of([a, b, c, d], y)),
            [a, b, c] => out[..3].copy_from_slice(&dots_of([a, b, c], y)),
            [a, b] => out[..2].copy_from_slice(&dots_of([a, b], y)),
            [a] => out[..1].copy_from_slice(&dots_of([a], y)),
            _ => {}
        }
    }
}

#[inline(always)]
fn dots_of<const COLUMNS: usize>(columns: [&[f64]; COLUMNS], y: &[f64]) -> [f64; COLUMNS] {
    let mut sums = [[0.0; LANES]; COLUMNS];
    let (ys, y_rest) = y.as_chunks::<LANES>();
    let columns = columns.map(|column| column[..y.len()].as_chunks::<LANES>());
    for (n, y) in ys.iter().enumerate() {
        for (lanes, (xs, _)) in sums.iter_mut().zip(&columns) {
            for i in 0..LANES {
                lanes[i] += xs[n][i] * y[i];
            }
        }
    }
    for (lanes, (_, x_rest)) in sums.iter_mut().zip(&columns) {
        for (i, (x, y)) in x_rest.iter().zip(y_rest).enumerate() {
            lanes[i] += x * y;
        }
    }
    sums.map(|lanes| lanes.iter().sum())
}
