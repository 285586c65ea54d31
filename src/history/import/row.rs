//! One row of a raw file: reads and checks the cells that are not features.

use std::borrow::Cow;

use csv::StringRecord;

use super::source::RawFile;
use super::spec::{BudgetSource, ImportSpec, OfferKind, StepSource};
use super::zones::check_zones;
use crate::error::InputError;
use crate::history::calendar::DateOrder;
use crate::history::clock::{Moment, OpeningHours, date_of};
use crate::history::raw::{self, Raw};
use crate::history::zone::Zone;
use crate::task::COST_LIMIT;

/// The indices of the columns, and how to read them.
#[derive(Debug, Clone)]
pub struct Layout {
    episode: usize,
    step: usize,
    action: usize,
    accepted: usize,
    budget: Option<usize>,
    probability: Option<usize>,
    quantity: Option<usize>,
    rate: Option<usize>,
    kind: OfferKind,
    round: Option<f64>,
    units: f64,
    steps: StepKind,
    /// Opening hours, if they are given.
    pub clock: Option<OpeningHours>,
    comma: bool,
    date_order: Option<DateOrder>,
    zone: Option<Zone>,
    /// Rows whose time has no zone, though the shop has one.
    pub without_zone: u64,
    /// Possible features: column index and name.
    pub features: Vec<(usize, String)>,
    /// Columns without a name, which cannot become features.
    pub unnamed: Vec<usize>,
}

/// How the column of steps is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StepKind {
    Number,
    Time,
    Lead,
}

/// Prices relative to another are rounded to this, unless another unit is asked for.
pub const RELATIVE_UNIT: f64 = 0.05;

/// The content of a row.
#[derive(Debug, Clone, PartialEq)]
pub struct Row<'r> {
    pub episode: Cow<'r, str>,
    /// The step or time; may be absent if nobody came.
    pub when: Option<When>,
    /// The offer to a customer; `None` if nobody came.
    pub arrival: Option<RawArrival>,
    pub budget: Option<u32>,
}

/// The step or time of an arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// 1-based.
    Step(usize),
    Moment(Moment),
    /// Days before the end of the episode.
    Lead(u32),
}

/// An offer and its outcome.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RawArrival {
    /// The value offered, if any.
    pub offer: Option<f64>,
    pub accepted: bool,
    /// The probability with which the offer was chosen.
    pub probability: Option<f64>,
    /// Units that the customer takes.
    pub quantity: u32,
}

impl Layout {
    /// Finds the specified columns in a file.
    pub fn find(file: &RawFile, spec: &ImportSpec) -> Result<Self, InputError> {
        let optional = |name: Option<&String>| name.map(|name| file.column(name)).transpose();
        let budget = match &spec.budget {
            BudgetSource::Column(name) => Some(name),
            _ => None,
        };
        let mut layout = Self {
            episode: file.column(&spec.episode)?,
            step: file.column(spec.step.column())?,
            action: file.column(&spec.action)?,
            accepted: file.column(&spec.accepted)?,
            budget: optional(budget)?,
            probability: optional(spec.probability.as_ref())?,
            quantity: optional(spec.quantity.as_ref())?,
            rate: optional(spec.relative_to.as_ref())?,
            kind: spec.kind,
            round: (spec.round).or(spec.relative_to.as_ref().map(|_| RELATIVE_UNIT)),
            units: f64::from(spec.units),
            steps: match spec.step {
                StepSource::Column { .. } => StepKind::Number,
                StepSource::Time { .. } => StepKind::Time,
                StepSource::Lead { .. } => StepKind::Lead,
            },
            clock: match spec.step {
                StepSource::Time { clock, .. } => clock,
                _ => None,
            },
            comma: file.may_have_decimal_commas(),
            features: Vec::new(),
            unnamed: Vec::new(),
            date_order: None,
            zone: spec.zone.clone(),
            without_zone: 0,
        };
        for name in &spec.categories {
            file.column(name)?;
        }
        layout.features = match &spec.features {
            Some(names) => {
                let place = |name: &String| Ok((layout.feature(file, name)?, name.clone()));
                // Acceptance may depend on the quantity and the reference price.
                let multipliers = [&spec.quantity, &spec.relative_to].into_iter().flatten();
                let more = multipliers.filter(|name| !names.contains(name));
                names
                    .iter()
                    .chain(more)
                    .map(place)
                    .collect::<Result<_, InputError>>()?
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
        if layout.steps == StepKind::Time {
            layout.date_order = layout.find_date_order(file)?;
            let read = |cell: &str| Moment::parse(cell, layout.date_order);
            layout.without_zone = check_zones(file, layout.step, layout.zone.is_some(), read)?;
        }
        Ok(layout)
    }

    /// The order of day and month in dates such as 16/11/2026, from the first date with a number above 12.
    fn find_date_order(&self, file: &RawFile) -> Result<Option<DateOrder>, InputError> {
        let mut unclear = None;
        let mut order = None;
        file.each(|line, record| {
            let cell = record.map_or("", |record| record[self.step].trim());
            if let (None, Some(found)) = (order, DateOrder::found_in(cell)) {
                order = found;
                unclear.get_or_insert_with(|| (line, cell.to_string()));
            }
            Ok(())
        })?;
        match (order, unclear) {
            (None, Some((line, cell))) => {
                let message = format!(
                    "column `{}`: found `{cell}`, where day and month are ambiguous; accepted: a time such as 2026-11-16 09:30 or 16.11.2026 09:30",
                    file.names()[self.step]
                );
                Err(file.at(line, message))
            }
            (order, _) => Ok(order),
        }
    }

    /// A column requested as a feature; episode, action and outcome cannot be features.
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

    /// The features (by index) that multiply rewards or costs.
    pub fn multipliers(&self) -> Vec<usize> {
        let places = [self.quantity, self.rate].into_iter().flatten();
        let feature = |place| self.features.iter().position(|(other, _)| *other == place);
        places.filter_map(feature).collect()
    }

    /// What amounts in the file are multiplied by.
    pub fn units(&self) -> f64 {
        self.units
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
        raw::amount(text, self.comma)
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
            found => {
                let accepted = match self.steps {
                    StepKind::Time => "a time such as 2026-11-16 09:30",
                    StepKind::Number => "a step, a whole number from 1",
                    StepKind::Lead => "a number of days, whole, from 0",
                };
                let when = found.and_then(|text| self.when(text));
                Some(when.ok_or_else(|| wrong(self.step, accepted))?)
            }
        };
        let episode = match (self.episode == self.step, when) {
            (false, _) => Cow::Borrowed(label),
            (true, Some(When::Moment(moment))) => {
                let accepted = "a time with its date";
                let day = match &self.clock {
                    Some(clock) => clock.day_of(&moment),
                    None => moment.day,
                };
                Cow::Owned(date_of(day.ok_or_else(|| wrong(self.step, accepted))?))
            }
            (true, _) => return Err(wrong(self.step, "a column of times, or another for steps")),
        };
        let budget = match self.budget {
            None => None,
            Some(place) => {
                let found = cell(place).and_then(|text| self.number(text));
                let found = found.and_then(|x| raw::whole_number(whole_if_near(x * self.units)));
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

    fn when(&self, text: &str) -> Option<When> {
        match self.steps {
            StepKind::Time => {
                let moment = Moment::parse(text, self.date_order)?;
                let local = self
                    .zone
                    .as_ref()
                    .map_or(Some(moment), |zone| moment.local(zone));
                local.map(When::Moment)
            }
            StepKind::Lead => raw::whole(text).map(When::Lead),
            StepKind::Number => {
                let step = raw::whole(text).filter(|step| *step >= 1);
                step.map(|step| When::Step(step as usize))
            }
        }
    }

    fn arrival<'r>(
        &self,
        cell: impl Fn(usize) -> Option<&'r str>,
        wrong: impl Fn(usize, &str) -> String,
    ) -> Result<RawArrival, String> {
        let quantity = match self.quantity {
            None => 1,
            Some(place) => {
                let found = cell(place)
                    .and_then(raw::whole)
                    .filter(|n| (1..=COST_LIMIT).contains(n));
                found.ok_or_else(|| wrong(place, "a whole number from 1"))?
            }
        };
        let rate = match self.rate {
            None => 1.0,
            Some(place) => {
                let found = cell(place).and_then(|text| self.number(text));
                let found = found.filter(|rate| *rate > 0.0);
                found.ok_or_else(|| wrong(place, "a price above 0"))?
            }
        };
        let offer = match cell(self.action) {
            None => None,
            Some(text) => {
                let value = self.number(text).filter(|x| *x >= 0.0);
                let accepted = "a number from 0, or nothing where nothing was offered";
                let value = value.ok_or_else(|| wrong(self.action, accepted))?;
                let value = whole_if_near(value * self.units / rate);
                let value = self.round.map_or(value, |unit| rounded(value, unit));
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
        Ok(RawArrival {
            offer,
            accepted,
            probability,
            quantity,
        })
    }
}

/// A multiple of a unit, with few digits where the unit is a part of 1: 0.85 and not 17 * 0.05.
fn rounded(value: f64, unit: f64) -> f64 {
    let parts = (1.0 / unit).round();
    match parts >= 1.0 && (parts * unit - 1.0).abs() < 1e-9 {
        true => (value * parts).round() / parts,
        false => (value / unit).round() * unit,
    }
}

/// The whole number that rounding has missed, such as 100 * 1.1.
fn whole_if_near(x: f64) -> f64 {
    match (x - x.round()).abs() <= 1e-9 * x.abs() {
        true => x.round(),
        false => x,
    }
}
