//! Plans that trust the estimates: certainty equivalence, without optimism and without a promise.

use super::{Belief, Bounds, Oracle, Wrapper};
use crate::dp::BoundParameters;
use crate::task::Context;

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
    fn inner(&self) -> &dyn Oracle {
        &*self.inner
    }

    fn inner_mut(&mut self) -> &mut dyn Oracle {
        &mut *self.inner
    }

    fn adjust_all(&self, context: &Context, beliefs: &mut [Belief]) {
        let mut estimates = vec![0.5; beliefs.len()];
        self.inner.estimate(context, &mut estimates);
        for (belief, estimate) in beliefs.iter_mut().zip(estimates) {
            belief.bounds = Bounds::around(estimate, 0.0);
        }
    }

    fn parameters(&self) -> Option<BoundParameters> {
        None
    }
}
