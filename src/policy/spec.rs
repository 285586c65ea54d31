//! Policies as a study file names them; each is checked once.

use std::sync::Arc;

use super::baseline::BaselineConfig;
use super::{BaselineSpec, InitialLog, LearnerConfig, LearnerSpec, MakePolicy, WarmStart};
use crate::error::{Invalid, shown};
use crate::oracle::{OracleConfig, OracleSpec};
use crate::task::{ContextRows, Own, Task};

/// A policy with unchecked parameters.
#[derive(Debug, Clone, PartialEq)]
pub enum PolicySpec {
    /// Algorithm 1.
    Learner {
        /// Its settings.
        settings: LearnerSpec,
        /// Unlabeled rows at the start.
        initial: InitialRows,
        /// Labeled rows at the start.
        log: Option<Arc<InitialLog>>,
        /// Confidence-bound oracle.
        oracle: OracleSpec,
    },
    /// A published algorithm.
    Baseline(BaselineSpec),
    /// True rho and law.
    Clairvoyant,
    /// The fluid relaxation with true rho and law.
    Fluid {
        /// Whether it is solved again at every step.
        resolve: bool,
    },
    /// Maximises ucb * r without looking ahead.
    Myopic {
        /// Confidence-bound oracle.
        oracle: OracleSpec,
    },
    /// Uniform over the feasible actions.
    Random,
    /// One action, by its value (price, wage or bid).
    FixedValue {
        /// The value.
        value: f64,
    },
    /// One action, by index (0 is the null action).
    Fixed {
        /// The index.
        action: usize,
    },
    /// Code of the user's own.
    Own(Own<dyn MakePolicy>),
}

/// The unlabeled rows s_1 (Section 3.4).
#[derive(Debug, Clone, PartialEq)]
pub enum InitialRows {
    /// Drawn from the law, separately in each replication.
    Drawn(usize),
    /// Given, and the same in all replications.
    Given(Arc<ContextRows>),
}

/// A checked policy, ready to build.
#[derive(Debug, Clone, PartialEq)]
pub struct PolicyConfig(pub(super) Checked);

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Checked {
    Learner {
        settings: LearnerConfig,
        initial: InitialRows,
        log: Option<Arc<WarmStart>>,
        oracle: OracleConfig,
    },
    Baseline(BaselineConfig),
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
    Own(Own<dyn MakePolicy>),
}

impl PolicySpec {
    /// Checks the parameters. Errors name `field`, such as `policies[1]`.
    pub fn check(&self, field: &str, task: &Task) -> Result<PolicyConfig, Invalid> {
        Ok(PolicyConfig(match self {
            Self::Learner {
                settings,
                initial,
                log,
                oracle,
            } => {
                let rows = match initial {
                    InitialRows::Drawn(rows) => *rows,
                    InitialRows::Given(rows) => {
                        task.check_rows(rows).map_err(|error| Invalid {
                            field: format!("{field}.initial_file"),
                            ..error
                        })?;
                        rows.len()
                    }
                };
                let log = log.as_ref().map(|log| {
                    let log = log.check(&format!("{field}.initial_log"), task)?;
                    Ok(Arc::new(log))
                });
                let log: Option<Arc<WarmStart>> = log.transpose()?;
                let rows = rows + log.as_ref().map_or(0, |log| log.contexts.len());
                let oracle = oracle.check(&format!("{field}.oracle"), task)?;
                if settings.sampling {
                    oracle.check_posterior(&format!("{field}.oracle"))?;
                }
                Checked::Learner {
                    log,
                    settings: settings.check(field, oracle.facts(), rows)?,
                    initial: initial.clone(),
                    oracle,
                }
            }
            Self::Baseline(spec) => Checked::Baseline(spec.check(field, task)?),
            Self::Clairvoyant => Checked::Clairvoyant,
            Self::Fluid { resolve } => Checked::Fluid { resolve: *resolve },
            Self::Myopic { oracle } => Checked::Myopic {
                oracle: oracle.check(&format!("{field}.oracle"), task)?,
            },
            Self::Random => Checked::Random,
            Self::FixedValue { value } => {
                let values = task.application().action_values();
                let same = |known: &f64| (known - value).abs() <= 1e-9 * known.abs();
                let Some(place) = values.iter().position(same) else {
                    let known: Vec<String> = values.iter().map(ToString::to_string).collect();
                    let accepted = format!("one of {}", known.join(", "));
                    return Err(Invalid::new(
                        format!("{field}.value"),
                        shown(*value),
                        accepted,
                    ));
                };
                Checked::Fixed { action: place + 1 }
            }
            Self::Own(own) => Checked::Own(own.clone()),
            Self::Fixed { action } if *action <= task.actions() => {
                Checked::Fixed { action: *action }
            }
            Self::Fixed { action } => {
                return Err(Invalid::new(
                    format!("{field}.kind"),
                    format!("fixed:{action}"),
                    format!(
                        "fixed:<a> with an action index from 0 to {}",
                        task.actions()
                    ),
                ));
            }
        }))
    }
}
