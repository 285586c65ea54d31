//! Whether `ellipsoid.wgsl` may evaluate an oracle's bounds in 32-bit floats: nothing may overflow, and a few contexts must
//! have the same bounds in 32 and in 64 bits. Otherwise bounds are evaluated on the CPU.

use super::fixed_point::GAIN_LIMIT;
use crate::dp::{BoundParameters, ContextSample, EllipsoidParameters, Link, PlanRequest};

/// Largest error of a bound.
const TOLERANCE: f64 = 1e-6;

/// Squares of terms up to this add up within 32-bit floats.
const LARGEST_TERM: f64 = 1e15;

/// Contexts that are compared.
const COMPARED: usize = 16;

/// Whether a request's bounds are safe in 32-bit floats.
pub fn is_enough(request: &PlanRequest, parameters: &BoundParameters) -> bool {
    let sample = request.sample;
    if sample.largest_reward() > GAIN_LIMIT * request.reward_max {
        return false;
    }
    match parameters {
        BoundParameters::Armed { bounds, .. } => bounds.iter().flatten().all(|x| x.is_finite()),
        BoundParameters::Ellipsoid(parameters) => {
            let ellipsoid = Ellipsoid(parameters);
            ellipsoid.fits(sample) && ellipsoid.agrees(sample)
        }
    }
}

/// The bounds as the shader computes them.
struct Ellipsoid<'a>(&'a EllipsoidParameters);

impl Ellipsoid<'_> {
    /// Whether no product or sum of the shader overflows on any context of the sample.
    fn fits(&self, sample: &ContextSample) -> bool {
        let mut largest = sample.largest_features().to_vec();
        let values = self.0.action_values.iter();
        largest.push(values.fold(0.0, |most: f64, x| most.max(x.abs())));
        let sum_of_terms = |row: &[f64]| -> f64 {
            let terms = row.iter().zip(&largest);
            terms.map(|(x, most)| x.abs() * most).sum()
        };
        let numbers = largest.iter().chain(&self.0.mu).chain(&self.0.factor);
        let mut terms = numbers.map(|x| x.abs()).fold(self.0.scale, f64::max);
        terms = terms.max(sum_of_terms(&self.0.mu));
        for i in 0..largest.len() {
            let row = &self.0.factor[i * (i + 1) / 2..][..=i];
            terms = terms.max(sum_of_terms(row) * self.0.scale.max(1.0));
        }
        if let Some(limits) = &self.0.limits {
            terms = terms.max(sum_of_terms(limits));
        }
        // Subnormal numbers are harmless: they are zero within the tolerance.
        terms <= LARGEST_TERM
    }

    /// Whether contexts spread over the sample have the same bounds in 32 and in 64 bits. A tolerance adds no error of
    /// another size: where sigma is steep, near 0 and 1, the bonus is below the tolerance and the bound is the estimate.
    fn agrees(&self, sample: &ContextSample) -> bool {
        let stride = sample.len().div_ceil(COMPARED).max(1);
        (0..sample.len()).step_by(stride).all(|entry| {
            let theta = sample.context(entry).features;
            self.0.action_values.iter().all(|&value| {
                let short = self.bounds(theta, value, |x| f64::from(x as f32));
                let long = self.bounds(theta, value, |x| x);
                let off = |i: usize| (short[i] - long[i]).abs();
                off(0) <= TOLERANCE && off(1) <= TOLERANCE
            })
        })
    }

    /// (ucb, lcb) as `ellipsoid.wgsl` computes them, with every result rounded.
    fn bounds(&self, theta: &[f64], value: f64, round: impl Fn(f64) -> f64) -> [f64; 2] {
        let phi = || theta.iter().copied().chain([value]).map(&round);
        let product = |row: &[f64]| {
            let terms = row.iter().zip(phi()).map(|(x, y)| round(round(*x) * y));
            terms.fold(0.0, |sum, term| round(sum + term))
        };
        let mut square = 0.0;
        for i in 0..=theta.len() {
            let along = product(&self.0.factor[i * (i + 1) / 2..][..=i]);
            square = round(square + round(along * along));
        }
        let sigmoid = |x: f64| round(1.0 / round(1.0 + round((-x).exp())));
        let utility = product(&self.0.mu);
        let radius = round(round(self.0.scale) * round(square.sqrt()));
        let around = |x: f64| [round(x + radius), round(x - radius)];
        if let Some(limits) = &self.0.limits {
            let terms = limits.iter().zip(phi()).map(|(s, x)| round(round(*s) * x));
            let square = terms.fold(0.0, |sum, term| round(sum + round(term * term)));
            let limit = round(square.sqrt());
            return around(utility).map(|x| sigmoid(x.clamp(-limit, limit)));
        }
        let estimate = match self.0.link {
            Link::Logistic => sigmoid(utility),
            Link::Linear => utility,
        };
        around(estimate).map(|x| x.clamp(0.0, 1.0))
    }
}
