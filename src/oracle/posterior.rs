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

use super::{Bounds, LabeledData};
use crate::model::{Instance, Kernel};

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
    /// No data yet. `kernel` is made for phi of the instance; `lambda` is positive.
    pub fn new(instance: &Instance, kernel: Kernel, lambda: f64) -> Self {
        Self {
            kernel,
            lambda,
            action_values: instance.application().action_values().to_vec(),
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
    pub fn is_empty(&self) -> bool {
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
        kept.par_iter_mut().for_each(|column| self.extend(column));
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

    /// mean +- `radius` * deviation of all actions in one context.
    pub fn bounds(&self, features: &[f64], radius: f64, out: &mut [Bounds]) {
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
        let d = column.phi.len();
        for n in column.z.len()..self.len() {
            let (row, diagonal) = (&self.factor[n][..n], self.factor[n][n]);
            let covariance = self
                .kernel
                .at(&self.inputs[n * d..(n + 1) * d], &column.phi);
            let entry = (covariance - dot(row, &column.z)) / diagonal;
            column.z.push(entry);
            column.mean += entry * self.whitened[n];
            column.explained += entry * entry;
        }
    }
}

fn bits(features: &[f64]) -> Vec<u64> {
    features.iter().map(|x| x.to_bits()).collect()
}

/// The inner product in eight running sums, the same bits on every instruction set.
#[multiversion(targets("x86_64+avx512f", "x86_64+avx2", "aarch64+neon"))]
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let (left, right) = (a.chunks_exact(8), b.chunks_exact(8));
    let (left_end, right_end) = (left.remainder(), right.remainder());
    for (x, y) in left.zip(right) {
        for i in 0..8 {
            sums[i] += x[i] * y[i];
        }
    }
    let end: f64 = left_end.iter().zip(right_end).map(|(x, y)| x * y).sum();
    sums.iter().sum::<f64>() + end
}
