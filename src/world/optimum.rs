//! opt_t: exact where the context law is finite, estimated from rows elsewhere; and the fluid bound beside it.
//!
//! The standard error of an estimate is by batch means: the rows are cut into groups of neighbours, the optimum of each
//! group is computed as that of the whole is, and the spread of theirs over the square root of their number is the error of
//! the whole. It is itself known to within a share of 1 / sqrt(2 (groups - 1)), 9% with the usual 64 groups. Rows that
//! resemble their neighbours, as days of one season do, make it larger, as they should.

use std::sync::Arc;

use super::World;
use crate::dp::cpu::solve_rows;
use crate::dp::{
    Backend, BackendError, BoundSource, Coefficients, ContextSample, Problem, ValueTable,
};
use crate::fluid::{fluid_bounds, fluid_bounds_of_rows};
use crate::oracle::Known;
use crate::task::{Context, ContextRows};

/// Groups of rows at the most, and the rows that a group should have.
const GROUPS: usize = 64;
const GROUP_ROWS: usize = 4;

/// The optimum with rho known.
#[derive(Debug, Clone)]
pub struct Optimum {
    /// Value to go under the optimal policy: opt_t = `table.start(B_t)`.
    pub table: Arc<ValueTable>,
    /// UB per budget 0..=budget_max, never below the optimum.
    pub fluid: Vec<f64>,
    /// Where the optimum is an estimate: from how many rows, and its standard error per budget.
    pub estimate: Option<Estimate>,
}

/// How an estimated optimum was made.
#[derive(Debug, Clone)]
pub struct Estimate {
    /// Rows in the sample.
    pub rows: usize,
    /// Standard error per budget; infinite where there is but one row.
    pub standard_error: Vec<f64>,
}

impl Optimum {
    /// The exact optimum of a finite law; `None` for continuous laws.
    pub fn exact(
        world: &Arc<World>,
        backend: &mut dyn Backend,
    ) -> Result<Option<Self>, BackendError> {
        let Some(sample) = world.law_sample(world.depends_on_step()) else {
            return Ok(None);
        };
        let (table, coefficients) = table_of(world, &sample, backend)?;
        let fluid = fluid_bounds(&sample, &coefficients, world.task().budget_max());
        Ok(Some(Self::new(table, fluid, None)))
    }

    /// The estimate from rows, which [`World::check_rows`] must have accepted. They are solved step by step on the CPU,
    /// unless the backend is to have them all at once.
    pub fn from_rows(
        world: &Arc<World>,
        rows: &ContextRows,
        backend: &mut dyn Backend,
    ) -> Result<Self, BackendError> {
        let task = world.task();
        let rho = |context: &Context, action: usize| world.rho(context, action);
        let groups = (rows.len() / GROUP_ROWS).clamp(2, GROUPS).min(rows.len());
        let solved = solve_rows(task, rows, groups, &rho)?;
        let table = match backend.takes_rows_at_once() {
            true => {
                let sample = ContextSample::of_rows(task, rows, world.depends_on_step());
                table_of(world, &sample, backend)?.0
            }
            false => solved.table,
        };
        let estimate = Estimate {
            rows: rows.len(),
            standard_error: standard_errors(&solved.groups, task.budget_max()),
        };
        let fluid = fluid_bounds_of_rows(task, rows, &rho);
        Ok(Self::new(table, fluid, Some(estimate)))
    }

    fn new(table: ValueTable, mut fluid: Vec<f64>, estimate: Option<Estimate>) -> Self {
        for (bound, opt) in fluid.iter_mut().zip(table.row(0)) {
            // Where the two are equal, rounding may not put the bound below.
            *bound = bound.max(*opt);
        }
        Self {
            fluid,
            table: Arc::new(table),
            estimate,
        }
    }
}

fn table_of(
    world: &Arc<World>,
    sample: &ContextSample,
    backend: &mut dyn Backend,
) -> Result<(ValueTable, Coefficients), BackendError> {
    let mut coefficients = Coefficients::default();
    Known::fitted(Arc::<World>::clone(world)).fill(sample, &mut coefficients);
    coefficients.check(sample.actions())?;
    let problem = Problem {
        sample,
        coefficients: &coefficients,
        budget_max: world.task().budget_max(),
        cap: None,
    };
    let table = backend.solve(&[problem])?.remove(0);
    Ok((table, coefficients))
}

/// The spread of the groups' values, by budget.
fn standard_errors(groups: &[Vec<f64>], budget_max: u32) -> Vec<f64> {
    let count = groups.len() as f64;
    (0..=budget_max as usize)
        .map(|b| {
            if groups.is_empty() {
                return f64::INFINITY;
            }
            let mean = groups.iter().map(|values| values[b]).sum::<f64>() / count;
            let squares = groups.iter().map(|values| (values[b] - mean).powi(2));
            (squares.sum::<f64>() / (count * (count - 1.0))).sqrt()
        })
        .collect()
}
