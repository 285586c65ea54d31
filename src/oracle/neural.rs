//! The oracle for contextual neural bandits (Appendix A.2.6; NeuralUCB, Zhou et al. 2020):
//!
//! ```text
//! bounds   f(x; w) +- gamma sqrt( g(x; w)' Z^-1 g(x; w) / m ),   g = df/dw
//! Z        lambda I + sum_n g(x_n; w) g(x_n; w)' / m,  or its diagonal
//! w        minimises  sum_n (f(x_n; w) - Y_n)^2 / 2 + m lambda |w - w_0|^2 / 2,  by gradient steps from w_0
//! x        (phi_i / max |phi_i|, 1) scaled to norm 1
//! ```
//!
//! m is the width. The gradient of an observation enters Z at the weights in force when it was taken in. The theory's
//! gamma needs constants that nobody knows: gamma is a practical radius. Steps are Nesterov's, restarted where they
//! point uphill; the constant in x keeps apart phi that differ in length only. Nearly all the time goes into the gradient
//! steps: `steps` passes over the distinct inputs, back and forth, at every fit.

use std::ops::Range;

use nalgebra::{Cholesky, DMatrix, DVector, Dyn};
use rand::rngs::ChaCha8Rng;

use super::lanes::{LANES, Lanes, solve_lower};
use super::network::Network;
use super::replay::{Fits, replay};
use super::samples::{Samples, side_by_side};
use super::{Bounds, Diagnosis, LabeledData, Oracle};
use crate::dp::ContextSample;
use crate::error::Invalid;
use crate::task::{Context, Task};

/// Parameters of the oracle: numbers positive, the width even, the depth at least 2.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NeuralParameters {
    /// m, units per layer.
    pub width: usize,
    /// L, matrices of weights.
    pub depth: usize,
    /// Weight of the penalty.
    pub lambda: f64,
    /// Multiplies the norm.
    pub gamma: f64,
    /// Gradient steps of a fit.
    pub steps: usize,
    /// Length of a step, as a share of the longest that is safe at the start.
    pub step_size: f64,
    /// Whether Z is kept whole or as its diagonal.
    pub full: bool,
    /// Multiplies the radius.
    pub radius_scale: f64,
}

impl Default for NeuralParameters {
    fn default() -> Self {
        Self {
            width: 32,
            depth: 2,
            lambda: 0.1,
            gamma: 0.5,
            steps: 200,
            step_size: 1.0,
            full: true,
            radius_scale: 1.0,
        }
    }
}

/// Z, whole or as its diagonal.
#[derive(Debug, Clone)]
enum Precision {
    Full {
        factor: Cholesky<f64, Dyn>,
        /// The rows of the factor, up to their diagonals.
        rows: Vec<Vec<f64>>,
    },
    Diagonal(Vec<f64>),
}

impl Precision {
    fn new(full: bool, weights: usize, lambda: f64) -> Self {
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
    fn add(&mut self, gradients: &[Lanes], lane: usize, m: f64) {
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

    /// To be called once all is added.
    fn update_rows(&mut self) {
        if let Self::Full { factor, rows } = self {
            let l = factor.l_dirty();
            *rows = (0..l.nrows())
                .map(|i| l.row(i).iter().take(i + 1).copied().collect())
                .collect();
        }
    }

    /// g' Z^-1 g of eight gradients.
    fn norms_squared(&self, g: &mut [Lanes]) -> Lanes {
        let mut sums = [0.0; LANES];
        match self {
            Self::Full { rows, .. } => {
                solve_lower(rows, g);
                for g in g {
                    for lane in 0..LANES {
                        sums[lane] += g[lane] * g[lane];
                    }
                }
            }
            Self::Diagonal(z) => {
                for (g, z) in g.iter().zip(z) {
                    for lane in 0..LANES {
                        sums[lane] += g[lane] * g[lane] / z;
                    }
                }
            }
        }
        sums
    }
}

/// The trained network and the data it has taken in.
#[derive(Debug, Clone)]
pub struct Neural {
    parameters: NeuralParameters,
    action_values: Vec<f64>,
    /// 1 / max |phi_i|.
    scale: Vec<f64>,
    network: Network,
    weights: Vec<f64>,
    precision: Precision,
    samples: Samples,
    observations: usize,
    /// The largest |g|^2 of the data at the start, which bounds the curvature there.
    curvature: f64,
    fits: Fits,
}

impl Neural {
    /// An oracle for the actions and features of a task; `start` draws w_0.
    pub fn new(task: &Task, parameters: NeuralParameters, mut start: ChaCha8Rng) -> Self {
        let scale: Vec<f64> = task
            .phi_sizes()
            .iter()
            .map(|size| if *size > 0.0 { 1.0 / size } else { 0.0 })
            .collect();
        let NeuralParameters { width, depth, .. } = parameters;
        let network = Network::new(scale.len() + 1, width, depth, &mut start);
        let NeuralParameters { full, lambda, .. } = parameters;
        let precision = Precision::new(full, network.weights(), lambda);
        Self {
            parameters,
            action_values: task.application().action_values().to_vec(),
            samples: Samples::new(scale.len() + 1),
            scale,
            weights: network.start().to_vec(),
            network,
            precision,
            observations: 0,
            curvature: 0.0,
            fits: Fits::default(),
        }
    }

    /// x of a pair.
    fn input(&self, features: &[f64], action_value: f64) -> Vec<f64> {
        let phi = features.iter().chain(std::iter::once(&action_value));
        let mut x: Vec<f64> = phi.zip(&self.scale).map(|(phi, s)| phi * s).collect();
        x.push(1.0);
        let norm = x.iter().map(|x| x * x).sum::<f64>().sqrt();
        x.iter_mut().for_each(|x| *x /= norm);
        x
    }

    /// Gradient steps from w_0 on all data; begun anew with half the length where they do not lower the loss.
    fn train(&self) -> Vec<f64> {
        let ridge = self.network.width() as f64 * self.parameters.lambda / self.samples.total;
        let loss_of = |weights: &[f64]| self.network.loss(weights, &self.samples, ridge).0;
        let start = self.network.start();
        let loss_at_start = loss_of(start);
        let mut length = self.parameters.step_size / (self.curvature + ridge);
        for _ in 0..60 {
            let weights = self.descend(ridge, length);
            if loss_of(&weights) <= loss_at_start {
                return weights;
            }
            length *= 0.5;
        }
        start.to_vec()
    }

    fn descend(&self, ridge: f64, length: f64) -> Vec<f64> {
        let mut weights = self.network.start().to_vec();
        let mut ahead = weights.clone();
        let mut moves = 0.0;
        for _ in 0..self.parameters.steps {
            let (_, gradient) = self.network.loss(&ahead, &self.samples, ridge);
            let uphill: f64 = (0..weights.len())
                .map(|i| gradient[i] * (ahead[i] - length * gradient[i] - weights[i]))
                .sum();
            moves = if uphill > 0.0 { 0.0 } else { moves + 1.0 };
            let momentum = moves / (moves + 3.0);
            for ((weight, ahead), slope) in weights.iter_mut().zip(&mut ahead).zip(&gradient) {
                let next = *ahead - length * slope;
                *ahead = next + momentum * (next - *weight);
                *weight = next;
            }
        }
        weights
    }

    /// Calls `see` with the number of every pair (contexts one after another, their actions together), f and the norm of
    /// its gradient.
    fn for_each_pair<'c>(
        &self,
        contexts: impl Iterator<Item = &'c [f64]>,
        mut see: impl FnMut(usize, f64, f64),
    ) {
        let m = self.network.width() as f64;
        let pair = |features: &'c [f64]| {
            let values = self.action_values.iter();
            values.map(move |value| self.input(features, *value))
        };
        let mut pairs = contexts.flat_map(pair);
        for first in (0..).step_by(LANES) {
            let eight: Vec<Vec<f64>> = pairs.by_ref().take(LANES).collect();
            if eight.is_empty() {
                return;
            }
            let (values, mut gradients) =
                self.network.gradients(&self.weights, &side_by_side(&eight));
            let norms = self.precision.norms_squared(&mut gradients);
            for lane in 0..eight.len() {
                see(first + lane, values[lane], (norms[lane] / m).sqrt());
            }
        }
    }

    /// The factor on the norm.
    fn radius(&self) -> f64 {
        self.parameters.radius_scale * self.parameters.gamma
    }
}

impl Oracle for Neural {
    fn fit(&mut self, data: &LabeledData, _delta: f64) {
        self.fits.push(data.len(), 0);
        let m = self.network.width() as f64;
        let new: Vec<(Vec<f64>, bool)> = data
            .since(self.observations)
            .map(|observation| {
                let value = self.action_values[observation.action - 1];
                let x = self.input(observation.features, value);
                (x, observation.converted)
            })
            .collect();
        for eight in new.chunks(LANES) {
            let inputs: Vec<Vec<f64>> = eight.iter().map(|(x, _)| x.clone()).collect();
            let lanes = side_by_side(&inputs);
            let (_, at_start) = self.network.gradients(self.network.start(), &lanes);
            let (_, gradients) = self.network.gradients(&self.weights, &lanes);
            for (lane, (x, converted)) in eight.iter().enumerate() {
                let norm = at_start.iter().map(|g| g[lane] * g[lane]).sum::<f64>();
                self.curvature = self.curvature.max(norm);
                self.precision.add(&gradients, lane, m);
                self.samples.push(x, f64::from(u8::from(*converted)));
            }
        }
        self.observations = data.len();
        self.precision.update_rows();
        if !data.is_empty() {
            self.weights = self.train();
        }
    }

    fn save(&self) -> Vec<f64> {
        self.fits.saved()
    }

    fn restore(&mut self, data: &LabeledData, delta: f64, saved: &[f64]) -> Result<(), Invalid> {
        replay(self, data, delta, saved)
    }

    fn bounds(&self, context: &Context, out: &mut [Bounds]) {
        if self.observations == 0 {
            return out.fill(Bounds::UNKNOWN);
        }
        let radius = self.radius();
        self.for_each_pair(std::iter::once(context.features), |pair, center, norm| {
            out[pair] = Bounds::around(center, radius * norm);
        });
    }

    fn bulk_bounds(
        &self,
        sample: &ContextSample,
        entries: Range<usize>,
        ucb: &mut [f64],
        lcb: &mut [f64],
    ) {
        if self.observations == 0 {
            ucb.fill(Bounds::UNKNOWN.ucb);
            return lcb.fill(Bounds::UNKNOWN.lcb);
        }
        let radius = self.radius();
        let features = sample.features_of(entries);
        let contexts = features.chunks_exact(self.scale.len() - 1);
        self.for_each_pair(contexts, |pair, center, norm| {
            let bounds = Bounds::around(center, radius * norm);
            (ucb[pair], lcb[pair]) = (bounds.ucb, bounds.lcb);
        });
    }

    fn estimate(&self, context: &Context, out: &mut [f64]) {
        if self.observations == 0 {
            return out.fill(0.5);
        }
        let pairs = out.chunks_mut(LANES).zip(self.action_values.chunks(LANES));
        for (out, values) in pairs {
            let inputs: Vec<Vec<f64>> = values
                .iter()
                .map(|value| self.input(context.features, *value))
                .collect();
            let values = self.network.values(&self.weights, &side_by_side(&inputs));
            for (estimate, value) in out.iter_mut().zip(values) {
                *estimate = value.clamp(0.0, 1.0);
            }
        }
    }

    fn diagnosis(&self) -> Diagnosis {
        Diagnosis::of(self.observations)
    }
}
