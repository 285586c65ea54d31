//! The first pass over a raw file: statistics of its columns, its episodes and actions. Memory grows with episodes and
//! levels, not with rows.

use std::collections::{BTreeSet, HashSet};

use csv::StringRecord;

use super::row::{Layout, Row, When};
use super::rules::Rules;
use super::source::RawFile;
use super::summary::count;
use crate::error::InputError;
use crate::history::clock::{Moment, OpeningHours};
use crate::history::log::EpisodeNumbers;
use crate::history::raw::Raw;

/// The most distinct texts of a column that are kept; a column with more is no category.
const LEVELS_KEPT: usize = 1000;

/// The most distinct actions that are kept.
const ACTIONS_KEPT: usize = 100_000;

/// The most kinds of wrong rows that are named.
const WRONG_KEPT: usize = 5;

/// Running mean and variance (Welford).
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Moments {
    pub count: u64,
    pub mean: f64,
    squares: f64,
}

impl Moments {
    /// Adds a number.
    pub fn add(&mut self, x: f64) {
        self.count += 1;
        let before = x - self.mean;
        self.mean += before / self.count as f64;
        self.squares += before * (x - self.mean);
    }

    /// The standard deviation of the population (divided by n).
    pub fn deviation(&self) -> f64 {
        (self.squares / self.count.max(1) as f64).sqrt()
    }
}

/// Statistics of a column.
#[derive(Debug, Clone)]
pub struct ColumnSurvey {
    /// Empty cells of arrivals.
    pub missing: u64,
    pub numbers: Moments,
    /// The smallest and largest of them.
    pub range: (f64, f64),
    /// Number of cells that are not numbers.
    pub texts: u64,
    /// The first of them.
    pub first_text: Option<String>,
    /// The distinct cells; `None` if there are too many.
    pub levels: Option<HashSet<String>>,
    /// Whether cells are whole numbers that rise from row to row.
    pub running: bool,
    /// Whether every text is a time or a date.
    pub dates: bool,
    last: f64,
}

impl Default for ColumnSurvey {
    fn default() -> Self {
        Self {
            missing: 0,
            numbers: Moments::default(),
            range: (f64::INFINITY, f64::NEG_INFINITY),
            texts: 0,
            first_text: None,
            levels: Some(HashSet::new()),
            running: true,
            dates: true,
            last: f64::NEG_INFINITY,
        }
    }
}

impl ColumnSurvey {
    fn add(&mut self, cell: Raw, number: impl Fn(&str) -> Option<f64>) {
        let Raw::Text(text) = cell else {
            self.missing += 1;
            return;
        };
        match number(text) {
            Some(x) => {
                self.numbers.add(x);
                self.range = (self.range.0.min(x), self.range.1.max(x));
                self.running &= x.fract() == 0.0 && x > self.last;
                self.last = x;
            }
            None => {
                self.texts += 1;
                self.running = false;
                self.dates &= Moment::is_date(text);
                self.first_text.get_or_insert_with(|| text.to_string());
            }
        }
        if let Some(levels) = &mut self.levels {
            if !levels.contains(text) {
                levels.insert(text.to_string());
            }
            if levels.len() > LEVELS_KEPT {
                self.levels = None;
            }
        }
    }
}

/// An episode of the file.
#[derive(Debug, Clone, Default)]
pub struct EpisodeSurvey {
    /// Its starting budget, if the file has it.
    pub budget: Option<u32>,
    /// Total cost of accepted actions: units sold, or wages and bids paid.
    pub spent: f64,
    span: Option<(i64, i64)>,
    /// The day of the opening, if the episode has dated times.
    day: Option<i64>,
}

impl EpisodeSurvey {
    /// Refuses a row with another budget, or a time outside the episode.
    pub fn check(&self, row: &Row) -> Result<(), String> {
        self.check_budget(row)?;
        match (row.when, self.span) {
            (Some(When::Moment(moment)), Some((first, last)))
                if !(first..=last).contains(&moment.absolute()) =>
            {
                Err(ANOTHER_DAY.into())
            }
            _ => Ok(()),
        }
    }

    fn check_budget(&self, row: &Row) -> Result<(), String> {
        match (row.budget, self.budget) {
            (Some(found), Some(before)) if found != before => Err(format!(
                "found a budget of {found} in an episode with {before}; accepted: one starting budget in all rows of an episode"
            )),
            _ => Ok(()),
        }
    }

    /// Extends the episode to a time, up to less than a day.
    fn widen(&mut self, moment: Moment, clock: Option<OpeningHours>) -> Result<(), String> {
        if let Some(clock) = clock.filter(|clock| clock.close <= clock.open) {
            let day = clock.day_of(&moment);
            if day.is_some_and(|day| *self.day.get_or_insert(day) != day) {
                return Err(TWO_EVENINGS.into());
            }
        }
        let at = moment.absolute();
        let (first, last) = self.span.unwrap_or((at, at));
        let span = (first.min(at), last.max(at));
        if span.1 - span.0 >= 86_400 {
            return Err(ANOTHER_DAY.into());
        }
        self.span = Some(span);
        Ok(())
    }
}

const ANOTHER_DAY: &str = "found times a day or more apart in one episode; accepted: episodes of less than 24 hours, or a column of steps";

const TWO_EVENINGS: &str = "found times of two evenings in one episode; accepted: the column of times as the episode, which puts times after midnight into the evening before";

/// The results of the first pass.
#[derive(Debug, Default)]
pub struct Survey {
    /// Rows, wrong ones included.
    pub rows: u64,
    /// Number of rows that cannot be used.
    pub wrong: u64,
    /// The first of them: line and message.
    pub first_wrong: Vec<(u64, String)>,
    /// Rows with an arrival.
    pub arrivals: u64,
    /// One per column of the layout's features.
    pub columns: Vec<ColumnSurvey>,
    /// Numbers of the episodes.
    pub numbers: EpisodeNumbers,
    pub episodes: Vec<EpisodeSurvey>,
    /// Bits of the values offered; these are positive, so the order is that of the values.
    pub actions: BTreeSet<u64>,
    /// All values offered.
    pub offers: Moments,
    /// The largest step found.
    pub last_step: usize,
    /// The earliest and latest time of day.
    pub times: Option<(u32, u32)>,
    /// The episode and the time of day of every arrival, if the file has times.
    pub moments: Vec<(u32, u32)>,
}

impl Survey {
    /// Reads the whole file once.
    pub fn of(file: &RawFile, layout: &Layout, rules: &Rules) -> Result<Self, InputError> {
        let mut survey = Self {
            columns: vec![ColumnSurvey::default(); layout.features.len()],
            ..Self::default()
        };
        let mut kinds: Vec<(String, u64)> = Vec::new();
        file.each(|line, record| {
            survey.rows += 1;
            let taken = record.and_then(|record| {
                let row = layout.read(file, record)?;
                rules.check(layout, record, &row)?;
                survey.take(layout, record, &row)
            });
            if let Err(message) = taken {
                survey.wrong += 1;
                let kind = kind_of(&message);
                match kinds.iter().position(|(known, _)| *known == kind) {
                    Some(place) => kinds[place].1 += 1,
                    None if kinds.len() < WRONG_KEPT => {
                        kinds.push((kind, 0));
                        survey.first_wrong.push((line, message));
                    }
                    None => {}
                }
            }
            Ok(())
        })?;
        for ((_, message), (_, more)) in survey.first_wrong.iter_mut().zip(kinds) {
            if more > 0 {
                *message += &format!(" (and {} more of this kind)", count(more));
            }
        }
        Ok(survey)
    }

    fn take(&mut self, layout: &Layout, record: &StringRecord, row: &Row) -> Result<(), String> {
        let number = self.numbers.number(&row.episode);
        if number == self.episodes.len() {
            self.episodes.push(EpisodeSurvey::default());
        }
        let episode = &mut self.episodes[number];
        episode.check_budget(row)?;
        if let Some(When::Moment(moment)) = row.when {
            episode.widen(moment, layout.clock)?;
            let (early, late) = self.times.unwrap_or((moment.second, moment.second));
            self.times = Some((early.min(moment.second), late.max(moment.second)));
        }
        episode.budget = episode.budget.or(row.budget);
        match row.when {
            Some(When::Step(step)) => self.last_step = self.last_step.max(step),
            Some(When::Lead(days)) => self.last_step = self.last_step.max(days as usize + 1),
            Some(When::Moment(_)) | None => {}
        }
        let Some(arrival) = row.arrival else {
            return Ok(());
        };
        self.arrivals += 1;
        if let Some(When::Moment(moment)) = row.when {
            self.moments.push((number as u32, moment.second));
        }
        if let Some(value) = arrival.offer {
            self.offers.add(value);
            if self.actions.len() < ACTIONS_KEPT {
                self.actions.insert(value.to_bits());
            }
            if arrival.accepted {
                episode.spent += layout.kind().cost(value) * f64::from(arrival.quantity);
            }
        }
        for (i, column) in self.columns.iter_mut().enumerate() {
            let cell = layout.feature_cell(record, i);
            column.add(cell, |text| layout.number(text));
        }
        Ok(())
    }
}

/// What a message is about, without what was found.
fn kind_of(message: &str) -> String {
    let mut kind = String::new();
    for (i, part) in message.split('`').enumerate() {
        // Quoted parts are at odd places; the first is a column, the others were found.
        if i < 2 || i % 2 == 0 {
            kind.push_str(part);
        }
    }
    kind.retain(|c| !c.is_ascii_digit());
    kind
}
