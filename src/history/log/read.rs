//! Reading a labeled log: header `episode,step,<feature>,...,action,accepted`, with optional columns `budget` and
//! `probability`; one line per arrival, in any order of lines and columns. An episode without any arrival has a line with
//! empty features.

use std::io::Read;
use std::path::Path;

use csv::{Position, ReaderBuilder, StringRecord};

use super::{EpisodeNumbers, LabeledLog, LogArrival, LogEpisode};
use crate::error::InputError;
use crate::history::encoding::RESERVED;
use crate::history::raw;

/// Which columns are features.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FeatureColumns {
    /// These, in this order.
    Named(Vec<String>),
    /// All other columns, in the order of the file.
    All,
}

/// The expected form of a log.
#[derive(Debug, Clone)]
pub struct LogForm<'a> {
    /// H.
    pub horizon: usize,
    /// Which columns are features.
    pub features: FeatureColumns,
    /// The values of the actions 1, 2, ...; `None` to ignore offers.
    pub actions: Option<&'a [f64]>,
}

/// Relative difference up to which two values are the same action.
const ROUNDING: f64 = 1e-9;

/// The indices of the columns.
struct LogColumns {
    episode: usize,
    step: usize,
    action: usize,
    accepted: usize,
    budget: Option<usize>,
    probability: Option<usize>,
    features: Vec<usize>,
}

struct LogReader<'a> {
    file: &'a Path,
    form: &'a LogForm<'a>,
    header: StringRecord,
    columns: LogColumns,
}

impl LabeledLog {
    /// Reads a log.
    pub fn read(file: &Path, form: &LogForm) -> Result<Self, InputError> {
        let unreadable = |error| InputError::unreadable(file, &error);
        let source = crate::files::open(file).map_err(unreadable)?;
        // On some systems a folder can be opened.
        if source.metadata().map_err(unreadable)?.is_dir() {
            return Err(unreadable(std::io::ErrorKind::IsADirectory.into()));
        }
        Self::parse(file, source, form)
    }

    /// Reads a log from any source; messages name it `file`.
    pub fn parse(file: &Path, source: impl Read, form: &LogForm) -> Result<Self, InputError> {
        let mut csv = ReaderBuilder::new()
            .flexible(true)
            .buffer_capacity(1 << 18)
            .from_reader(source);
        let at = |line, message| error_at(file, line, message);
        let mut header = csv.headers().map_err(|e| at(1, e.to_string()))?.clone();
        header.trim();
        let columns = LogColumns::find(file, &header, &form.features)?;
        let reader = LogReader {
            file,
            form,
            header,
            columns,
        };
        let mut rows = LogRows {
            dimension: reader.columns.features.len(),
            ..LogRows::default()
        };
        let mut record = StringRecord::new();
        loop {
            match csv.read_record(&mut record) {
                Ok(false) => break,
                Ok(true) => reader.take(&record, &mut rows)?,
                Err(error) => {
                    let line = error.position().map_or(1, Position::line);
                    return Err(at(line, error.to_string()));
                }
            }
        }
        if rows.episodes.is_empty() {
            return Err(InputError::File {
                file: file.to_path_buf(),
                message: "found no rows; accepted: at least one".into(),
            });
        }
        let names = reader.columns.features.iter();
        let names = names.map(|&i| reader.header[i].to_string()).collect();
        Ok(rows.log(names, reader.columns.probability.is_some()))
    }
}

fn error_at(file: &Path, line: u64, message: String) -> InputError {
    InputError::At {
        file: file.to_path_buf(),
        line: line as usize,
        message,
    }
}

impl LogColumns {
    fn find(
        file: &Path,
        header: &StringRecord,
        features: &FeatureColumns,
    ) -> Result<Self, InputError> {
        let at = |message: String| error_at(file, 1, message);
        let optional = |name: &str| {
            let mut places = (0..header.len()).filter(|&i| &header[i] == name);
            match (places.next(), places.next()) {
                (Some(_), Some(_)) => Err(at(format!("found column `{name}` twice"))),
                (place, _) => Ok(place),
            }
        };
        let found = || header.iter().collect::<Vec<_>>().join(",");
        let column = |name: &str| {
            optional(name)?.ok_or_else(|| {
                at(format!(
                    "found no column `{name}` in `{}`; accepted: header episode,step,<feature>,...,action,accepted",
                    found()
                ))
            })
        };
        let features = match features {
            FeatureColumns::Named(names) => names
                .iter()
                .map(|name| column(name))
                .collect::<Result<_, _>>()?,
            FeatureColumns::All => (0..header.len())
                .filter(|&i| !RESERVED.contains(&&header[i]))
                .collect::<Vec<_>>(),
        };
        if features.is_empty() {
            return Err(at(format!("found no feature column in `{}`", found())));
        }
        Ok(Self {
            episode: column("episode")?,
            step: column("step")?,
            action: column("action")?,
            accepted: column("accepted")?,
            budget: optional("budget")?,
            probability: optional("probability")?,
            features,
        })
    }
}

/// Rows in the order of the file.
#[derive(Default)]
struct LogRows {
    dimension: usize,
    thetas: Vec<f64>,
    arrivals: Vec<(usize, LogArrival)>,
    numbers: EpisodeNumbers,
    episodes: Vec<LogEpisode>,
}

impl LogRows {
    fn episode(&mut self, label: &str) -> usize {
        let number = self.numbers.number(label);
        if number == self.episodes.len() {
            self.episodes.push(LogEpisode {
                label: label.to_string(),
                budget: None,
                arrivals: 0..0,
            });
        }
        number
    }

    /// Sorts arrivals by episode and step; those of one step stay in the order of the file.
    fn log(mut self, features: Vec<String>, has_probabilities: bool) -> LabeledLog {
        let key = |i: &usize| (self.arrivals[*i].0, self.arrivals[*i].1.step);
        let mut order: Vec<usize> = (0..self.arrivals.len()).collect();
        if !order.is_sorted_by_key(key) {
            order.sort_by_key(key);
        }
        let d = self.dimension;
        let thetas = order.iter().flat_map(|i| &self.thetas[i * d..(i + 1) * d]);
        let thetas = thetas.copied().collect();
        let mut start = 0;
        for (number, episode) in self.episodes.iter_mut().enumerate() {
            let rest = &order[start..];
            let count = rest.partition_point(|i| self.arrivals[*i].0 == number);
            episode.arrivals = start..start + count;
            start += count;
        }
        LabeledLog {
            features,
            thetas,
            arrivals: order.iter().map(|&i| self.arrivals[i].1).collect(),
            episodes: self.episodes,
            has_probabilities,
        }
    }
}

impl LogReader<'_> {
    fn wrong(&self, record: &StringRecord, place: usize, accepted: &str) -> InputError {
        let (name, found) = (&self.header[place], record[place].trim());
        self.at(
            record,
            format!("column `{name}`: found `{found}`; accepted: {accepted}"),
        )
    }

    fn at(&self, record: &StringRecord, message: String) -> InputError {
        error_at(
            self.file,
            record.position().map_or(0, Position::line),
            message,
        )
    }

    fn take(&self, record: &StringRecord, rows: &mut LogRows) -> Result<(), InputError> {
        let width = self.header.len();
        if record.len() != width {
            let message = format!(
                "found {} columns; accepted: {width} as in the header",
                record.len()
            );
            return Err(self.at(record, message));
        }
        let columns = &self.columns;
        let cell = |place: usize| record[place].trim();
        let label = cell(columns.episode);
        if label.is_empty() {
            return Err(self.wrong(record, columns.episode, "the name of an episode"));
        }
        let number = rows.episode(label);
        self.take_budget(record, &mut rows.episodes[number])?;
        if columns.features.iter().all(|&i| cell(i).is_empty()) {
            if !cell(columns.action).is_empty() || cell(columns.accepted) == "1" {
                let accepted = "features wherever something was offered";
                return Err(self.wrong(record, columns.features[0], accepted));
            }
            return Ok(());
        }
        for &place in &columns.features {
            let x = raw::number(cell(place));
            let accepted = "a number of size up to 1e15, or all features empty where nobody came";
            rows.thetas
                .push(x.ok_or_else(|| self.wrong(record, place, accepted))?);
        }
        let horizon = self.form.horizon;
        let step: Option<u32> = cell(columns.step).parse().ok();
        let Some(step) = step.filter(|h| (1..=horizon as u32).contains(h)) else {
            return Err(self.wrong(record, columns.step, &format!("a step from 1 to {horizon}")));
        };
        let action = self.action(record)?;
        let accepted = match cell(columns.accepted) {
            "" if action == 0 => false,
            text => {
                raw::flag(text).ok_or_else(|| self.wrong(record, columns.accepted, "0 or 1"))?
            }
        };
        if accepted && action == 0 && self.form.actions.is_some() {
            return Err(self.wrong(record, columns.accepted, "0 where nothing was offered"));
        }
        let probability = match columns.probability {
            Some(place) if action > 0 => {
                let p = raw::number(cell(place)).filter(|p| *p > 0.0 && *p <= 1.0);
                p.ok_or_else(|| self.wrong(record, place, "a probability above 0, up to 1"))?
            }
            _ => 1.0,
        };
        let arrival = LogArrival {
            step: step - 1,
            action,
            accepted,
            probability,
        };
        rows.arrivals.push((number, arrival));
        Ok(())
    }

    fn take_budget(
        &self,
        record: &StringRecord,
        episode: &mut LogEpisode,
    ) -> Result<(), InputError> {
        let Some(place) = self.columns.budget else {
            return Ok(());
        };
        let text = record[place].trim();
        if text.is_empty() {
            return Ok(());
        }
        let found = raw::whole(text);
        let found = found.ok_or_else(|| self.wrong(record, place, "a whole number from 0"))?;
        if found != *episode.budget.get_or_insert(found) {
            let accepted = "one starting budget in all rows of an episode";
            return Err(self.wrong(record, place, accepted));
        }
        Ok(())
    }

    /// The number of the action offered, 0 for none.
    fn action(&self, record: &StringRecord) -> Result<u32, InputError> {
        let place = self.columns.action;
        let text = record[place].trim();
        let Some(actions) = self.form.actions.filter(|_| !text.is_empty()) else {
            return Ok(0);
        };
        let value = raw::number(text).unwrap_or(f64::NAN);
        if value == 0.0 {
            return Ok(0);
        }
        let same = |known: &f64| (known - value).abs() <= ROUNDING * known.abs();
        let exact = actions.iter().position(|known| *known == value);
        match exact.or_else(|| actions.iter().position(same)) {
            Some(i) => Ok(i as u32 + 1),
            None => {
                let known: Vec<String> = actions.iter().map(ToString::to_string).collect();
                let accepted = format!("one of {}, or nothing", known.join(", "));
                Err(self.wrong(record, place, &accepted))
            }
        }
    }
}
