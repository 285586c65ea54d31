//! Oracles as a study file names them, checked once, built once per replication.

use std::sync::Arc;

use rand::rngs::ChaCha8Rng;

use super::{
    Armed, GaussianProcess, Glm, GlmParameters, GpParameters, KernelMixtureParameters,
    KernelOracle, KernelParameters, Known, LinearMixture, LinearMixtureParameters, Logistic,
    LogisticMixture, LogisticMixtureParameters, LogisticParameters, Neural, NeuralParameters,
    Oracle, Sides, Truth,
};
use crate::dp::Link;
use crate::error::{Invalid, shown};
use crate::task::{Kernel, KernelSpec, Task};

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

impl OracleConfig {
    /// An oracle without data for a study of `episodes` episodes; `start` draws what it starts from. `known` needs the
    /// truth, and is refused where that is not to be had. With [`Sides::Upper`] only upper bounds need to hold.
    pub fn build(
        &self,
        task: &Task,
        episodes: usize,
        start: ChaCha8Rng,
        truth: Option<&Arc<dyn Truth>>,
        sides: Sides,
    ) -> Result<Box<dyn Oracle>, Invalid> {
        let actions = task.actions();
        let kernel = || self.kernel.clone().expect("checked with the oracle");
        Ok(match &self.spec {
            OracleSpec::Armed { radius_scale } => {
                Box::new(Armed::stationary(actions, *radius_scale))
            }
            OracleSpec::ArmedByStep { radius_scale } => {
                Box::new(Armed::by_step(actions, task.horizon(), *radius_scale))
            }
            OracleSpec::BetaBinomial {
                by_step,
                radius_scale,
            } => {
                let armed = match by_step {
                    true => Armed::by_step(actions, task.horizon(), *radius_scale),
                    false => Armed::stationary(actions, *radius_scale),
                };
                Box::new(armed.with_beta_binomial(sides))
            }
            OracleSpec::Glm(parameters) => Box::new(Glm::new(task, *parameters, episodes)),
            OracleSpec::LinearMixture(parameters) => {
                Box::new(LinearMixture::new(task, *parameters))
            }
            OracleSpec::Logistic(parameters) => Box::new(Logistic::new(task, *parameters)),
            OracleSpec::LogisticMixture(parameters) => {
                Box::new(LogisticMixture::new(task, *parameters))
            }
            OracleSpec::Kernel(parameters) => {
                Box::new(KernelOracle::new(task, kernel(), parameters, episodes))
            }
            OracleSpec::KernelMixture(parameters) => {
                Box::new(KernelOracle::mixture(task, kernel(), parameters))
            }
            OracleSpec::Gp(parameters) => {
                Box::new(GaussianProcess::new(task, kernel(), parameters))
            }
            OracleSpec::Neural(parameters) => Box::new(Neural::new(task, *parameters, start)),
            OracleSpec::Known => match truth {
                Some(truth) => Box::new(Known::new(Arc::clone(truth))),
                None => {
                    let accepted = "an oracle that learns, where the truth is not known";
                    return Err(Invalid::new("oracle.kind", "known", accepted));
                }
            },
        })
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

    /// Parameters that nobody set and that follow from the study, with their values.
    pub fn derived(&self, task: &Task, episodes: usize) -> Vec<(&'static str, f64)> {
        let of = |name, set: Option<f64>, value: f64| set.is_none().then_some((name, value));
        match &self.spec {
            OracleSpec::Glm(p) => {
                let (kappa, lambda) = p.in_force(task, episodes);
                let both = [of("kappa", p.kappa, kappa), of("lambda", p.lambda, lambda)];
                both.into_iter().flatten().collect()
            }
            OracleSpec::Logistic(p) => {
                let kappa = of("kappa", p.kappa, p.kappa_in_force(task));
                kappa.into_iter().collect()
            }
            OracleSpec::Kernel(p) => {
                let lambda = of("lambda", p.lambda, p.lambda_in_force(episodes));
                lambda.into_iter().collect()
            }
            _ => Vec::new(),
        }
    }

    /// The same kind of oracle with bounds that are tight and hold at all times, where there are some and it has others.
    pub fn tight(&self, task: &Task) -> Option<OracleConfig> {
        let radius_scale = 1.0;
        let spec = match &self.spec {
            OracleSpec::Armed { .. } => OracleSpec::BetaBinomial {
                by_step: false,
                radius_scale,
            },
            OracleSpec::ArmedByStep { .. } => OracleSpec::BetaBinomial {
                by_step: true,
                radius_scale,
            },
            OracleSpec::Logistic(_) => OracleSpec::LogisticMixture(Default::default()),
            OracleSpec::Glm(parameters) if parameters.link == Link::Linear => {
                OracleSpec::LinearMixture(Default::default())
            }
            OracleSpec::Kernel(parameters) => OracleSpec::KernelMixture(KernelMixtureParameters {
                kernel: parameters.kernel.clone(),
                lambda: KernelMixtureParameters::LAMBDA,
                norm_bound: parameters.norm_bound,
                radius_scale,
            }),
            _ => return None,
        };
        spec.check("oracle", task).ok()
    }

    /// Parameters of the radius that were set by hand, so that bounds are not those of the theory.
    pub fn set_by_hand(&self) -> Vec<&'static str> {
        let mut set = Vec::new();
        let mut note = |name, is_set: bool| set.extend(is_set.then_some(name));
        let scale = match &self.spec {
            OracleSpec::Armed { radius_scale }
            | OracleSpec::ArmedByStep { radius_scale }
            | OracleSpec::BetaBinomial { radius_scale, .. } => *radius_scale,
            OracleSpec::Glm(p) => {
                note("gamma", p.gamma.is_some());
                note("kappa", p.kappa.is_some());
                p.radius_scale
            }
            OracleSpec::Logistic(p) => {
                note("gamma", p.gamma.is_some());
                note("kappa", p.kappa.is_some());
                p.radius_scale
            }
            OracleSpec::Kernel(p) => {
                note("beta", p.beta.is_some());
                p.radius_scale
            }
            OracleSpec::Gp(p) => {
                note("beta", p.beta.is_some());
                p.radius_scale
            }
            OracleSpec::LinearMixture(p) => p.radius_scale,
            OracleSpec::LogisticMixture(p) => p.radius_scale,
            OracleSpec::KernelMixture(p) => p.radius_scale,
            // No theory gives this one's radius.
            OracleSpec::Neural(_) => {
                note("gamma", true);
                1.0
            }
            OracleSpec::Known => 1.0,
        };
        note("radius_scale", scale < 1.0);
        set
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

    /// About the bytes it holds after so many observations, with so many contexts watched.
    pub fn bytes(&self, task: &Task, observations: usize, watched: usize) -> usize {
        match self.spec {
            OracleSpec::Kernel(_) | OracleSpec::KernelMixture(_) | OracleSpec::Gp(_) => {
                // Pairs that repeat are merged.
                let (contexts, rows) = match task.is_finite() {
                    true => {
                        let support = task.support().len();
                        let rows = 2 * support * task.actions();
                        (watched.min(support), observations.min(rows))
                    }
                    false => (watched, observations),
                };
                let columns = contexts.saturating_mul(task.actions());
                let row = (rows / 2).saturating_add(columns);
                row.saturating_mul(8).saturating_mul(rows)
            }
            OracleSpec::Glm(_)
            | OracleSpec::LinearMixture(_)
            | OracleSpec::Logistic(_)
            | OracleSpec::LogisticMixture(_)
            | OracleSpec::Neural(_) => {
                // phi and the label of each observation, and two numbers of the fit under way.
                let per_observation = 8 * (task.dimension() + 4);
                observations.saturating_mul(per_observation)
            }
            OracleSpec::Armed { .. }
            | OracleSpec::ArmedByStep { .. }
            | OracleSpec::BetaBinomial { .. }
            | OracleSpec::Known => 0,
        }
    }
}
