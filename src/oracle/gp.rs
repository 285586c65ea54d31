//! The oracle for contextual Gaussian-process bandits (Appendix A.2.5), phi = (theta, action value):
//!
//! ```text
//! bounds   mean(phi) +- sqrt(beta_t) deviation(phi)   of the posterior with noise variance lambda
//! beta_t   2 ln( |A| |Theta| t^2 pi^2 / (6 delta) )
//! ```
//!
//! |A| counts the null action, as everywhere. t counts observations: the posterior of N observations serves
//! round t = N + 1. Theta must be finite. lambda defaults to 1/4, the largest variance of a yes or no.

use std::f64::consts::PI;

use super::posterior::Posterior;
use super::{BoundFacts, Bounds, Diagnosis, LabeledData, Oracle};
use crate::error::Invalid;
use crate::task::{Context, Kernel, KernelSpec, Task};

/// Parameters of the oracle; those that are set are positive.
#[derive(Debug, Clone, PartialEq)]
pub struct GpParameters {
    /// k.
    pub kernel: KernelSpec,
    /// The noise variance.
    pub lambda: f64,
    /// Overrides beta_t.
    pub beta: Option<f64>,
    /// Multiplies the radius.
    pub radius_scale: f64,
}

/// The fitted model and the data it has taken in.
#[derive(Debug, Clone)]
pub struct GaussianProcess {
    beta: Option<f64>,
    radius_scale: f64,
    /// |A| |Theta|.
    pairs: f64,
    posterior: Posterior,
    radius: f64,
}

impl GaussianProcess {
    /// An oracle for the actions and the finite contexts of a task; `kernel` is the checked kernel of the
    /// parameters.
    pub fn new(task: &Task, kernel: Kernel, parameters: &GpParameters) -> Self {
        let contexts = task.support().len();
        Self {
            beta: parameters.beta,
            radius_scale: parameters.radius_scale,
            pairs: (contexts * (task.actions() + 1)) as f64,
            posterior: Posterior::new(task, kernel, parameters.lambda),
            radius: 0.0,
        }
    }

    /// Mean and deviation of the posterior for all actions in one context.
    pub fn moments(&self, features: &[f64]) -> Vec<(f64, f64)> {
        self.posterior.moments(features)
    }

    fn beta(&self, delta: f64) -> f64 {
        let t = (self.posterior.len() + 1) as f64;
        let theory = 2.0 * (self.pairs * t * t * PI * PI / (6.0 * delta)).ln();
        self.beta.unwrap_or(theory)
    }
}

impl Oracle for GaussianProcess {
    fn fit(&mut self, data: &LabeledData, delta: f64) {
        self.posterior.take_in(data);
        self.radius = self.radius_scale * self.beta(delta).sqrt();
    }

    fn bounds(&self, context: &Context, out: &mut [Bounds]) {
        self.posterior.bounds(context.features, self.radius, out);
    }

    fn estimate(&self, context: &Context, out: &mut [f64]) {
        self.posterior.estimate(context.features, out);
    }

    fn save(&self) -> Vec<f64> {
        self.posterior.saved()
    }

    fn restore(&mut self, data: &LabeledData, delta: f64, saved: &[f64]) -> Result<(), Invalid> {
        self.posterior.restore(data, saved)?;
        self.radius = self.radius_scale * self.beta(delta).sqrt();
        Ok(())
    }

    fn watch(&mut self, context: &Context) {
        self.posterior.watch(context.features);
    }

    fn facts(&self) -> BoundFacts {
        BoundFacts {
            by_step: false,
            wide_at_first: true,
        }
    }

    fn diagnosis(&self) -> Diagnosis {
        Diagnosis::of(self.posterior.len())
    }
}
