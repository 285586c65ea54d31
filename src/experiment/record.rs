//! Streaming results of an experiment: a sink receives one record per finished replication of a policy, and may write,
//! count or keep it.

use std::error::Error;
use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};

use super::{EpisodeOutcome, Knowledge, MeanOffer, WaveState, Work};

/// The reference for every record: budgets and optima of the episodes, the same in all replications.
#[derive(Debug, Clone, PartialEq)]
pub struct Yardstick {
    /// B_1, ..., B_T.
    pub budgets: Vec<u32>,
    /// opt_1, ..., opt_T.
    pub opt: Vec<f64>,
}

/// A finished replication of a policy. All results of a study follow from its records, taken in order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Name of the policy.
    pub policy: String,
    /// Number of the replication, 0-based.
    pub replication: usize,
    /// The outcome of each episode.
    pub episodes: Vec<EpisodeOutcome>,
    /// Units left before each step and at the end, summed over the last quarter of the episodes.
    pub left: Vec<u64>,
    /// Every action, by episode and arrival; empty if the study is not traced.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub actions: Vec<u32>,
    /// What the policy's oracle knows at the end, if it has one.
    pub knowledge: Option<Knowledge>,
    /// Mean offers of the last plan at the steps and budgets of the map; empty if the plan is not greedy.
    pub offers: Vec<MeanOffer>,
}

/// An error of a sink.
pub type SinkError = Box<dyn Error + Send + Sync>;

/// Receives the results of a study as they arrive.
pub trait Sink {
    /// Called when `replications` replications have finished another episode. `Break` stops the study; unfinished
    /// replications are lost except for their state, if [`Sink::wants_state`] asks for it.
    fn episode(&mut self, _replications: usize) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// Called when a replication is finished. Records come by policy in the order of the study, then by replication.
    fn replication(&mut self, _yardstick: &Yardstick, _record: &Record) -> Result<(), SinkError> {
        Ok(())
    }

    /// Called after all records of a wave, with its work; a good time to flush them to disk.
    fn wave(&mut self, _work: &Work) -> Result<(), SinkError> {
        Ok(())
    }

    /// Whether to call [`Sink::state`] now. Called between two episodes, and when the study is `stopping`.
    fn wants_state(&mut self, _stopping: bool) -> bool {
        false
    }

    /// Receives the state of the running wave, from which a [`super::RunList`] can resume.
    fn state(&mut self, _state: &WaveState) -> Result<(), SinkError> {
        Ok(())
    }
}

/// Ignores everything.
impl Sink for () {}

/// Keeps every record in memory.
impl Sink for Vec<Record> {
    fn replication(&mut self, _yardstick: &Yardstick, record: &Record) -> Result<(), SinkError> {
        self.push(record.clone());
        Ok(())
    }
}
