//! The journal of a live learner as a labeled log.

use std::collections::HashMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::log::{LogRow, LogWriter};
use super::task_file::TaskFile;
use crate::error::InputError;
use crate::learner::journal::JournalError;
use crate::learner::live::{DecideRecord, Intake, RecordRecord, read_journal};

/// Counts of a journal.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct JournalSummary {
    /// Episodes.
    pub episodes: usize,
    /// Arrivals.
    pub arrivals: usize,
    /// Offers with a known outcome.
    pub offers: usize,
    /// Acceptances.
    pub accepted: usize,
    /// Offers without an outcome; in the log they are arrivals without an offer.
    pub without_outcome: usize,
}

/// The content of a journal.
#[derive(Debug)]
pub struct JournalLog {
    episodes: Vec<(String, u32)>,
    arrivals: Vec<JournalArrival>,
    lines: u64,
}

#[derive(Debug)]
struct JournalArrival {
    episode: usize,
    step: usize,
    features: Vec<f64>,
    offer: Option<f64>,
    /// `None` for an offer that the learner did not make.
    probability: Option<f64>,
    accepted: Option<bool>,
    /// Whether its outcome is no data.
    forgotten: bool,
}

#[derive(Deserialize)]
struct BeginRecord {
    episode: String,
    budget: u32,
}

/// An outcome or its correction.
#[derive(Deserialize)]
struct ObserveRecord {
    id: String,
    accepted: bool,
}

#[derive(Deserialize)]
struct CancelRecord {
    id: String,
    forget: bool,
}

#[derive(Deserialize)]
struct ForgetRecord {
    ids: Vec<String>,
}

impl JournalLog {
    /// Reads the journal of a task, or its first lines.
    pub fn read(journal: &Path, task: &TaskFile, lines: u64) -> Result<Self, InputError> {
        let mut log = Self {
            episodes: Vec::new(),
            arrivals: Vec::new(),
            lines: 0,
        };
        let mut by_id = HashMap::new();
        let wrong = |error: serde_json::Error| error.to_string();
        let read = read_journal(journal, lines, |op, line| {
            log.lines += 1;
            match op {
                "begin" => {
                    let begun: BeginRecord = serde_json::from_slice(line).map_err(wrong)?;
                    log.episodes.push((begun.episode, begun.budget));
                }
                "decide" => {
                    let decide: DecideRecord = serde_json::from_slice(line).map_err(wrong)?;
                    let episode = log.episodes.len().checked_sub(1);
                    let features = task.features(&decide.context);
                    by_id.insert(decide.id, log.arrivals.len());
                    log.arrivals.push(JournalArrival {
                        episode: episode.ok_or("a decision before the first episode")?,
                        step: decide.step,
                        features: features.map_err(|error| error.to_string())?.0,
                        offer: decide.offer,
                        probability: Some(decide.probability),
                        accepted: None,
                        forgotten: false,
                    });
                }
                "record" => {
                    let record: RecordRecord = serde_json::from_slice(line).map_err(wrong)?;
                    let episode = log.episodes.len().checked_sub(1);
                    let features = task.features(&record.context);
                    by_id.insert(record.id, log.arrivals.len());
                    log.arrivals.push(JournalArrival {
                        episode: episode.ok_or("a sale before the first episode")?,
                        step: record.step,
                        features: features.map_err(|error| error.to_string())?.0,
                        offer: Some(record.offer).filter(|_| record.learnt),
                        probability: None,
                        accepted: Some(record.accepted),
                        forgotten: false,
                    });
                }
                "cancel" => {
                    let cancel: CancelRecord = serde_json::from_slice(line).map_err(wrong)?;
                    if let (true, Some(arrival)) = (cancel.forget, by_id.get(&cancel.id)) {
                        log.arrivals[*arrival].forgotten = true;
                    }
                }
                "forget" => {
                    let forget: ForgetRecord = serde_json::from_slice(line).map_err(wrong)?;
                    for arrival in forget.ids.iter().filter_map(|id| by_id.get(id)) {
                        log.arrivals[*arrival].forgotten = true;
                    }
                }
                "observe" | "correct" => {
                    let observed: ObserveRecord = serde_json::from_slice(line).map_err(wrong)?;
                    let arrival = by_id
                        .get(&observed.id)
                        .ok_or("an outcome without its decision")?;
                    log.arrivals[*arrival].accepted = Some(observed.accepted);
                }
                _ => {}
            }
            Ok(())
        });
        read.map_err(in_file)?;
        Ok(log)
    }

    /// Whether nobody has come yet.
    pub fn is_empty(&self) -> bool {
        self.arrivals.is_empty()
    }

    /// Lines of the journal.
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// The text of the log, and its counts.
    pub fn text(&self, task: &TaskFile) -> (String, JournalSummary) {
        let mut summary = JournalSummary {
            episodes: self.episodes.len(),
            arrivals: self.arrivals.len(),
            ..JournalSummary::default()
        };
        let mut log = LogWriter::new(&task.encoding, true, true);
        let mut arrivals = self.arrivals.iter().peekable();
        for (number, (episode, budget)) in self.episodes.iter().enumerate() {
            let (episode, budget) = (episode.as_str(), Some(*budget));
            if arrivals.peek().is_none_or(|a| a.episode != number) {
                log.row(&LogRow {
                    episode,
                    step: 1,
                    budget,
                    ..LogRow::default()
                });
            }
            while let Some(arrival) = arrivals.next_if(|a| a.episode == number) {
                let known = arrival.offer.zip(arrival.accepted);
                let known = known.filter(|_| !arrival.forgotten);
                let accepted = known.is_some_and(|(_, accepted)| accepted);
                summary.offers += usize::from(known.is_some());
                summary.without_outcome += usize::from(arrival.offer.is_some() && known.is_none());
                summary.accepted += usize::from(accepted);
                log.row(&LogRow {
                    episode,
                    step: arrival.step,
                    features: &arrival.features,
                    offer: known.map(|(offer, _)| offer),
                    accepted,
                    budget,
                    probability: known.and(arrival.probability),
                });
            }
        }
        (log.text, summary)
    }
}

/// A journal that cannot be read, as a wrong file.
pub(super) fn in_file(error: JournalError) -> InputError {
    match error {
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
            message: "another process is using it".into(),
        },
    }
}
