//! The second pass over a raw file: rows become lines of a labeled log as they are read.

use std::fmt::Write as _;
use std::io::{self, Write};

use csv::StringRecord;

use super::row::{Layout, Row};
use super::rules::Rules;
use super::source::RawFile;
use super::survey::Survey;
use crate::error::InputError;
use crate::history::encoding::{Column, Encoding};
use crate::history::raw::Raw;

/// Bytes that are gathered before they are written.
const PIECE: usize = 1 << 18;

/// The most cells (episode, step) that are watched for second arrivals: 64 MiB of bits.
const WATCHED: u64 = 1 << 29;

/// What was written.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Counts {
    /// Arrivals at each step.
    pub arrivals: Vec<u64>,
    /// Offers and acceptances of each action.
    pub offers: Vec<(u64, u64)>,
    /// Arrivals at a step of an episode that had one before.
    pub shared: u64,
    /// Arrivals without an offer.
    pub without_offer: u64,
    /// Episodes without any arrival.
    pub quiet_episodes: u64,
}

/// What a log is made of.
#[derive(Debug)]
pub struct LogForm<'a> {
    /// The raw file.
    pub file: &'a RawFile,
    /// Where its columns are.
    pub layout: &'a Layout,
    /// What its rows keep to; H and opening hours are known.
    pub rules: &'a Rules,
    /// What the first pass has found.
    pub survey: &'a Survey,
    /// How features are made.
    pub encoding: &'a Encoding,
    /// Where the encoded columns are among the layout's.
    pub places: &'a [usize],
    /// All actions, in rising order.
    pub actions: &'a [f64],
    /// Whether starting budgets are written.
    pub budgets: bool,
    /// Whether probabilities are written.
    pub probabilities: bool,
}

/// A failure to read or to write.
#[derive(Debug)]
pub enum Failure {
    /// The raw file.
    Input(InputError),
    /// The log.
    Output(io::Error),
}

impl LogForm<'_> {
    /// Writes the log.
    pub fn write(&self, out: &mut dyn Write) -> Result<Counts, Failure> {
        let horizon = self.rules.horizon.unwrap_or(0);
        let mut counts = Counts {
            arrivals: vec![0; horizon],
            offers: vec![(0, 0); self.actions.len()],
            ..Counts::default()
        };
        let episodes = self.survey.episodes.len();
        let cells = episodes as u64 * horizon as u64;
        let mut seen = vec![
            0u64;
            if cells <= WATCHED {
                cells.div_ceil(64) as usize
            } else {
                0
            }
        ];
        let mut visited = vec![false; episodes];
        let mut text = self.header();
        let mut features = Vec::with_capacity(self.encoding.dimension());
        let mut failed = None;
        let read = self.file.each(|_, record| {
            let Ok(record) = record else {
                return Ok(());
            };
            let Ok(row) = self.layout.read(self.file, record) else {
                return Ok(());
            };
            let Ok(step) = self.rules.check(self.layout, record, &row) else {
                return Ok(());
            };
            let number = self.survey.episode_numbers[row.episode.as_ref()] as usize;
            if self.survey.episodes[number].check(&row).is_err() || failed.is_some() {
                return Ok(());
            }
            if let (Some(arrival), Some(step)) = (row.arrival, step) {
                visited[number] = true;
                counts.arrivals[step - 1] += 1;
                let cell = number * horizon + step - 1;
                if let Some(bits) = seen.get_mut(cell / 64) {
                    counts.shared += *bits >> (cell % 64) & 1;
                    *bits |= 1 << (cell % 64);
                }
                match arrival.offer {
                    None => counts.without_offer += 1,
                    Some(value) => {
                        let action = self.actions.partition_point(|a| *a < value);
                        let (offers, accepted) = &mut counts.offers[action];
                        *offers += 1;
                        *accepted += u64::from(arrival.accepted);
                    }
                }
                let values = self.places.iter().zip(&self.encoding.columns);
                let values = values.map(|(&place, column)| self.value(record, place, column));
                let encoded = self.encoding.encode_in_order(values, &mut features, |_| {});
                debug_assert!(encoded.is_ok(), "rows are checked before they are encoded");
            } else {
                features.clear();
            }
            self.line(&row, step, &features, &mut text);
            if text.len() > PIECE {
                failed = out.write_all(text.as_bytes()).err();
                text.clear();
            }
            Ok(())
        });
        read.map_err(Failure::Input)?;
        let written = match failed {
            Some(error) => Err(error),
            None => out.write_all(text.as_bytes()).and_then(|()| out.flush()),
        };
        written.map_err(Failure::Output)?;
        counts.quiet_episodes = visited.iter().filter(|visited| !**visited).count() as u64;
        Ok(counts)
    }

    /// A cell as the encoding takes it; numbers may have decimal commas.
    fn value<'r>(&self, record: &'r StringRecord, place: usize, column: &Column) -> Raw<'r> {
        match (self.layout.feature_cell(record, place), column) {
            (Raw::Text(text), Column::Number { .. }) => {
                self.layout.number(text).map_or(Raw::Missing, Raw::Number)
            }
            (cell, _) => cell,
        }
    }

    fn header(&self) -> String {
        let mut names = vec!["episode".to_string(), "step".into()];
        names.extend(self.encoding.names());
        names.extend(["action".into(), "accepted".into()]);
        if self.budgets {
            names.push("budget".into());
        }
        if self.probabilities {
            names.push("probability".into());
        }
        let cells: Vec<String> = names.iter().map(|name| quoted(name)).collect();
        cells.join(",") + "\n"
    }

    fn line(&self, row: &Row, step: Option<usize>, features: &[f64], text: &mut String) {
        text.push_str(&quoted(&row.episode));
        let _ = write!(text, ",{}", step.unwrap_or(1));
        for i in 0..self.encoding.dimension() {
            text.push(',');
            if let Some(x) = features.get(i) {
                let _ = write!(text, "{x}");
            }
        }
        match row.arrival {
            Some(arrival) => {
                text.push(',');
                if let Some(value) = arrival.offer {
                    let _ = write!(text, "{value}");
                }
                text.push_str(if arrival.accepted { ",1" } else { ",0" });
            }
            None => text.push_str(",,"),
        }
        if self.budgets {
            text.push(',');
            if let Some(budget) = row.budget {
                let _ = write!(text, "{budget}");
            }
        }
        if self.probabilities {
            text.push(',');
            if let Some(p) = row.arrival.and_then(|arrival| arrival.probability) {
                let _ = write!(text, "{p}");
            }
        }
        text.push('\n');
    }
}

/// A text as a CSV cell.
fn quoted(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) || text.trim() != text {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_string(),
    }
}
