//! The journal of a live learner as a labeled log, which fits, plans and evaluations read.

use std::collections::HashMap;
use std::io::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::task_file::TaskFile;
use crate::error::{InputError, OutputError};
use crate::learner::journal::JournalError;
use crate::learner::live::{DecideRecord, Intake, read_journal};

/// What a journal held.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct JournalSummary {
    /// Episodes.
    pub episodes: usize,
    /// Arrivals.
    pub arrivals: usize,
    /// Offers whose outcome is known.
    pub offers: usize,
    /// Acceptances.
    pub accepted: usize,
    /// Offers whose outcome never came: in the log they are arrivals without an offer.
    pub without_outcome: usize,
}

/// A journal that was read and can become a log.
#[derive(Debug)]
pub struct JournalLog {
    episodes: Vec<(String, u32)>,
    arrivals: Vec<Arrival>,
}

#[derive(Debug)]
struct Arrival {
    episode: usize,
    step: usize,
    features: Vec<f64>,
    offer: Option<f64>,
    probability: f64,
    accepted: Option<bool>,
}

#[derive(Deserialize)]
struct Begun {
    episode: String,
    budget: u32,
}

#[derive(Deserialize)]
struct Told {
    id: String,
    accepted: bool,
}

impl JournalLog {
    /// Reads a journal of a task.
    pub fn read(journal: &Path, task: &TaskFile) -> Result<Self, InputError> {
        let mut log = Self {
            episodes: Vec::new(),
            arrivals: Vec::new(),
        };
        let mut by_id = HashMap::new();
        let wrong = |error: serde_json::Error| error.to_string();
        let read = read_journal(journal, |op, line| {
            match op {
                "begin" => {
                    let begun: Begun = serde_json::from_slice(line).map_err(wrong)?;
                    log.episodes.push((begun.episode, begun.budget));
                }
                "decide" => {
                    let decide: DecideRecord = serde_json::from_slice(line).map_err(wrong)?;
                    let episode = log.episodes.len().checked_sub(1);
                    let features = task.features(&decide.context);
                    by_id.insert(decide.id, log.arrivals.len());
                    log.arrivals.push(Arrival {
                        episode: episode.ok_or("a decision before the first episode")?,
                        step: decide.step,
                        features: features.map_err(|error| error.to_string())?.0,
                        offer: decide.offer,
                        probability: decide.probability,
                        accepted: None,
                    });
                }
                "observe" => {
                    let told: Told = serde_json::from_slice(line).map_err(wrong)?;
                    let arrival = by_id
                        .get(&told.id)
                        .ok_or("an outcome without its decision")?;
                    log.arrivals[*arrival].accepted = Some(told.accepted);
                }
                _ => {}
            }
            Ok(())
        });
        read.map_err(|error| match error {
            JournalError::Damaged {
                path,
                line,
                message,
            } => InputError::At {
                file: path,
                line: line as usize,
                message,
            },
            JournalError::Io { path, reason } => InputError::unreadable(&path, &reason),
            JournalError::Busy(file) => InputError::File {
                file,
                message: "another process has it".into(),
            },
        })?;
        if log.arrivals.is_empty() {
            return Err(InputError::File {
                file: journal.to_path_buf(),
                message: "found no decision; accepted: at least one".into(),
            });
        }
        Ok(log)
    }

    /// Writes the log; `place` is what errors call it.
    pub fn write(
        &self,
        task: &TaskFile,
        out: impl Write,
        place: &Path,
    ) -> Result<JournalSummary, OutputError> {
        let mut summary = JournalSummary {
            episodes: self.episodes.len(),
            arrivals: self.arrivals.len(),
            ..JournalSummary::default()
        };
        self.rows(task, out, &mut summary).map_err(|error| {
            OutputError::unwritable(place, std::io::Error::other(error.to_string()))
        })?;
        Ok(summary)
    }

    fn rows(
        &self,
        task: &TaskFile,
        out: impl Write,
        summary: &mut JournalSummary,
    ) -> csv::Result<()> {
        let mut out = csv::Writer::from_writer(out);
        let mut header = vec!["episode".to_string(), "step".into()];
        header.extend(task.encoding.names());
        header.extend(["action", "accepted", "budget", "probability"].map(String::from));
        out.write_record(&header)?;
        let mut next = 0;
        for (number, (name, budget)) in self.episodes.iter().enumerate() {
            let first = next;
            while let Some(arrival) = self.arrivals.get(next).filter(|a| a.episode == number) {
                next += 1;
                let mut row = vec![name.clone(), arrival.step.to_string()];
                row.extend(arrival.features.iter().map(ToString::to_string));
                let known = arrival.offer.zip(arrival.accepted);
                summary.offers += usize::from(known.is_some());
                summary.without_outcome += usize::from(arrival.offer.is_some() && known.is_none());
                let accepted = known.is_some_and(|(_, accepted)| accepted);
                summary.accepted += usize::from(accepted);
                row.push(known.map_or(String::new(), |(offer, _)| offer.to_string()));
                row.push(u8::from(accepted).to_string());
                row.push(budget.to_string());
                row.push(known.map_or(String::new(), |_| arrival.probability.to_string()));
                out.write_record(&row)?;
            }
            if next == first {
                // Nobody came.
                let mut row = vec![name.clone(), "1".into()];
                row.extend(vec![String::new(); task.encoding.dimension() + 2]);
                row.extend([budget.to_string(), String::new()]);
                out.write_record(&row)?;
            }
        }
        Ok(out.flush()?)
    }
}
