//! The design of a regression on phi = (theta, action value): one column per feature, so that sums over all observations
//! run several at a time. Refits after every step of a study depend on their speed.

use nalgebra::{DMatrix, DVector};

use super::LabeledData;
use super::eights::{EIGHT, Eight};

/// Features phi_n and labels y_n of all observations, and running sums of them. A sum is made of eight partial sums on
/// every machine, so that all get the same bits.
#[derive(Debug, Clone)]
pub(crate) struct Design {
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
    /// Without observations; entries of phi will be multiplied by `scale`.
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

    /// Rows of `dimension` features, one per label.
    pub fn of_rows(dimension: usize, phi: &[f64], labels: &[f64]) -> Self {
        let mut design = Self::scaled(vec![1.0; dimension]);
        for (phi, y) in phi.chunks_exact(dimension).zip(labels) {
            design.push(phi, *y);
        }
        design
    }

    /// Only the rows with a positive weight, for weighted problems: without the running sums.
    pub fn weighted_rows(&self, weights: &[f64]) -> Self {
        let select = |all: &Vec<f64>| {
            let rows = all.iter().zip(weights).filter(|(_, w)| **w > 0.0);
            rows.map(|(x, _)| *x).collect()
        };
        Self {
            columns: self.columns.iter().map(select).collect(),
            labels: select(&self.labels),
            longest_squared: self.longest_squared,
            ..Self::scaled(self.scale.clone())
        }
    }

    /// Appends the new observations.
    pub fn append(&mut self, data: &LabeledData, action_values: &[f64]) {
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

    /// The factors on the entries of phi.
    pub fn scale(&self) -> &[f64] {
        &self.scale
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
        add_scaled(&mut sums, &self.columns, x.as_slice());
        sums
    }

    /// |L phi_n| for every observation and a lower triangular L.
    pub fn norms(&self, lower: &DMatrix<f64>) -> Vec<f64> {
        let mut squares = vec![0.0; self.len()];
        let mut products = vec![0.0; self.len()];
        for i in 0..self.dimension() {
            products.fill(0.0);
            let row: Vec<f64> = (0..=i).map(|j| lower[(i, j)]).collect();
            add_scaled(&mut products, &self.columns[..=i], &row);
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
        match &self.columns[..] {
            [a, b] => gram_of_few([a, b], weights),
            [a, b, c] => gram_of_few([a, b, c], weights),
            [a, b, c, d] => gram_of_few([a, b, c, d], weights),
            columns => gram_row_by_row(columns, weights),
        }
    }
}

/// Adds scale.row for every observation, four columns at a time.
#[multiversion::multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2", "aarch64+neon"))]
fn add_scaled(sums: &mut [f64], columns: &[Vec<f64>], scale: &[f64]) {
    for (columns, scale) in columns.chunks(4).zip(scale.chunks(4)) {
        match (columns, scale) {
            ([a, b, c, d], &[s, t, u, v]) => add_scaled_of(sums, [a, b, c, d], [s, t, u, v]),
            ([a, b, c], &[s, t, u]) => add_scaled_of(sums, [a, b, c], [s, t, u]),
            ([a, b], &[s, t]) => add_scaled_of(sums, [a, b], [s, t]),
            ([a], &[s]) => add_scaled_of(sums, [a], [s]),
            _ => {}
        }
    }
}

#[inline(always)]
fn add_scaled_of<const COLUMNS: usize>(
    sums: &mut [f64],
    columns: [&[f64]; COLUMNS],
    scale: [f64; COLUMNS],
) {
    let columns = columns.map(|column| &column[..sums.len()]);
    for (n, sum) in sums.iter_mut().enumerate() {
        for (column, scale) in columns.iter().zip(scale) {
            *sum += scale * column[n];
        }
    }
}

#[multiversion::multiversion(targets("x86_64+avx2", "aarch64+neon"))]
fn add_squares(sums: &mut [f64], values: &[f64]) {
    for (sum, x) in sums.iter_mut().zip(values) {
        *sum += x * x;
    }
}

fn gram_row_by_row(columns: &[Vec<f64>], weights: &[f64]) -> DMatrix<f64> {
    let mut gram = DMatrix::zeros(columns.len(), columns.len());
    let (mut weighted, mut sums) = (vec![0.0; weights.len()], vec![0.0; columns.len()]);
    for (i, x) in columns.iter().enumerate() {
        products(x, weights, &mut weighted);
        dots(&columns[..=i], &weighted, &mut sums);
        for (j, &sum) in sums[..=i].iter().enumerate() {
            gram[(i, j)] = sum;
            gram[(j, i)] = sum;
        }
    }
    gram
}

/// The same sums to the bit, in one pass with all of them in registers.
fn gram_of_few<const D: usize>(columns: [&[f64]; D], weights: &[f64]) -> DMatrix<f64> {
    let lanes = lower_triangle(columns, weights);
    DMatrix::from_fn(D, D, |i, j| lanes[i.max(j)][i.min(j)].iter().sum())
}

#[multiversion::multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2", "aarch64+neon"))]
fn lower_triangle<const D: usize>(columns: [&[f64]; D], weights: &[f64]) -> [[Eight; D]; D] {
    let mut sums = [[[0.0; EIGHT]; D]; D];
    let (weights, weights_rest) = weights.as_chunks::<EIGHT>();
    let chunks = columns.map(|column| &column.as_chunks::<EIGHT>().0[..weights.len()]);
    for (n, weights) in weights.iter().enumerate() {
        add_outer(&mut sums, chunks.map(|chunks| &chunks[n]), weights);
    }
    // The last rows, padded with zeros.
    let mut last = [[0.0; EIGHT]; D];
    for (last, column) in last.iter_mut().zip(columns) {
        let rest = &column[weights.len() * EIGHT..][..weights_rest.len()];
        last[..rest.len()].copy_from_slice(rest);
    }
    let mut weights = [0.0; EIGHT];
    weights[..weights_rest.len()].copy_from_slice(weights_rest);
    add_outer(&mut sums, last.each_ref(), &weights);
    sums
}

/// Adds the lower triangle of weight phi phi' for eight observations, in a shape that compilers vectorise.
#[inline(always)]
fn add_outer<const D: usize>(sums: &mut [[Eight; D]; D], phi: [&Eight; D], weights: &Eight) {
    for i in 0..D {
        let weighted = times(phi[i], weights);
        for j in 0..D {
            if j <= i {
                add_product(&mut sums[i][j], phi[j], &weighted);
            }
        }
    }
}

#[inline(always)]
fn times(x: &Eight, y: &Eight) -> Eight {
    let mut out = [0.0; EIGHT];
    for i in 0..EIGHT {
        out[i] = x[i] * y[i];
    }
    out
}

#[inline(always)]
fn add_product(sum: &mut Eight, x: &Eight, y: &Eight) {
    for i in 0..EIGHT {
        sum[i] += x[i] * y[i];
    }
}

#[multiversion::multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2", "aarch64+neon"))]
fn products(x: &[f64], y: &[f64], out: &mut [f64]) {
    for ((out, x), y) in out.iter_mut().zip(x).zip(y) {
        *out = x * y;
    }
}

/// The inner products of columns with `y`, a few at a time: a single sum would wait for its own additions.
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
    let mut sums = [[0.0; EIGHT]; COLUMNS];
    let (ys, y_rest) = y.as_chunks::<EIGHT>();
    let columns = columns.map(|column| column[..y.len()].as_chunks::<EIGHT>());
    for (n, y) in ys.iter().enumerate() {
        for (lanes, (xs, _)) in sums.iter_mut().zip(&columns) {
            add_product(lanes, &xs[n], y);
        }
    }
    for (lanes, (_, x_rest)) in sums.iter_mut().zip(&columns) {
        for (i, (x, y)) in x_rest.iter().zip(y_rest).enumerate() {
            lanes[i] += x * y;
        }
    }
    sums.map(|lanes| lanes.iter().sum())
}
