//! A plan as its page shows it: every number once. Acceptance depends on the segment and the action alone, so a cell is
//! no more than the number of its action.

use serde::Serialize;

use super::{OfferPlan, PlanKind, Segment};
use crate::history::encoding::Value;
use crate::history::fit::Fitted;
use crate::history::task_file::TaskFile;

/// What the page of a plan shows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlanView {
    /// What an action is called.
    pub action: String,
    /// Whether offers are those of the learner.
    pub optimistic: bool,
    /// The largest budget.
    pub budget: u32,
    /// When each step begins, where steps are cut from times.
    pub starts: Vec<String>,
    /// Values of the actions.
    pub actions: Vec<f64>,
    /// Raw columns and their values.
    pub columns: Vec<ColumnView>,
    /// Segments.
    pub segments: Vec<SegmentView>,
    /// Value to go by step (the row after the last is zero) and budget.
    pub values: Vec<Vec<f64>>,
}

/// A raw column.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ColumnView {
    /// Its name.
    pub name: String,
    /// The values of segments.
    pub values: Vec<String>,
    /// The one to start with.
    pub start: usize,
}

/// A segment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SegmentView {
    /// The place of its value in each column.
    pub values: Vec<usize>,
    /// Probability of acceptance and its interval, by action.
    pub acceptance: Vec<[f64; 3]>,
    /// Units that an accepted action takes.
    pub costs: Vec<u32>,
    /// The number of the action (0 is none), by step and budget from 1.
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
        let place = |(column, value): (&ColumnView, &Value)| {
            let value = value.to_string();
            column.values.iter().position(|v| *v == value).unwrap_or(0)
        };
        let segment = |segment: &Segment| {
            let context = plan.task.context(0, &segment.features);
            let cells =
                (0..horizon).flat_map(|h| (1..=plan.task.budget_max()).map(move |b| (h, b)));
            SegmentView {
                values: columns.iter().zip(&segment.values).map(place).collect(),
                acceptance: plan.acceptance(fitted, &segment.features),
                costs: (1..=plan.task.actions())
                    .map(|a| plan.task.cost(&context, a))
                    .collect(),
                offers: cells
                    .map(|(h, b)| plan.best(h, b, &segment.features) as u32)
                    .collect(),
            }
        };
        let clock = task.clock.as_ref();
        Self {
            action: task.application.noun().into(),
            optimistic: kind == PlanKind::Optimistic,
            budget: plan.task.budget_max(),
            starts: clock.map_or(Vec::new(), |clock| {
                (1..=horizon).map(|h| clock.start_of(h, horizon)).collect()
            }),
            actions: plan.task.application().action_values().to_vec(),
            segments: segments.iter().map(segment).collect(),
            values: (0..=horizon).map(|h| plan.table.row(h).to_vec()).collect(),
            columns,
        }
    }
}
