//! Oracles as a study file names them, checked once, built once per replication.

use std::sync::Arc;

use rand::rngs::ChaCha8Rng;

use super::{Armed, Glm, GlmParameters, Known, Logistic, LogisticParameters, Oracle};
use crate::error::Invalid;
use crate::model::Instance;

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
    /// The generalized linear oracle.
    Glm(GlmParameters),
    /// The refined logistic oracle.
    Logistic(LogisticParameters),
    /// The truth.
    Known,
}

/// A checked oracle, ready to be built.
#[derive(Debug, Clone, PartialEq)]
pub struct OracleConfig(OracleSpec);

impl OracleSpec {
    /// Checks the parameters; `field` is the oracle's place in the study.
    pub fn check(&self, field: &str, instance: &Instance) -> Result<OracleConfig, Invalid> {
        let positive = |name: &str, value: f64| {
            if value.is_finite() && value > 0.0 {
                return Ok(());
            }
            Err(Invalid::new(
                format!("{field}.{name}"),
                value,
                "a positive number",
            ))
        };
        let _ = instance;
        match self {
            Self::Armed { radius_scale } | Self::ArmedByStep { radius_scale } => {
                positive("radius_scale", *radius_scale)?;
            }
            Self::Glm(parameters) => {
                positive("radius_scale", parameters.radius_scale)?;
                let overrides = [
                    ("lambda", parameters.lambda),
                    ("gamma", parameters.gamma),
                    ("kappa", parameters.kappa),
                ];
                for (name, value) in overrides {
                    value.map_or(Ok(()), |x| positive(name, x))?;
                }
            }
            Self::Logistic(parameters) => {
                positive("lambda", parameters.lambda)?;
                positive("radius_scale", parameters.radius_scale)?;
                parameters.gamma.map_or(Ok(()), |x| positive("gamma", x))?;
                parameters.kappa.map_or(Ok(()), |x| positive("kappa", x))?;
            }
            Self::Known => {}
        }
        Ok(OracleConfig(self.clone()))
    }
}

impl OracleConfig {
    /// An oracle without data for an instance and a study of `episodes` episodes; `start` draws what it starts from.
    pub fn build(
        &self,
        instance: &Arc<Instance>,
        episodes: usize,
        _start: ChaCha8Rng,
    ) -> Box<dyn Oracle> {
        let actions = instance.actions();
        match &self.0 {
            OracleSpec::Armed { radius_scale } => {
                Box::new(Armed::stationary(actions, *radius_scale))
            }
            OracleSpec::ArmedByStep { radius_scale } => {
                Box::new(Armed::by_step(actions, instance.horizon(), *radius_scale))
            }
            OracleSpec::Glm(parameters) => Box::new(Glm::new(instance, *parameters, episodes)),
            OracleSpec::Logistic(parameters) => Box::new(Logistic::new(instance, *parameters)),
            OracleSpec::Known => Box::new(Known::new(Arc::clone(instance))),
        }
    }
}
