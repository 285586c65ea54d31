//! Restarts of oracles whose state depends on when they were fitted: rows are merged, columns grow in blocks, or gradients are
//! taken between fits. What is saved is the number of observations at each fit, and of contexts that were watched by then; a
//! restart goes through them again, and gets the same bits.

use super::{LabeledData, Oracle};
use crate::error::Invalid;

/// The fits of an oracle, each number of observations once.
#[derive(Debug, Clone, Default)]
pub(super) struct Fits(Vec<Fit>);

/// One of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fit {
    /// Observations that it was made from.
    pub observations: usize,
    /// Contexts that were watched when it was made.
    pub watched: usize,
}

impl Fits {
    /// A fit to so many observations, with so many contexts watched.
    pub fn push(&mut self, observations: usize, watched: usize) {
        if self.0.last().map(|last| last.observations) != Some(observations) {
            self.0.push(Fit {
                observations,
                watched,
            });
        }
    }

    /// Nothing depends on earlier fits any more.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// For [`Oracle::save`].
    pub fn saved(&self) -> Vec<f64> {
        let numbers = |fit: &Fit| [fit.observations as f64, fit.watched as f64];
        self.0.iter().flat_map(numbers).collect()
    }

    /// What was saved, of an oracle with so many observations and watched contexts.
    pub fn of_saved(
        saved: &[f64],
        observations: usize,
        watched: usize,
    ) -> Result<Vec<Fit>, Invalid> {
        let wrong = || {
            let found = format!("{} numbers of an oracle", saved.len());
            Invalid::new("state", found, "a state of the same oracle")
        };
        let is_count = |number: &f64| *number >= 0.0 && number.fract() == 0.0;
        if !saved.len().is_multiple_of(2) || !saved.iter().all(is_count) {
            return Err(wrong());
        }
        let fit = |pair: &[f64]| Fit {
            observations: pair[0] as usize,
            watched: pair[1] as usize,
        };
        let fits: Vec<Fit> = saved.chunks_exact(2).map(fit).collect();
        let rising = fits.windows(2).all(|pair| {
            pair[0].observations < pair[1].observations && pair[0].watched <= pair[1].watched
        });
        let last = fits.last().ok_or_else(wrong)?;
        match rising && last.observations == observations && last.watched <= watched {
            true => Ok(fits),
            false => Err(wrong()),
        }
    }
}

/// [`Oracle::restore`] of an oracle that watches no contexts and has no data yet.
pub(super) fn replay(
    oracle: &mut dyn Oracle,
    data: &LabeledData,
    delta: f64,
    saved: &[f64],
) -> Result<(), Invalid> {
    for fit in Fits::of_saved(saved, data.len(), 0)? {
        oracle.fit(&data.first(fit.observations), delta);
    }
    Ok(())
}
