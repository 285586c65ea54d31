//! What a solver of Optimistic-DP must do.

use std::time::Duration;

use super::problem::evaluate_bounds;
use super::stopwatch::Stopwatch;
use super::{BackendError, PlanRequest, Problem, RawTable, Report, ValueTable};

/// A solver of batches of problems, one per replication, of the same shape or not. A backend computes raw tables; `solve`
/// and `plan` check them.
pub trait Backend: Send {
    /// A short name for reports, such as `cpu`.
    fn name(&self) -> &'static str;

    /// The tables of all problems as computed, in their order.
    fn solve_raw(&mut self, batch: &[Problem]) -> Result<Vec<RawTable>, BackendError>;

    /// The tables of all requests as computed. By default the bounds are evaluated on the CPU and the problems solved as one
    /// batch; a backend may evaluate bounds itself. Non-finite bounds are refused.
    fn plan_raw(&mut self, requests: &[PlanRequest]) -> Result<Plans<RawTable>, BackendError> {
        let start = Stopwatch::start();
        let mut coefficients = Vec::new();
        evaluate_bounds(requests, false, &mut coefficients)?;
        let bounds = start.elapsed();
        let problems = requests.iter().zip(&coefficients);
        let problems: Vec<Problem> = problems.map(|(r, c)| r.with(c)).collect();
        Ok(Plans {
            tables: self.solve_raw(&problems)?,
            bounds,
        })
    }

    /// Value tables of all problems, in their order.
    fn solve(&mut self, batch: &[Problem]) -> Result<Vec<ValueTable>, BackendError> {
        check_tables(self.name(), self.solve_raw(batch)?)
    }

    /// Value tables for fitted oracles, in the order of the requests.
    fn plan(&mut self, requests: &[PlanRequest]) -> Result<Plans, BackendError> {
        let Plans { tables, bounds } = self.plan_raw(requests)?;
        Ok(Plans {
            tables: check_tables(self.name(), tables)?,
            bounds,
        })
    }

    /// Whether the backend solves these requests without a pass over all contexts.
    fn has_shortcut(&mut self, _requests: &[PlanRequest]) -> bool {
        false
    }

    /// Which backend did the work.
    fn report(&self) -> Report {
        Report {
            backend: self.name().into(),
            precision: "f64".into(),
            ..Report::default()
        }
    }
}

/// The tables of a batch of requests: checked ones, or as computed.
#[derive(Debug)]
pub struct Plans<T = ValueTable> {
    /// One per request, in their order.
    pub tables: Vec<T>,
    /// Time spent on evaluating bounds on the CPU.
    pub bounds: Duration,
}

fn check_tables(
    backend: &'static str,
    tables: Vec<RawTable>,
) -> Result<Vec<ValueTable>, BackendError> {
    let check =
        |raw| ValueTable::checked(raw).map_err(|error| BackendError::Table { backend, error });
    tables.into_iter().map(check).collect()
}
