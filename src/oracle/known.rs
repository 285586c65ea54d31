//! The clairvoyant oracle: ucb = lcb = rho. It turns the learner into the estimator of opt of Section 3.4.

use std::fmt::Debug;
use std::sync::Arc;

use super::config::{Build, Parameters, Profile};
use super::{BoundFacts, Bounds, LabeledData, Oracle};
use crate::error::Invalid;
use crate::task::{Context, Task};

/// The true conversion probabilities, of a simulation or any other source.
pub trait Truth: Debug + Send + Sync {
    /// rho(theta, a) of a non-null action.
    fn rho(&self, context: &Context, action: usize) -> f64;

    /// Whether rho depends on the step beyond the context.
    fn depends_on_step(&self) -> bool {
        false
    }

    /// Called with contexts whose rho will be asked for one by one.
    fn look(&self, _contexts: &mut dyn Iterator<Item = Context<'_>>) {}
}

/// Knows the truth, from the first fit on.
#[derive(Debug, Clone)]
pub struct Known {
    truth: Arc<dyn Truth>,
    fitted: bool,
}

impl Known {
    /// Like any other oracle it returns (0, 1) until its first fit.
    pub fn new(truth: Arc<dyn Truth>) -> Self {
        Self {
            truth,
            fitted: false,
        }
    }

    /// An oracle that knows rho at once, for plans made without learning.
    pub fn fitted(truth: Arc<dyn Truth>) -> Self {
        Self {
            truth,
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
                Bounds::around(self.truth.rho(context, a + 1), 0.0)
            } else {
                Bounds::UNKNOWN
            };
        }
    }

    fn estimate(&self, context: &Context, out: &mut [f64]) {
        for (a, estimate) in out.iter_mut().enumerate() {
            *estimate = if self.fitted {
                self.truth.rho(context, a + 1)
            } else {
                0.5
            };
        }
    }

    /// The estimate is the upper bound everywhere.
    fn each_observed(&self, _: &Task, _: &LabeledData, _: &mut dyn FnMut(f64, f64, f64)) {}

    fn look(&self, contexts: &mut dyn Iterator<Item = Context<'_>>) {
        self.truth.look(contexts);
    }

    fn facts(&self) -> BoundFacts {
        BoundFacts {
            by_step: self.truth.depends_on_step(),
            ..BoundFacts::NONE
        }
    }
}

/// The oracle has no parameters.
pub(super) struct KnownParameters;

impl Parameters for KnownParameters {
    fn profile(&self) -> Profile {
        Profile {
            kind: "known",
            bounds: "paper",
            ..Profile::default()
        }
    }

    fn build(&self, request: Build) -> Result<Box<dyn Oracle>, Invalid> {
        let Some(truth) = request.truth else {
            let accepted = "an oracle that learns, because the truth is not known";
            return Err(Invalid::new("oracle.kind", "known", accepted));
        };
        Ok(Box::new(Known::new(Arc::clone(truth))))
    }

    fn stores_data(&self) -> bool {
        false
    }
}
