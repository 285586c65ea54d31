//! Plans that trust the estimates: certainty equivalence, without optimism and without a promise.

use super::{Bounds, Oracle, Wrapper};

/// Wraps an oracle: both bounds are its point estimate.
#[derive(Debug)]
pub struct PlugIn {
    inner: Box<dyn Oracle>,
}

impl PlugIn {
    /// Trusts an oracle's estimates.
    pub fn new(inner: Box<dyn Oracle>) -> Self {
        Self { inner }
    }
}

impl Wrapper for PlugIn {
    const USES_ESTIMATES: bool = true;

    fn inner(&self) -> &dyn Oracle {
        &*self.inner
    }

    fn inner_mut(&mut self) -> &mut dyn Oracle {
        &mut *self.inner
    }

    fn adjust(&self, estimate: f64, _bounds: Bounds) -> Bounds {
        Bounds::around(estimate, 0.0)
    }

    fn adjust_parameters(
        &self,
        _parameters: crate::dp::BoundParameters,
    ) -> Option<crate::dp::BoundParameters> {
        None
    }
}
