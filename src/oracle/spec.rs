//! Oracles as a study file names them, checked once.

use super::armed::{ArmedParameters, Arms};
use super::config::Parameters;
use super::known::KnownParameters;
use super::{
    BoundFacts, GlmParameters, GpParameters, KernelMixtureParameters, KernelParameters,
    LinearMixtureParameters, LogisticMixtureParameters, LogisticParameters, MakeOracle,
    NeuralParameters, OracleConfig,
};
use crate::error::Invalid;
use crate::task::{Own, OwnPart, Task};

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
    /// Conversion per action, per step and action, or per context type and action, with beta-binomial bounds.
    BetaBinomial {
        /// What conversion depends on.
        arms: Arms,
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
    /// Code of the user's own.
    Own(Own<dyn MakeOracle>),
}

impl OracleSpec {
    /// Checks the parameters for a task; `field` is the oracle's place in the study.
    pub fn check(&self, field: &str, task: &Task) -> Result<OracleConfig, Invalid> {
        OracleConfig::check(self.clone(), field, task)
    }

    /// What its bounds are like; those of own code are not known before there is a task.
    pub fn facts(&self) -> BoundFacts {
        self.parameters().profile().facts
    }

    /// The own code that it is, if it is any.
    pub fn own(&self) -> Option<OwnPart<'_>> {
        match self {
            Self::Own(own) => Some(own.part("oracle")),
            _ => None,
        }
    }

    pub(super) fn parameters(&self) -> Box<dyn Parameters + '_> {
        let armed = |arms, beta_binomial, radius_scale: &f64| {
            Box::new(ArmedParameters {
                arms,
                beta_binomial,
                radius_scale: *radius_scale,
            })
        };
        match self {
            Self::Armed { radius_scale } => armed(Arms::Single, false, radius_scale),
            Self::ArmedByStep { radius_scale } => armed(Arms::ByStep, false, radius_scale),
            Self::BetaBinomial { arms, radius_scale } => armed(*arms, true, radius_scale),
            Self::Glm(parameters) => Box::new(*parameters),
            Self::LinearMixture(parameters) => Box::new(*parameters),
            Self::Logistic(parameters) => Box::new(*parameters),
            Self::LogisticMixture(parameters) => Box::new(*parameters),
            Self::Kernel(parameters) => Box::new(parameters.clone()),
            Self::KernelMixture(parameters) => Box::new(parameters.clone()),
            Self::Gp(parameters) => Box::new(parameters.clone()),
            Self::Neural(parameters) => Box::new(*parameters),
            Self::Known => Box::new(KnownParameters),
            Self::Own(own) => Box::new(own.clone()),
        }
    }
}
