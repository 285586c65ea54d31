//! The oracle for contextual neural bandits (Appendix A.2.6; NeuralUCB, Zhou et al. 2020):
//!
//! ```text
//! bounds   f(x; w) +- gamma sqrt( g(x; w)' Z^-1 g(x; w) / m ),   g = df/dw
//! Z        lambda I + sum_n g(x_n; w) g(x_n; w)' / m,  or its diagonal
//! w        minimises  sum_n (f(x_n; w) - Y_n)^2 / 2 + m lambda |w - w_0|^2 / 2,  by gradient steps from w_0
//! x        (phi_i / max |phi_i|, 1) scaled to norm 1
//! ```
//!
//! m is the width. The gradient of an observation enters Z at the weights of the fit before it. The theory's gamma needs
//! unknown constants: gamma is a practical radius. Steps are Nesterov's, restarted if they point uphill; the constant in x
//! distinguishes phi that differ in length only. Nearly all the time goes into the gradient steps: `steps` passes over the
//! distinct inputs, forward and backward, at every fit.

use rand::rngs::ChaCha8Rng;

use super::bulk::fill_unknown;
use super::config::{Build, Parameters, Profile};
use super::eights::EIGHT;
use super::fit_log::FitLog;
use super::inputs::{DistinctInputs, block_of};
use super::network::Network;
use super::precision::Precision;
use super::{Belief, Beside, Bounds, BulkBounds, Diagnosis, LabeledData, Oracle, Pairs};
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
    /// Whether Z is stored in full or as its diagonal.
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

/// The largest number of weights with a full Z: 32 MiB.
const FULL_LIMIT: usize = 2048;

impl Parameters for NeuralParameters {
    fn profile(&self) -> Profile {
        Profile {
            kind: "neural",
            bounds: "paper",
            numbers: vec![
                ("lambda", Some(self.lambda), 0.0),
                ("gamma", Some(self.gamma), 0.0),
                ("step_size", Some(self.step_size), 0.0),
                ("radius_scale", Some(self.radius_scale), 0.0),
            ],
            ..Profile::default()
        }
    }

    fn check(&self, field: &str, task: &Task) -> Result<(), Invalid> {
        if self.step_size > 100.0 {
            let field = format!("{field}.step_size");
            return Err(Invalid::new(field, self.step_size, "at most 100"));
        }
        if self.width == 0 || self.width % 2 == 1 {
            let accepted = "an even number from 2, because units come in pairs";
            return Err(Invalid::new(format!("{field}.width"), self.width, accepted));
        }
        let inputs = task.phi_dimension() + 1;
        let weights = self.width * (inputs + (self.depth - 2) * self.width + 1);
        if self.full && weights > FULL_LIMIT {
            return Err(Invalid::new(
                format!("{field}.full"),
                format!("true with {weights} weights"),
                format!("false (a diagonal Z), or a network of at most {FULL_LIMIT} weights"),
            ));
        }
        Ok(())
    }

    fn build(&self, request: Build) -> Result<Box<dyn Oracle>, Invalid> {
        Ok(Box::new(Neural::new(request.task, *self, request.start)))
    }
}

/// The trained network and its data.
#[derive(Debug, Clone)]
pub struct Neural {
    parameters: NeuralParameters,
    action_values: Vec<f64>,
    /// 1 / max |phi_i|.
    scale: Vec<f64>,
    network: Network,
    weights: Vec<f64>,
    precision: Precision,
    inputs: DistinctInputs,
    observations: usize,
    /// The largest |g|^2 of the data at the start, which bounds the curvature there.
    curvature: f64,
    fits: FitLog,
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
            inputs: DistinctInputs::new(scale.len() + 1),
            scale,
            weights: network.start().to_vec(),
            network,
            precision,
            observations: 0,
            curvature: 0.0,
            fits: FitLog::default(),
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

    /// Gradient steps from w_0 on all data; repeated with half the length if they do not lower the loss.
    fn train(&self) -> Vec<f64> {
        let ridge = self.network.width() as f64 * self.parameters.lambda / self.inputs.total;
        let loss_of = |weights: &[f64]| self.network.loss(weights, &self.inputs, ridge).0;
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
            let (_, gradient) = self.network.loss(&ahead, &self.inputs, ridge);
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

    /// Calls `see` with the number of every pair (the actions of a context together), f and the norm of its gradient.
    fn for_each_pair<'c>(
        &self,
        contexts: impl Iterator<Item = &'c [f64]>,
        action_values: &[f64],
        mut see: impl FnMut(usize, f64, f64),
    ) {
        let m = self.network.width() as f64;
        let pair = |features: &'c [f64]| {
            let values = action_values.iter();
            values.map(move |value| self.input(features, *value))
        };
        let mut pairs = contexts.flat_map(pair);
        for first in (0..).step_by(EIGHT) {
            let eight: Vec<Vec<f64>> = pairs.by_ref().take(EIGHT).collect();
            if eight.is_empty() {
                return;
            }
            let (values, mut gradients) = self.network.gradients(&self.weights, &block_of(&eight));
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
        for eight in new.chunks(EIGHT) {
            let inputs: Vec<Vec<f64>> = eight.iter().map(|(x, _)| x.clone()).collect();
            let lanes = block_of(&inputs);
            let (_, at_start) = self.network.gradients(self.network.start(), &lanes);
            let (_, gradients) = self.network.gradients(&self.weights, &lanes);
            for (lane, (x, converted)) in eight.iter().enumerate() {
                let norm = at_start.iter().map(|g| g[lane] * g[lane]).sum::<f64>();
                self.curvature = self.curvature.max(norm);
                self.precision.add(&gradients, lane, m);
                self.inputs.push(x, f64::from(u8::from(*converted)));
            }
        }
        self.observations = data.len();
        self.precision.update_rows();
        if !data.is_empty() {
            self.weights = self.train();
        }
    }

    fn bounds(&self, context: &Context, out: &mut [Bounds]) {
        let mut beliefs = vec![Belief::UNKNOWN; out.len()];
        self.beliefs(context, &mut beliefs);
        for (bounds, belief) in out.iter_mut().zip(beliefs) {
            *bounds = belief.bounds;
        }
    }

    fn estimate(&self, context: &Context, out: &mut [f64]) {
        if self.observations == 0 {
            return out.fill(0.5);
        }
        let pairs = out.chunks_mut(EIGHT).zip(self.action_values.chunks(EIGHT));
        for (out, values) in pairs {
            let inputs: Vec<Vec<f64>> = values
                .iter()
                .map(|value| self.input(context.features, *value))
                .collect();
            let values = self.network.values(&self.weights, &block_of(&inputs));
            for (estimate, value) in out.iter_mut().zip(values) {
                *estimate = value.clamp(0.0, 1.0);
            }
        }
    }

    fn beliefs(&self, context: &Context, out: &mut [Belief]) {
        if self.observations == 0 {
            return out.fill(Belief::UNKNOWN);
        }
        let radius = self.radius();
        let context = std::iter::once(context.features);
        self.for_each_pair(context, &self.action_values, |i, center, norm| {
            out[i] = Belief::new(
                center.clamp(0.0, 1.0),
                Bounds::around(center, radius * norm),
            );
        });
    }

    fn each_observed(&self, _: &Task, _: &LabeledData, see: &mut dyn FnMut(f64, f64, f64)) {
        let (radius, m) = (self.radius(), self.network.width() as f64);
        for (x, _, counts) in self.inputs.batches(1) {
            let (values, mut gradients) = self.network.gradients(&self.weights, x);
            let norms = self.precision.norms_squared(&mut gradients);
            for (lane, count) in counts[0].iter().enumerate().filter(|(_, n)| **n > 0.0) {
                let upper = values[lane] + radius * (norms[lane] / m).sqrt();
                see(*count, values[lane].clamp(0.0, 1.0), upper.clamp(0.0, 1.0));
            }
        }
    }

    fn bulk(&self) -> Option<&dyn BulkBounds> {
        Some(self)
    }

    fn save(&self) -> Vec<f64> {
        self.fits.save()
    }

    fn restore(&mut self, data: &LabeledData, delta: f64, saved: &[f64]) -> Result<(), Invalid> {
        for fit in FitLog::read(saved, data.len(), 0)? {
            self.fit(&data.first(fit.observations), delta);
        }
        Ok(())
    }

    fn diagnosis(&self) -> Diagnosis {
        Diagnosis::of(self.observations)
    }
}

impl BulkBounds for Neural {
    fn fill(&self, pairs: &Pairs, ucb: &mut [f64], lcb: &mut [f64]) {
        if self.observations == 0 {
            return fill_unknown(pairs, ucb, lcb);
        }
        let radius = self.radius();
        let features = pairs.sample.features_of(pairs.entries.clone());
        let contexts = features.chunks_exact(self.scale.len() - 1);
        let values = &self.action_values[pairs.actions.clone()];
        self.for_each_pair(contexts, values, |i, center, norm| {
            let bounds = Bounds::around(center, radius * norm);
            let place = pairs.place(i / values.len(), i % values.len());
            ucb[place] = bounds.ucb;
            lcb[place] = match pairs.beside {
                Beside::Lcb => bounds.lcb,
                Beside::Estimate => center.clamp(0.0, 1.0),
            };
        });
    }
}
