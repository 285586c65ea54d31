//! Columns of the posterior, eight at a time. A column z = L^-1 k(phi) belongs to one pair (context, action) and gains an
//! entry with every row of L.
//!
//! Entry n is ( k(phi_n, phi) - sum_{i<n} L_ni z_i ) / L_nn. Where row n repeats the pair of an earlier row m, L_ni = L_mi for
//! i < m, and k - sum_{i<m} L_mi z_i = L_mm z_m replaces the kernel and the first m terms.

use std::ops::Range;

use super::eights::{EIGHT, Eight, TOGETHER, new_entry, row_products};
use super::sigmoids::exps_of_negative;
use crate::task::Kernel;

/// Rows of L by which columns grow at a time, while their entries are in cache.
const BLOCK: usize = 16;

/// L with L L' = K + noise, row by row, and L^-1 y.
#[derive(Debug, Clone, Default)]
pub(super) struct Factor {
    /// phi of every row, flat.
    inputs: Vec<f64>,
    /// The rows of L; row n ends with its diagonal. Entries that are not summed are 0 here.
    rows: Vec<Vec<f64>>,
    /// The last earlier row of the same pair, if any.
    repeats: Vec<Option<usize>>,
    /// L^-1 y.
    whitened: Vec<f64>,
    /// The noise variance of every row.
    noise: Vec<f64>,
}

impl Factor {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Appends the row of a pair whose column is complete, with its (mean) label and noise variance; `repeats` is the last
    /// row of the same pair. Returns the square of the new diagonal entry: the variance of the label that earlier rows
    /// do not explain.
    pub fn append(
        &mut self,
        group: &ColumnGroup,
        lane: usize,
        label: f64,
        noise: f64,
        repeats: Option<usize>,
    ) -> f64 {
        debug_assert_eq!(group.z.len(), self.len());
        let unexplained = noise + (1.0 - group.explained[lane]).max(0.0);
        let diagonal = unexplained.sqrt();
        let mut row: Vec<f64> = group.z.iter().map(|entries| entries[lane]).collect();
        row.push(diagonal);
        row[..repeats.unwrap_or(0)].fill(0.0);
        self.rows.push(row);
        self.whitened.push((label - group.mean[lane]) / diagonal);
        self.inputs.extend_from_slice(group.phi(lane));
        self.repeats.push(repeats);
        self.noise.push(noise);
        unexplained
    }

    /// The noise variance of a row.
    pub fn noise(&self, n: usize) -> f64 {
        self.noise[n]
    }

    /// L'^-1 z.
    pub fn solve_transposed(&self, mut z: Vec<f64>) -> Vec<f64> {
        for n in (0..self.len()).rev() {
            z[n] /= self.rows[n][n];
            let solved = z[n];
            // The rest of a row that repeats a pair stands in the row before.
            let (mut row, mut end) = (n, n);
            loop {
                let start = self.start(row);
                let entries = self.rows[row][start..end].iter();
                for (z, entry) in z[start..end].iter_mut().zip(entries) {
                    *z -= solved * entry;
                }
                match self.repeats[row] {
                    Some(before) => (row, end) = (before, before),
                    None => break,
                }
            }
        }
        z
    }

    /// Where the sum of row n begins.
    fn start(&self, n: usize) -> usize {
        self.repeats[n].unwrap_or(0)
    }
}

/// The columns of up to eight pairs, all of one length.
#[derive(Debug, Clone)]
pub(super) struct ColumnGroup {
    dimension: usize,
    /// phi of the pairs, flat; fewer than eight are allowed.
    phi: Vec<f64>,
    /// z_n of all pairs, by n.
    z: Vec<Eight>,
    /// z . (L^-1 y).
    mean: Eight,
    /// |z|^2.
    explained: Eight,
}

impl ColumnGroup {
    /// Without pairs, of `dimension` features each.
    pub fn new(dimension: usize) -> Self {
        Self {
            dimension,
            phi: Vec::new(),
            z: Vec::new(),
            mean: [0.0; EIGHT],
            explained: [0.0; EIGHT],
        }
    }

    /// Number of pairs.
    pub fn pairs(&self) -> usize {
        self.phi.len() / self.dimension
    }

    /// Whether there are eight pairs.
    pub fn is_full(&self) -> bool {
        self.pairs() == EIGHT
    }

    /// phi of a pair.
    pub fn phi(&self, lane: usize) -> &[f64] {
        &self.phi[lane * self.dimension..(lane + 1) * self.dimension]
    }

    /// The entries of a column.
    pub fn entries(&self, lane: usize) -> Vec<f64> {
        self.z.iter().map(|entries| entries[lane]).collect()
    }

    /// Adds a pair to columns without entries.
    pub fn push(&mut self, phi: &[f64]) {
        debug_assert!(self.z.is_empty() && !self.is_full());
        self.phi.extend_from_slice(phi);
    }

    /// Adds a column of another group of the same length (or of any length to an empty group).
    pub fn push_column(&mut self, from: &Self, lane: usize) {
        let to = self.pairs();
        if to == 0 {
            self.z = vec![[0.0; EIGHT]; from.z.len()];
        }
        debug_assert!(self.z.len() == from.z.len() && to < EIGHT);
        self.phi.extend_from_slice(from.phi(lane));
        for (mine, theirs) in self.z.iter_mut().zip(&from.z) {
            mine[to] = theirs[lane];
        }
        self.mean[to] = from.mean[lane];
        self.explained[to] = from.explained[lane];
    }

    /// Forgets all entries.
    pub fn reset(&mut self) {
        self.z.clear();
        self.mean = [0.0; EIGHT];
        self.explained = [0.0; EIGHT];
    }

    /// Mean of the posterior (not clipped) and its deviation.
    pub fn moments(&self, lane: usize) -> (f64, f64) {
        let deviation = (1.0 - self.explained[lane]).max(0.0).sqrt();
        (self.mean[lane], deviation)
    }

    /// Forward substitution from the end of the columns.
    pub fn extend(&mut self, factor: &Factor, kernel: &Kernel) {
        while self.z.len() < factor.len() {
            let first = self.z.len();
            let end = (first + BLOCK).min(factor.len());
            // Rows whose sums begin at about the same entry go together.
            let mut order: [usize; BLOCK] = std::array::from_fn(|i| first + i);
            let order = &mut order[..end - first];
            order.sort_unstable_by_key(|n| (factor.start(*n), *n));
            let mut products = [[0.0; EIGHT]; BLOCK];
            for four in order.chunks(TOGETHER) {
                let start = factor.start(four[0]).min(first);
                let row = |i: usize| &factor.rows[four[i.min(four.len() - 1)]][start..first];
                let rows = [row(0), row(1), row(2), row(3)];
                let sums = row_products(rows, &self.z[start..]);
                for (n, sum) in four.iter().zip(sums) {
                    products[n - first] = sum;
                }
            }
            let covariances = self.covariances(factor, kernel, first..end);
            for (i, product) in products[..end - first].iter().enumerate() {
                self.append(factor, first + i, first, product, &covariances[i]);
            }
        }
    }

    /// k between the pairs of some rows and those of the columns, all at once; not for rows that repeat a pair.
    fn covariances(&self, factor: &Factor, kernel: &Kernel, rows: Range<usize>) -> [Eight; BLOCK] {
        let d = self.dimension;
        let mut all = [[0.0; EIGHT]; BLOCK];
        let mut places = [0; BLOCK];
        let mut fresh = 0;
        for n in rows.clone().filter(|n| factor.repeats[*n].is_none()) {
            let input = &factor.inputs[n * d..(n + 1) * d];
            for (square, phi) in all[fresh].iter_mut().zip(self.phi.chunks_exact(d)) {
                *square = kernel.distance_squared(input, phi);
            }
            places[fresh] = n - rows.start;
            fresh += 1;
        }
        covariances(kernel, all[..fresh].as_flattened_mut());
        // Backwards: each moves to its own or a later place.
        for i in (0..fresh).rev() {
            all[places[i]] = all[i];
        }
        all
    }

    /// Entry n, given the part of its sum before `first` and the covariance.
    fn append(&mut self, factor: &Factor, n: usize, first: usize, sum: &Eight, covariance: &Eight) {
        let row = &factor.rows[n];
        let rest = factor.repeats[n].map_or(*covariance, |m| {
            let diagonal = factor.rows[m][m];
            self.z[m].map(|z| diagonal * z)
        });
        let (mean, explained) = (&mut self.mean, &mut self.explained);
        let entry = new_entry(&self.z[first..], &row[first..], sum, &rest);
        let whitened = factor.whitened[n];
        for lane in 0..EIGHT {
            mean[lane] += entry[lane] * whitened;
            explained[lane] += entry[lane] * entry[lane];
        }
        self.z.push(entry);
    }
}

/// k of squared distances.
fn covariances(kernel: &Kernel, squares: &mut [f64]) {
    if kernel.is_squared_exponential() {
        squares.iter_mut().for_each(|square| *square *= -0.5);
        exps_of_negative(squares);
    } else {
        let k = |square: &mut f64| *square = kernel.of_distance_squared(*square);
        squares.iter_mut().for_each(k);
    }
}
