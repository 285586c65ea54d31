//! The oracle for contextual kernelized bandits (Appendix A.2.4), phi = (theta, action value):
//!
//! ```text
//! bounds   mean(phi) +- beta deviation(phi)   of the posterior with ridge lambda > 1
//! beta     C + 1/2 sqrt( 2 (gain + 1 + ln(1 / delta)) )
//! gain     1/2 ln det(I + K / lambda)
//! ```
//!
//! C bounds the norm of rho in the kernel's Hilbert space. `gain` is the information gain of the data; the paper takes its
//! unknown maximum over all data sets of the same size. lambda defaults to 1 + 2/T.
//!
//! Beyond the paper, `bounds = "mixture"` takes the quadratic mixture of [`super::LinearMixture`] in the kernel's space, where
//! |phi| in the norm of V^-1 is deviation(phi) / sqrt(lambda). It holds at all times at once, with any lambda > 0:
//!
//! ```text
//! beta     sqrt( C^2 + (ln det(I + K / lambda) + 2 ln(1 / delta)) / (4 lambda) )
//! ```

use std::f64::consts::PI;

use super::config::{Build, Parameters, Profile};
use super::linear_mixture::quadratic_mixture;
use super::posterior::Posterior;
use super::{Belief, BoundFacts, Bounds, Diagnosis, GpParameters, LabeledData, Oracle, OracleSpec};
use crate::error::Invalid;
use crate::task::{Context, Kernel, KernelSpec, Task};

/// Parameters of the kernel oracle; those that are set are positive, and lambda is above 1.
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

impl KernelParameters {
    fn resolve_lambda(&self, episodes: usize) -> f64 {
        self.lambda.unwrap_or(1.0 + 2.0 / episodes as f64)
    }
}

impl Parameters for KernelParameters {
    fn profile(&self) -> Profile {
        Profile {
            kind: "kernel",
            bounds: "paper",
            tight: Some(OracleSpec::KernelMixture(KernelMixtureParameters {
                kernel: self.kernel.clone(),
                lambda: KernelMixtureParameters::LAMBDA,
                norm_bound: self.norm_bound,
                radius_scale: 1.0,
            })),
            numbers: vec![
                ("lambda", self.lambda, 1.0),
                ("norm_bound", Some(self.norm_bound), 0.0),
                ("beta", self.beta, 0.0),
                ("radius_scale", Some(self.radius_scale), 0.0),
            ],
            ..Profile::default()
        }
    }

    fn build(&self, request: Build) -> Result<Box<dyn Oracle>, Invalid> {
        let Build { task, episodes, .. } = request;
        let kernel = request.kernel.expect(CHECKED);
        Ok(Box::new(KernelOracle::new(task, kernel, self, episodes)))
    }

    fn kernel(&self) -> Option<&KernelSpec> {
        Some(&self.kernel)
    }

    fn derived(&self, _task: &Task, episodes: usize) -> Vec<(&'static str, f64)> {
        let lambda = self.resolve_lambda(episodes);
        let lambda = self.lambda.is_none().then_some(("lambda", lambda));
        lambda.into_iter().collect()
    }
}

/// The least noise variance: below it, rounding errors of the kernel exceed the noise.
pub(super) const LEAST_NOISE: f64 = 1e-9;

/// What [`Build::kernel`] is.
pub(super) const CHECKED: &str = "kernels are checked with the oracle";

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
    /// The default ridge: of the values tried, 8 to 16 gave the narrowest bounds.
    pub const LAMBDA: f64 = 8.0;
}

impl Parameters for KernelMixtureParameters {
    fn profile(&self) -> Profile {
        Profile {
            kind: "kernel",
            bounds: "mixture",
            facts: BoundFacts {
                anytime: true,
                ..BoundFacts::NONE
            },
            numbers: vec![
                ("lambda", Some(self.lambda), LEAST_NOISE),
                ("norm_bound", Some(self.norm_bound), 0.0),
                ("radius_scale", Some(self.radius_scale), 0.0),
            ],
            ..Profile::default()
        }
    }

    fn build(&self, request: Build) -> Result<Box<dyn Oracle>, Invalid> {
        let kernel = request.kernel.expect(CHECKED);
        Ok(Box::new(KernelOracle::mixture(request.task, kernel, self)))
    }

    fn kernel(&self) -> Option<&KernelSpec> {
        Some(&self.kernel)
    }
}

/// The factor on the deviation.
#[derive(Debug, Clone, Copy)]
enum Beta {
    /// The kernel oracle's of the paper.
    Paper { norm_bound: f64 },
    /// That of the quadratic mixture with a ridge.
    Mixture { norm_bound: f64, lambda: f64 },
    /// The Gaussian-process oracle's, for this number of pairs (context, action).
    GaussianProcess { pairs: f64 },
    /// Set by hand.
    Fixed(f64),
}

/// Bounds mean(phi) +- beta deviation(phi) of a posterior: the kernel and the Gaussian-process oracle.
#[derive(Debug, Clone)]
pub struct KernelOracle {
    facts: BoundFacts,
    beta: Beta,
    radius_scale: f64,
    posterior: Posterior,
    radius: f64,
}

impl KernelOracle {
    /// The paper's kernel oracle for the actions and features of a task and a study of `episodes` episodes; `kernel` is the
    /// checked kernel of the parameters.
    pub fn new(
        task: &Task,
        kernel: Kernel,
        parameters: &KernelParameters,
        episodes: usize,
    ) -> Self {
        let norm_bound = parameters.norm_bound;
        Self {
            facts: parameters.profile().facts,
            beta: parameters
                .beta
                .map_or(Beta::Paper { norm_bound }, Beta::Fixed),
            radius_scale: parameters.radius_scale,
            posterior: Posterior::new(task, kernel, parameters.resolve_lambda(episodes)),
            radius: 0.0,
        }
    }

    /// The same with bounds from the quadratic mixture.
    pub fn mixture(task: &Task, kernel: Kernel, parameters: &KernelMixtureParameters) -> Self {
        let (norm_bound, lambda) = (parameters.norm_bound, parameters.lambda);
        Self {
            facts: parameters.profile().facts,
            beta: Beta::Mixture { norm_bound, lambda },
            radius_scale: parameters.radius_scale,
            posterior: Posterior::new(task, kernel, lambda),
            radius: 0.0,
        }
    }

    /// The Gaussian-process oracle for a task with finite contexts.
    pub fn gaussian_process(task: &Task, kernel: Kernel, parameters: &GpParameters) -> Self {
        let pairs = (task.support().len() * (task.actions() + 1)) as f64;
        let theory = Beta::GaussianProcess { pairs };
        Self {
            facts: parameters.profile().facts,
            beta: parameters
                .beta
                .map_or(theory, |beta| Beta::Fixed(beta.sqrt())),
            radius_scale: parameters.radius_scale,
            posterior: Posterior::new(task, kernel, parameters.lambda),
            radius: 0.0,
        }
    }

    /// Mean and deviation of the posterior for all actions in one context.
    #[doc(hidden)]
    pub fn moments(&self, features: &[f64]) -> Vec<(f64, f64)> {
        self.posterior.moments(features)
    }

    /// 1/2 ln det(I + K / lambda).
    #[doc(hidden)]
    pub fn information_gain(&self) -> f64 {
        self.posterior.information_gain()
    }

    fn set_radius(&mut self, delta: f64) {
        let gain = self.posterior.information_gain();
        let beta = match self.beta {
            Beta::Paper { norm_bound } => {
                norm_bound + 0.5 * (2.0 * (gain + 1.0 - delta.ln())).sqrt()
            }
            Beta::Mixture { norm_bound, lambda } => {
                quadratic_mixture(norm_bound, lambda, 2.0 * gain, delta).sqrt()
            }
            Beta::GaussianProcess { pairs } => {
                let t = (self.posterior.len() + 1) as f64;
                (2.0 * (pairs * t * t * PI * PI / (6.0 * delta)).ln()).sqrt()
            }
            Beta::Fixed(beta) => beta,
        };
        self.radius = self.radius_scale * beta;
    }
}

impl Oracle for KernelOracle {
    fn fit(&mut self, data: &LabeledData, delta: f64) {
        self.posterior.append(data);
        self.set_radius(delta);
    }

    fn bounds(&self, context: &Context, out: &mut [Bounds]) {
        let mut beliefs = vec![Belief::UNKNOWN; out.len()];
        self.beliefs(context, &mut beliefs);
        for (bounds, belief) in out.iter_mut().zip(beliefs) {
            *bounds = belief.bounds;
        }
    }

    fn estimate(&self, context: &Context, out: &mut [f64]) {
        self.posterior.estimate(context.features, out);
    }

    fn beliefs(&self, context: &Context, out: &mut [Belief]) {
        self.posterior.beliefs(context.features, self.radius, out);
    }

    fn each_observed(&self, _: &Task, _: &LabeledData, see: &mut dyn FnMut(f64, f64, f64)) {
        self.posterior.each_observed(self.radius, see);
    }

    fn keep_observed(&mut self) {
        self.posterior.keep_observed();
    }

    fn facts(&self) -> BoundFacts {
        self.facts
    }

    fn watch(&mut self, context: &Context) {
        self.posterior.watch(context.features);
    }

    fn save(&self) -> Vec<f64> {
        self.posterior.save()
    }

    fn restore(&mut self, data: &LabeledData, delta: f64, saved: &[f64]) -> Result<(), Invalid> {
        self.posterior.restore(data, saved)?;
        self.set_radius(delta);
        Ok(())
    }

    fn diagnosis(&self) -> Diagnosis {
        Diagnosis::of(self.posterior.len())
    }
}
