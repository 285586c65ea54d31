//! The error of estimating opt from M unlabeled rows (Section 3.4): many estimates per M, compared with the optimum of the
//! law. In theory the error is of order 1 / sqrt(M) for any number of contexts.

use std::sync::Arc;

use super::{Purpose, Streams};
use crate::dp::{Backend, BackendError};
use crate::statistics::{MeanAndError, slope};
use crate::world::{Optimum, World};

/// Estimates of opt from samples of one size.
#[derive(Debug, Clone)]
pub struct SampleSize {
    /// M.
    pub rows: usize,
    /// The estimates, by repeat.
    pub estimates: Vec<f64>,
    /// The mean of their own standard errors.
    pub reported_error: f64,
}

/// Estimates for several sample sizes.
#[derive(Debug, Clone)]
pub struct EstimationStudy {
    /// The starting budget of the estimates, the world's largest.
    pub budget: u32,
    /// The true value.
    pub opt: f64,
    /// By increasing M.
    pub sizes: Vec<SampleSize>,
}

impl SampleSize {
    /// Mean of the estimates minus opt, with its standard error. Positive, because plans fit their own sample.
    pub fn bias(&self, opt: f64) -> MeanAndError {
        let errors: Vec<f64> = self.estimates.iter().map(|x| x - opt).collect();
        MeanAndError::of(&errors)
    }

    /// The root of the mean squared error, with its standard error (through that of the mean square).
    pub fn rms_error(&self, opt: f64) -> MeanAndError {
        let squares: Vec<f64> = self.estimates.iter().map(|x| (x - opt).powi(2)).collect();
        let square = MeanAndError::of(&squares);
        let mean = square.mean.sqrt();
        MeanAndError {
            mean,
            standard_error: square.standard_error / (2.0 * mean),
        }
    }
}

impl EstimationStudy {
    /// The slope of ln(root mean squared error) on ln M, with a jackknife error over repeats; theory says -1/2.
    pub fn slope(&self) -> Option<MeanAndError> {
        let repeats = self.sizes.first()?.estimates.len();
        let exact = |size: &SampleSize| size.estimates.iter().all(|x| *x == self.opt);
        if self.sizes.len() < 2 || repeats < 2 || self.sizes.iter().any(exact) {
            return None;
        }
        let without = |left_out: Option<usize>| {
            let points: Vec<(f64, f64)> = self
                .sizes
                .iter()
                .map(|size| {
                    let kept = (0..repeats).filter(|r| Some(*r) != left_out);
                    let sum: f64 = kept.map(|r| (size.estimates[r] - self.opt).powi(2)).sum();
                    let count = repeats - usize::from(left_out.is_some());
                    ((size.rows as f64).ln(), 0.5 * (sum / count as f64).ln())
                })
                .collect();
            slope(&points)
        };
        let slopes: Vec<f64> = (0..repeats).map(|r| without(Some(r))).collect();
        // The jackknife error is n - 1 times the standard error of the values treated as independent.
        let spread = MeanAndError::of(&slopes).standard_error;
        Some(MeanAndError {
            mean: without(None),
            standard_error: (repeats as f64 - 1.0) * spread,
        })
    }
}

/// Estimates opt `repeats` times from independent samples of each size. Calls `done` after each estimate.
pub fn study_estimates(
    world: &Arc<World>,
    opt: f64,
    sizes: &[usize],
    repeats: usize,
    streams: &Streams,
    backend: &mut dyn Backend,
    done: &dyn Fn(),
) -> Result<EstimationStudy, BackendError> {
    let budget = world.task().budget_max();
    let mut study = EstimationStudy {
        budget,
        opt,
        sizes: Vec::new(),
    };
    for (place, &rows) in sizes.iter().enumerate() {
        let mut estimates = Vec::with_capacity(repeats);
        let mut reported = 0.0;
        for repeat in 0..repeats {
            let number = (place * repeats + repeat) as u64;
            let mut stream = streams.of(number, Purpose::InitialRows);
            let drawn = world.contexts().draw_rows(&mut stream, rows);
            let optimum = Optimum::from_rows(world, drawn, backend)?;
            estimates.push(optimum.table.start(budget));
            let error = optimum
                .estimate
                .map_or(0.0, |e| e.standard_error[budget as usize]);
            reported += error / repeats as f64;
            done();
        }
        study.sizes.push(SampleSize {
            rows,
            estimates,
            reported_error: reported,
        });
    }
    Ok(study)
}
