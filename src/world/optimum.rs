//! opt_t: exact where the context law is finite, estimated from rows elsewhere; and the fluid bound beside it.
//!
//! With types of day, opt_t is what a clairvoyant earns who knows the type of the day when it begins: the mean of the types'
//! optima, weighted by how often they occur. No policy that must guess the type earns more, so its regret contains what not
//! knowing the type costs. The fluid bound is the mean of the types' bounds likewise.
//!
//! The standard error of an estimate is by batch means: the rows are cut into groups of neighbours, the optimum of each
//! group is computed as that of the whole is, and the spread of the groups over the square root of their number is the error
//! of the whole. It is itself known to within a share of 1 / sqrt(2 (groups - 1)), 9% with the usual 64 groups. Rows that
//! resemble their neighbours, as days of one season do, make it larger, as they should.

use std::sync::Arc;

use rand::Rng;
use rayon::prelude::*;

use super::{DayLaws, World};
use crate::dp::cpu::{Cpu, Strategy};
use crate::dp::{
    Backend, BackendError, BoundSource, Coefficients, ContextSample, PlanRequest, Precision,
    Problem, ValueTable,
};
use crate::fluid::{EdgeBuckets, arriving_edges, fluid_bounds};
use crate::oracle::Known;
use crate::task::ContextRows;

/// Groups of rows at most, and the rows that a group should have.
const GROUPS: usize = 64;
const GROUP_ROWS: usize = 4;

/// Groups that are solved at a time: more would take more memory.
const AT_ONCE: usize = 2;

/// The optimum with rho known.
#[derive(Debug, Clone)]
pub struct Optimum {
    /// Value to go under the optimal policy: opt_t = `table.start(B_t)`. With several types of day, the mean over them.
    pub table: Arc<ValueTable>,
    /// Value to go on each type of day.
    pub days: Vec<Arc<ValueTable>>,
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
    /// Standard error per budget; infinite from a single row.
    pub standard_error: Vec<f64>,
}

impl Optimum {
    /// The exact optimum of a finite law; `None` for continuous laws.
    pub fn exact(
        world: &Arc<World>,
        backend: &mut dyn Backend,
    ) -> Result<Option<Self>, BackendError> {
        let Some(samples) = world.day_samples(world.depends_on_step()) else {
            return Ok(None);
        };
        let mut coefficients = Coefficients::default();
        let optimum = |sample: ContextSample| {
            let table = table_of(world, &sample, &mut coefficients, backend)?;
            let fluid = fluid_bounds(&sample, &coefficients, world.task().budget_max());
            Ok(Self::new(table, fluid, None))
        };
        let days: Result<_, BackendError> = samples.into_iter().map(optimum).collect();
        Ok(Some(Self::mean(world, days?)))
    }

    /// The estimate from `count` drawn rows of each type of day.
    pub fn drawn(
        world: &Arc<World>,
        count: usize,
        rng: &mut impl Rng,
        backend: &mut dyn Backend,
    ) -> Result<Self, BackendError> {
        let laws = world.contexts();
        let of_day = |day| Self::from_rows(world, laws.draw_rows_of(day, rng, count), backend);
        let days: Result<_, BackendError> = (0..laws.days().len()).map(of_day).collect();
        Ok(Self::mean(world, days?))
    }

    /// The estimate from rows, which [`World::check_rows`] must have accepted, as if days were all of one type. Groups are solved on the CPU in 64 bits.
    pub fn from_rows(
        world: &Arc<World>,
        mut rows: ContextRows,
        backend: &mut dyn Backend,
    ) -> Result<Self, BackendError> {
        let (task, by_step) = (world.task(), world.depends_on_step());
        let count = rows.len();
        let groups = (count / GROUP_ROWS).clamp(2, GROUPS).min(count).max(1);
        let size = count.div_ceil(groups).max(1);
        let mut whole = ContextSample::new(task, by_step);
        whole.reserve(count);
        let mut edges = EdgeBuckets::default();
        let mut values = Vec::with_capacity(groups);
        let mut buffers = vec![GroupBuffer::default(); AT_ONCE];
        // The sample takes the rows over group by group, from the last on, so that memory holds them only once.
        while !rows.is_empty() {
            let starts = (0..rows.len()).step_by(size).rev().take(AT_ONCE);
            let some: Vec<ContextRows> = starts.map(|start| rows.split_off(start)).collect();
            let solve = |(rows, buffer): (&ContextRows, &mut GroupBuffer)| {
                let sample = ContextSample::of_rows(task, rows, by_step);
                let mut cpu = Cpu::new(Some(Strategy::Dense), Precision::F64);
                let table = table_of(world, &sample, &mut buffer.coefficients, &mut cpu)?;
                arriving_edges(&sample, &buffer.coefficients, &mut buffer.edges);
                Ok(table.row(0).to_vec())
            };
            let solved = some.par_iter().zip(&mut buffers).map(solve);
            values.extend(solved.collect::<Result<Vec<_>, BackendError>>()?);
            let solved_buffers = &buffers[..some.len()];
            rayon::join(
                || some.iter().for_each(|rows| whole.append_rows(task, rows)),
                || solved_buffers.iter().for_each(|b| edges.add(&b.edges)),
            );
        }
        let request = PlanRequest {
            sample: &whole,
            source: &Known::fitted(Arc::<World>::clone(world)),
            budget_max: task.budget_max(),
            // An optimum has no cap: twice r_max is out of its reach, rounding included.
            reward_max: 2.0 * task.reward_max(),
        };
        let table = backend.plan(&[request])?.tables.remove(0);
        let estimate = Estimate {
            rows: count,
            standard_error: standard_errors(&values, task.budget_max()),
        };
        let fluid = edges.bounds(count, task.budget_max());
        Ok(Self::new(table, fluid, Some(estimate)))
    }

    fn new(table: ValueTable, mut fluid: Vec<f64>, estimate: Option<Estimate>) -> Self {
        for (bound, opt) in fluid.iter_mut().zip(table.row(0)) {
            // Where the two are equal, rounding must not put the bound below.
            *bound = bound.max(*opt);
        }
        let table = Arc::new(table);
        Self {
            fluid,
            days: vec![Arc::clone(&table)],
            table,
            estimate,
        }
    }

    /// The optimum over types of day from the optimum of each.
    fn mean(world: &World, mut days: Vec<Self>) -> Self {
        if days.len() == 1 {
            return days.remove(0);
        }
        let weights = world.contexts().days().iter().map(DayLaws::weight);
        let tables: Vec<_> = weights
            .clone()
            .zip(days.iter().map(|day| &*day.table))
            .collect();
        let table = ValueTable::mean(&tables);
        let mut fluid = vec![0.0; days[0].fluid.len()];
        let mut variance = vec![0.0; fluid.len()];
        for (weight, day) in weights.zip(&days) {
            let bounds = fluid.iter_mut().zip(&day.fluid);
            bounds.for_each(|(sum, bound)| *sum += weight * bound);
            let errors = day.estimate.iter().flat_map(|e| &e.standard_error);
            let errors = variance.iter_mut().zip(errors);
            errors.for_each(|(sum, error)| *sum += (weight * error).powi(2));
        }
        let rows = |day: &Self| day.estimate.as_ref().map(|estimate| estimate.rows);
        let rows: Option<usize> = days.iter().map(rows).sum();
        let estimate = rows.map(|rows| Estimate {
            rows,
            standard_error: variance.into_iter().map(f64::sqrt).collect(),
        });
        Self {
            days: days.into_iter().map(|day| day.table).collect(),
            ..Self::new(table, fluid, estimate)
        }
    }
}

/// The table of a sample; `coefficients` gets rho r and rho of its pairs.
fn table_of(
    world: &Arc<World>,
    sample: &ContextSample,
    coefficients: &mut Coefficients,
    backend: &mut dyn Backend,
) -> Result<ValueTable, BackendError> {
    Known::fitted(Arc::<World>::clone(world)).fill(sample, coefficients);
    coefficients.check(sample.actions())?;
    let problem = Problem {
        sample,
        coefficients,
        budget_max: world.task().budget_max(),
        cap: None,
    };
    Ok(backend.solve(&[problem])?.remove(0))
}

/// Memory of a group's solve, reused by the next group.
#[derive(Debug, Clone, Default)]
struct GroupBuffer {
    coefficients: Coefficients,
    edges: Vec<(f64, f64)>,
}

/// The spread of the groups' values, by budget.
fn standard_errors(groups: &[Vec<f64>], budget_max: u32) -> Vec<f64> {
    let count = groups.len() as f64;
    (0..=budget_max as usize)
        .map(|b| {
            if groups.len() < 2 {
                return f64::INFINITY;
            }
            let mean = groups.iter().map(|values| values[b]).sum::<f64>() / count;
            let squares = groups.iter().map(|values| (values[b] - mean).powi(2));
            (squares.sum::<f64>() / (count * (count - 1.0))).sqrt()
        })
        .collect()
}
