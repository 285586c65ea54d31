//! From a fitted log to offers: the Bellman equation with point estimates of acceptance and the log's own contexts, or the
//! plan of the learner ([`PlanKind::Optimistic`]).

mod law_sample;
mod rows;
mod segments;
mod view;

use std::sync::Arc;

use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use thiserror::Error;

use super::fit::{Fitted, ModelKind, SomeActions};
use super::task_file::TaskFile;
use crate::dp::{Backend, BackendError, BoundSource, Coefficients, Problem, ValueTable};
use crate::error::Invalid;
use crate::oracle::{Arms, Bounds, Known, LogisticMixtureParameters, Oracle, OracleSpec};
use crate::policy::{self, Decider, InitialArrival, InitialLog, LearnerSpec, MimicOptDp};
use crate::task::Task;

pub use law_sample::law_sample;
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
    /// Value to go.
    pub table: ValueTable,
    beliefs: Beliefs,
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
        let (table, beliefs) = match kind {
            PlanKind::Estimates => {
                let truth = SomeActions {
                    model: fitted.fit.model.clone(),
                    actions: actions.clone(),
                };
                let known = Known::fitted(Arc::new(truth));
                let sample = law_sample(&task, fitted);
                let mut coefficients = Coefficients::default();
                known.fill(&sample, &mut coefficients);
                let problem = Problem {
                    sample: &sample,
                    coefficients: &coefficients,
                    budget_max: task.budget_max(),
                    cap: None,
                };
                let table = backend.solve(&[problem])?.remove(0);
                (table, Beliefs::Estimates(known))
            }
            PlanKind::Optimistic => {
                let mut learner = learner(&task, fitted, &actions)?;
                policy::advance(&mut [&mut learner], 1, backend)?;
                let table = learner.u_hat().clone();
                (table, Beliefs::Learner(Box::new(learner)))
            }
        };
        Ok(Self {
            task,
            actions,
            table,
            beliefs,
        })
    }

    fn oracle(&self) -> &dyn Oracle {
        match &self.beliefs {
            Beliefs::Estimates(known) => known,
            Beliefs::Learner(learner) => learner.beliefs(),
        }
    }

    /// The offer to a customer with these features at `step` (0-based) with `budget` units left.
    pub fn offer(&self, fitted: &Fitted, step: usize, budget: u32, features: &[f64]) -> CellOffer {
        self.cell(step, budget, features, &self.acceptance(fitted, features))
    }

    /// Likewise, with known acceptance.
    fn cell(
        &self,
        step: usize,
        budget: u32,
        features: &[f64],
        acceptance: &[[f64; 3]],
    ) -> CellOffer {
        let task = &self.task;
        let context = task.context(step, features);
        let next = self.table.row(step + 1);
        let action = self.best(step, budget, features);
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
            a => acceptance[a - 1],
        };
        CellOffer {
            action: (action > 0).then(|| task.application().action_value(action)),
            probability,
            lower,
            upper,
            opportunity_cost: next[budget as usize] - next[(budget - cost) as usize],
            value: self.table.row(step)[budget as usize],
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
    pub fn best(&self, step: usize, budget: u32, features: &[f64]) -> usize {
        let task = &self.task;
        let context = task.context(step, features);
        let mut decider = Decider::new(task.actions());
        decider.choose(task, self.oracle(), &self.table, &context, budget)
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
