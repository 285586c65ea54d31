//! The network of the neural oracle: f(x; w) = sqrt(m) W_L relu(W_{L-1} ... relu(W_1 x)), gradients by reverse mode.
//!
//! The start is symmetric: units come in pairs with the same input weights and opposite output weights, and layers in
//! between connect the two halves only within themselves, so that f = 0 everywhere at the start.
//!
//! Inputs pass through it eight at a time, one per SIMD lane; a fit is hundreds of passes over all data.

use nalgebra::DMatrix;
use rand::RngExt;
use rand::rngs::ChaCha8Rng;
use rand_distr::StandardNormal;

use super::eights::{EIGHT, Eight, add_outer_products, mask, relu_layer, weighted_sum};
use super::inputs::DistinctInputs;

/// Blocks of eight inputs that pass through the network together.
const BLOCKS: usize = 16;

/// The shape of a network and its starting weights.
#[derive(Debug, Clone)]
pub(super) struct Network {
    inputs: usize,
    width: usize,
    /// Number of weight matrices L, at least 2.
    depth: usize,
    start: Vec<f64>,
}

impl Network {
    /// Draws a start: entries N(0, 4/m) in inner layers and N(0, 2/m) at the output, as Zhou et al. (2020) do.
    pub fn new(inputs: usize, width: usize, depth: usize, rng: &mut ChaCha8Rng) -> Self {
        let half = width / 2;
        let mut normal =
            |variance: f64| -> f64 { variance.sqrt() * rng.sample::<f64, _>(StandardNormal) };
        let m = width as f64;
        let mut start = Vec::new();
        // Matrices are stored column by column; a column holds one weight per unit of the next layer.
        for _ in 0..inputs {
            let column: Vec<f64> = (0..half).map(|_| normal(4.0 / m)).collect();
            start.extend([&column[..], &column[..]].concat());
        }
        for _ in 1..depth - 1 {
            let block = DMatrix::from_fn(half, half, |_, _| normal(4.0 / m));
            let mut layer = DMatrix::zeros(width, width);
            layer.view_mut((0, 0), (half, half)).copy_from(&block);
            layer.view_mut((half, half), (half, half)).copy_from(&block);
            start.extend_from_slice(layer.as_slice());
        }
        let last: Vec<f64> = (0..half).map(|_| normal(2.0 / m)).collect();
        start.extend_from_slice(&last);
        start.extend(last.iter().map(|w| -w));
        Self {
            inputs,
            width,
            depth,
            start,
        }
    }

    /// The starting weights.
    pub fn start(&self) -> &[f64] {
        &self.start
    }

    /// p, the number of weights.
    pub fn weights(&self) -> usize {
        self.start.len()
    }

    /// m.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Where layer `l` (from 0) starts among the weights, and the number of units it reads.
    fn layer(&self, l: usize) -> (usize, usize) {
        match l {
            0 => (0, self.inputs),
            _ => (
                self.width * (self.inputs + (l - 1) * self.width),
                self.width,
            ),
        }
    }

    /// The weights of layer `l` (from 0).
    fn weights_of<'w>(&self, weights: &'w [f64], l: usize) -> &'w [f64] {
        let (from, inputs) = self.layer(l);
        match l + 1 == self.depth {
            true => &weights[from..from + self.width],
            false => &weights[from..from + self.width * inputs],
        }
    }

    /// f of samples, eight to a block; leaves the activations of all inner layers in `pass`.
    fn forward(&self, weights: &[f64], x: &[Eight], pass: &mut Pass) {
        let width = self.width;
        let blocks = x.len() / self.inputs;
        let root = (width as f64).sqrt();
        for l in 0..self.depth - 1 {
            let (below, above) = pass.activations.split_at_mut(l);
            let (below, inputs) = match below.last() {
                Some(below) => (below.as_slice(), width),
                None => (x, self.inputs),
            };
            above[0].resize(blocks * width, [0.0; EIGHT]);
            let weights = self.weights_of(weights, l);
            for (below, above) in below
                .chunks_exact(inputs)
                .zip(above[0].chunks_exact_mut(width))
            {
                relu_layer(weights, below, above);
            }
        }
        let last = self.weights_of(weights, self.depth - 1);
        let top = pass.activations[self.depth - 2].chunks_exact(width);
        pass.values.clear();
        pass.values
            .extend(top.map(|top| weighted_sum(last, top).map(|sum| root * sum)));
    }

    /// Calls `add` for every layer with the place of its weights, the derivatives of its units (times `slopes`), its inputs
    /// and their number; `pass` is that of the samples.
    fn backward(
        &self,
        weights: &[f64],
        x: &[Eight],
        slopes: &[Eight],
        pass: &mut Pass,
        mut add: impl FnMut(usize, &[Eight], &[Eight], usize),
    ) {
        let width = self.width;
        let root = (width as f64).sqrt();
        let slopes: Vec<Eight> = slopes.iter().map(|s| s.map(|s| root * s)).collect();
        let (from, _) = self.layer(self.depth - 1);
        add(from, &pass.activations[self.depth - 2], &slopes, 1);
        let last = self.weights_of(weights, self.depth - 1);
        pass.change.clear();
        for slope in &slopes {
            let change = |w: &f64| std::array::from_fn(|lane| w * slope[lane]);
            pass.change.extend(last.iter().map(change));
        }
        for l in (0..self.depth - 1).rev() {
            mask(&mut pass.change, &pass.activations[l]);
            let (from, inputs) = self.layer(l);
            let below = match l {
                0 => x,
                _ => &pass.activations[l - 1],
            };
            add(from, &pass.change, below, inputs);
            if l > 0 {
                let columns = self.weights_of(weights, l);
                pass.below.clear();
                for change in pass.change.chunks_exact(width) {
                    let columns = columns.chunks_exact(width);
                    pass.below
                        .extend(columns.map(|column| weighted_sum(column, change)));
                }
                std::mem::swap(&mut pass.change, &mut pass.below);
            }
        }
    }

    /// f(x; w) of eight samples, and its gradients with respect to w.
    pub fn gradients(&self, weights: &[f64], x: &[Eight]) -> (Eight, Vec<Eight>) {
        let mut pass = Pass::new(self);
        self.forward(weights, x, &mut pass);
        let values = pass.values[0];
        let mut gradients = vec![[0.0; EIGHT]; self.weights()];
        let one = [[1.0; EIGHT]];
        self.backward(weights, x, &one, &mut pass, |from, units, below, _| {
            let products = below.iter().flat_map(|x| units.iter().map(move |u| (u, x)));
            for (gradient, (unit, x)) in gradients[from..].iter_mut().zip(products) {
                *gradient = std::array::from_fn(|lane| unit[lane] * x[lane]);
            }
        });
        (values, gradients)
    }

    /// f(x; w) of eight samples.
    pub fn values(&self, weights: &[f64], x: &[Eight]) -> Eight {
        let mut pass = Pass::new(self);
        self.forward(weights, x, &mut pass);
        pass.values[0]
    }

    /// The mean of (f(x_n) - y_n)^2 / 2 over the samples plus ridge/2 |w - start|^2, and its gradient.
    pub fn loss(&self, weights: &[f64], inputs: &DistinctInputs, ridge: f64) -> (f64, Vec<f64>) {
        let mut pass = Pass::new(self);
        let away = || weights.iter().zip(&self.start).map(|(w, start)| w - start);
        let mut loss = 0.5 * ridge * away().map(|away| away * away).sum::<f64>();
        let mut sums = vec![[0.0; EIGHT]; self.weights()];
        for (x, labels, counts) in inputs.batches(BLOCKS) {
            self.forward(weights, x, &mut pass);
            let labels = labels.iter().zip(counts);
            let slopes: Vec<Eight> = std::mem::take(&mut pass.values)
                .iter()
                .zip(labels)
                .map(|(values, (labels, counts))| {
                    std::array::from_fn(|lane| {
                        let share = counts[lane] / inputs.total;
                        let residual = values[lane] - labels[lane];
                        loss += 0.5 * share * residual * residual;
                        share * residual
                    })
                })
                .collect();
            let add = |from: usize, units: &[Eight], below: &[Eight], count: usize| {
                let sums = &mut sums[from..from + self.width * count];
                add_outer_products(units, self.width, below, count, sums);
            };
            self.backward(weights, x, &slopes, &mut pass, add);
        }
        let gradient = sums
            .iter()
            .zip(away())
            .map(|(sums, away)| sums.iter().sum::<f64>() + ridge * away);
        (loss, gradient.collect())
    }
}

/// Scratch space of a pass through the network, in blocks of eight.
#[derive(Debug)]
struct Pass {
    /// By inner layer.
    activations: Vec<Vec<Eight>>,
    /// f.
    values: Vec<Eight>,
    /// Derivatives with respect to the activations of the current layer, and of the one below.
    change: Vec<Eight>,
    below: Vec<Eight>,
}

impl Pass {
    fn new(network: &Network) -> Self {
        Self {
            activations: vec![Vec::new(); network.depth - 1],
            values: Vec::new(),
            change: Vec::new(),
            below: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::inputs::block_of;
    use rand::SeedableRng;

    fn network(depth: usize) -> (Network, Vec<f64>) {
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let network = Network::new(3, 6, depth, &mut rng);
        let shaken = network.start().iter();
        let shaken = shaken
            .map(|w| w + 0.2 * (rng.random::<f64>() - 0.5))
            .collect();
        (network, shaken)
    }

    fn value(network: &Network, weights: &[f64], x: [f64; 3]) -> f64 {
        network.values(weights, &block_of(&[x.to_vec()]))[0]
    }

    #[test]
    fn the_start_is_zero_everywhere_and_weights_count() {
        for (depth, weights) in [(2, 6 * 3 + 6), (3, 6 * 3 + 36 + 6), (4, 6 * 3 + 72 + 6)] {
            let (network, shaken) = network(depth);
            assert_eq!(network.weights(), weights);
            for x in [[1.0, 0.0, 0.0], [0.3, -0.4, 0.5], [-9.0, 2.0, 1e3]] {
                assert_eq!(value(&network, network.start(), x), 0.0);
                assert_ne!(value(&network, &shaken, x), 0.0);
            }
        }
    }

    /// The definition, one sample after another.
    #[test]
    fn values_by_hand() {
        for depth in [2, 3, 4] {
            let (network, weights) = network(depth);
            let x = [0.3, -0.4, 0.5];
            let mut below = x.to_vec();
            for l in 0..depth - 1 {
                let (from, inputs) = network.layer(l);
                let unit = |u: usize| {
                    let sum: f64 = (0..inputs)
                        .map(|i| weights[from + 6 * i + u] * below[i])
                        .sum();
                    sum.max(0.0)
                };
                below = (0..6).map(unit).collect();
            }
            let (last, _) = network.layer(depth - 1);
            let sum: f64 = (0..6).map(|u| weights[last + u] * below[u]).sum();
            let found = value(&network, &weights, x);
            approx::assert_abs_diff_eq!(found, 6f64.sqrt() * sum, epsilon = 1e-14);
        }
    }

    /// Central differences with step 1e-6; relu has no kink there for these weights.
    #[test]
    fn gradients_agree_with_finite_differences() {
        for depth in [2, 3, 4] {
            let (network, weights) = network(depth);
            let samples = [[0.3, -0.4, 0.5], [0.1, 0.9, -0.2], [0.7, 0.7, 0.1]];
            let lanes = block_of(&samples.map(|x| x.to_vec()));
            let (values, gradients) = network.gradients(&weights, &lanes);
            for (lane, x) in samples.into_iter().enumerate() {
                assert_eq!(values[lane], value(&network, &weights, x));
                for i in 0..network.weights() {
                    let moved = |by: f64| {
                        let mut weights = weights.clone();
                        weights[i] += by;
                        value(&network, &weights, x)
                    };
                    let slope = (moved(1e-6) - moved(-1e-6)) / 2e-6;
                    approx::assert_abs_diff_eq!(gradients[i][lane], slope, epsilon = 1e-7);
                }
            }
        }
    }

    /// Inputs repeat, and their number is no multiple of the lanes.
    #[test]
    fn the_loss_and_its_gradient_agree_with_the_definition_and_finite_differences() {
        let (network, weights) = network(3);
        let mut samples = DistinctInputs::new(3);
        let (mut plain, mut constant) = (0.0, 0.0);
        let count = 90;
        let x = |n: usize| [0, 1, 2].map(|i| ((i + 2 * (n % 37)) as f64 * 0.37).sin());
        let y = |n: usize| f64::from(u8::from(n % 5 < 2));
        for n in 0..count {
            samples.push(&x(n), y(n));
            plain += (value(&network, &weights, x(n)) - y(n)).powi(2) / (2.0 * count as f64);
            // What the labels of equal inputs differ from their mean by.
            let equal: Vec<f64> = (0..count).filter(|m| m % 37 == n % 37).map(y).collect();
            let mean = equal.iter().sum::<f64>() / equal.len() as f64;
            constant += (y(n) - mean).powi(2) / (2.0 * count as f64);
        }
        let loss = |weights: &[f64]| network.loss(weights, &samples, 0.3);
        let (found, gradient) = loss(&weights);
        let away = weights.iter().zip(network.start());
        let away: f64 = away.map(|(w, start)| (w - start).powi(2)).sum();
        approx::assert_abs_diff_eq!(found, plain - constant + 0.15 * away, epsilon = 1e-13);
        for i in (0..network.weights()).step_by(5) {
            let moved = |by: f64| {
                let mut weights = weights.clone();
                weights[i] += by;
                loss(&weights).0
            };
            let slope = (moved(1e-6) - moved(-1e-6)) / 2e-6;
            approx::assert_abs_diff_eq!(gradient[i], slope, epsilon = 1e-6);
        }
    }
}
