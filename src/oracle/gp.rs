//! The oracle for contextual Gaussian-process bandits (Appendix A.2.5), phi = (theta, action value):
//!
//! ```text
//! bounds   mean(phi) +- sqrt(beta_t) deviation(phi)   of the posterior with noise variance lambda
//! beta_t   2 ln( |A| |Theta| t^2 pi^2 / (6 delta) )
//! ```
//!
//! |A| counts the null action, as everywhere. t counts observations: the posterior of N observations serves
//! round t = N + 1. Theta must be finite. lambda defaults to 1/4, the largest variance of a yes or no.

use super::Oracle;
use super::config::{Build, Parameters, Profile};
use super::kernel::{CHECKED, KernelOracle, LEAST_NOISE};
use crate::error::Invalid;
use crate::task::{KernelSpec, Task};

/// Parameters of the Gaussian-process oracle; those that are set are positive.
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

impl Parameters for GpParameters {
    fn profile(&self) -> Profile {
        Profile {
            kind: "gp",
            bounds: "paper",
            numbers: vec![
                ("lambda", Some(self.lambda), LEAST_NOISE),
                ("beta", self.beta, 0.0),
                ("radius_scale", Some(self.radius_scale), 0.0),
            ],
            ..Profile::default()
        }
    }

    fn build(&self, request: Build) -> Result<Box<dyn Oracle>, Invalid> {
        let kernel = request.kernel.expect(CHECKED);
        let oracle = KernelOracle::gaussian_process(request.task, kernel, self);
        Ok(Box::new(oracle))
    }

    fn kernel(&self) -> Option<&KernelSpec> {
        Some(&self.kernel)
    }

    fn check(&self, field: &str, task: &Task) -> Result<(), Invalid> {
        if task.is_finite() {
            return Ok(());
        }
        Err(Invalid::new(
            format!("{field}.kind"),
            "gp with a continuous context law",
            "finite, grid or file contexts for gp (kernel takes any)",
        ))
    }
}
