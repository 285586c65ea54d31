//! The posterior that the kernel and the Gaussian-process oracles share (Appendix A.2.4 and A.2.5), phi = (theta, a):
//!
//! ```text
//! mean(phi)        k(phi)' (K + lambda I)^-1 y
//! deviation(phi)   sqrt( k(phi, phi) - k(phi)' (K + lambda I)^-1 k(phi) )
//! ```
//!
//! With K + lambda I = L L', both follow from the column z = L^-1 k(phi): mean = z . (L^-1 y) and
//! deviation^2 = 1 - |z|^2. An observation adds a row to L and an entry to every column, so columns of contexts that
//! will be asked for again are kept and only grow.

use std::collections::HashMap;

use multiversion::multiversion;
use rayon::prelude::*;

use super::design::dot;
use super::{Bounds, LabeledData};
use crate::task::{Kernel, Task};

/// Data taken in, and columns kept.
#[derive(Debug, Clone)]
pub(super) struct Posterior {
    kernel: Kernel,
    lambda: f64,
    action_values: Vec<f64>,
    /// phi_1, ..., phi_N, flat.
    inputs: Vec<f64>,
    /// The rows of L; row n ends with its diagonal.
    factor: Vec<Vec<f64>>,
    /// L^-1 y.
    whitened: Vec<f64>,
    /// ln det(I + K / lambda).
    log_determinant: f64,
    /// Columns kept, one per action of each context that is watched.
    kept: Vec<Column>,
    /// The first column of a context, by the bits of its features.
    first_of: HashMap<Vec<u64>, usize>,
}

/// z = L^-1 k(phi), and what follows from it.
#[derive(Debug, Clone)]
struct Column {
    phi: Vec<f64>,
    z: Vec<f64>,
    mean: f64,
    /// |z|^2.
    explained: f64,
}

impl Column {
    fn new(features: &[f64], action_value: f64) -> Self {
        Self {
            phi: [features, &[action_value]].concat(),
            z: Vec::new(),
            mean: 0.0,
            explained: 0.0,
        }
    }

    fn deviation(&self) -> f64 {
        (1.0 - self.explained).max(0.0).sqrt()
    }
}

impl Posterior {
    /// No data yet. `kernel` is made for phi of the task; `lambda` is positive.
    pub fn new(task: &Task, kernel: Kernel, lambda: f64) -> Self {
        Self {
            kernel,
            lambda,
            action_values: task.application().action_values().to_vec(),
            inputs: Vec::new(),
            factor: Vec::new(),
            whitened: Vec::new(),
            log_determinant: 0.0,
            kept: Vec::new(),
            first_of: HashMap::new(),
        }
    }

    /// N.
    pub fn len(&self) -> usize {
        self.factor.len()
    }

    /// Whether there is no data yet.
    fn is_empty(&self) -> bool {
        self.factor.is_empty()
    }

    /// The information gain of the data, 1/2 ln det(I + K / lambda).
    pub fn information_gain(&self) -> f64 {
        0.5 * self.log_determinant
    }

    /// Takes in the observations that are new, then brings the columns kept up to date.
    pub fn take_in(&mut self, data: &LabeledData) {
        for observation in data.since(self.len()) {
            let mut column = self.column(observation.features, observation.action - 1);
            self.extend(&mut column);
            let rest = self.lambda + (1.0 - column.explained).max(0.0);
            let diagonal = rest.sqrt();
            let label = f64::from(u8::from(observation.converted));
            self.whitened.push((label - column.mean) / diagonal);
            self.log_determinant += (rest / self.lambda).ln();
            self.inputs.extend_from_slice(&column.phi);
            column.z.push(diagonal);
            self.factor.push(column.z);
        }
        let mut kept = std::mem::take(&mut self.kept);
        kept.par_chunks_mut(TOGETHER)
            .for_each(|columns| self.extend_together(columns));
        self.kept = kept;
    }

    /// Keeps the columns of a context from now on.
    pub fn watch(&mut self, features: &[f64]) {
        let first = self.kept.len();
        if *self.first_of.entry(bits(features)).or_insert(first) != first {
            return;
        }
        for action in 0..self.action_values.len() {
            let mut column = Column::new(features, self.action_values[action]);
            self.extend(&mut column);
            self.kept.push(column);
        }
    }

    /// mean +- `radius` * deviation of all actions in one context; unknown without data.
    pub fn bounds(&self, features: &[f64], radius: f64, out: &mut [Bounds]) {
        if self.is_empty() {
            return out.fill(Bounds::UNKNOWN);
        }
        self.for_each_action(features, |action, column| {
            out[action] = Bounds::around(column.mean, radius * column.deviation());
        });
    }

    /// Means, clipped into [0, 1]; 1/2 without data.
    pub fn estimate(&self, features: &[f64], out: &mut [f64]) {
        if self.is_empty() {
            return out.fill(0.5);
        }
        self.for_each_action(features, |action, column| {
            out[action] = column.mean.clamp(0.0, 1.0);
        });
    }

    /// Mean (not clipped) and deviation of all actions in one context.
    pub fn moments(&self, features: &[f64]) -> Vec<(f64, f64)> {
        let mut moments = Vec::new();
        self.for_each_action(features, |_, column| {
            moments.push((column.mean, column.deviation()));
        });
        moments
    }

    fn for_each_action(&self, features: &[f64], mut see: impl FnMut(usize, &Column)) {
        let actions = self.action_values.len();
        if let Some(&first) = self.first_of.get(&bits(features)) {
            let columns = &self.kept[first..first + actions];
            return columns.iter().enumerate().for_each(|(a, c)| see(a, c));
        }
        for action in 0..actions {
            let mut column = Column::new(features, self.action_values[action]);
            self.extend(&mut column);
            see(action, &column);
        }
    }

    /// The column of a pair (actions from 0), as far as it is kept.
    fn column(&self, features: &[f64], action: usize) -> Column {
        match self.first_of.get(&bits(features)) {
            Some(first) => self.kept[first + action].clone(),
            None => Column::new(features, self.action_values[action]),
        }
    }

    /// Forward substitution from where the column ends.
    fn extend(&self, column: &mut Column) {
        for n in column.z.len()..self.len() {
            let product = dot(&self.factor[n][..n], &column.z);
            self.append(column, n, product);
        }
    }

    /// The same for columns of equal length: what the rows of a block share with what is already there is computed
    /// for several rows and columns at a time, while both are in cache.
    fn extend_together(&self, columns: &mut [Column]) {
        let Some(start) = columns.iter().map(|column| column.z.len()).min() else {
            return;
        };
        for first in (start..self.len()).step_by(BLOCK) {
            let rows = &self.factor[first..(first + BLOCK).min(self.len())];
            for columns in columns.chunks_mut(4) {
                let at = |i: usize| &columns[i.min(columns.len() - 1)].z[..first];
                let four = [at(0), at(1), at(2), at(3)];
                let products: Vec<[f64; 4]> = rows
                    .chunks(2)
                    .flat_map(|pair| {
                        dots([&pair[0][..first], &pair[pair.len() - 1][..first]], four)
                    })
                    .collect();
                for (i, column) in columns.iter_mut().enumerate() {
                    for (n, product) in (first..).zip(&products).take(rows.len()) {
                        let inside = dot(&self.factor[n][first..n], &column.z[first..]);
                        self.append(column, n, product[i] + inside);
                    }
                }
            }
        }
    }

    /// Entry n of a column, given the product of the entries before it with row n of L.
    fn append(&self, column: &mut Column, n: usize, product: f64) {
        let d = column.phi.len();
        let covariance = self
            .kernel
            .at(&self.inputs[n * d..(n + 1) * d], &column.phi);
        let entry = (covariance - product) / self.factor[n][n];
        column.z.push(entry);
        column.mean += entry * self.whitened[n];
        column.explained += entry * entry;
    }
}

/// Columns extended by one task.
const TOGETHER: usize = 32;

/// Rows of L that columns are extended by at a time.
const BLOCK: usize = 16;

fn bits(features: &[f64]) -> Vec<u64> {
    features.iter().map(|x| x.to_bits()).collect()
}

/// The inner products of two rows with four columns, all of one length.
#[multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2", "aarch64+neon"))]
fn dots(rows: [&[f64]; 2], columns: [&[f64]; 4]) -> [[f64; 4]; 2] {
    let [r0, r1] = rows.map(|row| row.as_chunks::<4>().0);
    let [c0, c1, c2, c3] = columns.map(|column| column.as_chunks::<4>().0);
    let mut sums = [[[0.0; 4]; 4]; 2];
    let quads = c0.iter().zip(c1).zip(c2.iter().zip(c3));
    for ((r0, r1), ((c0, c1), (c2, c3))) in r0.iter().zip(r1).zip(quads) {
        for (sums, row) in sums.iter_mut().zip([r0, r1]) {
            let [s0, s1, s2, s3] = sums;
            add_products(s0, row, c0);
            add_products(s1, row, c1);
            add_products(s2, row, c2);
            add_products(s3, row, c3);
        }
    }
    let whole = 4 * r0.len();
    std::array::from_fn(|r| {
        std::array::from_fn(|c| {
            let ends = rows[r][whole..].iter().zip(&columns[c][whole..]);
            let end: f64 = ends.map(|(a, b)| a * b).sum();
            sums[r][c].iter().sum::<f64>() + end
        })
    })
}

#[inline(always)]
fn add_products<const N: usize>(sums: &mut [f64; N], a: &[f64; N], b: &[f64; N]) {
    for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
        *sum += a * b;
    }
}
