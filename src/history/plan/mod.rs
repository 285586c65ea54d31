//! From a fitted log to offers: the Bellman equation with point estimates of acceptance and the log's own contexts, or the
//! plan of the learner ([`PlanKind::Optimistic`]).

mod rows;
mod segments;
mod view;

use std::sync::Arc;

use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use thiserror::Error;

use super::days::DayTree;
use super::encoding::Encoding;
use super::fit::{Fitted, ModelKind, SomeActions};
use super::log_laws::LogLaws;
use super::task_file::TaskFile;
use crate::dp::{Backend, BackendError, ValueTable};
use crate::error::Invalid;
use crate::oracle::{Arms, Bounds, Known, LogisticMixtureParameters, Oracle, OracleSpec};
use crate::policy::{self, Decider, InitialArrival, InitialLog, LearnerSpec, MimicOptDp, Terms};
use crate::task::Task;

pub use rows::{CellOffer, plan_csv};
pub use segments::{Segment, segments};
pub use view::{ColumnView, PlanView, SegmentView};

/// Confidence of the learner's bounds.
const DELTA: f64 = 0.1;

/// An error of planning.
#[derive(Debug, Error)]
pub enum PlanError {
    /// The request cannot be planned.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// The backend failed.
    #[error(transparent)]
    Backend(#[from] BackendError),
}

/// The estimates that a plan uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanKind {
    /// Point estimates.
    Estimates,
    /// Bounds of the learner, given the log.
    Optimistic,
}

/// A plan for every step and budget.
#[derive(Debug)]
pub struct OfferPlan {
    /// The task with the planned actions.
    pub task: Arc<Task>,
    /// Their numbers in the log, from 1.
    pub actions: Vec<usize>,
    /// Value to go, for each group of days; of the learner, one for all days.
    pub tables: Vec<ValueTable>,
    tree: DayTree,
    encoding: Encoding,
    beliefs: Beliefs,
}

/// A customer as a plan sees one.
#[derive(Debug, Clone, PartialEq)]
pub struct Customer {
    /// Features.
    pub features: Vec<f64>,
    /// Probability of acceptance and its interval, by action.
    pub acceptance: Vec<[f64; 3]>,
    /// Whether the log supports each action.
    pub supported: Vec<bool>,
    /// The actions that a plan may offer.
    pub terms: Terms,
    /// The group of the day.
    pub group: usize,
}

#[derive(Debug)]
enum Beliefs {
    Estimates(Known),
    Learner(Box<MimicOptDp>),
}

impl OfferPlan {
    /// Plans for budgets up to `budget_max`, by default the task's.
    pub fn make(
        task_file: &TaskFile,
        fitted: &Fitted,
        kind: PlanKind,
        budget_max: Option<u32>,
        backend: &mut dyn Backend,
    ) -> Result<Self, PlanError> {
        let actions = fitted.planned();
        let offers = task_file.application.only(&actions);
        let mut file = task_file.clone();
        if let Some(budget) = budget_max {
            file.task.budget = budget;
        }
        let task = Arc::new(file.check_with(&offers)?);
        let (tables, beliefs) = match kind {
            PlanKind::Estimates => {
                let laws = LogLaws::new(fitted, Arc::clone(&task), None);
                let samples = laws.of_days(&vec![1.0; fitted.log.episodes().len()]);
                let tables = laws.tables(&samples, &fitted.fit.model, backend)?;
                let truth = SomeActions {
                    model: fitted.fit.model.clone(),
                    actions: actions.clone(),
                };
                let known = Known::fitted(Arc::new(truth));
                (tables, Beliefs::Estimates(known))
            }
            PlanKind::Optimistic => {
                let mut learner = learner(&task, fitted, &actions)?;
                policy::advance(&mut [&mut learner], 1, backend)?;
                let table = learner.u_hat().clone();
                (vec![table], Beliefs::Learner(Box::new(learner)))
            }
        };
        Ok(Self {
            task,
            actions,
            tables,
            tree: fitted.file.days.tree.clone(),
            encoding: task_file.encoding.clone(),
            beliefs,
        })
    }

    /// The groups of days in words; a single one has none.
    pub fn groups(&self) -> Vec<String> {
        let groups = self.tree.groups().into_iter().map(|(words, _)| words);
        groups.take(self.tables.len()).collect()
    }

    fn oracle(&self) -> &dyn Oracle {
        match &self.beliefs {
            Beliefs::Estimates(known) => known,
            Beliefs::Learner(learner) => learner.beliefs(),
        }
    }

    /// A customer with these features.
    pub fn customer(&self, fitted: &Fitted, features: &[f64]) -> Customer {
        let supported = fitted.supported(features);
        let allowed = (1..)
            .zip(&supported)
            .filter(|(_, own)| **own)
            .map(|(a, _)| a);
        Customer {
            features: features.to_vec(),
            acceptance: self.acceptance(fitted, features),
            terms: Terms {
                actions: fitted.limits().map(|_| allowed.collect()),
                ..Terms::default()
            },
            supported,
            group: match self.tables.len() {
                1 => 0,
                _ => self.tree.group_of(&self.encoding, features),
            },
        }
    }

    /// The offer to a customer at `step` (0-based) with `budget` units left.
    pub fn offer(&self, step: usize, budget: u32, customer: &Customer) -> CellOffer {
        let task = &self.task;
        let context = task.context(step, &customer.features);
        let table = &self.tables[customer.group];
        let next = table.row(step + 1);
        let action = self.best(step, budget, customer);
        let cost = match action {
            0 => (1..=task.actions())
                .map(|a| task.cost(&context, a))
                .min()
                .unwrap_or(1)
                .min(budget),
            a => task.cost(&context, a),
        };
        let [probability, lower, upper] = match action {
            0 => [0.0; 3],
            a => customer.acceptance[a - 1],
        };
        CellOffer {
            action: (action > 0).then(|| task.application().action_value(action)),
            probability,
            lower,
            upper,
            opportunity_cost: next[budget as usize] - next[(budget - cost) as usize],
            value: table.row(step)[budget as usize],
        }
    }

    /// Probability of acceptance of every action.
    pub fn estimates(&self, features: &[f64]) -> Vec<f64> {
        let mut estimates = vec![0.0; self.task.actions()];
        let context = self.task.context(0, features);
        self.oracle().estimate(&context, &mut estimates);
        estimates
    }

    /// Probability of acceptance with its interval, for every action.
    pub fn acceptance(&self, fitted: &Fitted, features: &[f64]) -> Vec<[f64; 3]> {
        let context = self.task.context(0, features);
        let estimates = self.estimates(features);
        let mut bounds = vec![Bounds::UNKNOWN; self.task.actions()];
        if let Beliefs::Learner(learner) = &self.beliefs {
            learner.beliefs().interval(&context, &mut bounds);
        }
        let of_action = |(i, estimate): (usize, &f64)| {
            let (lower, upper) = match self.beliefs {
                Beliefs::Estimates(_) => fitted.uncertainty.interval(features, self.actions[i]),
                Beliefs::Learner(_) => (bounds[i].lcb, bounds[i].ucb),
            };
            [*estimate, lower, upper]
        };
        estimates.iter().enumerate().map(of_action).collect()
    }

    /// The number of the planned action at `step` (0-based); 0 is none.
    pub fn best(&self, step: usize, budget: u32, customer: &Customer) -> usize {
        let task = &self.task;
        let context = task.context(step, &customer.features);
        let mut decider = Decider::new(task.actions());
        let next = self.tables[customer.group].row(step + 1);
        decider.choose_on(task, self.oracle(), next, &context, budget, &customer.terms)
    }
}

/// The learner of live use, trained on the log. Of offers with unplanned actions it learns only the contexts.
fn learner(task: &Arc<Task>, fitted: &Fitted, actions: &[usize]) -> Result<MimicOptDp, Invalid> {
    let spec = oracle_spec(fitted);
    let oracle = spec.check("oracle", task)?;
    let log = &fitted.log;
    let arrival = |i: usize| {
        let logged = log.arrivals()[i];
        let action = actions.iter().position(|a| *a == logged.action as usize);
        InitialArrival {
            step: logged.step as usize,
            features: log.theta(i).to_vec(),
            action: action.map_or(0, |a| a + 1),
            accepted: logged.accepted && action.is_some(),
        }
    };
    let episodes = log.episodes().iter();
    let initial = InitialLog {
        episodes: episodes
            .map(|e| e.arrivals.clone().map(arrival).collect())
            .collect(),
    };
    let start = initial.check("log", task)?;
    let config = LearnerSpec::TIGHT.check("learner", oracle.facts(), start.contexts.len())?;
    let stream = || ChaCha8Rng::seed_from_u64(1);
    let oracle = oracle.build(task, 1, stream(), None, config.sides())?;
    let mut learner = config.learner(Arc::clone(task), oracle, DELTA, stream());
    learner.add_log(&start);
    Ok(learner)
}

/// The oracle with tight bounds that suits the model.
pub fn oracle_spec(fitted: &Fitted) -> OracleSpec {
    match fitted.file.model.kind {
        ModelKind::Rates => OracleSpec::BetaBinomial {
            arms: Arms::Single,
            radius_scale: 1.0,
        },
        _ => OracleSpec::LogisticMixture(LogisticMixtureParameters {
            norm_bound: fitted.file.norm_bound,
            ..LogisticMixtureParameters::default()
        }),
    }
}
