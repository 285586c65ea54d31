//! Oracles as a study file names them, checked once, built once per replication.

use std::sync::Arc;

use rand::rngs::ChaCha8Rng;

use super::{
    Armed, GaussianProcess, Glm, GlmParameters, GpParameters, KernelMixtureParameters,
    KernelOracle, KernelParameters, Known, LinearMixture, LinearMixtureParameters, Logistic,
    LogisticMixture, LogisticMixtureParameters, LogisticParameters, Neural, NeuralParameters,
    Oracle, Sides,
};
use crate::dp::Link;
use crate::error::Invalid;
use crate::model::{Instance, Kernel, KernelSpec};

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

/// A checked oracle, ready to be built.
#[derive(Debug, Clone, PartialEq)]
pub struct OracleConfig {
    spec: OracleSpec,
    kernel: Option<Kernel>,
}

/// The most weights of a network whose Z is kept whole: 32 MiB of it.
const FULL_LIMIT: usize = 2048;

impl OracleSpec {
    /// Checks the parameters for an instance; `field` is the oracle's place in the study.
    pub fn check(&self, field: &str, instance: &Instance) -> Result<OracleConfig, Invalid> {
        let at_least = |name: &str, value: f64, above: f64| {
            if value.is_finite() && value > above {
                return Ok(());
            }
            let accepted = match above {
                0.0 => "a positive number".to_string(),
                _ => format!("a number above {above}"),
            };
            Err(Invalid::new(format!("{field}.{name}"), value, accepted))
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
                if !instance.contexts().is_finite() {
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
                parameters.check_shape(field, instance)?;
            }
            Self::Known => {}
        }
        let kernel = self
            .kernel()
            .map(|kernel| kernel.check(&format!("{field}.kernel"), instance.phi_dimension()));
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
    fn check_shape(&self, field: &str, instance: &Instance) -> Result<(), Invalid> {
        if self.width == 0 || self.width % 2 == 1 {
            let accepted = "an even number from 2, because units come in pairs";
            return Err(Invalid::new(format!("{field}.width"), self.width, accepted));
        }
        let inputs = instance.phi_dimension() + 1;
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

impl OracleConfig {
    /// An oracle without data for an instance and a study of `episodes` episodes; `start` draws what it starts from.
    pub fn build(
        &self,
        instance: &Arc<Instance>,
        episodes: usize,
        start: ChaCha8Rng,
    ) -> Box<dyn Oracle> {
        self.build_with_sides(instance, episodes, start, Sides::Both)
    }

    /// The same where perhaps only upper bounds are needed.
    pub fn build_with_sides(
        &self,
        instance: &Arc<Instance>,
        episodes: usize,
        start: ChaCha8Rng,
        sides: Sides,
    ) -> Box<dyn Oracle> {
        let actions = instance.actions();
        let kernel = || self.kernel.clone().expect("checked with the oracle");
        match &self.spec {
            OracleSpec::Armed { radius_scale } => {
                Box::new(Armed::stationary(actions, *radius_scale))
            }
            OracleSpec::ArmedByStep { radius_scale } => {
                Box::new(Armed::by_step(actions, instance.horizon(), *radius_scale))
            }
            OracleSpec::BetaBinomial {
                by_step,
                radius_scale,
            } => {
                let armed = match by_step {
                    true => Armed::by_step(actions, instance.horizon(), *radius_scale),
                    false => Armed::stationary(actions, *radius_scale),
                };
                Box::new(armed.with_beta_binomial(sides))
            }
            OracleSpec::Glm(parameters) => Box::new(Glm::new(instance, *parameters, episodes)),
            OracleSpec::LinearMixture(parameters) => {
                Box::new(LinearMixture::new(instance, *parameters))
            }
            OracleSpec::Logistic(parameters) => Box::new(Logistic::new(instance, *parameters)),
            OracleSpec::LogisticMixture(parameters) => {
                Box::new(LogisticMixture::new(instance, *parameters))
            }
            OracleSpec::Kernel(parameters) => {
                Box::new(KernelOracle::new(instance, kernel(), parameters, episodes))
            }
            OracleSpec::KernelMixture(parameters) => {
                Box::new(KernelOracle::mixture(instance, kernel(), parameters))
            }
            OracleSpec::Gp(parameters) => {
                Box::new(GaussianProcess::new(instance, kernel(), parameters))
            }
            OracleSpec::Neural(parameters) => Box::new(Neural::new(instance, *parameters, start)),
            OracleSpec::Known => Box::new(Known::new(Arc::clone(instance))),
        }
    }

    /// Its kind, as study files name it.
    pub fn kind(&self) -> &'static str {
        match self.spec {
            OracleSpec::Armed { .. } | OracleSpec::BetaBinomial { by_step: false, .. } => "armed",
            OracleSpec::ArmedByStep { .. } | OracleSpec::BetaBinomial { .. } => "armed-by-step",
            OracleSpec::Glm(_) | OracleSpec::LinearMixture(_) => "glm",
            OracleSpec::Logistic(_) | OracleSpec::LogisticMixture(_) => "logistic",
            OracleSpec::Kernel(_) | OracleSpec::KernelMixture(_) => "kernel",
            OracleSpec::Gp(_) => "gp",
            OracleSpec::Neural(_) => "neural",
            OracleSpec::Known => "known",
        }
    }

    /// Where its bounds come from, as study files name it.
    pub fn bounds(&self) -> &'static str {
        match self.spec {
            OracleSpec::BetaBinomial { .. } => "beta-binomial",
            OracleSpec::LinearMixture(_)
            | OracleSpec::LogisticMixture(_)
            | OracleSpec::KernelMixture(_) => "mixture",
            _ => "paper",
        }
    }

    /// Whether [`Oracle::draw`] draws.
    pub fn has_posterior(&self) -> bool {
        match &self.spec {
            OracleSpec::Armed { .. }
            | OracleSpec::ArmedByStep { .. }
            | OracleSpec::BetaBinomial { .. }
            | OracleSpec::Logistic(_)
            | OracleSpec::LogisticMixture(_) => true,
            OracleSpec::Glm(parameters) => parameters.link == Link::Logistic,
            _ => false,
        }
    }

    /// A generous estimate of the bytes it holds after so many observations, with so many contexts watched.
    pub fn bytes(&self, instance: &Instance, observations: usize, watched: usize) -> usize {
        match self.spec {
            OracleSpec::Kernel(_) | OracleSpec::KernelMixture(_) | OracleSpec::Gp(_) => {
                // Pairs that repeat are merged.
                let (contexts, rows) = match instance.contexts().is_finite() {
                    true => {
                        let support = instance.contexts().support().len();
                        let rows = 2 * support * instance.actions();
                        (watched.min(support), observations.min(rows))
                    }
                    false => (watched, observations),
                };
                8 * rows * (rows / 2 + contexts * instance.actions())
            }
            _ => 0,
        }
    }
}
