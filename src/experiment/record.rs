//! What an experiment hands over as it goes: one record per finished replication of a policy, to a sink that may write,
//! count or keep it.

use std::error::Error;
use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};

use super::{EpisodeOutcome, Knowledge, Offer, WaveState, Work};

/// What every record is measured against: budgets and optima of the episodes, the same in all replications.
#[derive(Debug, Clone, PartialEq)]
pub struct Yardstick {
    /// B_1, ..., B_T.
    pub budgets: Vec<u32>,
    /// opt_1, ..., opt_T.
    pub opt: Vec<f64>,
}

/// A finished replication of a policy. Everything a study finds follows from its records, taken in their order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Name of the policy.
    pub policy: String,
    /// Number of the replication, 0-based.
    pub replication: usize,
    /// What each episode brought.
    pub episodes: Vec<EpisodeOutcome>,
    /// Units left before each step and at the end, summed over the last quarter of the episodes.
    pub left: Vec<u64>,
    /// Every action, by episode and arrival; empty where the study is not traced.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub actions: Vec<u32>,
    /// What the policy's oracle knows at the end, where it has one.
    pub knowledge: Option<Knowledge>,
    /// What the last plan offers at the steps and budgets that are shown; empty where it is not a greedy one.
    pub offers: Vec<Offer>,
}

/// Why a sink could not take what it was given.
pub type SinkError = Box<dyn Error + Send + Sync>;

/// Takes what a study finds as it comes.
pub trait Sink {
    /// So many replications have finished another episode. `Break` ends the study: of the replications under way the state
    /// is all that is left, where it is wanted.
    fn episode(&mut self, _replications: usize) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// A replication is finished. Records come by policy in the order of the study, then by rising replication.
    fn replication(&mut self, _yardstick: &Yardstick, _record: &Record) -> Result<(), SinkError> {
        Ok(())
    }

    /// A wave of replications has been handed over, which took so much work; a good moment to make it safe.
    fn wave(&mut self, _work: &Work) -> Result<(), SinkError> {
        Ok(())
    }

    /// Whether [`Sink::state`] is to get the wave under way; asked between two episodes, and when the study is `stopping`.
    fn wants_state(&mut self, _stopping: bool) -> bool {
        false
    }

    /// The wave under way, from which [`super::Todo`] can go on.
    fn state(&mut self, _state: &WaveState) -> Result<(), SinkError> {
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
