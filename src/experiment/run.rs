//! Runs a whole study: policies x replications x episodes.

use std::ops::ControlFlow;

use thiserror::Error;

use super::{Outcome, Phases, Prepared, Record, RunList, Sink, SinkError, Study, Tally};
use super::{WaveState, Work, Yardstick};
use crate::dp::{Backend, BackendError};
use crate::error::Invalid;

/// Why a study ended early.
#[derive(Debug, Error)]
pub enum RunError {
    /// The study cannot run.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// The backend failed.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// The sink failed.
    #[error(transparent)]
    Sink(SinkError),
    /// The sink stopped the study.
    #[error("stopped")]
    Stopped,
}

/// Runs a study and sends every finished replication to the sink.
pub fn run(
    study: &Study,
    backend: &mut dyn Backend,
    sink: &mut dyn Sink,
) -> Result<Outcome, RunError> {
    let prepared = Prepared::new(study)?;
    let mut phases = Phases {
        optimum: prepared.elapsed,
        ..Phases::default()
    };
    let mut policies = Vec::new();
    for number in 0..study.policies.len() {
        let mut tallying = Tallying {
            sink: &mut *sink,
            tally: Tally::new(study, &prepared.yardstick),
            work: Work::default(),
        };
        prepared.run(RunList::of_policy(study, number), backend, &mut tallying)?;
        let Tallying { tally, work, .. } = tallying;
        phases += work.phases;
        policies.push(prepared.conclude(number, tally, &work));
    }
    Ok(prepared.into_outcome(policies, phases))
}

/// Tallies records on their way to another sink.
struct Tallying<'a> {
    sink: &'a mut dyn Sink,
    tally: Tally<'a>,
    work: Work,
}

impl Sink for Tallying<'_> {
    fn episode(&mut self, replications: usize) -> ControlFlow<()> {
        self.sink.episode(replications)
    }

    fn replication(&mut self, yardstick: &Yardstick, record: &Record) -> Result<(), SinkError> {
        self.tally.add(record);
        self.sink.replication(yardstick, record)
    }

    fn wave(&mut self, work: &Work) -> Result<(), SinkError> {
        self.work.add(work);
        self.sink.wave(work)
    }

    fn wants_state(&mut self, stopping: bool) -> bool {
        self.sink.wants_state(stopping)
    }

    fn state(&mut self, state: &WaveState) -> Result<(), SinkError> {
        self.sink.state(state)
    }
}
