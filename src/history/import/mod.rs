//! From a raw CSV file, with columns of any name, to a task and a labeled log.
//!
//! The file is read twice: to survey its columns, and to write the log. Neither pass keeps rows in memory.

mod actions;
mod columns;
mod row;
mod rules;
mod source;
mod spec;
mod steps;
mod summary;
mod survey;
mod write;
mod zones;

use std::io::Write;
use std::path::Path;

use thiserror::Error;

use super::clock::OpeningHours;
use super::encoding::Encoding;
use super::task_file::{ActionScale, Columns, Offers, Sizes, TaskFile};
use crate::error::{InputError, Invalid, OutputError};
use crate::learner::live::Rails;
use crate::task::HORIZON_LIMIT;
use actions::Actions;
use columns::{decide, the_feature, with_stray_texts};
use row::Layout;
use rules::Rules;
use source::RawFile;
use steps::Division;
use survey::{EpisodeSurvey, Survey};
use write::Counts;

pub use spec::{BudgetSource, COUNT_IN_CENTS, ImportSpec, OfferKind, StepSource};
pub use summary::{OfferCount, Summary, count};

/// The most actions of an imported task.
const ACTION_LIMIT: usize = 100;

/// An error of an import.
#[derive(Debug, Error)]
pub enum ImportError {
    /// The file cannot be used.
    #[error(transparent)]
    Input(#[from] InputError),
    /// Some rows cannot be used.
    #[error("{first} ({})", more(*.rows))]
    WrongRows {
        /// The first of them.
        first: InputError,
        /// Their number.
        rows: u64,
    },
    /// The log cannot be written.
    #[error(transparent)]
    Output(#[from] OutputError),
}

fn more(rows: u64) -> String {
    match rows {
        1 => "the only wrong row".into(),
        _ => format!("the first of {} wrong rows", count(rows)),
    }
}

/// A surveyed raw file, ready to become a log.
#[derive(Debug)]
pub struct Import {
    file: RawFile,
    layout: Layout,
    rules: Rules,
    survey: Survey,
    /// The index of each encoded column among the layout's features.
    places: Vec<usize>,
    dropped: Vec<(String, String)>,
    actions: Actions,
    task: TaskFile,
    spec: ImportSpec,
    /// How the survey would divide days by itself, if the file has times.
    division: Option<Division>,
}

impl Import {
    /// Reads the file for the first time, and finds everything that is wrong with it.
    pub fn survey(path: &Path, spec: &ImportSpec) -> Result<Self, ImportError> {
        let step = spec.step.column();
        let asked = [&spec.episode, step, &spec.action, &spec.accepted].map(String::as_str);
        let file = RawFile::open(path, &asked)?;
        let layout = Layout::find(&file, spec)?;
        let mut rules = Rules::default();
        match &spec.step {
            StepSource::Column { steps, .. } | StepSource::Lead { steps, .. } => {
                rules.horizon = *steps;
            }
            StepSource::Time { steps, clock, .. } => {
                rules.clock = *clock;
                rules.horizon = steps.filter(|_| clock.is_some());
            }
        }
        rules.required = layout.multipliers();
        if spec.kind == OfferKind::Auction {
            the_feature(&file, &layout)?;
            rules.required = vec![0];
        }
        let mut survey = Survey::of(&file, &layout, &rules)?;
        let stray = with_stray_texts(&survey, &layout, spec);
        if !stray.is_empty() {
            rules.numbers = stray;
            survey = Survey::of(&file, &layout, &rules)?;
        }
        if let (Some((line, message)), false) = (survey.first_wrong.first(), spec.drop_wrong) {
            return Err(ImportError::WrongRows {
                first: file.at(*line, message.clone()),
                rows: survey.wrong,
            });
        }
        if survey.arrivals == 0 {
            let message = "found no arrival; accepted: at least one row that can be used";
            return Err(file.whole_file(message).into());
        }
        let actions = Actions::of(&survey.actions);
        check_actions(&file, spec, &actions.values)?;
        let decision = decide(&file, &layout, spec, &survey)?;
        if matches!(spec.step, StepSource::Time { .. }) && rules.clock.is_none() {
            let hours = |(early, late)| OpeningHours::around(early, late);
            rules.clock = survey.times.map(hours);
        }
        let moments = std::mem::take(&mut survey.moments);
        let division = rules.clock.map(|clock| Division::choose(&moments, &clock));
        let chosen = division.map_or(survey.last_step, |division| division.steps);
        let (StepSource::Column { steps, .. }
        | StepSource::Lead { steps, .. }
        | StepSource::Time { steps, .. }) = &spec.step;
        rules.horizon = Some(steps.unwrap_or(chosen));
        let values = &actions.values;
        let task = task_file(&file, spec, &survey, decision.encoding, &rules, values)?;
        Ok(Self {
            file,
            layout,
            rules,
            survey,
            places: decision.places,
            dropped: decision.dropped,
            actions,
            task,
            spec: spec.clone(),
            division,
        })
    }

    /// The task and the encoding.
    pub fn task(&self) -> &TaskFile {
        &self.task
    }

    /// Reads the file again and writes the log; errors name it `place`.
    pub fn write(&self, out: &mut dyn Write, place: &Path) -> Result<Summary, ImportError> {
        let counts = self.write_log(out)?;
        let counts = counts.map_err(|error| OutputError::unwritable(place, error))?;
        Ok(self.summarise(&counts))
    }

    fn summarise(&self, counts: &Counts) -> Summary {
        let survey = &self.survey;
        let episodes = survey.episodes.len();
        let ceiling = self.task.task.budget;
        let budget_of = |e: &EpisodeSurvey| f64::from(e.budget.unwrap_or(ceiling));
        let spent: f64 = survey.episodes.iter().map(|e| e.spent).sum();
        let offers = self.actions.values.iter().zip(&counts.offers);
        let sold_out = |e: &&EpisodeSurvey| e.spent >= budget_of(e) && e.spent > 0.0;
        Summary {
            rows: survey.rows,
            separator: self.file.separator(),
            header: self.file.has_header(),
            dropped_rows: survey.wrong,
            dropped_lines: survey.first_wrong.clone(),
            dropped_columns: self.dropped.clone(),
            features: self.task.encoding.names(),
            episodes,
            horizon: self.task.task.horizon,
            clock: self.task.clock,
            arrivals: counts.arrivals.clone(),
            without_offer: counts.without_offer,
            action: self.task.noun(),
            offers: offers
                .map(|(&value, &(offers, accepted))| OfferCount {
                    value,
                    offers,
                    accepted,
                })
                .collect(),
            budget: ceiling,
            budget_source: match &self.spec.budget {
                BudgetSource::Unknown => "the most spent in any episode".into(),
                BudgetSource::Constant(_) => "the same in every episode".into(),
                BudgetSource::Column(name) => format!("column `{name}`"),
            },
            spent: spent / episodes.max(1) as f64,
            sold_out: survey.episodes.iter().filter(sold_out).count(),
            notes: self.notes(counts),
        }
    }

    fn notes(&self, counts: &Counts) -> Vec<String> {
        let (survey, noun) = (&self.survey, self.task.application.noun());
        let ceiling = self.task.task.budget;
        let episodes = survey.episodes.len();
        let over = |e: &&EpisodeSurvey| e.spent > f64::from(e.budget.unwrap_or(ceiling));
        let over = survey.episodes.iter().filter(over).count();
        let arrivals: u64 = counts.arrivals.iter().sum();
        let none_accepted = counts.offers.iter().all(|(_, accepted)| *accepted == 0);
        let has_own_steps = self.has_own_steps();
        let better = self.division.filter(|d| d.steps > self.task.task.horizon);
        let advice = match better {
            Some(division) => format!(": {} would be closer to the truth", division.words()),
            None => ", so more steps would be closer to the truth".into(),
        };
        let division = self
            .division
            .map_or(String::new(), |division| division.words());
        let notes = [
            (has_own_steps, format!("{division}; chosen because plans expect at most one customer per step")),
            (counts.moved > 0, format!(
                "{} arrivals were moved to the nearest free step of their day",
                count(counts.moved)
            )),
            (self.actions.note.is_some(), self.actions.note.clone().unwrap_or_default()),
            (self.spec.units > 1, format!(
                "amounts are counted in 1/{} of those in the file: {noun}s, their values and the column of budgets, if there is one",
                self.spec.units
            )),
            (self.spec.relative_to.is_some() && self.spec.round.is_none(), format!(
                "prices are rounded to multiples of {} of the reference price", row::RELATIVE_UNIT
            )),
            (over > 0, format!(
                "{} episodes spent more than their budget: was there more to spend than the file says?",
                count(over as u64)
            )),
            (counts.shared > 0, format!(
                "{} arrivals ({:.1}%) share a step of their episode with an earlier one; plans expect one arrival per step{advice}",
                count(counts.shared),
                100.0 * counts.shared as f64 / arrivals as f64
            )),
            (counts.quiet_episodes == 0, "every episode has an arrival; an episode without one counts only if the file has a row for it".into()),
            (self.actions.values.len() == 1, format!("only one {noun} was ever offered: nothing can be learnt about others")),
            (survey.offers.count > 0 && none_accepted, "no offer was ever accepted: no model can be fitted".into()),
            (self.layout.without_zone > 0, format!("{} times have no zone and are taken as local", count(self.layout.without_zone))),
            (episodes as u64 == arrivals && episodes > 1, "every episode has a single arrival: is the episode's column the right one?".into()),
        ];
        let found = notes.into_iter().filter(|(applies, _)| *applies);
        found.map(|(_, note)| note).collect()
    }
}

fn check_actions(file: &RawFile, spec: &ImportSpec, actions: &[f64]) -> Result<(), InputError> {
    let (found, accepted) = match actions.len() {
        1..=ACTION_LIMIT => return Ok(()),
        0 => ("no offer".into(), "at least one value above 0".into()),
        many => (
            format!("{} different values", count(many as u64)),
            format!("at most {ACTION_LIMIT} (rounding to a unit merges them)"),
        ),
    };
    let name = &spec.action;
    Err(file.whole_file(format!(
        "column `{name}`: found {found}; accepted: {accepted}"
    )))
}

fn task_file(
    file: &RawFile,
    spec: &ImportSpec,
    survey: &Survey,
    encoding: Encoding,
    rules: &Rules,
    actions: &[f64],
) -> Result<TaskFile, InputError> {
    let horizon = rules.horizon.unwrap_or(0);
    if !(1..=HORIZON_LIMIT).contains(&horizon) {
        let message = format!("found {horizon} steps; accepted: from 1 to {HORIZON_LIMIT}");
        return Err(file.whole_file(message));
    }
    let largest = match &spec.budget {
        BudgetSource::Constant(units) => *units,
        BudgetSource::Unknown => survey.episodes.iter().map(|e| e.spent).fold(1.0, f64::max) as u32,
        BudgetSource::Column(_) => {
            let budgets = survey.episodes.iter().filter_map(|e| e.budget);
            budgets.max().unwrap_or(0)
        }
    };
    let whole = || actions.iter().map(|a| *a as u32).collect();
    let column = || Some(spec.step.column().clone());
    let (step, time, lead) = match &spec.step {
        StepSource::Column { .. } => (column(), None, None),
        StepSource::Time { .. } => (None, column(), None),
        StepSource::Lead { .. } => (None, None, column()),
    };
    let deviation = survey.offers.deviation();
    let task = TaskFile {
        task: Sizes {
            horizon,
            budget: largest,
        },
        application: match spec.kind {
            OfferKind::Pricing => Offers::Pricing {
                prices: actions.to_vec(),
            },
            OfferKind::Procurement => Offers::Procurement { wages: whole() },
            OfferKind::Auction => Offers::Auction { bids: whole() },
        },
        offered: None,
        rails: Rails::default(),
        columns: Columns {
            episode: spec.episode.clone(),
            step,
            time,
            zone: spec.zone.clone(),
            lead,
            action: spec.action.clone(),
            accepted: spec.accepted.clone(),
            budget: match &spec.budget {
                BudgetSource::Column(name) => Some(name.clone()),
                _ => None,
            },
            probability: spec.probability.clone(),
            quantity: spec.quantity.clone(),
            relative_to: spec.relative_to.clone(),
        },
        clock: rules.clock,
        action: ActionScale {
            mean: survey.offers.mean,
            deviation: if deviation > 0.0 { deviation } else { 1.0 },
        },
        encoding,
    };
    let refused = |invalid: Invalid| file.whole_file(invalid.to_string());
    task.check().map_err(refused)?;
    Ok(task)
}
