//! What a solver of Optimistic-DP must do.

use std::time::{Duration, Instant};

use rayon::prelude::*;
use thiserror::Error;

use super::cpu::Strategy;
use super::gpu::Traffic;
use super::{Coefficients, PlanRequest, Problem, ValueTable};

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

    /// What did the work, for `run.json`.
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

/// What did the work.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// `cpu` or `gpu`.
    pub backend: String,
    /// `f64` or `f32`.
    pub precision: String,
    /// The CPU's strategies by name, and how many plans each has made.
    pub strategies: Vec<(String, u64)>,
    /// Name of the adapter, where there is one.
    pub adapter: Option<String>,
    /// Its driver.
    pub driver: Option<String>,
    /// What was moved to and from it.
    pub traffic: Option<Traffic>,
}

/// Why a backend cannot do its work (layer: dp).
#[derive(Debug, Clone, PartialEq, Error)]
pub enum BackendError {
    /// The backend that was asked for cannot run here.
    #[error("backend {backend} cannot run here: {reason}")]
    Unavailable {
        /// The backend asked for.
        backend: String,
        /// The reason.
        reason: String,
    },
    /// The problem does not fit.
    #[error("{what} needs {bytes} where the adapter allows {limit}; reduce {reduce}")]
    TooLarge {
        /// What is too large.
        what: String,
        /// How large it is.
        bytes: u64,
        /// How large it may be.
        limit: u64,
        /// What to reduce.
        reduce: String,
    },
    /// The device is gone.
    #[error("the graphics device was lost: {reason}")]
    Lost {
        /// The driver's words.
        reason: String,
    },
    /// The device did not answer in time.
    #[error("the graphics device did not answer within {seconds:.0} s")]
    Timeout {
        /// How long it was waited for.
        seconds: f64,
    },
    /// The device has no memory left.
    #[error("the graphics device is out of memory: {reason}")]
    OutOfMemory {
        /// The driver's words.
        reason: String,
    },
    /// The device or its interface refused a command.
    #[error("the graphics device refused a command: {reason}")]
    Rejected {
        /// The interface's words.
        reason: String,
    },
    /// A strategy was asked for that the problem's structure does not allow.
    #[error("--strategy {strategy} needs {}", .strategy.needs())]
    Structure {
        /// The strategy.
        strategy: Strategy,
    },
    /// A study ended early.
    #[error("{reason}; finished waves are in {finished}")]
    Ended {
        /// What happened.
        reason: String,
        /// The file with what is finished.
        finished: String,
    },
}
