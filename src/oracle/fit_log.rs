//! The fits of an oracle whose state depends on when it was fitted: rows are merged, columns grow in blocks, or gradients
//! are taken between fits. A restart repeats the fits and gets the same bits.

use super::wrong_state;
use crate::error::Invalid;

/// The fits of an oracle, each number of observations once.
#[derive(Debug, Clone, Default)]
pub(super) struct FitLog(Vec<FitRecord>);

/// One fit.
#[derive(Debug, Clone, Copy)]
pub(super) struct FitRecord {
    /// Number of observations.
    pub observations: usize,
    /// Number of contexts watched at the time.
    pub watched: usize,
}

impl FitLog {
    /// Records a fit.
    pub fn push(&mut self, observations: usize, watched: usize) {
        if self.0.last().map(|last| last.observations) != Some(observations) {
            self.0.push(FitRecord {
                observations,
                watched,
            });
        }
    }

    /// Forgets all fits: the state no longer depends on them.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// For [`super::Oracle::save`].
    pub fn save(&self) -> Vec<f64> {
        let numbers = |fit: &FitRecord| [fit.observations as f64, fit.watched as f64];
        self.0.iter().flat_map(numbers).collect()
    }

    /// Reads saved fits of an oracle with so many observations and watched contexts.
    pub fn read(
        saved: &[f64],
        observations: usize,
        watched: usize,
    ) -> Result<Vec<FitRecord>, Invalid> {
        let is_count = |number: &f64| *number >= 0.0 && number.fract() == 0.0;
        let fit = |pair: &[f64]| FitRecord {
            observations: pair[0] as usize,
            watched: pair[1] as usize,
        };
        let fits: Vec<FitRecord> = saved.chunks_exact(2).map(fit).collect();
        let rising = fits.windows(2).all(|pair| {
            pair[0].observations < pair[1].observations && pair[0].watched <= pair[1].watched
        });
        let ends_here =
            |last: &FitRecord| last.observations == observations && last.watched <= watched;
        let is_valid = saved.len().is_multiple_of(2)
            && saved.iter().all(is_count)
            && rising
            && fits.last().is_some_and(ends_here);
        is_valid.then_some(fits).ok_or_else(|| wrong_state(saved))
    }
}
