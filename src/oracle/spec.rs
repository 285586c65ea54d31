//! Oracles as a study file names them, checked once.

use super::{
    GlmParameters, GpParameters, KernelMixtureParameters, KernelParameters,
    LinearMixtureParameters, LogisticMixtureParameters, LogisticParameters, NeuralParameters,
    OracleConfig,
};
use crate::error::{Invalid, shown};
use crate::task::{KernelSpec, Task};

/// An oracle and its parameters, not yet checked.
#[derive(Debug, Clone, PartialEq)]
pub enum OracleSpec {
    /// Conversion per action.
    Armed {
        /// Multiplies the radius.
        radius_scale: f64,
    },
    /// Conversion per step and action.
    ArmedByStep {
        /// Multiplies the radius.
        radius_scale: f64,
    },
    /// Conversion per action, or per step and action, with beta-binomial bounds.
    BetaBinomial {
        /// Whether conversion differs by step.
        by_step: bool,
        /// Multiplies the distance of the bounds from the mean.
        radius_scale: f64,
    },
    /// The generalized linear oracle.
    Glm(GlmParameters),
    /// The linear oracle with bounds from the quadratic mixture.
    LinearMixture(LinearMixtureParameters),
    /// The refined logistic oracle.
    Logistic(LogisticParameters),
    /// The logistic oracle with bounds from the likelihood mixture.
    LogisticMixture(LogisticMixtureParameters),
    /// The kernel oracle.
    Kernel(KernelParameters),
    /// The kernel oracle with bounds from the quadratic mixture.
    KernelMixture(KernelMixtureParameters),
    /// The Gaussian-process oracle.
    Gp(GpParameters),
    /// The neural oracle.
    Neural(NeuralParameters),
    /// The truth.
    Known,
}

/// Parameters beyond this, or below its inverse, would switch learning off or lose all digits.
const PARAMETER_LIMIT: f64 = 1e12;

/// The most weights of a network whose Z is kept whole: 32 MiB of it.
const FULL_LIMIT: usize = 2048;

impl OracleSpec {
    /// Checks the parameters for a task; `field` is the oracle's place in the study.
    pub fn check(&self, field: &str, task: &Task) -> Result<OracleConfig, Invalid> {
        let at_least = |name: &str, value: f64, above: f64| {
            if value > above && (1.0 / PARAMETER_LIMIT..=PARAMETER_LIMIT).contains(&value) {
                return Ok(());
            }
            let accepted = match above {
                0.0 => "a positive number".to_string(),
                _ => format!("a number above {above}"),
            };
            let accepted =
                format!("{accepted}, of a size up to {PARAMETER_LIMIT:e} and not below 1e-12");
            Err(Invalid::new(
                format!("{field}.{name}"),
                shown(value),
                accepted,
            ))
        };
        let positive = |name: &str, value: f64| at_least(name, value, 0.0);
        let optional = |name: &str, value: Option<f64>| value.map_or(Ok(()), |x| positive(name, x));
        match self {
            Self::Armed { radius_scale }
            | Self::ArmedByStep { radius_scale }
            | Self::BetaBinomial { radius_scale, .. } => {
                positive("radius_scale", *radius_scale)?;
            }
            Self::Glm(parameters) => {
                positive("radius_scale", parameters.radius_scale)?;
                optional("lambda", parameters.lambda)?;
                optional("gamma", parameters.gamma)?;
                optional("kappa", parameters.kappa)?;
            }
            Self::LinearMixture(parameters) => {
                positive("lambda", parameters.lambda)?;
                positive("norm_bound", parameters.norm_bound)?;
                positive("radius_scale", parameters.radius_scale)?;
            }
            Self::LogisticMixture(parameters) => {
                positive("norm_bound", parameters.norm_bound)?;
                positive("radius_scale", parameters.radius_scale)?;
            }
            Self::Logistic(parameters) => {
                positive("lambda", parameters.lambda)?;
                positive("radius_scale", parameters.radius_scale)?;
                optional("gamma", parameters.gamma)?;
                optional("kappa", parameters.kappa)?;
            }
            Self::Kernel(parameters) => {
                let lambda = parameters.lambda;
                lambda.map_or(Ok(()), |lambda| at_least("lambda", lambda, 1.0))?;
                positive("norm_bound", parameters.norm_bound)?;
                optional("beta", parameters.beta)?;
                positive("radius_scale", parameters.radius_scale)?;
            }
            Self::KernelMixture(parameters) => {
                // Below this, rounding errors of the kernel count for more than the ridge.
                at_least("lambda", parameters.lambda, 1e-9)?;
                positive("norm_bound", parameters.norm_bound)?;
                positive("radius_scale", parameters.radius_scale)?;
            }
            Self::Gp(parameters) => {
                if !task.is_finite() {
                    return Err(Invalid::new(
                        format!("{field}.kind"),
                        "gp with a continuous context law",
                        "finite, grid or file contexts for gp (kernel takes any)",
                    ));
                }
                // Below this, rounding errors of the kernel count for more than the noise.
                at_least("lambda", parameters.lambda, 1e-9)?;
                optional("beta", parameters.beta)?;
                positive("radius_scale", parameters.radius_scale)?;
            }
            Self::Neural(parameters) => {
                positive("lambda", parameters.lambda)?;
                positive("gamma", parameters.gamma)?;
                positive("step_size", parameters.step_size)?;
                if parameters.step_size > 100.0 {
                    let field = format!("{field}.step_size");
                    return Err(Invalid::new(field, parameters.step_size, "at most 100"));
                }
                positive("radius_scale", parameters.radius_scale)?;
                parameters.check_shape(field, task)?;
            }
            Self::Known => {}
        }
        let kernel = self
            .kernel()
            .map(|kernel| kernel.check(&format!("{field}.kernel"), task.phi_dimension()));
        Ok(OracleConfig {
            spec: self.clone(),
            kernel: kernel.transpose()?,
        })
    }

    fn kernel(&self) -> Option<&KernelSpec> {
        match self {
            Self::Kernel(parameters) => Some(&parameters.kernel),
            Self::KernelMixture(parameters) => Some(&parameters.kernel),
            Self::Gp(parameters) => Some(&parameters.kernel),
            _ => None,
        }
    }
}

impl NeuralParameters {
    fn check_shape(&self, field: &str, task: &Task) -> Result<(), Invalid> {
        if self.width == 0 || self.width % 2 == 1 {
            let accepted = "an even number from 2, because units come in pairs";
            return Err(Invalid::new(format!("{field}.width"), self.width, accepted));
        }
        let inputs = task.phi_dimension() + 1;
        let weights = self.width * (inputs + (self.depth - 2) * self.width + 1);
        if self.full && weights > FULL_LIMIT {
            return Err(Invalid::new(
                format!("{field}.full"),
                format!("true with {weights} weights"),
                format!("false (a diagonal Z), or a network of at most {FULL_LIMIT} weights"),
            ));
        }
        Ok(())
    }
}
