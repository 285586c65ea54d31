//! What a solver of Optimistic-DP must do.

use std::time::{Duration, Instant};

use rayon::prelude::*;

use super::{BackendError, Coefficients, PlanRequest, Problem, Report, ValueTable};

/// A solver of batches of problems, one per replication, of the same shape or not.
pub trait Backend: Send {
    /// A short name for reports, such as `cpu`.
    fn name(&self) -> &'static str;

    /// Value tables of all problems, in their order.
    fn solve(&mut self, batch: &[Problem]) -> Result<Vec<ValueTable>, BackendError>;

    /// Plans for fitted oracles: their bounds are evaluated on the CPU, the problems solved as one batch. Backends that
    /// can evaluate bounds themselves do so.
    fn plan(&mut self, requests: &[PlanRequest]) -> Result<Plans, BackendError> {
        self.plan_with_tables(requests)
    }

    /// The common way: bounds on the CPU, in parallel, then `solve`.
    fn plan_with_tables(&mut self, requests: &[PlanRequest]) -> Result<Plans, BackendError> {
        let start = Instant::now();
        let evaluate = |request: &PlanRequest| {
            let mut coefficients = Coefficients::default();
            request.source.fill(request.sample, &mut coefficients);
            coefficients
        };
        let coefficients: Vec<Coefficients> = requests.par_iter().map(evaluate).collect();
        let bounds = start.elapsed();
        let with = |(request, coefficients)| PlanRequest::with(request, coefficients);
        let problems: Vec<Problem> = requests.iter().zip(&coefficients).map(with).collect();
        Ok(Plans {
            tables: self.solve(&problems)?,
            bounds,
        })
    }

    /// Whether the backend solves these requests by a way that does not pass over all contexts.
    fn has_shortcut(&self, _requests: &[PlanRequest]) -> bool {
        false
    }

    /// What did the work.
    fn report(&self) -> Report {
        Report {
            backend: self.name().into(),
            precision: "f64".into(),
            ..Report::default()
        }
    }
}

/// The tables of a batch of requests.
#[derive(Debug)]
pub struct Plans {
    /// One per request, in their order.
    pub tables: Vec<ValueTable>,
    /// The part of the time that went into evaluating bounds on the CPU.
    pub bounds: Duration,
}
