//! The probability of each offer given features and step: a multinomial regression, fitted by minorisation (Böhning 1992),
//! which uses one Cholesky factor for all iterations.

use nalgebra::{Cholesky, DMatrix};

use crate::history::fit::OfferData;

/// Maximum iterations; they stop at convergence.
const MAX_ITERATIONS: usize = 500;

/// Ridge penalty of all coefficients except the constants.
const RIDGE: f64 = 1.0;

/// Lower limit of probabilities, so no offer has a weight above 1000.
const MIN_PROBABILITY: f64 = 1e-3;

/// Maximum number of offers in the regression.
const MAX_OFFERS: usize = 50_000;

/// The probability of the offered action, for every offer.
pub fn of_offers(data: &OfferData) -> Vec<f64> {
    let first = usize::from(data.has_constant);
    let width = data.dimension - first + 3;
    let steps = f64::from(data.steps.iter().copied().max().unwrap_or(0).max(1));
    let row = |i: usize, out: &mut Vec<f64>| {
        let time = f64::from(data.steps[i]) / steps - 0.5;
        out.clear();
        out.extend([1.0, time, time * time]);
        out.extend_from_slice(&data.theta(i)[first..]);
    };
    let k = data.action_count();
    let stride = data.len().div_ceil(MAX_OFFERS).max(1);
    let used: Vec<usize> = (0..data.len()).step_by(stride).collect();
    let mut rows = Vec::with_capacity(used.len() * width);
    let mut buffer = Vec::new();
    for &i in &used {
        row(i, &mut buffer);
        rows.extend_from_slice(&buffer);
    }
    let labels: Vec<usize> = used.iter().map(|&i| data.actions[i] as usize - 1).collect();
    let beta = multinomial(&rows, width, &labels, k);
    let mut found = vec![0.0; k];
    (0..data.len())
        .map(|i| {
            row(i, &mut buffer);
            softmax(&beta, &buffer, &mut found);
            found[data.actions[i] as usize - 1].max(MIN_PROBABILITY)
        })
        .collect()
}

/// The `width` coefficients of each class that maximise the penalised likelihood.
pub fn multinomial(rows: &[f64], width: usize, labels: &[usize], classes: usize) -> Vec<f64> {
    let mut gram = DMatrix::<f64>::zeros(width, width);
    for x in rows.chunks_exact(width) {
        for i in 0..width {
            for j in 0..width {
                gram[(i, j)] += 0.5 * x[i] * x[j];
            }
        }
    }
    for i in 0..width {
        gram[(i, i)] += if i == 0 { 1e-9 } else { RIDGE };
    }
    let mut beta = vec![0.0; classes * width];
    let Some(factor) = Cholesky::new(gram) else {
        return beta;
    };
    let mut p = vec![0.0; classes];
    for _ in 0..MAX_ITERATIONS {
        let mut gradient = DMatrix::<f64>::zeros(width, classes);
        for (x, &label) in rows.chunks_exact(width).zip(labels) {
            softmax(&beta, x, &mut p);
            for (class, p) in p.iter().enumerate() {
                let residual = f64::from(u8::from(class == label)) - p;
                for (i, x) in x.iter().enumerate() {
                    gradient[(i, class)] += residual * x;
                }
            }
        }
        for class in 0..classes {
            for i in 1..width {
                gradient[(i, class)] -= RIDGE * beta[class * width + i];
            }
        }
        let step = factor.solve(&gradient);
        for class in 0..classes {
            for i in 0..width {
                beta[class * width + i] += step[(i, class)];
            }
        }
        if step.amax() < 1e-10 {
            break;
        }
    }
    beta
}

fn softmax(beta: &[f64], x: &[f64], out: &mut [f64]) {
    let etas = beta.chunks_exact(x.len());
    for (slot, beta) in out.iter_mut().zip(etas) {
        *slot = beta.iter().zip(x).map(|(b, x)| b * x).sum();
    }
    let largest = out.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    out.iter_mut().for_each(|eta| *eta = (*eta - largest).exp());
    let sum: f64 = out.iter().sum();
    out.iter_mut().for_each(|p| *p /= sum);
}
