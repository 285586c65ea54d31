//! Policies as a study file names them, checked once, built once per replication.

use std::sync::Arc;

use rand::rngs::ChaCha8Rng;

use super::{
    Clairvoyant, Fixed, Fluid, LogisticUcb1, MimicOptDp, Myopic, Policy, Random, ReservedEpisodes,
    SquareCbwk, SquareSettings,
};
use crate::dp::ValueTable;
use crate::error::Invalid;
use crate::fluid::FluidPlan;
use crate::model::{ContextRows, Instance};
use crate::oracle::{OracleConfig, OracleSpec};

/// A policy and its parameters, not yet checked.
#[derive(Debug, Clone, PartialEq)]
pub enum PolicySpec {
    /// Algorithm 1.
    MimicOptDp {
        /// Share of episodes reserved for the context laws.
        alpha: f64,
        /// Unlabeled rows at the start.
        initial: InitialRows,
        /// Confidence-bound oracle.
        oracle: OracleSpec,
    },
    /// Regression, a price for the budget, inverse gap weighting.
    SquareCbwk {
        /// Its own settings.
        settings: SquareSettings,
        /// Oracle whose point estimates are used.
        oracle: OracleSpec,
    },
    /// Optimistic linear program at every step.
    LogisticUcb1 {
        /// b_T, units of the budget that are set aside.
        budget_correction: f64,
        /// Confidence-bound oracle.
        oracle: OracleSpec,
    },
    /// True rho and law.
    Clairvoyant,
    /// The fluid relaxation with true rho and law.
    Fluid {
        /// Whether it is solved anew at every step.
        resolve: bool,
    },
    /// ucb * r only.
    Myopic {
        /// Confidence-bound oracle.
        oracle: OracleSpec,
    },
    /// Uniform over feasible actions.
    Random,
    /// One action, by index (0 is the null action).
    Fixed {
        /// The index.
        action: usize,
    },
}

/// The unlabeled rows s_1 (Section 3.4).
#[derive(Debug, Clone, PartialEq)]
pub enum InitialRows {
    /// Drawn from the law, anew in each replication.
    Drawn(usize),
    /// Given; the same in all replications.
    Given(Arc<ContextRows>),
}

/// A checked policy, ready to be built.
#[derive(Debug, Clone, PartialEq)]
pub struct PolicyConfig(Checked);

#[derive(Debug, Clone, PartialEq)]
enum Checked {
    MimicOptDp {
        reserved: ReservedEpisodes,
        initial: InitialRows,
        oracle: OracleConfig,
    },
    SquareCbwk {
        settings: SquareSettings,
        oracle: OracleConfig,
    },
    LogisticUcb1 {
        budget_correction: f64,
        oracle: OracleConfig,
    },
    Clairvoyant,
    Fluid {
        resolve: bool,
    },
    Myopic {
        oracle: OracleConfig,
    },
    Random,
    Fixed {
        action: usize,
    },
}

/// What policies are built from.
#[derive(Debug, Clone)]
pub struct Workplace {
    /// The world.
    pub instance: Arc<Instance>,
    /// The optimal value table, for the clairvoyant.
    pub optimum: Arc<ValueTable>,
    /// The fluid relaxation, where a policy needs it.
    pub fluid: Option<Arc<FluidPlan>>,
    /// delta of the study.
    pub delta: f64,
    /// T.
    pub episodes: usize,
}

/// The random streams a policy may need, by purpose.
#[derive(Debug)]
pub struct PolicyStreams {
    /// For unlabeled rows drawn at the start.
    pub initial_rows: ChaCha8Rng,
    /// For what an oracle starts from.
    pub oracle: ChaCha8Rng,
    /// For the policy's own choices.
    pub choices: ChaCha8Rng,
}

impl PolicySpec {
    /// Checks the parameters; `field` is the policy's place in the study.
    pub fn check(&self, field: &str, instance: &Instance) -> Result<PolicyConfig, Invalid> {
        Ok(PolicyConfig(match self {
            Self::MimicOptDp {
                alpha,
                initial,
                oracle,
            } => {
                let rows = match initial {
                    InitialRows::Drawn(rows) => *rows,
                    InitialRows::Given(rows) => {
                        instance.check_rows(rows).map_err(|error| Invalid {
                            field: format!("{field}.initial_file"),
                            ..error
                        })?;
                        rows.len()
                    }
                };
                Checked::MimicOptDp {
                    reserved: ReservedEpisodes::new(*alpha, rows, &format!("{field}.alpha"))?,
                    initial: initial.clone(),
                    oracle: oracle.check(&format!("{field}.oracle"), instance)?,
                }
            }
            Self::SquareCbwk { settings, oracle } => {
                for (key, value) in [("eta", settings.eta), ("gamma", settings.gamma)] {
                    if let Some(value) = value.filter(|x| !(x.is_finite() && *x > 0.0)) {
                        let field = format!("{field}.{key}");
                        return Err(Invalid::new(field, value, "a positive number"));
                    }
                }
                Checked::SquareCbwk {
                    settings: *settings,
                    oracle: oracle.check(&format!("{field}.oracle"), instance)?,
                }
            }
            Self::LogisticUcb1 {
                budget_correction,
                oracle,
            } => {
                if !(budget_correction.is_finite() && *budget_correction >= 0.0) {
                    let field = format!("{field}.budget_correction");
                    return Err(Invalid::new(field, budget_correction, "a number from 0"));
                }
                Checked::LogisticUcb1 {
                    budget_correction: *budget_correction,
                    oracle: oracle.check(&format!("{field}.oracle"), instance)?,
                }
            }
            Self::Clairvoyant => Checked::Clairvoyant,
            Self::Fluid { resolve } => Checked::Fluid { resolve: *resolve },
            Self::Myopic { oracle } => Checked::Myopic {
                oracle: oracle.check(&format!("{field}.oracle"), instance)?,
            },
            Self::Random => Checked::Random,
            Self::Fixed { action } if *action <= instance.actions() => {
                Checked::Fixed { action: *action }
            }
            Self::Fixed { action } => {
                return Err(Invalid::new(
                    format!("{field}.kind"),
                    format!("fixed:{action}"),
                    format!(
                        "fixed:<a> with an action index from 0 to {}",
                        instance.actions()
                    ),
                ));
            }
        }))
    }
}

impl PolicyConfig {
    /// The policy of one replication.
    pub fn build(&self, place: &Workplace, streams: PolicyStreams) -> Box<dyn Policy> {
        let PolicyStreams {
            mut initial_rows,
            oracle: start,
            choices,
        } = streams;
        let instance = Arc::clone(&place.instance);
        match &self.0 {
            Checked::MimicOptDp {
                reserved,
                initial,
                oracle,
            } => {
                let oracle = oracle.build(&instance, place.episodes, start);
                let drawn = match initial {
                    InitialRows::Drawn(0) => None,
                    InitialRows::Drawn(rows) => {
                        let rows = instance.contexts().draw_rows(&mut initial_rows, *rows);
                        Some(Arc::new(rows))
                    }
                    InitialRows::Given(rows) => Some(Arc::clone(rows)),
                };
                let rows = drawn.as_deref();
                Box::new(MimicOptDp::new(
                    instance,
                    oracle,
                    place.delta,
                    *reserved,
                    rows,
                ))
            }
            Checked::SquareCbwk { settings, oracle } => {
                let oracle = oracle.build(&instance, place.episodes, start);
                Box::new(SquareCbwk::new(
                    instance,
                    oracle,
                    place.delta,
                    *settings,
                    choices,
                ))
            }
            Checked::LogisticUcb1 {
                budget_correction,
                oracle,
            } => {
                let oracle = oracle.build(&instance, place.episodes, start);
                Box::new(LogisticUcb1::new(
                    instance,
                    oracle,
                    place.delta,
                    *budget_correction,
                    choices,
                ))
            }
            Checked::Fluid { resolve } => {
                let plan = place.fluid.as_ref();
                let plan = Arc::clone(plan.expect("made for studies with a fluid policy"));
                Box::new(Fluid::new(instance, plan, *resolve, choices))
            }
            Checked::Clairvoyant => {
                Box::new(Clairvoyant::new(instance, Arc::clone(&place.optimum)))
            }
            Checked::Myopic { oracle } => {
                let oracle = oracle.build(&instance, place.episodes, start);
                Box::new(Myopic::new(instance, oracle, place.delta))
            }
            Checked::Random => Box::new(Random::new(instance, choices)),
            Checked::Fixed { action } => Box::new(Fixed::new(instance, *action)),
        }
    }

    /// The oracle it learns with, where it has one.
    pub fn oracle(&self) -> Option<&OracleConfig> {
        match &self.0 {
            Checked::MimicOptDp { oracle, .. }
            | Checked::SquareCbwk { oracle, .. }
            | Checked::LogisticUcb1 { oracle, .. }
            | Checked::Myopic { oracle } => Some(oracle),
            Checked::Clairvoyant
            | Checked::Fluid { .. }
            | Checked::Random
            | Checked::Fixed { .. } => None,
        }
    }

    /// Whether [`Workplace::fluid`] must be there.
    pub fn needs_fluid_plan(&self) -> bool {
        matches!(self.0, Checked::Fluid { .. })
    }

    /// A generous estimate of the bytes one replication holds by the end of the study.
    pub fn bytes_per_replication(&self, instance: &Instance, episodes: usize) -> usize {
        let (horizon, actions) = (instance.horizon(), instance.actions());
        let dimension = instance.contexts().dimension();
        let per_observation = 8 * (2 * dimension + 3) + 9;
        let table = (horizon + 1) * (instance.budgets().max() as usize + 1) * 8;
        let per_context = 8 * dimension + 24 + 20 + actions * (8 + 4 + 16);
        match &self.0 {
            Checked::MimicOptDp {
                reserved, oracle, ..
            } => {
                let rows = reserved.rows_after(episodes);
                let arrivals = rows * horizon;
                let contexts = match instance.contexts().is_finite() {
                    true => arrivals.min(instance.contexts().support().len() * horizon),
                    false => arrivals,
                };
                let observations = episodes.saturating_sub(rows) * horizon;
                // Vectors double as they grow; the backend's own scratch is a table or two.
                2 * (arrivals * 20 + contexts * per_context + observations * per_observation)
                    + oracle.bytes(instance, observations, contexts)
                    + 4 * table
            }
            Checked::SquareCbwk { oracle, .. } | Checked::Myopic { oracle } => {
                let observations = episodes * horizon;
                2 * observations * per_observation + oracle.bytes(instance, observations, 0) + table
            }
            Checked::LogisticUcb1 { oracle, .. } => {
                let steps = episodes * horizon;
                // Arrivals are kept one by one, and every step has its own list of contexts.
                2 * steps * (per_context + 64 + per_observation) + oracle.bytes(instance, steps, 0)
            }
            Checked::Clairvoyant
            | Checked::Fluid { .. }
            | Checked::Random
            | Checked::Fixed { .. } => table,
        }
    }
}
