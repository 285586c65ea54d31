//! The data of a plan's page. Acceptance depends only on the segment and the action, so a cell is the number of its
//! action.

use serde::Serialize;

use super::{OfferPlan, PlanKind, Segment};
use crate::dp::ValueTable;
use crate::history::fit::Fitted;
use crate::history::raw::Raw;
use crate::history::task_file::TaskFile;
use crate::statistics::evenly_spaced;

/// Bytes of values and offers in a page, about; the rest of a page is small.
const PAGE: f64 = 3.5e6;

/// Bytes of a number, and of an offer.
const NUMBER: usize = 10;
const OFFER: usize = 2;

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
    /// H.
    pub horizon: usize,
    /// Steps shown, from 1; all of them unless the page would be too large.
    pub steps: Vec<usize>,
    /// Budgets shown, likewise.
    pub budgets: Vec<u32>,
    /// Costs that occur.
    pub costs: Vec<u32>,
    /// Value to go by group of days, step and budget shown, to seven digits.
    pub values: Vec<Vec<Vec<f64>>>,
    /// Value to go after the step, by group, step and budget from 0; empty where budgets are thinned.
    pub next: Vec<Vec<Vec<f64>>>,
    /// Where budgets are thinned: what the units of each cost are worth later, by group, step, cost and budget shown.
    pub gaps: Vec<Vec<Vec<Vec<f64>>>>,
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
    /// The number of the action (0 is none) by step and budget shown.
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
        let costs = plan.task.application().costs();
        let budget = plan.task.budget_max();
        let cell =
            |numbers: usize| (plan.tables.len() * numbers * NUMBER + segments.len() * OFFER) as f64;
        // Whole rows of the table give the worth of any number of units; a thinned one needs it for each cost.
        let is_whole = (horizon * (budget as usize + 1)) as f64 * cell(2) <= PAGE;
        let numbers = if is_whole { 2 } else { 1 + costs.len() };
        let (steps, budgets) = shown(horizon, budget, (PAGE / cell(numbers)) as usize);
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
            let cells = steps
                .iter()
                .flat_map(|h| budgets.iter().map(move |b| (h - 1, *b)));
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
        let at_budgets = |of: &dyn Fn(u32) -> f64| -> Vec<f64> {
            budgets.iter().map(|b| seven_digits(of(*b))).collect()
        };
        let rows = |table: &ValueTable| -> Vec<Vec<f64>> {
            let row = |h: &usize| at_budgets(&|b| table.row(h - 1)[b as usize]);
            steps.iter().map(row).collect()
        };
        let gap = |table: &ValueTable, h: usize, cost: u32| {
            let next = table.row(h);
            at_budgets(&|b| next[b as usize] - next[b.saturating_sub(cost) as usize])
        };
        let next = |table: &ValueTable| -> Vec<Vec<f64>> {
            let row = |h: &usize| table.row(*h).iter().map(|x| seven_digits(*x)).collect();
            steps.iter().map(row).collect()
        };
        let gaps = |table: &ValueTable| -> Vec<Vec<Vec<f64>>> {
            let by_cost = |h: &usize| costs.iter().map(|cost| gap(table, *h, *cost)).collect();
            steps.iter().map(by_cost).collect()
        };
        Self {
            action: task.noun(),
            optimistic: kind == PlanKind::Optimistic,
            budget,
            starts: task.step_labels(),
            actions: plan.task.application().action_values().to_vec(),
            segments: segments.iter().map(segment).collect(),
            warnings: fitted.file.warnings.clone(),
            groups: plan.groups(),
            values: plan.tables.iter().map(rows).collect(),
            next: plan.tables.iter().filter(|_| is_whole).map(next).collect(),
            gaps: plan.tables.iter().filter(|_| !is_whole).map(gaps).collect(),
            horizon,
            steps,
            budgets,
            costs,
            columns,
        }
    }
}

/// The steps and budgets of a page of at most `cells` cells: all, or evenly spaced ones with the first and the last.
fn shown(horizon: usize, budget: u32, cells: usize) -> (Vec<usize>, Vec<u32>) {
    let budget = budget as usize;
    let (mut steps, mut budgets) = (horizon, budget);
    if horizon * budget > cells {
        let side = (cells as f64).sqrt() as usize;
        budgets = budget.min(side.max(cells / horizon)).max(2);
        steps = horizon.min(cells / budgets).max(2);
    }
    let from_one = |place: usize| place + 1;
    (
        evenly_spaced(horizon, steps)
            .into_iter()
            .map(from_one)
            .collect(),
        evenly_spaced(budget, budgets)
            .into_iter()
            .map(|b| from_one(b) as u32)
            .collect(),
    )
}

/// A number to seven digits.
fn seven_digits(x: f64) -> f64 {
    format!("{x:.6e}").parse().unwrap_or(x)
}
