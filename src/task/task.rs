//! A task: everything a decision maker knows, checked once.
//!
//! [`TaskSpec::check`] excludes non-null actions of cost 0, tables without context types and budgets beyond the limits.
//! Learner, oracles and plans need nothing else; a simulation adds a [`crate::world::World`].

use std::sync::Arc;

use super::{
    Application, ApplicationSpec, Context, ContextRows, EpisodeContexts, FeatureRange,
    HORIZON_LIMIT, Support, TABLE_LIMIT, finite_numbers,
};
use crate::error::{Invalid, shown};

/// A task as its owner states it, not yet checked.
///
/// ```
/// use cbwk_gpu::task::{ApplicationSpec, TaskSpec};
///
/// // Ten rooms a day, sold over 24 hours at one of three prices, to customers with two features in [0, 1].
/// let prices = vec![80.0, 100.0, 120.0];
/// let task = TaskSpec::new(24, 10, ApplicationSpec::Pricing { prices }, 2).check()?;
/// assert_eq!((task.actions(), task.reward_max()), (3, 120.0));
/// # Ok::<(), cbwk_gpu::error::Invalid>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct TaskSpec {
    /// H, steps in an episode.
    pub horizon: usize,
    /// The largest starting budget.
    pub budget_max: u32,
    /// Rewards and costs.
    pub application: ApplicationSpec,
    /// Number of features of a context.
    pub dimension: usize,
    /// Names of the features, if any: then one per feature.
    pub feature_names: Option<Vec<String>>,
    /// The largest features.
    pub range: FeatureRange,
    /// Context types in the order of the rows of tables; empty if contexts are not limited to known types.
    pub types: Vec<Vec<f64>>,
    /// r_max, the largest non-null reward; by default that of the application at the edge of `range`.
    pub reward_max: Option<f64>,
}

/// What the decision maker knows: horizon, largest budget, actions with rewards and costs, features. Checked.
#[derive(Debug, Clone)]
pub struct Task {
    horizon: usize,
    budget_max: u32,
    application: Application,
    dimension: usize,
    feature_names: Option<Vec<String>>,
    range: FeatureRange,
    support: Arc<Support>,
    is_finite: bool,
    reward_max: f64,
}

impl TaskSpec {
    /// A task without known context types, with unnamed features of sizes up to 1.
    pub fn new(
        horizon: usize,
        budget_max: u32,
        application: ApplicationSpec,
        dimension: usize,
    ) -> Self {
        Self {
            horizon,
            budget_max,
            application,
            dimension,
            feature_names: None,
            range: FeatureRange::of_sizes(vec![1.0; dimension]),
            types: Vec::new(),
            reward_max: None,
        }
    }

    /// Checks the specification as a whole.
    pub fn check(&self) -> Result<Task, Invalid> {
        let mut support = Support::new(self.dimension);
        for (i, value) in self.types.iter().enumerate() {
            let field = format!("contexts.types[{}]", i + 1);
            if value.len() != self.dimension {
                let found = format!("{} features", value.len());
                let accepted = format!("{} features, as in the contexts", self.dimension);
                return Err(Invalid::new(field, found, accepted));
            }
            finite_numbers(&field, value)?;
            support.insert(value);
        }
        let is_finite = !support.is_empty();
        self.check_with(Arc::new(support), is_finite)
    }

    /// Checks a specification whose context types are known as points already. `is_finite` says that every context is one
    /// of them.
    pub(crate) fn check_with(
        &self,
        support: Arc<Support>,
        is_finite: bool,
    ) -> Result<Task, Invalid> {
        check_horizon(self.horizon)?;
        let application = Application::check(&self.application, self.dimension)?;
        check_table_types(&application, &support, is_finite)?;
        let names = self.feature_names.as_ref().map_or(0, Vec::len);
        if self.feature_names.is_some() && names != self.dimension {
            let accepted = format!("{} names, one per feature", self.dimension);
            return Err(Invalid::new(
                "contexts.features",
                format!("{names} names"),
                accepted,
            ));
        }
        finite_numbers("features", self.range.sizes())?;
        if self.range.sizes().len() != self.dimension {
            let found = format!("{} sizes", self.range.sizes().len());
            return Err(Invalid::new(
                "features",
                found,
                format!("{} sizes", self.dimension),
            ));
        }
        let values = (self.horizon as u64 + 1) * (u64::from(self.budget_max) + 1);
        if values > TABLE_LIMIT {
            return Err(Invalid::new(
                "budget",
                format!(
                    "{} units over {} steps, {values} table values",
                    self.budget_max, self.horizon
                ),
                format!("a smaller budget or horizon, with at most {TABLE_LIMIT} table values"),
            ));
        }
        let largest = application.largest_reward(&self.range);
        let reward_max = match self.reward_max {
            None => largest,
            Some(asked) if asked >= 0.0 => {
                finite_numbers("application.reward_max", &[asked])?;
                asked
            }
            Some(asked) => {
                let field = "application.reward_max";
                return Err(Invalid::new(field, shown(asked), "a number from 0"));
            }
        };
        Ok(Task {
            horizon: self.horizon,
            budget_max: self.budget_max,
            application,
            dimension: self.dimension,
            feature_names: self.feature_names.clone(),
            range: self.range.clone(),
            support,
            is_finite,
            reward_max,
        })
    }
}

/// Accepts horizons from 1 to [`HORIZON_LIMIT`].
pub(crate) fn check_horizon(horizon: usize) -> Result<(), Invalid> {
    if (1..=HORIZON_LIMIT).contains(&horizon) {
        return Ok(());
    }
    let accepted = format!("a whole number from 1 to {HORIZON_LIMIT}");
    Err(Invalid::new("study.horizon", horizon, accepted))
}

/// Accepts tables with a row for each context type.
pub(crate) fn check_table_types(
    application: &Application,
    support: &Support,
    is_finite: bool,
) -> Result<(), Invalid> {
    let Some(rows) = application.table_types() else {
        return Ok(());
    };
    if !is_finite {
        return Err(Invalid::new(
            "application.kind",
            "table with a continuous context law",
            "finite, grid or file contexts for a table",
        ));
    }
    let points = support.len();
    if rows != points {
        return Err(Invalid::new(
            "application.rewards",
            format!("{rows} rows"),
            format!("{points} rows (one per distinct context value)"),
        ));
    }
    Ok(())
}

impl Task {
    /// The same task, offering only these prices of its list.
    pub fn offering(self, offered: &[f64]) -> Self {
        Self {
            application: self.application.offering(offered),
            ..self
        }
    }

    /// H, steps in an episode.
    pub fn horizon(&self) -> usize {
        self.horizon
    }

    /// The largest starting budget.
    pub fn budget_max(&self) -> u32 {
        self.budget_max
    }

    /// The largest budget that a table may have.
    pub fn ceiling_limit(&self) -> u32 {
        let columns = TABLE_LIMIT / (self.horizon as u64 + 1);
        columns.saturating_sub(1).min(u64::from(u32::MAX)) as u32
    }

    /// Rewards and costs.
    pub fn application(&self) -> &Application {
        &self.application
    }

    /// Number of non-null actions.
    pub fn actions(&self) -> usize {
        self.application.actions()
    }

    /// Number of features of a context.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// Names of the features, if any.
    pub fn feature_names(&self) -> Option<&[String]> {
        self.feature_names.as_deref()
    }

    /// The known context types.
    pub fn support(&self) -> &Support {
        &self.support
    }

    /// Whether every context is one of the known types.
    pub fn is_finite(&self) -> bool {
        self.is_finite
    }

    /// r_max, the largest non-null reward (at least 0).
    pub fn reward_max(&self) -> f64 {
        self.reward_max
    }

    /// The largest cost of any action (the paper's L).
    pub fn cost_max(&self) -> u32 {
        self.application.cost_max()
    }

    /// Features as a context that has arrived at `step` (0-based).
    pub fn context<'c>(&self, step: usize, features: &'c [f64]) -> Context<'c> {
        let point = self.support.find(features);
        Context {
            step,
            features,
            point,
        }
    }

    /// r(theta, a); negative means infeasible.
    pub fn reward(&self, context: &Context, action: usize) -> f64 {
        self.application.reward(context, action)
    }

    /// d(theta, a).
    pub fn cost(&self, context: &Context, action: usize) -> u32 {
        self.application.cost(context, action)
    }

    /// Whether a non-null action may be taken with `budget` units left: r >= 0 and cost <= b.
    pub fn feasible(&self, context: &Context, action: usize, budget: u32) -> bool {
        self.cost(context, action) <= budget && self.reward(context, action) >= 0.0
    }

    /// The dimension of phi = (theta, action value).
    pub fn phi_dimension(&self) -> usize {
        self.dimension + 1
    }

    /// q, the largest norm of phi over contexts and actions.
    pub fn phi_norm_max(&self) -> f64 {
        let action = self.largest_action_value();
        (self.range.norm_squared + action * action).sqrt()
    }

    /// The largest size of each entry of phi over contexts and actions.
    pub fn phi_sizes(&self) -> Vec<f64> {
        let action = self.largest_action_value();
        let theta = self.range.sizes().iter().copied();
        theta.chain([action]).collect()
    }

    fn largest_action_value(&self) -> f64 {
        let values = self.application.action_values().iter();
        values.fold(0.0, |largest, a| largest.max(a.abs()))
    }

    /// Checks one context from outside: length, size of the numbers, type, and rewards up to r_max.
    pub fn check_context(&self, features: &[f64]) -> Result<(), Invalid> {
        let field = "context";
        if features.len() != self.dimension {
            return Err(Invalid::new(
                field,
                format!("{} features", features.len()),
                format!("{} features", self.dimension),
            ));
        }
        finite_numbers(field, features)?;
        self.application.check_customer(features)?;
        let context = self.context(0, features);
        if self.application.table_types().is_some() && context.point.is_none() {
            let accepted = "one of the context values in [contexts]";
            return Err(Invalid::new(field, format!("{features:?}"), accepted));
        }
        let rewards = (1..=self.actions()).map(|a| self.reward(&context, a));
        let reward = rewards.fold(0.0, f64::max);
        // Allows for the rounding of decimal rewards.
        if reward > self.reward_max * (1.0 + 1e-9) {
            return Err(Invalid::new(
                field,
                format!("a reward of {} at {features:?}", shown(reward)),
                format!(
                    "rewards up to r_max = {} (application.reward_max raises it)",
                    shown(self.reward_max)
                ),
            ));
        }
        Ok(())
    }

    /// Checks the contexts of an episode from outside.
    pub fn check_contexts(&self, contexts: &EpisodeContexts) -> Result<(), Invalid> {
        if !contexts.fits(self.horizon, self.dimension) {
            let accepted = "contexts of this task";
            return Err(Invalid::new("contexts", "those of another task", accepted));
        }
        for context in contexts.iter() {
            self.check_context(context.features)?;
            if context.point != self.support.find(context.features) {
                let accepted = "contexts with the types of this task";
                return Err(Invalid::new("contexts", "another type", accepted));
            }
        }
        Ok(())
    }

    /// Checks that rows from outside can be contexts of this task.
    pub fn check_rows(&self, rows: &ContextRows) -> Result<(), Invalid> {
        let named = |error: Invalid| Invalid {
            field: "context rows".into(),
            ..error
        };
        if rows.dimension() != self.dimension {
            return Err(Invalid::new(
                "context rows",
                format!("{} feature columns", rows.dimension()),
                format!("{}, as in [contexts]", self.dimension),
            ));
        }
        rows.iter()
            .try_for_each(|features| self.check_context(features).map_err(named))
    }
}
