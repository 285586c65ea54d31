//! The clairvoyant oracle: ucb = lcb = rho. It turns the learner into the estimator of opt of Section 3.4.

use std::sync::Arc;

use super::{Bounds, LabeledData, Oracle};
use crate::model::{Context, Instance};

/// Knows the truth, from the first fit on.
#[derive(Debug, Clone)]
pub struct Known {
    instance: Arc<Instance>,
    fitted: bool,
}

impl Known {
    /// The oracle of an instance. As any other it says (0, 1) until its first fit.
    pub fn new(instance: Arc<Instance>) -> Self {
        Self {
            instance,
            fitted: false,
        }
    }

    /// An oracle that knows rho at once, for plans made without learning.
    pub fn fitted(instance: Arc<Instance>) -> Self {
        Self {
            instance,
            fitted: true,
        }
    }
}

impl Oracle for Known {
    fn fit(&mut self, _data: &LabeledData, _delta: f64) {
        self.fitted = true;
    }

    fn bounds(&self, context: &Context, out: &mut [Bounds]) {
        for (a, bounds) in out.iter_mut().enumerate() {
            *bounds = if self.fitted {
                Bounds::around(self.instance.rho(context, a + 1), 0.0)
            } else {
                Bounds::UNKNOWN
            };
        }
    }

    fn estimate(&self, context: &Context, out: &mut [f64]) {
        for (a, estimate) in out.iter_mut().enumerate() {
            *estimate = if self.fitted {
                self.instance.rho(context, a + 1)
            } else {
                0.5
            };
        }
    }

    fn depends_on_step(&self) -> bool {
        self.instance.conversion().depends_on_step()
    }
}
