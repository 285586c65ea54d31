//! The data of a plan's page. Acceptance depends only on the segment and the action, so a cell is the number of its
//! action.

use serde::Serialize;

use super::{OfferPlan, PlanKind, Segment};
use crate::dp::ValueTable;
use crate::history::fit::Fitted;
use crate::history::raw::Raw;
use crate::history::task_file::TaskFile;

/// The data of the page.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlanView {
    /// The noun for an action.
    pub action: String,
    /// Whether the plan is that of the learner.
    pub optimistic: bool,
    /// The largest budget.
    pub budget: u32,
    /// What each step is, such as `from 09:30`; empty if steps have only numbers.
    pub starts: Vec<String>,
    /// Values of the actions.
    pub actions: Vec<f64>,
    /// Raw columns and their values.
    pub columns: Vec<ColumnView>,
    /// Segments.
    pub segments: Vec<SegmentView>,
    /// Warnings of the fit.
    pub warnings: Vec<String>,
    /// Groups of days in words; a single one has none.
    pub groups: Vec<String>,
    /// Value to go by group of days, step and budget; the row after the last step is zero.
    pub values: Vec<Vec<Vec<f64>>>,
}

/// A raw column.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ColumnView {
    /// Its name.
    pub name: String,
    /// Its values in segments.
    pub values: Vec<String>,
    /// The index of the value shown first.
    pub start: usize,
}

/// A segment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SegmentView {
    /// The index of its value in each column.
    pub values: Vec<usize>,
    /// Probability of acceptance and its interval, by action.
    pub acceptance: Vec<[f64; 3]>,
    /// Whether the log supports each action.
    pub supported: Vec<bool>,
    /// The group of its days.
    pub group: usize,
    /// Cost of each action.
    pub costs: Vec<u32>,
    /// The number of the action (0 is none) by step and budget from 1.
    pub offers: Vec<u32>,
}

impl PlanView {
    /// The plan for some segments.
    pub fn new(
        task: &TaskFile,
        fitted: &Fitted,
        plan: &OfferPlan,
        kind: PlanKind,
        segments: &[Segment],
    ) -> Self {
        let horizon = plan.task.horizon();
        let columns = task.encoding.columns.iter().enumerate();
        let columns: Vec<ColumnView> = columns
            .map(|(i, column)| {
                let mut values: Vec<String> = Vec::new();
                for segment in segments {
                    let value = segment.values[i].to_string();
                    if !values.contains(&value) {
                        values.push(value);
                    }
                }
                ColumnView {
                    name: column.name().into(),
                    start: values.len() / 2,
                    values,
                }
            })
            .collect();
        let place = |(column, value): (&ColumnView, &Raw)| {
            let value = value.to_string();
            column.values.iter().position(|v| *v == value).unwrap_or(0)
        };
        let segment = |segment: &Segment| {
            let context = plan.task.context(0, &segment.features);
            let customer = plan.customer(fitted, &segment.features);
            let cells =
                (0..horizon).flat_map(|h| (1..=plan.task.budget_max()).map(move |b| (h, b)));
            SegmentView {
                values: columns.iter().zip(&segment.values).map(place).collect(),
                supported: customer.supported.clone(),
                group: customer.group,
                costs: (1..=plan.task.actions())
                    .map(|a| plan.task.cost(&context, a))
                    .collect(),
                offers: cells
                    .map(|(h, b)| plan.best(h, b, &customer) as u32)
                    .collect(),
                acceptance: customer.acceptance,
            }
        };
        let rows = |table: &ValueTable| -> Vec<Vec<f64>> {
            (0..=horizon).map(|h| table.row(h).to_vec()).collect()
        };
        Self {
            action: task.noun(),
            optimistic: kind == PlanKind::Optimistic,
            budget: plan.task.budget_max(),
            starts: task.step_labels(),
            actions: plan.task.application().action_values().to_vec(),
            segments: segments.iter().map(segment).collect(),
            warnings: fitted.file.warnings.clone(),
            groups: plan.groups(),
            values: plan.tables.iter().map(rows).collect(),
            columns,
        }
    }
}
