//! The second pass over a raw file: writes the labeled log row by row.

use std::io::{self, Write};

use csv::StringRecord;

use super::{BudgetSource, Import, StepSource};
use crate::error::InputError;
use crate::history::encoding::Column;
use crate::history::log::{LogRow, LogWriter};
use crate::history::raw::Raw;

/// Bytes that are collected before they are written.
const PIECE: usize = 1 << 18;

/// The most cells (episode, step) that are checked for second arrivals: 64 MiB of bits.
const WATCHED: u64 = 1 << 29;

/// Counts of what was written.
#[derive(Default)]
pub(super) struct Counts {
    pub arrivals: Vec<u64>,
    /// Offers and acceptances of each action.
    pub offers: Vec<(u64, u64)>,
    /// Arrivals at a step of an episode that had one before.
    pub shared: u64,
    /// Arrivals that were moved to another step, because theirs had one.
    pub moved: u64,
    /// Arrivals without an offer.
    pub without_offer: u64,
    /// Episodes without any arrival.
    pub quiet_episodes: u64,
}

impl Import {
    /// Whether the import has chosen how to divide the day.
    pub(super) fn has_own_steps(&self) -> bool {
        matches!(self.spec.step, StepSource::Time { steps: None, .. })
    }

    /// Writes the log; the inner result is that of writing.
    pub(super) fn write_log(
        &self,
        out: &mut dyn Write,
    ) -> Result<Result<Counts, io::Error>, InputError> {
        let (encoding, horizon) = (&self.task.encoding, self.task.task.horizon);
        let mut counts = Counts {
            arrivals: vec![0; horizon],
            offers: vec![(0, 0); self.actions.values.len()],
            ..Counts::default()
        };
        let episodes = self.survey.episodes.len();
        let cells = Some(episodes as u64 * horizon as u64).filter(|cells| *cells <= WATCHED);
        let mut seen = vec![0u64; cells.unwrap_or(0).div_ceil(64) as usize];
        // Only where the steps are the import's own: others mean something to the user.
        let spreads = self.has_own_steps() && cells.is_some();
        let mut visited = vec![false; episodes];
        let budgets = matches!(self.spec.budget, BudgetSource::Column(_));
        let mut log = LogWriter::new(encoding, budgets, self.spec.probability.is_some());
        let mut features = Vec::with_capacity(encoding.dimension());
        let mut failed = None;
        self.file.each(|_, record| {
            // Wrong rows were reported or left out by the first pass.
            let Ok(record) = record else {
                return Ok(());
            };
            let Ok(row) = self.layout.read(&self.file, record) else {
                return Ok(());
            };
            let Ok(mut step) = self.rules.check(&self.layout, record, &row) else {
                return Ok(());
            };
            let number = self.survey.numbers.known(&row.episode);
            if self.survey.episodes[number].check(&row).is_err() || failed.is_some() {
                return Ok(());
            }
            features.clear();
            if let (Some(arrival), Some(step)) = (row.arrival, &mut step) {
                visited[number] = true;
                if spreads {
                    let taken = |step: &usize| {
                        let cell = number * horizon + step - 1;
                        seen[cell / 64] >> (cell % 64) & 1 == 1
                    };
                    let free = (*step..=horizon).find(|step| !taken(step));
                    let free = free.or_else(|| (1..*step).rev().find(|step| !taken(step)));
                    counts.moved += u64::from(free.is_some_and(|free| free != *step));
                    *step = free.unwrap_or(*step);
                }
                counts.arrivals[*step - 1] += 1;
                let cell = number * horizon + *step - 1;
                if let Some(bits) = seen.get_mut(cell / 64) {
                    counts.shared += *bits >> (cell % 64) & 1;
                    *bits |= 1 << (cell % 64);
                }
                match arrival.offer {
                    None => counts.without_offer += 1,
                    Some(value) => {
                        let action = self.actions.place(value);
                        let (offers, accepted) = &mut counts.offers[action];
                        *offers += 1;
                        *accepted += u64::from(arrival.accepted);
                    }
                }
                let values = self.places.iter().zip(&encoding.columns);
                let values = values.map(|(&place, column)| self.value(record, place, column));
                let encoded = encoding.encode_in_order(values, &mut features, None);
                debug_assert!(encoded.is_ok(), "rows are checked before they are encoded");
            }
            let arrival = row.arrival;
            log.row(&LogRow {
                episode: &row.episode,
                step: step.unwrap_or(1),
                features: &features,
                offer: arrival.and_then(|arrival| {
                    let value = arrival.offer?;
                    Some(self.actions.values[self.actions.place(value)])
                }),
                accepted: arrival.is_some_and(|arrival| arrival.accepted),
                budget: row.budget,
                probability: arrival.and_then(|arrival| arrival.probability),
            });
            if log.text.len() > PIECE {
                failed = out.write_all(log.text.as_bytes()).err();
                log.text.clear();
            }
            Ok(())
        })?;
        counts.quiet_episodes = visited.iter().filter(|visited| !**visited).count() as u64;
        let rest = || {
            out.write_all(log.text.as_bytes())
                .and_then(|()| out.flush())
        };
        Ok(failed.map_or_else(rest, Err).map(|()| counts))
    }

    /// A cell for the encoding; numbers may have decimal commas.
    fn value<'r>(&self, record: &'r StringRecord, place: usize, column: &Column) -> Raw<'r> {
        match (self.layout.feature_cell(record, place), column) {
            (Raw::Text(text), Column::Number { .. }) => {
                self.layout.number(text).map_or(Raw::Missing, Raw::Number)
            }
            (cell, _) => cell,
        }
    }
}
