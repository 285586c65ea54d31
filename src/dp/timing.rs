//! Timing, by which [`super::Auto`] chooses between two backends.
//!
//! Before the study starts both solve two problems of the same shape and different size. A straight line,
//! seconds = overhead + candidates / rate, goes through the two times of each, and a batch goes to the backend whose line
//! is lower.

use super::stopwatch::Stopwatch;
use super::{Backend, BackendError, Coefficients, ContextSample, Problem};
use crate::task::{ApplicationSpec, ContextRows, TaskSpec};

/// Predicted time of a solve: fixed seconds, plus seconds per candidate (step, budget, context, action).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CostLine {
    /// Seconds of an empty batch.
    pub overhead: f64,
    /// Candidates per second.
    pub rate: f64,
}

impl CostLine {
    /// The line through two measurements (candidates, seconds), the second of the larger problem.
    pub fn through(small: (f64, f64), large: (f64, f64)) -> Self {
        let seconds_per_candidate = ((large.1 - small.1) / (large.0 - small.0)).max(1e-15);
        Self {
            overhead: (small.1 - small.0 * seconds_per_candidate).max(0.0),
            rate: 1.0 / seconds_per_candidate,
        }
    }

    /// Predicted seconds.
    pub fn seconds(&self, candidates: f64) -> f64 {
        self.overhead + candidates / self.rate
    }

    /// Measures a backend: the best of three solves, after a first one that compiles and is not counted.
    #[cfg(not(target_family = "wasm"))]
    pub fn measure(backend: &mut dyn Backend) -> Result<Self, BackendError> {
        let mut times = Vec::new();
        for contexts in [256, 8192] {
            let (sample, coefficients) = probe(contexts);
            let problem = Problem {
                sample: &sample,
                coefficients: &coefficients,
                budget_max: 31,
                cap: Some(1.0),
            };
            backend.solve(&[problem])?;
            let mut best = f64::INFINITY;
            for _ in 0..3 {
                let start = Stopwatch::start();
                backend.solve(&[problem])?;
                best = best.min(start.elapsed().as_secs_f64());
            }
            times.push((problem.candidates() as f64, best));
        }
        Ok(Self::through(times[0], times[1]))
    }
}

/// Pricing with four prices and contexts without structure: a sample of `contexts` contexts at each of 16 steps, and bounds for it.
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
        let reward = sample.reward(pair / sample.actions(), pair % sample.actions() + 1);
        coefficients.gain[pair] = spread(pair) * reward;
        coefficients.lcb[pair] = spread(pair) * spread(3 * pair + 1);
    }
    (sample, coefficients)
}
