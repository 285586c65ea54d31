//! The network of the neural oracle: f(x; w) = sqrt(m) W_L relu(W_{L-1} ... relu(W_1 x)), gradients by reverse mode.
//!
//! The start is symmetric: units come in pairs with the same input weights and opposite output weights, and layers in
//! between connect the two halves only within themselves, so that f = 0 everywhere at the start.

use nalgebra::{DMatrix, DMatrixView, DVector};
use rand::RngExt;
use rand::rngs::ChaCha8Rng;
use rand_distr::StandardNormal;

/// Samples that pass through the network together.
const BATCH: usize = 256;

/// The shape of a network and its starting weights.
#[derive(Debug, Clone)]
pub(super) struct Network {
    inputs: usize,
    width: usize,
    /// Number of weight matrices L, at least 2.
    depth: usize,
    start: DVector<f64>,
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
            start: DVector::from_vec(start),
        }
    }

    /// The starting weights.
    pub fn start(&self) -> &DVector<f64> {
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

    /// The matrix of inner layer `l` (from 0).
    fn matrix<'w>(&self, weights: &'w DVector<f64>, l: usize) -> DMatrixView<'w, f64> {
        let (from, inputs) = self.layer(l);
        let end = from + self.width * inputs;
        DMatrixView::from_slice(&weights.as_slice()[from..end], self.width, inputs)
    }

    /// The activations of all inner layers, one column per sample.
    fn forward(&self, weights: &DVector<f64>, x: DMatrixView<f64>) -> Vec<DMatrix<f64>> {
        let mut activations: Vec<DMatrix<f64>> = Vec::with_capacity(self.depth - 1);
        for l in 0..self.depth - 1 {
            let matrix = self.matrix(weights, l);
            let mut next = match activations.last() {
                Some(below) => matrix * below,
                None => matrix * x,
            };
            next.apply(|a| *a = a.max(0.0));
            activations.push(next);
        }
        activations
    }

    /// f of the samples whose last activations are `top`.
    fn output(&self, weights: &DVector<f64>, top: &DMatrix<f64>) -> DVector<f64> {
        let last = weights.rows(self.layer(self.depth - 1).0, self.width);
        (self.width as f64).sqrt() * top.tr_mul(&last)
    }

    /// f(x; w) of one sample.
    pub fn value(&self, weights: &DVector<f64>, x: &[f64]) -> f64 {
        let activations = self.forward(weights, DMatrixView::from_slice(x, self.inputs, 1));
        self.output(weights, &activations[self.depth - 2])[0]
    }

    /// Adds sum_n slope_n * df(x_n)/dw to `gradient`, where `activations` are those of the samples.
    fn backward(
        &self,
        weights: &DVector<f64>,
        x: DMatrixView<f64>,
        activations: &[DMatrix<f64>],
        slopes: &DVector<f64>,
        gradient: &mut DVector<f64>,
    ) {
        let root = (self.width as f64).sqrt();
        let (last, _) = self.layer(self.depth - 1);
        let top = &activations[self.depth - 2];
        gradient
            .rows_mut(last, self.width)
            .gemv(root, top, slopes, 1.0);
        // How the sum changes with the activations of the layer at hand.
        let mut change = root * weights.rows(last, self.width) * slopes.transpose();
        for l in (0..self.depth - 1).rev() {
            change.zip_apply(&activations[l], |c, a| {
                if a <= 0.0 {
                    *c = 0.0;
                }
            });
            let (from, inputs) = self.layer(l);
            let below = match l {
                0 => x,
                _ => activations[l - 1].as_view(),
            };
            let product = &change * below.transpose();
            let mut part = gradient.rows_mut(from, self.width * inputs);
            part.zip_apply(&DVector::from_column_slice(product.as_slice()), |g, p| {
                *g += p;
            });
            if l > 0 {
                change = self.matrix(weights, l).tr_mul(&change);
            }
        }
    }

    /// f(x; w) and its gradient with respect to w.
    pub fn gradient(&self, weights: &DVector<f64>, x: &[f64]) -> (f64, DVector<f64>) {
        let x = DMatrixView::from_slice(x, self.inputs, 1);
        let activations = self.forward(weights, x);
        let value = self.output(weights, &activations[self.depth - 2])[0];
        let mut gradient = DVector::zeros(self.weights());
        let one = DVector::from_element(1, 1.0);
        self.backward(weights, x, &activations, &one, &mut gradient);
        (value, gradient)
    }

    /// The mean of (f(x_n) - y_n)^2 / 2 over the samples (columns of `x`) plus ridge/2 |w - start|^2, and its gradient.
    pub fn loss(
        &self,
        weights: &DVector<f64>,
        x: DMatrixView<f64>,
        y: &DVector<f64>,
        ridge: f64,
    ) -> (f64, DVector<f64>) {
        let n = y.len();
        let away = weights - &self.start;
        let mut loss = 0.5 * ridge * away.norm_squared();
        let mut gradient = ridge * away;
        for from in (0..n).step_by(BATCH) {
            let count = BATCH.min(n - from);
            let x = x.columns(from, count);
            let activations = self.forward(weights, x.as_view());
            let residuals =
                self.output(weights, &activations[self.depth - 2]) - y.rows(from, count);
            loss += 0.5 * residuals.norm_squared() / n as f64;
            let slopes = residuals / n as f64;
            self.backward(weights, x.as_view(), &activations, &slopes, &mut gradient);
        }
        (loss, gradient)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    fn network(depth: usize) -> (Network, DVector<f64>) {
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let network = Network::new(3, 6, depth, &mut rng);
        let shake = DVector::from_fn(network.weights(), |_, _| 0.2 * (rng.random::<f64>() - 0.5));
        let weights = network.start() + shake;
        (network, weights)
    }

    #[test]
    fn the_start_is_zero_everywhere_and_weights_count() {
        for (depth, weights) in [(2, 6 * 3 + 6), (3, 6 * 3 + 36 + 6), (4, 6 * 3 + 72 + 6)] {
            let (network, shaken) = network(depth);
            assert_eq!(network.weights(), weights);
            for x in [[1.0, 0.0, 0.0], [0.3, -0.4, 0.5], [-9.0, 2.0, 1e3]] {
                assert_eq!(network.value(network.start(), &x), 0.0);
                assert_ne!(network.value(&shaken, &x), 0.0);
            }
        }
    }

    /// Central differences with step 1e-6; relu has no kink there for these weights.
    #[test]
    fn gradients_agree_with_finite_differences() {
        for depth in [2, 3, 4] {
            let (network, weights) = network(depth);
            let x = [0.3, -0.4, 0.5];
            let (value, gradient) = network.gradient(&weights, &x);
            assert_eq!(value, network.value(&weights, &x));
            for i in 0..network.weights() {
                let moved = |by: f64| {
                    let mut weights = weights.clone();
                    weights[i] += by;
                    network.value(&weights, &x)
                };
                let slope = (moved(1e-6) - moved(-1e-6)) / 2e-6;
                approx::assert_abs_diff_eq!(gradient[i], slope, epsilon = 1e-7);
            }
        }
    }

    #[test]
    fn the_gradient_of_the_loss_agrees_with_finite_differences() {
        let (network, weights) = network(3);
        // More samples than pass through together.
        let count = BATCH + 40;
        let x = DMatrix::from_fn(3, count, |i, n| ((i + 2 * n) as f64 * 0.37).sin());
        let y = DVector::from_fn(count, |n, _| f64::from(u8::from(n % 3 == 0)));
        let loss = |weights: &DVector<f64>| network.loss(weights, x.as_view(), &y, 0.3);
        let (_, gradient) = loss(&weights);
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
