//! Restarts of oracles whose state depends on when they were fitted: rows are merged, or gradients taken, between fits. What
//! is saved is the number of observations at each fit; a restart goes through them again, and gets the same bits.

use super::{LabeledData, Oracle};
use crate::error::Invalid;

/// The numbers of observations at which an oracle was fitted, each once.
#[derive(Debug, Clone, Default)]
pub(super) struct FitSizes(Vec<f64>);

impl FitSizes {
    /// A fit to so many observations.
    pub fn push(&mut self, observations: usize) {
        let size = observations as f64;
        if self.0.last() != Some(&size) {
            self.0.push(size);
        }
    }

    /// For [`Oracle::save`].
    pub fn saved(&self) -> Vec<f64> {
        self.0.clone()
    }
}

/// [`Oracle::restore`] from saved sizes; the oracle has no data yet.
pub(super) fn replay(
    oracle: &mut dyn Oracle,
    data: &LabeledData,
    delta: f64,
    sizes: &[f64],
) -> Result<(), Invalid> {
    let rising = sizes.windows(2).all(|pair| pair[0] < pair[1]);
    let whole = sizes.iter().all(|size| *size >= 0.0 && size.fract() == 0.0);
    if !(rising && whole) || sizes.last() != Some(&(data.len() as f64)) {
        let found = format!("{} numbers of an oracle", sizes.len());
        return Err(Invalid::new("state", found, "a state of the same oracle"));
    }
    for size in sizes {
        oracle.fit(&data.first(*size as usize), delta);
    }
    Ok(())
}
