//! Lines 11 to 18 of Algorithm 1: data become a fit and a plan. A study advances all replications together, so their plans
//! form one batch for the backend. A live learner, or a plan for a log, advances one policy.

use std::time::Duration;

use rayon::prelude::*;

use super::Policy;
use crate::dp::{Backend, BackendError, PlanRequest, Stopwatch};

/// Wall time by phase.
#[derive(Debug, Clone, Copy, Default)]
pub struct AdvanceTimes {
    /// Fitting oracles.
    pub fit: Duration,
    /// Evaluating bounds on the CPU.
    pub bounds: Duration,
    /// Optimistic-DP.
    pub dp: Duration,
}

/// Fits the policies to all their data for episode `t` (1-based; line 16), makes their plans (line 17) and installs them.
pub fn advance(
    policies: &mut [&mut dyn Policy],
    t: usize,
    backend: &mut dyn Backend,
) -> Result<AdvanceTimes, BackendError> {
    let start = Stopwatch::start();
    policies.par_iter_mut().for_each(|policy| policy.fit(t));
    let fit = start.elapsed();
    Ok(AdvanceTimes {
        fit,
        ..plan(policies, backend)?
    })
}

/// Makes and installs the plans of fitted policies. A policy that requests no plan keeps its current one.
pub fn plan(
    policies: &mut [&mut dyn Policy],
    backend: &mut dyn Backend,
) -> Result<AdvanceTimes, BackendError> {
    let start = Stopwatch::start();
    let asking: Vec<bool> = policies
        .iter()
        .map(|policy| policy.plan_request().is_some())
        .collect();
    let requests: Vec<PlanRequest> = policies.iter().filter_map(|p| p.plan_request()).collect();
    if requests.is_empty() {
        return Ok(AdvanceTimes::default());
    }
    let plans = backend.plan(&requests)?;
    let asking = policies.iter_mut().zip(asking).filter(|(_, asks)| *asks);
    for ((policy, _), table) in asking.zip(plans.tables) {
        policy.install(table);
    }
    Ok(AdvanceTimes {
        fit: Duration::ZERO,
        bounds: plans.bounds,
        dp: start.elapsed() - plans.bounds,
    })
}
