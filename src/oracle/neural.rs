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
//! point uphill; the constant in x keeps apart phi that differ in length only.

use nalgebra::{Cholesky, DMatrix, DMatrixView, DVector, Dyn};
use rand::rngs::ChaCha8Rng;

use super::network::Network;
use super::replay::{FitSizes, replay};
use super::{Bounds, Diagnosis, LabeledData, Oracle};
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
    Full(Cholesky<f64, Dyn>),
    Diagonal(DVector<f64>),
}

impl Precision {
    /// Z += g g' / m.
    fn add(&mut self, g: &DVector<f64>, m: f64) {
        match self {
            Self::Full(factor) => factor.rank_one_update(g, 1.0 / m),
            Self::Diagonal(z) => z.zip_apply(g, |z, g| *z += g * g / m),
        }
    }

    /// g' Z^-1 g.
    fn norm_squared(&self, g: &mut DVector<f64>) -> f64 {
        match self {
            Self::Full(factor) => {
                factor.l_dirty().solve_lower_triangular_unchecked_mut(g);
                g.norm_squared()
            }
            Self::Diagonal(z) => g.iter().zip(z.iter()).map(|(g, z)| g * g / z).sum(),
        }
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
    weights: DVector<f64>,
    precision: Precision,
    /// x_1, ..., x_N, flat.
    inputs: Vec<f64>,
    labels: Vec<f64>,
    /// The largest |g|^2 of the data at the start, which bounds the curvature there.
    curvature: f64,
    fits: FitSizes,
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
        let p = network.weights();
        let precision = if parameters.full {
            let ridge = DMatrix::from_diagonal_element(p, p, parameters.lambda);
            Precision::Full(Cholesky::new_unchecked(ridge))
        } else {
            Precision::Diagonal(DVector::from_element(p, parameters.lambda))
        };
        Self {
            parameters,
            action_values: task.application().action_values().to_vec(),
            scale,
            weights: network.start().clone(),
            network,
            precision,
            inputs: Vec::new(),
            labels: Vec::new(),
            curvature: 0.0,
            fits: FitSizes::default(),
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
    fn train(&self) -> DVector<f64> {
        let n = self.labels.len();
        let x = DMatrixView::from_slice(&self.inputs, self.scale.len() + 1, n);
        let y = DVector::from_column_slice(&self.labels);
        let ridge = self.network.width() as f64 * self.parameters.lambda / n as f64;
        let start = self.network.start();
        let (loss_at_start, _) = self.network.loss(start, x, &y, ridge);
        let mut length = self.parameters.step_size / (self.curvature + ridge);
        for _ in 0..60 {
            let weights = self.descend(x, &y, ridge, length);
            let (loss, _) = self.network.loss(&weights, x, &y, ridge);
            if loss <= loss_at_start {
                return weights;
            }
            length *= 0.5;
        }
        start.clone()
    }

    fn descend(
        &self,
        x: DMatrixView<f64>,
        y: &DVector<f64>,
        ridge: f64,
        length: f64,
    ) -> DVector<f64> {
        let mut weights = self.network.start().clone();
        let mut ahead = weights.clone();
        let mut moves = 0.0;
        for _ in 0..self.parameters.steps {
            let (_, gradient) = self.network.loss(&ahead, x, y, ridge);
            let next = &ahead - length * &gradient;
            let way = &next - &weights;
            moves = if gradient.dot(&way) > 0.0 {
                0.0
            } else {
                moves + 1.0
            };
            ahead = &next + moves / (moves + 3.0) * way;
            weights = next;
        }
        weights
    }
}

impl Oracle for Neural {
    fn fit(&mut self, data: &LabeledData, _delta: f64) {
        self.fits.push(data.len());
        let m = self.network.width() as f64;
        for observation in data.since(self.labels.len()) {
            let value = self.action_values[observation.action - 1];
            let x = self.input(observation.features, value);
            let (_, at_start) = self.network.gradient(self.network.start(), &x);
            self.curvature = self.curvature.max(at_start.norm_squared());
            let (_, gradient) = self.network.gradient(&self.weights, &x);
            self.precision.add(&gradient, m);
            self.inputs.extend(x);
            self.labels.push(f64::from(u8::from(observation.converted)));
        }
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
        if self.labels.is_empty() {
            return out.fill(Bounds::UNKNOWN);
        }
        let NeuralParameters {
            gamma,
            radius_scale,
            ..
        } = self.parameters;
        let m = self.network.width() as f64;
        for (bounds, &value) in out.iter_mut().zip(&self.action_values) {
            let x = self.input(context.features, value);
            let (center, mut gradient) = self.network.gradient(&self.weights, &x);
            let norm = (self.precision.norm_squared(&mut gradient) / m).sqrt();
            *bounds = Bounds::around(center, radius_scale * gamma * norm);
        }
    }

    fn estimate(&self, context: &Context, out: &mut [f64]) {
        if self.labels.is_empty() {
            return out.fill(0.5);
        }
        for (estimate, &value) in out.iter_mut().zip(&self.action_values) {
            let x = self.input(context.features, value);
            *estimate = self.network.value(&self.weights, &x).clamp(0.0, 1.0);
        }
    }

    fn diagnosis(&self) -> Diagnosis {
        Diagnosis::of(self.labels.len())
    }
}
