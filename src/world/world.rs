//! A world: a task and what is true of it, checked once.
//!
//! After [`WorldSpec::check`] there is no probability outside [0, 1], no empty context set, no step without a law and no
//! starting budget above the task's maximum.

use std::sync::Arc;

use super::{BudgetSpec, Budgets, ContextLaws, ContextsSpec, Conversion, ConversionSpec};
use crate::error::{Invalid, shown};
use crate::oracle::Truth;
use crate::task::{
    Application, ApplicationSpec, Context, ContextRows, FeatureRange, OwnPart, Task, TaskSpec,
    check_horizon, check_table_types,
};

/// A world as a study file states it, not yet checked.
#[derive(Debug, Clone, PartialEq)]
pub struct WorldSpec {
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

/// What is true: context laws, conversion and starting budgets of a task. Checked.
#[derive(Debug, Clone)]
pub struct World {
    task: Arc<Task>,
    contexts: ContextLaws,
    conversion: Conversion,
    budgets: Budgets,
    notes: Vec<String>,
}

impl WorldSpec {
    /// Checks the specification as a whole.
    pub fn check(&self) -> Result<World, Invalid> {
        check_horizon(self.horizon)?;
        let contexts = ContextLaws::check(&self.contexts, self.horizon)?;
        let application = Application::check(&self.application, contexts.dimension())?;
        check_table_types(&application, contexts.support(), contexts.is_finite())?;
        if application.is_per_customer() {
            if !contexts.is_finite() {
                let found = "a quantity or rate with a continuous context law";
                let accepted = "finite, grid, file or log contexts";
                return Err(Invalid::new("application", found, accepted));
            }
            let support = contexts.support();
            let mut points = contexts.drawn_points();
            points.try_for_each(|p| application.check_customer(support.features(p)))?;
        }
        let spendable = u64::from(application.cost_max()) * self.horizon as u64;
        let limit = u32::try_from(spendable).unwrap_or(u32::MAX);
        let task = TaskSpec {
            horizon: self.horizon,
            budget_max: self.budget.largest().min(limit),
            application: self.application.clone(),
            dimension: contexts.dimension(),
            feature_names: self.contexts.features.clone(),
            range: range_of(&contexts),
            types: Vec::new(),
            reward_max: Some(self.check_reward_max(largest_reward(&application, &contexts))?),
        };
        let task = task.check_with(Arc::clone(contexts.support()), contexts.is_finite())?;
        self.check_tables(&application, &contexts)?;
        let conversion =
            Conversion::check(&self.conversion, &application, &contexts, self.horizon)?;
        let (budgets, note) = Budgets::check(&self.budget, limit)?;
        let mut notes: Vec<String> = note.into_iter().collect();
        if matches!(self.application, ApplicationSpec::Procurement { .. })
            && conversion.action_weight().is_some_and(|w| w < 0.0)
        {
            notes.push(
                "the conversion weight of the wage is negative: a higher wage is less acceptable"
                    .into(),
            );
        }
        Ok(World {
            task: Arc::new(task),
            contexts,
            conversion,
            budgets,
            notes,
        })
    }

    /// Tables need context types in an unambiguous order.
    fn check_tables(
        &self,
        application: &Application,
        contexts: &ContextLaws,
    ) -> Result<(), Invalid> {
        let table = matches!(self.conversion, ConversionSpec::Table { .. });
        if table && !contexts.is_finite() {
            return Err(Invalid::new(
                "conversion.kind",
                "table with a continuous context law",
                "finite, grid or file contexts for a table",
            ));
        }
        if (table || application.table_types().is_some()) && !self.contexts.has_ordered_types() {
            return Err(Invalid::new(
                "contexts.types",
                "nothing",
                "the context values in the order of the tables' rows, because steps list theirs differently",
            ));
        }
        Ok(())
    }

    fn check_reward_max(&self, largest: f64) -> Result<f64, Invalid> {
        match self.reward_max {
            None => Ok(largest),
            Some(asked) if asked >= largest => Ok(asked),
            Some(asked) => Err(Invalid::new(
                "application.reward_max",
                shown(asked),
                format!("a number from {largest}, the largest reward of the contexts"),
            )),
        }
    }
}

/// The range of the features of contexts that can arrive.
fn range_of(contexts: &ContextLaws) -> FeatureRange {
    let support = contexts.support();
    let points = contexts.drawn_points().map(|p| support.features(p));
    let mut range = FeatureRange::of_contexts(contexts.dimension(), points);
    for (low, high) in contexts.boxes() {
        let farthest = low.iter().zip(high).map(|(l, h)| l.abs().max(h.abs()));
        range.include(&farthest.collect::<Vec<_>>());
    }
    range
}

/// The largest reward of contexts that can arrive; contexts that never bring a reward give 0.
fn largest_reward(application: &Application, contexts: &ContextLaws) -> f64 {
    let support = contexts.support();
    let reward_at = |features: &[f64], point: Option<u32>| {
        let context = Context {
            step: 0,
            features,
            point,
        };
        (1..=application.actions())
            .map(|a| application.reward(&context, a))
            .fold(0.0, f64::max)
    };
    let points = contexts
        .drawn_points()
        .map(|p| reward_at(support.features(p), Some(p)));
    // Rewards of continuous contexts grow with every feature (auction) or do not depend on them.
    let boxes = contexts.boxes().map(|(_, high)| reward_at(high, None));
    points.chain(boxes).fold(0.0, f64::max)
}

impl World {
    /// What a decision maker in this world knows.
    pub fn task(&self) -> &Arc<Task> {
        &self.task
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

    /// rho(theta, a) of a non-null action.
    pub fn rho(&self, context: &Context, action: usize) -> f64 {
        let value = self.task.application().action_value(action);
        self.conversion.rho(context, action, value)
    }

    /// Whether rho depends on the step beyond the context.
    pub fn depends_on_step(&self) -> bool {
        self.conversion.depends_on_step()
    }

    /// The parts that are own code.
    pub fn own(&self) -> impl Iterator<Item = OwnPart<'_>> {
        let laws = self.contexts.own().map(|own| own.part("contexts"));
        let conversion = self.conversion.own().map(|own| own.part("conversion"));
        laws.chain(conversion)
    }

    /// Notes for the user on what the check changed or found unusual.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Checks rows from outside: the task's own checks, types known to tables, linear truths within [0, 1].
    pub fn check_rows(&self, rows: &ContextRows) -> Result<(), Invalid> {
        self.task.check_rows(rows)?;
        let task = &self.task;
        for features in rows.iter() {
            if self.conversion.is_table() && task.support().find(features).is_none() {
                let accepted = "one of the context values in [contexts]";
                let found = format!("{features:?}");
                return Err(Invalid::new("context rows", found, accepted));
            }
            for &a in task.application().action_values() {
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
        Ok(())
    }
}

impl Truth for World {
    fn rho(&self, context: &Context, action: usize) -> f64 {
        self.rho(context, action)
    }

    fn depends_on_step(&self) -> bool {
        self.depends_on_step()
    }

    fn look(&self, contexts: &mut dyn Iterator<Item = Context<'_>>) {
        self.conversion.look(contexts);
    }
}
