//! opt_t: exact where the context law is finite, estimated from rows elsewhere; and the fluid bound beside it.

use std::sync::Arc;

use super::World;
use super::influence::standard_errors;
use crate::dp::{
    Backend, BackendError, BoundSource, Coefficients, ContextSample, Problem, ValueTable,
};
use crate::fluid::fluid_bounds;
use crate::oracle::Known;
use crate::task::ContextRows;

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
    /// Standard error per budget.
    pub standard_error: Vec<f64>,
}

impl Optimum {
    /// The exact optimum of a finite law; `None` for continuous laws.
    pub fn exact(
        world: &Arc<World>,
        backend: &mut dyn Backend,
    ) -> Result<Option<Self>, BackendError> {
        world
            .law_sample(world.depends_on_step())
            .map(|sample| Self::of_sample(world, &sample, backend))
            .transpose()
    }

    /// The estimate from rows, which [`World::check_rows`] must have accepted.
    pub fn from_rows(
        world: &Arc<World>,
        rows: &ContextRows,
        backend: &mut dyn Backend,
    ) -> Result<Self, BackendError> {
        let sample = ContextSample::of_rows(world.task(), rows, world.depends_on_step());
        Self::of_sample(world, &sample, backend)
    }

    fn of_sample(
        world: &Arc<World>,
        sample: &ContextSample,
        backend: &mut dyn Backend,
    ) -> Result<Self, BackendError> {
        let mut coefficients = Coefficients::default();
        Known::fitted(Arc::<World>::clone(world)).fill(sample, &mut coefficients);
        let problem = Problem {
            sample,
            coefficients: &coefficients,
            budget_max: world.task().budget_max(),
            cap: None,
        };
        let table = backend.solve(&[problem])?.remove(0);
        let rows = sample.rows().count();
        let estimate = (rows > 0).then(|| Estimate {
            rows,
            standard_error: standard_errors(&problem, &table),
        });
        let mut fluid = fluid_bounds(sample, &coefficients, problem.budget_max);
        for (bound, opt) in fluid.iter_mut().zip(table.row(0)) {
            // Where the two are equal, rounding may not put the bound below.
            *bound = bound.max(*opt);
        }
        Ok(Self {
            fluid,
            table: Arc::new(table),
            estimate,
        })
    }
}
