//! How a live learner learns, stated as a policy of a study file and read by the same code.

use super::read;
use super::read::context_rows::FeatureNames;
use super::section::Section;
use super::{Document, check_policies};
use crate::error::InputError;
use crate::oracle::OracleSpec;
use crate::policy::{InitialRows, LearnerSpec, PolicySpec};
use crate::task::{ApplicationSpec, Task};
use crate::world::{BudgetSpec, ContextsSpec, ConversionSpec, LawSpec, WorldSpec};

/// The settings of a learner and its oracle, checked for a task.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveLearning {
    /// Algorithm 1's own settings.
    pub learning: LearnerSpec,
    /// Its oracle.
    pub oracle: OracleSpec,
}

impl LiveLearning {
    /// Reads the one policy of `policies`, which must be a learner that starts without data.
    pub fn from_document(document: &Document, task: &Task) -> Result<Self, InputError> {
        let mut root = Section::root(document);
        // The truth is not known; what is not said of the oracle is that of actions by themselves.
        let unknown = WorldSpec {
            horizon: task.horizon(),
            budget: BudgetSpec::Constant { value: 0 },
            application: ApplicationSpec::Procurement { wages: vec![] },
            reward_max: None,
            contexts: ContextsSpec {
                law: LawSpec::Finite {
                    values: vec![],
                    weights: None,
                },
                no_arrival: vec![],
                types: None,
                features: None,
            },
            conversion: ConversionSpec::Armed {
                probabilities: vec![],
            },
        };
        let mut policies = read::policies(&mut root, &unknown, &mut FeatureNames::default())?;
        root.finish()?;
        check_policies(policies.clone(), task).map_err(|invalid| document.locate(&invalid))?;
        match policies.pop().map(|policy| policy.spec) {
            Some(PolicySpec::Learner {
                settings,
                initial: InitialRows::Drawn(0),
                log: None,
                oracle,
            }) if policies.is_empty() => Ok(Self {
                learning: settings,
                oracle,
            }),
            _ => Err(InputError::File {
                file: document.file().to_path_buf(),
                message: "policy: found another; accepted: one learner (mimic-opt-dp, \
                          tight-opt-dp, thompson-opt-dp) without initial data"
                    .into(),
            }),
        }
    }
}
