//! An instance: everything Section 2 calls the world, checked once.
//!
//! After [`InstanceSpec::check`] nothing downstream can meet a probability outside [0, 1], a non-null action of cost
//! 0, an empty context set, a step without a law or a budget that cannot be spent.

use super::{
    Application, ApplicationSpec, BudgetSpec, Budgets, Context, ContextLaws, ContextRows,
    ContextsSpec, Conversion, ConversionSpec,
};
use crate::error::Invalid;

/// The longest episode accepted; it bounds the tables, not the method.
pub const HORIZON_LIMIT: usize = 100_000;

/// The most values a table may have, (H + 1) * (budget + 1): 4 GiB of them.
pub const TABLE_LIMIT: u64 = 1 << 29;

/// The largest size of a number that the model computes with.
pub const NUMBER_LIMIT: f64 = 1e100;

/// An instance as a study file states it, not yet checked.
#[derive(Debug, Clone, PartialEq)]
pub struct InstanceSpec {
    /// H, steps in an episode.
    pub horizon: usize,
    /// Starting budgets.
    pub budget: BudgetSpec,
    /// Rewards and costs.
    pub application: ApplicationSpec,
    /// Overrides r_max, the largest non-null reward (`reward_max` in the file).
    pub reward_max: Option<f64>,
    /// Context laws.
    pub contexts: ContextsSpec,
    /// Conversion truth.
    pub conversion: ConversionSpec,
}

/// A valid instance.
#[derive(Debug, Clone)]
pub struct Instance {
    horizon: usize,
    application: Application,
    contexts: ContextLaws,
    conversion: Conversion,
    budgets: Budgets,
    reward_max: f64,
    notes: Vec<String>,
}

impl InstanceSpec {
    /// Checks the specification as a whole.
    pub fn check(&self) -> Result<Instance, Invalid> {
        if !(1..=HORIZON_LIMIT).contains(&self.horizon) {
            let accepted = format!("a whole number from 1 to {HORIZON_LIMIT}");
            return Err(Invalid::new("study.horizon", self.horizon, accepted));
        }
        let contexts = ContextLaws::check(&self.contexts, self.horizon)?;
        let application = Application::check(&self.application, contexts.dimension())?;
        table_fits(application.table_types(), &contexts)?;
        let table = matches!(self.conversion, ConversionSpec::Table { .. });
        if table && !contexts.is_finite() {
            return Err(Invalid::new(
                "conversion.kind",
                "table with a continuous context law",
                "finite, grid or file contexts for a table",
            ));
        }
        if (table || application.table_types().is_some()) && !self.contexts.types_are_clear() {
            return Err(Invalid::new(
                "contexts.types",
                "nothing",
                "the context values in the order of the tables' rows, because steps list theirs differently",
            ));
        }
        let conversion =
            Conversion::check(&self.conversion, &application, &contexts, self.horizon)?;
        let spendable = u64::from(application.cost_max()) * self.horizon as u64;
        let limit = u32::try_from(spendable).unwrap_or(u32::MAX);
        let (budgets, note) = Budgets::check(&self.budget, limit)?;
        let values = (self.horizon as u64 + 1) * (u64::from(budgets.max()) + 1);
        if values > TABLE_LIMIT {
            return Err(Invalid::new(
                "budget",
                format!(
                    "{} units over {} steps, {values} table values",
                    budgets.max(),
                    self.horizon
                ),
                format!("a smaller budget or horizon, with at most {TABLE_LIMIT} table values"),
            ));
        }
        let mut instance = Instance {
            horizon: self.horizon,
            application,
            contexts,
            conversion,
            budgets,
            reward_max: 0.0,
            notes: note.into_iter().collect(),
        };
        instance.reward_max = self.check_reward_max(instance.largest_reward())?;
        if matches!(self.application, ApplicationSpec::Procurement { .. })
            && instance.conversion.action_weight().is_some_and(|w| w < 0.0)
        {
            instance.notes.push(
                "the conversion weight of the wage is negative: a higher wage is less acceptable"
                    .into(),
            );
        }
        Ok(instance)
    }

    fn check_reward_max(&self, largest: f64) -> Result<f64, Invalid> {
        match self.reward_max {
            None => Ok(largest),
            Some(asked) if asked.is_finite() && asked >= largest => Ok(asked),
            Some(asked) => Err(Invalid::new(
                "application.reward_max",
                asked,
                format!("a number from {largest}, the largest reward of the contexts"),
            )),
        }
    }
}

fn table_fits(types: Option<usize>, contexts: &ContextLaws) -> Result<(), Invalid> {
    let Some(types) = types else { return Ok(()) };
    if !contexts.is_finite() {
        return Err(Invalid::new(
            "application.kind",
            "table with a continuous context law",
            "finite, grid or file contexts for a table",
        ));
    }
    let points = contexts.support().len();
    if types != points {
        return Err(Invalid::new(
            "application.rewards",
            format!("{types} rows"),
            format!("{points} rows (one per distinct context value)"),
        ));
    }
    Ok(())
}

impl Instance {
    /// H, steps in an episode.
    pub fn horizon(&self) -> usize {
        self.horizon
    }

    /// Rewards and costs.
    pub fn application(&self) -> &Application {
        &self.application
    }

    /// Context laws.
    pub fn contexts(&self) -> &ContextLaws {
        &self.contexts
    }

    /// Conversion truth.
    pub fn conversion(&self) -> &Conversion {
        &self.conversion
    }

    /// Starting budgets.
    pub fn budgets(&self) -> &Budgets {
        &self.budgets
    }

    /// Number of non-null actions.
    pub fn actions(&self) -> usize {
        self.application.actions()
    }

    /// r_max, the largest non-null reward over the context support (at least 0).
    pub fn reward_max(&self) -> f64 {
        self.reward_max
    }

    /// What the check changed or found strange, for the user to read.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// r(theta, a); negative means infeasible.
    pub fn reward(&self, context: &Context, action: usize) -> f64 {
        self.application.reward(context, action)
    }

    /// d(theta, a).
    pub fn cost(&self, context: &Context, action: usize) -> u32 {
        self.application.cost(context, action)
    }

    /// rho(theta, a).
    pub fn rho(&self, context: &Context, action: usize) -> f64 {
        let value = self.application.action_value(action);
        self.conversion.rho(context, action, value)
    }

    /// Whether a non-null action may be taken with `budget` units left: r >= 0 and cost <= b.
    pub fn feasible(&self, context: &Context, action: usize, budget: u32) -> bool {
        self.cost(context, action) <= budget && self.reward(context, action) >= 0.0
    }

    /// The dimension of phi = (theta, action value).
    pub fn phi_dimension(&self) -> usize {
        self.contexts.dimension() + 1
    }

    /// q, the largest norm of phi over contexts and actions.
    pub fn phi_norm_max(&self) -> f64 {
        let support = self.contexts.support();
        let points = (0..support.len() as u32).map(|p| square_sum(support.features(p)));
        let boxes = self.contexts.boxes().map(|(low, high)| {
            let farthest = low.iter().zip(high).map(|(l, h)| l.abs().max(h.abs()));
            farthest.map(|x| x * x).sum::<f64>()
        });
        let theta = points.chain(boxes).fold(0.0, f64::max);
        let action = self
            .application
            .action_values()
            .iter()
            .fold(0.0, |m: f64, a| m.max(a * a));
        (theta + action).sqrt()
    }

    /// The largest size of each entry of phi over contexts and actions.
    pub fn phi_sizes(&self) -> Vec<f64> {
        let support = self.contexts.support();
        let mut sizes = vec![0f64; self.phi_dimension()];
        let mut see = |theta: &[f64]| {
            for (size, x) in sizes.iter_mut().zip(theta) {
                *size = size.max(x.abs());
            }
        };
        (0..support.len() as u32).for_each(|point| see(support.features(point)));
        for (low, high) in self.contexts.boxes() {
            see(low);
            see(high);
        }
        let actions = self.application.action_values().iter();
        sizes[self.contexts.dimension()] = actions.fold(0.0, |m, a| m.max(a.abs()));
        sizes
    }

    /// Largest reward over the support; contexts that never bring a reward give 0.
    fn largest_reward(&self) -> f64 {
        let support = self.contexts.support();
        let reward_at = |features: &[f64], point: Option<u32>| {
            let context = Context {
                step: 0,
                features,
                point,
            };
            (1..=self.actions())
                .map(|a| self.reward(&context, a))
                .fold(0.0, f64::max)
        };
        let points = (0..support.len() as u32).map(|p| reward_at(support.features(p), Some(p)));
        // Rewards of continuous contexts grow with every feature (auction) or do not depend on them.
        let boxes = self.contexts.boxes().map(|(_, high)| reward_at(high, None));
        points.chain(boxes).fold(0.0, f64::max)
    }

    /// Checks that rows from outside can be contexts of this instance: dimension, horizon, table types, linear truth.
    pub fn check_rows(&self, rows: &ContextRows) -> Result<(), Invalid> {
        let dimension = self.contexts.dimension();
        if rows.dimension() != dimension {
            return Err(Invalid::new(
                "context rows",
                format!("{} feature columns", rows.dimension()),
                format!("{dimension}, as in [contexts]"),
            ));
        }
        let needs_point = self.application.table_types().is_some() || self.conversion.is_table();
        for row in 0..rows.len() {
            for features in (0..self.horizon).filter_map(|step| rows.get(row, step)) {
                if needs_point && self.contexts.support().find(features).is_none() {
                    let accepted = "one of the context values in [contexts]";
                    return Err(Invalid::new(
                        "context rows",
                        format!("{features:?}"),
                        accepted,
                    ));
                }
                for &a in self.application.action_values() {
                    if let Some(value) = self.conversion.unclamped_linear(features, a)
                        && !(-1e-12..=1.0 + 1e-12).contains(&value)
                    {
                        return Err(Invalid::new(
                            "context rows",
                            format!("mu.phi = {value} at context {features:?}, action {a}"),
                            "contexts with mu.phi from 0 to 1",
                        ));
                    }
                }
            }
        }
        Ok(())
    }
}

fn square_sum(x: &[f64]) -> f64 {
    x.iter().map(|v| v * v).sum()
}
