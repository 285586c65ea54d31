//! opt_t: exact where the context law is finite, estimated from rows elsewhere; and the fluid bound beside it.

use std::sync::Arc;

use super::influence::standard_errors;
use crate::dp::{
    Backend, BackendError, BoundSource, Coefficients, ContextSample, Problem, ValueTable,
};
use crate::fluid::fluid_bounds;
use crate::model::{ContextRows, Instance};
use crate::oracle::Known;

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
        instance: &Arc<Instance>,
        backend: &mut dyn Backend,
    ) -> Result<Option<Self>, BackendError> {
        let split = instance.conversion().depends_on_step();
        ContextSample::of_law(instance, split)
            .map(|sample| Self::of_sample(instance, &sample, backend))
            .transpose()
    }

    /// The estimate from rows, which [`Instance::check_rows`] must have accepted.
    pub fn from_rows(
        instance: &Arc<Instance>,
        rows: &ContextRows,
        backend: &mut dyn Backend,
    ) -> Result<Self, BackendError> {
        let split = instance.conversion().depends_on_step();
        let sample = ContextSample::of_rows(instance, rows, split);
        Self::of_sample(instance, &sample, backend)
    }

    fn of_sample(
        instance: &Arc<Instance>,
        sample: &ContextSample,
        backend: &mut dyn Backend,
    ) -> Result<Self, BackendError> {
        let mut coefficients = Coefficients::default();
        Known::fitted(Arc::clone(instance)).fill(sample, &mut coefficients);
        let problem = Problem {
            sample,
            coefficients: &coefficients,
            budget_max: instance.budgets().max(),
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
