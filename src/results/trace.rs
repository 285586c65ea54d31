//! `trace.csv`: every step of every replication, with the columns
//! `policy,replication,episode,step,budget,context.<feature>,..,action,offer,accepted,reward`.
//!
//! `budget` is what is left before the step. Where nobody arrives, all cells behind it are empty; `action` 0 is no offer. An
//! offer is the price, wage or bid, or the number of an action of a table.

use std::path::Path;

use super::{GrowingFile, ResultsFolder};
use crate::error::OutputError;
use crate::experiment::{Mismatch, Record, Replay, Step, Study};

/// The growing file.
#[derive(Debug)]
pub struct TraceFile<'s> {
    study: &'s Study,
    replay: Replay<'s>,
    csv: csv::Writer<GrowingFile>,
}

impl<'s> TraceFile<'s> {
    /// The file's name.
    pub const FILE: &'static str = "trace.csv";

    /// Starts the file of a folder.
    pub fn start(folder: &ResultsFolder, study: &'s Study) -> Result<Self, OutputError> {
        let file = GrowingFile::start(folder, Self::FILE)?;
        let mut trace = Self {
            study,
            replay: Replay::new(study),
            csv: csv::WriterBuilder::new()
                .buffer_capacity(1 << 16)
                .from_writer(file),
        };
        let task = study.world.task();
        let names = (0..task.dimension()).map(|i| match task.feature_names() {
            Some(names) => format!("context.{}", names[i]),
            None => format!("context.{}", i + 1),
        });
        let start = ["policy", "replication", "episode", "step", "budget"];
        let end = ["action", "offer", "accepted", "reward"];
        let header = start.into_iter().map(String::from).chain(names);
        let header = header.chain(end.into_iter().map(String::from));
        let written = trace.csv.write_record(header);
        written.map_err(|error| trace.unwritable(error))?;
        Ok(trace)
    }

    /// Adds the steps of a record; budgets are those of the episodes.
    pub fn record(&mut self, budgets: &[u32], record: &Record) -> Result<(), TraceError> {
        let (task, csv) = (self.study.world.task(), &mut self.csv);
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
        let told = self
            .replay
            .steps(budgets, record, |step| write(step).map_err(Told::Csv));
        told.map_err(|error| match error {
            Told::Mismatch => TraceError::Mismatch,
            Told::Csv(error) => TraceError::Output(self.unwritable(error)),
        })
    }

    /// The file is complete.
    pub fn finish(self) -> Result<(), OutputError> {
        let partial = self.partial().to_path_buf();
        let file = self.csv.into_inner();
        let file = file.map_err(|error| OutputError::unwritable(&partial, error.into_error()));
        file?.finish()
    }

    fn partial(&self) -> &Path {
        self.csv.get_ref().partial()
    }

    fn unwritable(&self, error: csv::Error) -> OutputError {
        super::rows::unwritable(self.partial(), error)
    }
}

/// Why the steps of a record could not be written.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The file cannot be written.
    #[error(transparent)]
    Output(OutputError),
    /// The record has other actions than its rewards came from.
    #[error("found actions that do not bring the rewards beside them")]
    Mismatch,
}

enum Told {
    Csv(csv::Error),
    Mismatch,
}

impl From<Mismatch> for Told {
    fn from(_: Mismatch) -> Self {
        Self::Mismatch
    }
}
