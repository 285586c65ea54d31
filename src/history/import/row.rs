//! One row of a raw file: the cells that are no features, read and checked.

use std::borrow::Cow;

use csv::StringRecord;

use super::source::RawFile;
use super::spec::{BudgetSource, ImportSpec, OfferKind, StepSource};
use crate::error::InputError;
use crate::history::calendar::DateOrder;
use crate::history::clock::Moment;
use crate::history::raw::{self, Raw};

/// Where the columns are.
#[derive(Debug, Clone)]
pub struct Layout {
    episode: usize,
    step: usize,
    action: usize,
    accepted: usize,
    budget: Option<usize>,
    probability: Option<usize>,
    kind: OfferKind,
    round: Option<f64>,
    is_time: bool,
    comma: bool,
    day_and_month: Option<DateOrder>,
    /// Columns that may become features, with their names.
    pub features: Vec<(usize, String)>,
    /// Columns that cannot, because nothing names them.
    pub unnamed: Vec<usize>,
}

/// What a row says.
#[derive(Debug, Clone, PartialEq)]
pub struct Row<'r> {
    /// The episode's label.
    pub episode: Cow<'r, str>,
    /// When; a row that only says that nobody came need not say it.
    pub when: Option<When>,
    /// Somebody who came; `None` where the row says that nobody did.
    pub arrival: Option<Arrival>,
    /// Starting budget of the episode.
    pub budget: Option<u32>,
}

/// When somebody came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// At a step, 1-based.
    Step(usize),
    /// At a time.
    Moment(Moment),
}

/// What was offered and what became of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Arrival {
    /// The value offered, where there was an offer.
    pub offer: Option<f64>,
    /// Whether it was accepted.
    pub accepted: bool,
    /// With which probability the offer was chosen.
    pub probability: Option<f64>,
}

impl Layout {
    /// Finds the columns of a specification in a file.
    pub fn find(file: &RawFile, spec: &ImportSpec) -> Result<Self, InputError> {
        let (StepSource::Column { name: step, .. } | StepSource::Time { name: step, .. }) =
            &spec.step;
        let optional = |name: Option<&String>| name.map(|name| file.column(name)).transpose();
        let budget = match &spec.budget {
            BudgetSource::Column(name) => Some(name),
            _ => None,
        };
        let mut layout = Self {
            episode: file.column(&spec.episode)?,
            step: file.column(step)?,
            action: file.column(&spec.action)?,
            accepted: file.column(&spec.accepted)?,
            budget: optional(budget)?,
            probability: optional(spec.probability.as_ref())?,
            kind: spec.kind,
            round: spec.round,
            is_time: matches!(spec.step, StepSource::Time { .. }),
            comma: file.may_have_decimal_commas(),
            features: Vec::new(),
            unnamed: Vec::new(),
            day_and_month: None,
        };
        for name in &spec.categories {
            file.column(name)?;
        }
        layout.features = match &spec.features {
            Some(names) => {
                let place = |name: &String| Ok((layout.feature(file, name)?, name.clone()));
                names.iter().map(place).collect::<Result<_, InputError>>()?
            }
            None => {
                let free = |place: &usize| !layout.is_taken(*place);
                let is_named = |place: &usize| !file.names()[*place].is_empty();
                let places = (0..file.names().len()).filter(free);
                let (places, unnamed): (Vec<_>, _) = places.partition(is_named);
                layout.unnamed = unnamed;
                let named = |place: usize| (place, file.names()[place].clone());
                places.into_iter().map(named).collect()
            }
        };
        let names = layout.features.iter().map(|(_, name)| name);
        for (i, name) in names.enumerate() {
            if layout.features[..i].iter().any(|(_, other)| other == name) {
                let accepted = "a name of its own for every column of features";
                let message = format!("found column `{name}` twice; accepted: {accepted}");
                return Err(file.at(1, message));
            }
        }
        if layout.is_time {
            layout.day_and_month = layout.date_order(file)?;
        }
        Ok(layout)
    }

    /// Which of the numbers in dates such as 16/11/2026 are days: the first date with a number above 12 tells.
    fn date_order(&self, file: &RawFile) -> Result<Option<DateOrder>, InputError> {
        let mut unclear = None;
        let mut order = None;
        file.each(|line, record| {
            let cell = record.map_or("", |record| record[self.step].trim());
            if order.is_none() && DateOrder::is_needed(cell) {
                order = DateOrder::told_by(cell);
                unclear.get_or_insert_with(|| (line, cell.to_string()));
            }
            Ok(())
        })?;
        match (order, unclear) {
            (None, Some((line, cell))) => {
                let message = format!(
                    "column `{}`: found `{cell}`, and no date that tells days from months; accepted: a time such as 2026-11-16 09:30 or 16.11.2026 09:30",
                    file.names()[self.step]
                );
                Err(file.at(line, message))
            }
            (order, _) => Ok(order),
        }
    }

    /// A column that is asked for as a feature: neither an outcome nor the name of an episode tells anything of the next.
    fn feature(&self, file: &RawFile, name: &str) -> Result<usize, InputError> {
        let place = file.column(name)?;
        if [self.episode, self.action, self.accepted].contains(&place) {
            let message = format!(
                "column `{name}`: found among the features; accepted: columns that describe a customer before the offer"
            );
            return Err(file.at(1, message));
        }
        Ok(place)
    }

    /// What is offered.
    pub fn kind(&self) -> OfferKind {
        self.kind
    }

    fn is_taken(&self, place: usize) -> bool {
        [self.episode, self.step, self.action, self.accepted].contains(&place)
            || self.budget == Some(place)
            || self.probability == Some(place)
    }

    /// The cell of a feature column.
    pub fn feature_cell<'r>(&self, record: &'r StringRecord, feature: usize) -> Raw<'r> {
        Raw::cell(&record[self.features[feature].0])
    }

    /// The number in a cell of the file.
    pub fn number(&self, text: &str) -> Option<f64> {
        match self.comma {
            true => raw::number_with_comma(text),
            false => raw::number(text),
        }
    }

    /// Reads a record; the error is a message.
    pub fn read<'r>(&self, file: &RawFile, record: &'r StringRecord) -> Result<Row<'r>, String> {
        let cell = |place: usize| match Raw::cell(&record[place]) {
            Raw::Text(text) => Some(text),
            _ => None,
        };
        let wrong = |place: usize, accepted: &str| {
            let (name, found) = (&file.names()[place], record[place].trim());
            format!("column `{name}`: found `{found}`; accepted: {accepted}")
        };
        let missing = |place: usize| wrong(place, "an episode's name in every row");
        let label = cell(self.episode).ok_or_else(|| missing(self.episode))?;
        let nobody = cell(self.action).is_none()
            && cell(self.accepted).is_none()
            && (0..self.features.len()).all(|i| self.feature_cell(record, i) == Raw::Missing);
        let when = match cell(self.step) {
            None if nobody => None,
            found => Some(self.when(found).ok_or_else(|| {
                wrong(
                    self.step,
                    match self.is_time {
                        true => "a time such as 2026-11-16 09:30",
                        false => "a step, a whole number from 1",
                    },
                )
            })?),
        };
        let episode = match (self.episode == self.step, when) {
            (false, _) => Cow::Borrowed(label),
            (true, Some(When::Moment(moment))) => {
                let accepted = "a time with its date";
                Cow::Owned(moment.date().ok_or_else(|| wrong(self.step, accepted))?)
            }
            (true, _) => return Err(wrong(self.step, "a column of times, or another for steps")),
        };
        let budget = match self.budget {
            None => None,
            Some(place) => {
                let found = cell(place).and_then(raw::whole);
                Some(found.ok_or_else(|| wrong(place, "a whole number from 0"))?)
            }
        };
        let arrival = match nobody {
            true => None,
            false => Some(self.arrival(cell, wrong)?),
        };
        Ok(Row {
            episode,
            when,
            arrival,
            budget,
        })
    }

    fn when(&self, found: Option<&str>) -> Option<When> {
        match self.is_time {
            true => Moment::parse(found?, self.day_and_month).map(When::Moment),
            false => raw::whole(found?)
                .filter(|step| *step >= 1)
                .map(|step| When::Step(step as usize)),
        }
    }

    fn arrival<'r>(
        &self,
        cell: impl Fn(usize) -> Option<&'r str>,
        wrong: impl Fn(usize, &str) -> String,
    ) -> Result<Arrival, String> {
        let offer = match cell(self.action) {
            None => None,
            Some(text) => {
                let value = self.number(text).filter(|x| *x >= 0.0);
                let value = value.ok_or_else(|| {
                    wrong(
                        self.action,
                        "a number from 0, or nothing where nothing was offered",
                    )
                })?;
                let value = match self.round {
                    Some(unit) if value > 0.0 => (value / unit).round() * unit,
                    _ => value,
                };
                (value > 0.0).then_some(value)
            }
        };
        if let Some(value) = offer {
            self.kind
                .check(value)
                .map_err(|accepted| wrong(self.action, &accepted))?;
        }
        let accepted = match cell(self.accepted) {
            None if offer.is_none() => false,
            text => text
                .and_then(raw::flag)
                .ok_or_else(|| wrong(self.accepted, "0 or 1, yes or no, true or false"))?,
        };
        if accepted && offer.is_none() {
            return Err(wrong(self.accepted, "0 where nothing was offered"));
        }
        let probability = match self.probability {
            Some(place) if offer.is_some() => {
                let found = cell(place).and_then(|text| self.number(text));
                let found = found.filter(|p| *p > 0.0 && *p <= 1.0);
                Some(found.ok_or_else(|| wrong(place, "a probability above 0, up to 1"))?)
            }
            _ => None,
        };
        Ok(Arrival {
            offer,
            accepted,
            probability,
        })
    }
}
