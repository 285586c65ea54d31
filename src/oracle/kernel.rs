//! The oracle for contextual kernelized bandits (Appendix A.2.4), phi = (theta, action value):
//!
//! ```text
//! bounds   mean(phi) +- beta deviation(phi)   of the posterior with ridge lambda > 1
//! beta     C + 1/2 sqrt( 2 (gain + 1 + ln(1 / delta)) )
//! gain     1/2 ln det(I + K / lambda)
//! ```
//!
//! C bounds the norm of rho in the kernel's Hilbert space. `gain` is the information gain of the data at hand; the paper
//! takes its unknown maximum over all data sets of the same size. lambda defaults to 1 + 2/T.
//!
//! Beyond the paper, `bounds = "mixture"` takes the quadratic mixture of [`super::LinearMixture`] in the kernel's space, where
//! |phi| in the norm of V^-1 is deviation(phi) / sqrt(lambda). It holds at all times at once, with any lambda > 0:
//!
//! ```text
//! beta     sqrt( C^2 + (ln det(I + K / lambda) + 2 ln(1 / delta)) / (4 lambda) )
//! ```

use super::linear_mixture::quadratic_mixture;
use super::posterior::Posterior;
use super::{BoundFacts, Bounds, Diagnosis, LabeledData, Oracle};
use crate::error::Invalid;
use crate::task::{Context, Kernel, KernelSpec, Task};

impl KernelParameters {
    /// lambda: what is set, or 1 + 2/T.
    pub fn lambda_in_force(&self, episodes: usize) -> f64 {
        self.lambda.unwrap_or(1.0 + 2.0 / episodes as f64)
    }
}

/// Parameters of the oracle; those that are set are positive, and lambda is above 1.
#[derive(Debug, Clone, PartialEq)]
pub struct KernelParameters {
    /// k.
    pub kernel: KernelSpec,
    /// Overrides lambda.
    pub lambda: Option<f64>,
    /// C.
    pub norm_bound: f64,
    /// Overrides beta.
    pub beta: Option<f64>,
    /// Multiplies the radius.
    pub radius_scale: f64,
}

/// Parameters of the oracle with bounds from the quadratic mixture, all positive.
#[derive(Debug, Clone, PartialEq)]
pub struct KernelMixtureParameters {
    /// k.
    pub kernel: KernelSpec,
    /// The ridge.
    pub lambda: f64,
    /// C.
    pub norm_bound: f64,
    /// Multiplies the radius; below 1 nothing is promised.
    pub radius_scale: f64,
}

impl KernelMixtureParameters {
    /// The ridge where none is given: of those that were tried, 8 to 16 made the narrowest bounds.
    pub const LAMBDA: f64 = 8.0;
}

/// The factor on the deviation.
#[derive(Debug, Clone, Copy)]
enum Beta {
    /// The paper's.
    Paper,
    /// That of the quadratic mixture with a ridge.
    Mixture { lambda: f64 },
    /// Set by hand.
    Fixed(f64),
}

/// The fitted model and the data it has taken in.
#[derive(Debug, Clone)]
pub struct KernelOracle {
    norm_bound: f64,
    beta: Beta,
    radius_scale: f64,
    posterior: Posterior,
    radius: f64,
}

impl KernelOracle {
    /// An oracle for the actions and features of a task and a study of `episodes` episodes; `kernel` is the
    /// checked kernel of the parameters.
    pub fn new(
        task: &Task,
        kernel: Kernel,
        parameters: &KernelParameters,
        episodes: usize,
    ) -> Self {
        let lambda = parameters.lambda_in_force(episodes);
        Self {
            norm_bound: parameters.norm_bound,
            beta: parameters.beta.map_or(Beta::Paper, Beta::Fixed),
            radius_scale: parameters.radius_scale,
            posterior: Posterior::new(task, kernel, lambda),
            radius: 0.0,
        }
    }

    /// The same with bounds from the quadratic mixture.
    pub fn mixture(task: &Task, kernel: Kernel, parameters: &KernelMixtureParameters) -> Self {
        let lambda = parameters.lambda;
        Self {
            norm_bound: parameters.norm_bound,
            beta: Beta::Mixture { lambda },
            radius_scale: parameters.radius_scale,
            posterior: Posterior::new(task, kernel, lambda),
            radius: 0.0,
        }
    }

    /// Mean and deviation of the posterior for all actions in one context.
    pub fn moments(&self, features: &[f64]) -> Vec<(f64, f64)> {
        self.posterior.moments(features)
    }

    /// 1/2 ln det(I + K / lambda).
    pub fn information_gain(&self) -> f64 {
        self.posterior.information_gain()
    }

    fn beta(&self, delta: f64) -> f64 {
        let gain = self.posterior.information_gain();
        match self.beta {
            Beta::Paper => self.norm_bound + 0.5 * (2.0 * (gain + 1.0 - delta.ln())).sqrt(),
            Beta::Mixture { lambda } => {
                quadratic_mixture(self.norm_bound, lambda, 2.0 * gain, delta).sqrt()
            }
            Beta::Fixed(beta) => beta,
        }
    }
}

impl Oracle for KernelOracle {
    fn fit(&mut self, data: &LabeledData, delta: f64) {
        self.posterior.take_in(data);
        self.radius = self.radius_scale * self.beta(delta);
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
        self.radius = self.radius_scale * self.beta(delta);
        Ok(())
    }

    fn watch(&mut self, context: &Context) {
        self.posterior.watch(context.features);
    }

    fn anytime(&self) -> bool {
        matches!(self.beta, Beta::Mixture { .. })
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
