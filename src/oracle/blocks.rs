//! Passes over all observations, a block of rows at a time and column by column, so that the arithmetic fills vector
//! registers; the instruction set is chosen at run time. Sums are made in the same order on all of them, without fused
//! multiply-add, so the bits are the same everywhere.

use nalgebra::DMatrix;

use super::newton::Design;
use super::sigmoids::sigmoids;

/// Rows in a block.
pub(super) const BLOCK: usize = 128;

/// Sums are made in so many lanes.
const LANES: usize = 8;

/// One number per row of a block.
pub(super) type Column = [f64; BLOCK];

/// Some rows phi_n and labels y_n, turned over; the last block is filled up with rows of zeros, which add nothing.
#[derive(Debug)]
pub(super) struct Block {
    pub columns: Vec<Column>,
    pub labels: Column,
}

/// Calls `work` with all rows of a design, block by block, in order.
pub(super) fn for_each_block(design: &Design, mut work: impl FnMut(&Block)) {
    let d = design.dimension;
    let mut block = Block {
        columns: vec![[0.0; BLOCK]; d],
        labels: [0.0; BLOCK],
    };
    let phi = design.phi.chunks(BLOCK * d);
    for (phi, labels) in phi.zip(design.labels.chunks(BLOCK)) {
        if labels.len() < BLOCK {
            block.columns.fill([0.0; BLOCK]);
            block.labels.fill(0.0);
        }
        block.labels[..labels.len()].copy_from_slice(labels);
        for (j, column) in block.columns.iter_mut().enumerate() {
            for (x, row) in column.iter_mut().zip(phi.chunks_exact(d)) {
                *x = row[j];
            }
        }
        work(&block);
    }
}

impl Block {
    /// f(phi_n.mu) with the logistic f.
    pub fn conversions(&self, mu: &[f64]) -> Column {
        let mut f = self.products(mu);
        sigmoids(&mut f);
        f
    }

    /// phi_n.x.
    pub fn products(&self, x: &[f64]) -> Column {
        let mut products = [0.0; BLOCK];
        for (column, x) in self.columns.iter().zip(x) {
            add_scaled(&mut products, column, *x);
        }
        products
    }

    /// sum += sum_n weight_n phi_n.
    pub fn add_rows(&self, weights: &Column, sum: &mut [f64]) {
        for (sum, column) in sum.iter_mut().zip(&self.columns) {
            *sum += dot(weights, column);
        }
    }

    /// matrix += sum_n weight_n phi_n phi_n'.
    pub fn add_outer(&self, weights: &Column, matrix: &mut DMatrix<f64>) {
        for (i, column) in self.columns.iter().enumerate() {
            let weighted = times(weights, column);
            for (j, other) in self.columns.iter().enumerate().take(i + 1) {
                let sum = dot(&weighted, other);
                matrix[(i, j)] += sum;
                if i != j {
                    matrix[(j, i)] += sum;
                }
            }
        }
    }
}

#[multiversion::multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2", "aarch64+neon"))]
fn add_scaled(sum: &mut Column, x: &Column, scale: f64) {
    for (sum, x) in sum.iter_mut().zip(x) {
        *sum += scale * x;
    }
}

#[multiversion::multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2", "aarch64+neon"))]
fn times(x: &Column, y: &Column) -> Column {
    let mut product = *x;
    for (product, y) in product.iter_mut().zip(y) {
        *product *= y;
    }
    product
}

#[multiversion::multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2", "aarch64+neon"))]
fn dot(x: &Column, y: &Column) -> f64 {
    let mut lanes = [0.0; LANES];
    for (x, y) in x
        .as_chunks::<LANES>()
        .0
        .iter()
        .zip(y.as_chunks::<LANES>().0)
    {
        for i in 0..LANES {
            lanes[i] += x[i] * y[i];
        }
    }
    lanes.iter().sum()
}
