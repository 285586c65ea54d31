//! The end of an episode: learn, fit, plan, install. A live learner does it alone, the replications of a study together,
//! so that their plans form one batch for the backend.

use std::time::Duration;

use rayon::prelude::*;

use super::Policy;
use crate::dp::{Backend, BackendError, PlanRequest};
use crate::task::EpisodeContexts;

/// A policy whose episode is over.
#[derive(Debug)]
pub struct Turn<'a> {
    policy: &'a mut dyn Policy,
    contexts: &'a EpisodeContexts,
    changed: bool,
}

impl<'a> Turn<'a> {
    /// The policy and the contexts that its episode brought.
    pub fn new(policy: &'a mut dyn Policy, contexts: &'a EpisodeContexts) -> Self {
        Self {
            policy,
            contexts,
            changed: false,
        }
    }

    /// Whether its plan changes.
    pub fn changed(&self) -> bool {
        self.changed
    }
}

/// Every policy looks at what it was given before the first episode.
pub fn prepare(turns: &mut [Turn]) {
    turns
        .par_iter_mut()
        .for_each(|turn| turn.changed = turn.policy.prepare());
}

/// Every policy learns from its episode.
pub fn learn(turns: &mut [Turn]) {
    turns
        .par_iter_mut()
        .for_each(|turn| turn.changed = turn.policy.learn(turn.contexts));
}

/// Makes the plans of all policies whose knowledge has changed, as one batch, and installs them. Returns the part of
/// the time that went into evaluating bounds on the CPU.
pub fn replan(turns: &mut [Turn], backend: &mut dyn Backend) -> Result<Duration, BackendError> {
    let asks = |turn: &Turn| turn.changed && turn.policy.plan_request().is_some();
    let changed = turns.iter().filter(|turn| turn.changed);
    let requests: Vec<PlanRequest> = changed
        .filter_map(|turn| turn.policy.plan_request())
        .collect();
    if requests.is_empty() {
        return Ok(Duration::ZERO);
    }
    let plans = backend.plan(&requests)?;
    for (turn, table) in turns.iter_mut().filter(|turn| asks(turn)).zip(plans.tables) {
        turn.policy.install(table);
    }
    Ok(plans.bounds)
}
