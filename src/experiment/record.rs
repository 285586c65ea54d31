//! What an experiment hands over as it goes: one record per finished replication of a policy, to a sink that may write,
//! count or keep it.

use std::error::Error;
use std::ops::ControlFlow;

use super::{EpisodeOutcome, Knowledge, Offer};

/// What every record is measured against: budgets and optima of the episodes, the same in all replications.
#[derive(Debug, Clone, PartialEq)]
pub struct Yardstick {
    /// B_1, ..., B_T.
    pub budgets: Vec<u32>,
    /// opt_1, ..., opt_T.
    pub opt: Vec<f64>,
}

/// A finished replication of a policy. Everything a study finds follows from its records, taken in their order.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// Name of the policy.
    pub policy: String,
    /// Number of the replication, 0-based.
    pub replication: usize,
    /// What each episode brought.
    pub episodes: Vec<EpisodeOutcome>,
    /// Units left before each step and at the end, summed over the last quarter of the episodes.
    pub left: Vec<u64>,
    /// What the policy's oracle knows at the end, where it has one.
    pub knowledge: Option<Knowledge>,
    /// What the last plan offers at the steps and budgets that are shown; empty where it is not a greedy one.
    pub offers: Vec<Offer>,
}

/// Why a sink could not take what it was given.
pub type SinkError = Box<dyn Error + Send + Sync>;

/// Takes what a study finds as it comes.
pub trait Sink {
    /// So many replications have finished another episode. `Break` ends the study: records of the replications under way
    /// are lost, those handed over are not.
    fn episode(&mut self, _replications: usize) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// A replication is finished. Records come by policy in the order of the study, then by rising replication.
    fn replication(&mut self, _yardstick: &Yardstick, _record: &Record) -> Result<(), SinkError> {
        Ok(())
    }

    /// A wave of replications has been handed over; a good moment to make it safe.
    fn wave(&mut self) -> Result<(), SinkError> {
        Ok(())
    }
}

/// Takes nothing.
impl Sink for () {}

/// Keeps every record in memory.
impl Sink for Vec<Record> {
    fn replication(&mut self, _yardstick: &Yardstick, record: &Record) -> Result<(), SinkError> {
        self.push(record.clone());
        Ok(())
    }
}
