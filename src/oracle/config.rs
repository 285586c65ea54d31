//! Oracles whose parameters are checked: built once per replication, and asked what they are before that.

use std::sync::Arc;

use rand::rngs::ChaCha8Rng;

use super::{
    Armed, BoundFacts, GaussianProcess, Glm, KernelMixtureParameters, KernelOracle, Known,
    LinearMixture, Logistic, LogisticMixture, Neural, Oracle, OracleSpec, Sides, Truth,
};
use crate::dp::Link;
use crate::error::Invalid;
use crate::task::{Kernel, Task};

/// A checked oracle, ready to be built.
#[derive(Debug, Clone, PartialEq)]
pub struct OracleConfig {
    pub(super) spec: OracleSpec,
    pub(super) kernel: Option<Kernel>,
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

    /// What its bounds are like.
    pub fn facts(&self) -> BoundFacts {
        let kind = self.kind();
        BoundFacts {
            by_step: kind == "armed-by-step",
            wide_at_first: matches!(kind, "logistic" | "kernel" | "gp"),
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
