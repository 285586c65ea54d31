//! Backward induction over rows, step by step from the end: rows are turned into lists by step a few steps at a time, and
//! coefficients exist for a few contexts at a time. Groups of neighbouring rows are solved beside the whole, each by
//! itself, at the price of one more solve: how far their values lie apart tells how far off the whole may be.

use std::ops::Range;

use rayon::prelude::*;

use super::dense::{self, CostRows};
use super::over_budgets::{self, Contexts};
use super::terms::{Gaps, padded};
use crate::dp::{BackendError, Coefficients, Precision, RawTable, ValueTable};
use crate::task::{Context, ContextRows, Task};

/// Steps that are turned at once: a row's contexts of so many steps lie together.
const STEPS: usize = 16;

/// Contexts whose coefficients exist at a time.
const CHUNK: usize = 64;

/// What rows are worth.
#[derive(Debug)]
pub struct SolvedRows {
    /// The values of all rows together.
    pub table: ValueTable,
    /// For each group of rows its values at the start, by budget; none where there is but one group.
    pub groups: Vec<Vec<f64>>,
}

/// rho(theta, a) of a non-null action.
pub type Rho<'a> = dyn Fn(&Context, usize) -> f64 + Sync + 'a;

/// Solves the Bellman equation over rows with rho known: for all of them, and for `groups` groups of neighbouring ones. The
/// bits are the same for any number of threads.
pub fn solve_rows(
    task: &Task,
    rows: &ContextRows,
    groups: usize,
    rho: &Rho,
) -> Result<SolvedRows, BackendError> {
    let horizon = rows.horizon();
    let stage = Stage::new(task, rho);
    let size = rows.len().div_ceil(groups.max(1)).max(1);
    let starts = (0..rows.len()).step_by(size);
    let ranges = starts.map(|first| first..(first + size).min(rows.len()));
    let mut groups: Vec<Group> = ranges.map(|rows| Group::new(rows, &stage)).collect();
    let is_one = groups.len() < 2;
    let mut table = RawTable::zeros(horizon, task.budget_max(), Precision::F64, 0.0);
    let mut whole = Values::new(&stage);
    for h in (0..horizon).rev() {
        let turned = h - h % STEPS;
        if h + 1 == horizon || h % STEPS == STEPS - 1 {
            let all = groups.par_iter_mut();
            all.for_each(|group| group.turn(rows, turned..h + 1));
        }
        let reach = stage.reach(horizon - h);
        whole.prepare(&stage, reach);
        let step = (h, h - turned, reach);
        groups
            .par_iter_mut()
            .try_for_each(|group| group.sum(&stage, step, whole.gaps.rows(), is_one))?;
        for group in &groups {
            for (sum, part) in whole.sums.iter_mut().zip(&group.part_of_whole) {
                *sum += part;
            }
        }
        whole.advance(reach, rows.len(), table.row_mut(h));
    }
    table.reward = whole.next.last().copied().unwrap_or(0.0);
    let checked = ValueTable::checked(table).map_err(|error| BackendError::Table {
        backend: "cpu",
        error,
    })?;
    let own = groups.into_iter().map(|group| group.own.next);
    Ok(SolvedRows {
        table: checked,
        groups: if is_one { Vec::new() } else { own.collect() },
    })
}

/// What all groups share.
struct Stage<'a> {
    task: &'a Task,
    rho: &'a Rho<'a>,
    /// Distinct costs, rising.
    costs: Vec<u32>,
    /// By action, as rows of these, where costs follow the action alone.
    common_cost_rows: Option<Vec<u32>>,
}

impl<'a> Stage<'a> {
    fn new(task: &'a Task, rho: &'a Rho<'a>) -> Self {
        let actions = 1..=task.actions();
        // Costs follow the action alone, or come from a table by context type.
        let features = vec![0.0; task.dimension()];
        let types = task.application().table_types().map_or(1, |types| types);
        let mut costs = Vec::new();
        for point in 0..types as u32 {
            let context = Context {
                step: 0,
                features: &features,
                point: Some(point),
            };
            costs.extend(actions.clone().map(|a| task.cost(&context, a)));
        }
        let of_actions = costs.clone();
        costs.sort_unstable();
        costs.dedup();
        let row = |cost: &u32| costs.partition_point(|c| c < cost) as u32;
        let is_common = task.application().table_types().is_none();
        Self {
            common_cost_rows: is_common.then(|| of_actions.iter().map(row).collect()),
            task,
            rho,
            costs,
        }
    }

    /// The largest budget that can be spent in so many steps: larger ones have its value.
    fn reach(&self, steps: usize) -> usize {
        let cost_max = u64::from(self.costs.last().copied().unwrap_or(0));
        (cost_max * steps as u64).min(u64::from(self.task.budget_max())) as usize
    }

    /// Appends the coefficients of a context's actions.
    fn evaluate(
        &self,
        step: usize,
        features: &[f64],
        pairs: &mut Pairs,
    ) -> Result<(), BackendError> {
        let context = self.task.context(step, features);
        for action in 1..=self.task.actions() {
            let rho = (self.rho)(&context, action);
            let (gain, lcb) = Coefficients::of(rho, rho, self.task.reward(&context, action));
            if !(gain * lcb).is_finite() {
                return Err(BackendError::NotFinite {
                    entry: pairs.gain.len() / self.task.actions(),
                    action,
                    gain,
                    lcb,
                });
            }
            let cost = self.task.cost(&context, action);
            let row = self.costs.partition_point(|c| *c < cost);
            pairs.push(gain, lcb, row as u32);
        }
        Ok(())
    }

    /// Adds the gains of contexts, each of weight 1.
    fn add_gains(&self, pairs: &Pairs, gaps: &[f64], sums: &mut [f64]) {
        let actions = self.task.actions();
        let contexts = Contexts::all(pairs.gain.len() / actions, &pairs.gain, &pairs.lcb);
        match &self.common_cost_rows {
            Some(rows) => over_budgets::add_gains(&contexts, gaps, rows, sums),
            None => {
                let costs = CostRows {
                    actions,
                    shared: &pairs.cost_rows,
                    single: &[],
                };
                dense::add_gains(costs, &contexts, gaps, sums);
            }
        }
    }
}

/// Coefficients of some contexts, the actions of each together.
#[derive(Default)]
struct Pairs {
    gain: Vec<f64>,
    lcb: Vec<f64>,
    cost_rows: Vec<u32>,
}

impl Pairs {
    fn clear(&mut self) {
        self.gain.clear();
        self.lcb.clear();
        self.cost_rows.clear();
    }

    fn push(&mut self, gain: f64, lcb: f64, cost_row: u32) {
        self.gain.push(gain);
        self.lcb.push(lcb);
        self.cost_rows.push(cost_row);
    }
}

/// u[h+1] on the way to u[h], smoothed as [`ValueTable::checked`] will smooth it.
struct Values {
    next: Vec<f64>,
    gaps: Gaps,
    sums: Vec<f64>,
}

impl Values {
    fn new(stage: &Stage) -> Self {
        Self {
            next: vec![0.0; stage.task.budget_max() as usize + 1],
            gaps: Gaps::default(),
            sums: Vec::new(),
        }
    }

    fn prepare(&mut self, stage: &Stage, reach: usize) {
        let width = padded::<f64>(reach + 1);
        self.gaps
            .fill::<f64>(&self.next[..=reach], &stage.costs, width);
        self.sums.clear();
        self.sums.resize(width, 0.0);
    }

    /// One step back; `row` gets the values as they are computed.
    fn advance(&mut self, reach: usize, rows: usize, row: &mut [f64]) {
        let mut previous = 0.0;
        let sums = self.sums.iter().zip(&mut self.next);
        for (value, (sum, next)) in row[..=reach].iter_mut().zip(sums) {
            *value = *next + sum / rows as f64;
            previous = value.max(previous);
            *next = previous;
        }
        let last = row[reach];
        row[reach..].fill(last);
        self.next[reach..].fill(previous);
    }
}

/// Neighbouring rows.
struct Group {
    rows: Range<usize>,
    /// Features of those who arrive, for each of the steps that are turned.
    steps: Vec<Vec<f64>>,
    own: Values,
    part_of_whole: Vec<f64>,
    pairs: Pairs,
    row: Vec<f64>,
}

impl Group {
    fn new(rows: Range<usize>, stage: &Stage) -> Self {
        Self {
            rows,
            steps: vec![Vec::new(); STEPS],
            own: Values::new(stage),
            part_of_whole: Vec::new(),
            pairs: Pairs::default(),
            row: vec![0.0; stage.task.budget_max() as usize + 1],
        }
    }

    fn turn(&mut self, rows: &ContextRows, steps: Range<usize>) {
        self.steps.iter_mut().for_each(Vec::clear);
        for row in self.rows.clone() {
            for (list, step) in self.steps.iter_mut().zip(steps.clone()) {
                if let Some(features) = rows.get(row, step) {
                    list.extend_from_slice(features);
                }
            }
        }
    }

    /// Adds up the gains of the group's contexts, by the whole's gaps and by its own, and goes one step back with the
    /// latter. `step` is the step, its place among those that are turned, and its reach.
    fn sum(
        &mut self,
        stage: &Stage,
        (step, place, reach): (usize, usize, usize),
        gaps: &[f64],
        is_one: bool,
    ) -> Result<(), BackendError> {
        self.part_of_whole.clear();
        self.part_of_whole.resize(padded::<f64>(reach + 1), 0.0);
        self.own.prepare(stage, reach);
        let dimension = stage.task.dimension();
        for contexts in self.steps[place].chunks(CHUNK * dimension) {
            self.pairs.clear();
            for features in contexts.chunks_exact(dimension) {
                stage.evaluate(step, features, &mut self.pairs)?;
            }
            stage.add_gains(&self.pairs, gaps, &mut self.part_of_whole);
            if !is_one {
                stage.add_gains(&self.pairs, self.own.gaps.rows(), &mut self.own.sums);
            }
        }
        self.own.advance(reach, self.rows.len(), &mut self.row);
        Ok(())
    }
}
