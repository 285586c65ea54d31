//! `trace.csv`: every step of every replication, with the columns
//! `policy,replication,episode,step,budget,context.<feature>,..,action,offer,accepted,reward`.
//!
//! `budget` is the budget before the step. Without an arrival, all cells after it are empty; `action` 0 is no offer. An
//! offer is the price, wage or bid, or the number of an action of a table.

use super::ResultsFolder;
use super::rows::{CsvWriter, unwritable};
use crate::error::OutputError;
use crate::experiment::{Mismatch, Record, Replay, Step, Study};

/// The file while it is being written.
#[derive(Debug)]
pub struct TraceFile<'s> {
    study: &'s Study,
    replay: Replay<'s>,
    file: CsvWriter,
}

impl<'s> TraceFile<'s> {
    /// Starts the file of a folder.
    pub fn start(folder: &ResultsFolder, study: &'s Study) -> Result<Self, OutputError> {
        let task = study.world.task();
        let names = (0..task.dimension()).map(|i| match task.feature_names() {
            Some(names) => format!("context.{}", names[i]),
            None => format!("context.{}", i + 1),
        });
        let start = ["policy", "replication", "episode", "step", "budget"];
        let end = ["action", "offer", "accepted", "reward"];
        let header = start.map(String::from).into_iter().chain(names);
        let header = header.chain(end.map(String::from));
        Ok(Self {
            study,
            replay: Replay::new(study),
            file: CsvWriter::start(folder, "trace.csv", header)?,
        })
    }

    /// Adds the steps of a record; budgets are those of the episodes.
    pub fn record(&mut self, budgets: &[u32], record: &Record) -> Result<(), TraceError> {
        let (task, csv) = (self.study.world.task(), &mut self.file.csv);
        let partial = csv.get_ref().partial().to_path_buf();
        let replication = (record.replication + 1).to_string();
        let (mut episode, mut number) = (0, String::from("1"));
        let mut write = |step: &Step| -> csv::Result<()> {
            if step.episode != episode {
                (episode, number) = (step.episode, (step.episode + 1).to_string());
            }
            csv.write_field(&record.policy)?;
            csv.write_field(&replication)?;
            csv.write_field(&number)?;
            csv.write_field((step.step + 1).to_string())?;
            csv.write_field(step.budget.to_string())?;
            match &step.arrival {
                None => (0..task.dimension() + 4).try_for_each(|_| csv.write_field(""))?,
                Some(arrival) => {
                    let (context, action) = (&arrival.context, arrival.action);
                    for feature in context.features {
                        csv.write_field(feature.to_string())?;
                    }
                    let (offer, reward) = match (action, arrival.accepted) {
                        (0, _) => (String::new(), 0.0),
                        (_, false) => (task.application().action_value(action).to_string(), 0.0),
                        (_, true) => {
                            let offer = task.application().action_value(action);
                            (offer.to_string(), task.reward(context, action))
                        }
                    };
                    csv.write_field(action.to_string())?;
                    csv.write_field(offer)?;
                    csv.write_field(if arrival.accepted { "1" } else { "0" })?;
                    csv.write_field(reward.to_string())?;
                }
            }
            csv.write_record(None::<&[u8]>)
        };
        self.replay.steps(budgets, record, |step| {
            write(step).map_err(|error| TraceError::Output(unwritable(&partial, error)))
        })
    }

    /// Completes the file.
    pub fn finish(self) -> Result<(), OutputError> {
        self.file.finish()
    }
}

/// Why the steps of a record could not be written.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The file cannot be written.
    #[error(transparent)]
    Output(OutputError),
    /// The record's actions do not match its rewards.
    #[error("found actions that do not match the rewards")]
    Mismatch,
}

impl From<Mismatch> for TraceError {
    fn from(_: Mismatch) -> Self {
        Self::Mismatch
    }
}
