//! A problem made for measuring: pricing with four prices and contexts without structure.

use super::{Coefficients, ContextSample};
use crate::task::{ApplicationSpec, ContextRows, TaskSpec};

/// A sample of `contexts` contexts at each of 16 steps, and bounds for it.
pub fn probe(contexts: usize) -> (ContextSample, Coefficients) {
    let horizon = 16;
    let prices = vec![0.25, 0.5, 0.75, 1.0];
    let spec = TaskSpec::new(horizon, 16, ApplicationSpec::Pricing { prices }, 1);
    let task = spec.check().expect("the probe is a valid task");
    let mut rows = ContextRows::new(horizon, 1);
    for i in 0..contexts * horizon {
        rows.push(Some(&[i as f64]));
    }
    let sample = ContextSample::of_rows(&task, &rows, false);
    let mut coefficients = Coefficients::default();
    coefficients.resize_for(&sample);
    // Multiples of the golden ratio, which spread evenly without repeating.
    let spread = |i: usize| (i as f64 * 0.618_033_988_749_894_9).fract();
    for pair in 0..coefficients.gain.len() {
        coefficients.gain[pair] = spread(pair) * sample.rewards()[pair];
        coefficients.lcb[pair] = spread(pair) * spread(3 * pair + 1);
    }
    (sample, coefficients)
}
