//! From a labeled log to a model of acceptance: candidates of increasing complexity, compared on held-out episodes.

mod checks;
mod compare;
mod data;
mod design;
mod file;
mod intervals;
mod kernel;
mod model;
mod support;
mod terms;
mod warnings;

use std::sync::Arc;

use super::days::{self, DaysFile, Drift, Moods, ageing};
use super::encoding::Encoding;
use super::law::{EmpiricalLaw, Exposure, POOLED_BELOW};
use super::log::LabeledLog;
use super::task_file::TaskFile;
use crate::error::Invalid;
use crate::task::Task;

use checks::THIN_OFFERS;
use compare::Comparison;
use file::{ActionFit, FittedModel, LogCounts, StepArrivals, Term};
use terms::{norm_bound, terms};

pub(crate) use compare::Folds;
#[doc(hidden)]
pub use data::OfferData;
pub use design::ModelKind;
pub use file::ModelFile;
#[doc(hidden)]
pub use intervals::Uncertainty;
#[doc(hidden)]
pub use model::{EXACT, Fitter};
pub use model::{Model, ModelFit, SomeActions};
pub use support::Support;
pub(crate) use terms::phi_weights;

/// The most arrivals for which the support of offers is counted.
const CHECKED: usize = 20_000;

/// Settings of a fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FitSettings {
    /// Whether plans may use rarely offered actions.
    pub keep_thin: bool,
    /// A step with fewer arrivals takes the contexts of all steps.
    pub pooled_below: u64,
    /// Columns that describe the whole day, besides those found.
    pub day: Vec<String>,
    /// Columns that do not, though they look like it.
    pub no_day: Vec<String>,
}

impl Default for FitSettings {
    fn default() -> Self {
        Self {
            keep_thin: false,
            pooled_below: POOLED_BELOW,
            day: Vec::new(),
            no_day: Vec::new(),
        }
    }
}

/// A log with the fitted models of acceptance and arrivals.
#[derive(Debug)]
pub struct Fitted {
    /// The task of all actions in the log.
    pub task: Arc<Task>,
    /// The log.
    pub log: LabeledLog,
    /// Its offers.
    pub data: OfferData,
    /// The model.
    pub fit: ModelFit,
    /// Its uncertainty.
    pub uncertainty: Uncertainty,
    /// Contexts by step, for each group of days.
    pub laws: Vec<EmpiricalLaw>,
    /// The group of each day.
    pub group_of_day: Vec<usize>,
    /// Which offers the log supports for which customers; `None` if all count for everybody.
    pub support: Option<Support>,
    /// Whether plans use offers without support, too.
    pub extrapolate: bool,
    /// How long each episode was observed.
    pub exposure: Exposure,
    /// The content of the model file.
    pub file: ModelFile,
}

/// Fits the log of a task.
pub fn fit(
    task_file: &TaskFile,
    task: Arc<Task>,
    log: LabeledLog,
    settings: FitSettings,
) -> Result<Fitted, Invalid> {
    let values = task.application().action_values();
    let data = OfferData::new(&log, task_file.encoding.constant, &task_file.action, values);
    check_log(&log, &data, task_file)?;
    let folds = Folds::new(log.episodes().len());
    let noun = task_file.application.noun();
    let comparison = Comparison::run(&data, &folds, noun);
    let choice = &comparison.choice().fit;
    let how = (choice.kind, choice.lambda);
    let (fit, uncertainty, terms) = fit_all(task_file, &data, values, how, None);
    let law = EmpiricalLaw::new(&log, task.horizon(), settings.pooled_below);
    let exposure = Exposure::of(&log, &task);
    let actions = checks::actions(&data, &comparison, values, log.arrivals().len());
    let planned = planned(&actions, task_file, settings.keep_thin)?;
    let rises = task_file.application.acceptance_rises();
    let mut file = ModelFile {
        version: env!("CARGO_PKG_VERSION").into(),
        journal_lines: 0,
        log: counts_of(&log),
        action: noun.into(),
        model: FittedModel {
            kind: choice.kind,
            lambda: choice.lambda,
            reason: comparison.reason(),
            terms,
        },
        candidates: comparison
            .candidates
            .iter()
            .map(|c| c.fit.clone())
            .collect(),
        compared_offers: comparison.offers.len() as u64,
        base_log_loss: comparison.base_log_loss,
        base_brier: comparison.base_brier,
        reliability: checks::reliability(&data, &comparison),
        actions,
        planned,
        monotonicity: checks::monotonicity(&fit.model, &log, values, rises),
        offers_explained: checks::offers_explained(&data, &folds),
        steps: steps(&law, &exposure.rates(&log, task.horizon(), |_| 1.0)),
        pooled_below: settings.pooled_below,
        cut_short: exposure.cut_short as u64,
        norm_bound: norm_bound(&data, &task, task_file),
        days: DaysFile::default(),
        unsupported: 0.0,
        warnings: Vec::new(),
    };
    let encoding = &task_file.encoding;
    file.days.columns = days::day_columns(encoding, &log, &settings.day, &settings.no_day)?;
    let mut fitted = Fitted {
        group_of_day: vec![0; log.episodes().len()],
        task,
        log,
        data,
        fit,
        uncertainty,
        laws: vec![law],
        support: None,
        extrapolate: false,
        exposure,
        file,
    };
    fitted.support = Support::new(&fitted.data, &folds);
    fitted.file.unsupported = fitted.unsupported();
    if fitted.file.unsupported == 0.0 {
        fitted.support = None;
    }
    fitted.file.days.drift = Drift::test(&fitted);
    if let Some(half_life) = fitted.file.days.half_life() {
        fitted.forget(task_file, settings.keep_thin, half_life)?;
    }
    let offers = task_file.application.only(&fitted.planned());
    let planned = Arc::new(task_file.check_with(&offers)?);
    fitted.file.days.tree = days::grow(&fitted, &planned, encoding, &fitted.file.days.columns);
    fitted.group_days(encoding);
    let held_out = comparison.choice().held_out.iter().copied();
    let held_out: Vec<(usize, f64)> = comparison.offers.iter().copied().zip(held_out).collect();
    fitted.file.days.moods = Moods::test(&fitted, &planned, &held_out);
    fitted.file.warnings = warnings::of(&fitted.file, settings.keep_thin);
    fitted.group_days(encoding);
    Ok(fitted)
}

impl Fitted {
    /// Repeats the fit of a model file on its log.
    pub fn again(
        task_file: &TaskFile,
        task: Arc<Task>,
        log: LabeledLog,
        file: ModelFile,
    ) -> Result<Self, Invalid> {
        let another = || {
            let accepted = "the log that the model was fitted to (fit again after a change)";
            Invalid::new("log", "another log", accepted)
        };
        let values = task.application().action_values().to_vec();
        let known = |value: &f64| values.contains(value);
        if counts_of(&log) != file.log || !file.planned.iter().all(known) || file.planned.is_empty()
        {
            return Err(another());
        }
        let data = OfferData::new(
            &log,
            task_file.encoding.constant,
            &task_file.action,
            &values,
        );
        let FittedModel { kind, lambda, .. } = file.model;
        if !(lambda.is_finite() && lambda >= 0.0) {
            return Err(another());
        }
        let half_life = file.days.half_life();
        let how = (kind, lambda);
        let (fit, uncertainty, terms) = fit_all(task_file, &data, &values, how, half_life);
        let far = |(a, b): (&Term, &Term)| {
            (a.coefficient - b.coefficient).abs() > 1e-6 * (1.0 + b.coefficient.abs())
        };
        let differs =
            terms.len() != file.model.terms.len() || terms.iter().zip(&file.model.terms).any(far);
        if differs {
            return Err(another());
        }
        let mut fitted = Self {
            laws: Vec::new(),
            group_of_day: Vec::new(),
            extrapolate: false,
            support: match file.unsupported > 0.0 {
                true => Support::new(&data, &Folds::new(log.episodes().len())),
                false => None,
            },
            exposure: Exposure::of(&log, &task),
            task,
            log,
            data,
            fit,
            uncertainty,
            file,
        };
        fitted.group_days(&task_file.encoding);
        Ok(fitted)
    }

    /// Fits again with weights that halve with every half-life. An action is thin where its weights count for few offers,
    /// by Kish's (sum of w)^2 / sum of w^2.
    fn forget(
        &mut self,
        task_file: &TaskFile,
        keep_thin: bool,
        half_life: f64,
    ) -> Result<(), Invalid> {
        let values = self.task.application().action_values();
        let how = (self.file.model.kind, self.file.model.lambda);
        let data = &self.data;
        (self.fit, self.uncertainty, self.file.model.terms) =
            fit_all(task_file, data, values, how, Some(half_life));
        let ages = ageing(data.episode_count, data.episode_count, Some(half_life));
        let sums = data.counts(Some(&data.weights(|day| ages[day])));
        let squares = data.counts(Some(&data.weights(|day| ages[day] * ages[day])));
        let counts = sums.iter().zip(squares);
        for (action, ((sum, _), (square, _))) in self.file.actions.iter_mut().zip(counts) {
            let few = square <= 0.0 || sum * sum / square < THIN_OFFERS as f64;
            action.thin |= few;
        }
        self.file.planned = planned(&self.file.actions, task_file, keep_thin)?;
        Ok(())
    }

    /// Brings the days and their laws into the groups of the model file.
    fn group_days(&mut self, encoding: &Encoding) {
        let Self { log, file, .. } = self;
        let (tree, horizon) = (&file.days.tree, self.task.horizon());
        self.group_of_day = tree.of_log(encoding, log);
        let groups = tree.groups().len();
        self.laws = days::laws(log, horizon, file.pooled_below, &self.group_of_day, groups);
    }

    /// The support that plans keep to.
    pub fn limits(&self) -> Option<&Support> {
        self.support.as_ref().filter(|_| !self.extrapolate)
    }

    /// Whether the log supports each planned action for a customer.
    pub fn supported(&self, theta: &[f64]) -> Vec<bool> {
        let of_all = self.support.as_ref().map(|support| support.of(theta));
        let planned = self.planned().into_iter();
        planned
            .map(|a| of_all.as_ref().is_none_or(|all| all[a - 1]))
            .collect()
    }

    /// The share of the pairs of an arrival and a planned action that are not supported.
    fn unsupported(&self) -> f64 {
        if self.support.is_none() {
            return 0.0;
        }
        let arrivals = self.log.arrivals().len();
        let some = (0..arrivals).step_by(arrivals.div_ceil(CHECKED).max(1));
        let pairs: Vec<bool> = some
            .flat_map(|i| self.supported(self.log.theta(i)))
            .collect();
        pairs.iter().filter(|own| !**own).count() as f64 / pairs.len().max(1) as f64
    }

    /// The actions that plans use, numbered from 1.
    pub fn planned(&self) -> Vec<usize> {
        let values = self.task.application().action_values().iter().enumerate();
        let used = values.filter(|(_, value)| self.file.planned.contains(value));
        used.map(|(i, _)| i + 1).collect()
    }
}

/// The fit of a kind with a penalty, with weights that fall with age where there is a half-life.
fn fit_all(
    task_file: &TaskFile,
    data: &OfferData,
    values: &[f64],
    (kind, lambda): (ModelKind, f64),
    half_life: Option<f64>,
) -> (ModelFit, Uncertainty, Vec<Term>) {
    let fitter = Fitter::new(kind, data);
    let days = data.episode_count;
    let weights = half_life.map(|_| {
        let ages = ageing(days, days, half_life);
        data.weights(|day| ages[day])
    });
    let weights = weights.as_deref();
    let fit = fitter.fit(lambda, weights, None, EXACT);
    let uncertainty = Uncertainty::new(&fitter, data, &fit, lambda, weights);
    let terms = terms(&fitter, data, &fit, &uncertainty, task_file, values);
    (fit, uncertainty, terms)
}

/// Values of the actions that plans use.
fn planned(actions: &[ActionFit], task: &TaskFile, keep_thin: bool) -> Result<Vec<f64>, Invalid> {
    let used = actions.iter().filter(|action| keep_thin || !action.thin);
    let planned: Vec<f64> = used.map(|action| action.value).collect();
    if planned.is_empty() {
        let noun = task.application.noun();
        return Err(Invalid::new(
            "log",
            format!("no {noun} that was offered {THIN_OFFERS} times and in 2% of arrivals"),
            format!("more offers, or permission to plan with every {noun} anyway"),
        ));
    }
    Ok(planned)
}

fn steps(law: &EmpiricalLaw, rates: &[f64]) -> Vec<StepArrivals> {
    let step = |(h, &rate): (usize, &f64)| StepArrivals {
        step: h + 1,
        arrivals: law.arrivals[h],
        rate,
        pooled: law.pooled[h],
    };
    rates.iter().enumerate().map(step).collect()
}

/// The counts that identify the log of a model.
fn counts_of(log: &LabeledLog) -> LogCounts {
    LogCounts {
        episodes: log.episodes().len() as u64,
        arrivals: log.arrivals().len() as u64,
        offers: log.offers() as u64,
        accepted: log.accepted() as u64,
    }
}

/// Refuses logs without information.
fn check_log(log: &LabeledLog, data: &OfferData, task: &TaskFile) -> Result<(), Invalid> {
    let noun = task.application.noun();
    let refuse = |found: String, accepted: String| Err(Invalid::new("log", found, accepted));
    if log.episodes().len() < 2 {
        let accepted = "two or more, so that some can be held out".into();
        return refuse("a single episode".into(), accepted);
    }
    if data.is_empty() {
        return refuse(
            "no offer".into(),
            format!("arrivals that were offered a {noun}"),
        );
    }
    if log.accepted() == 0 {
        let accepted = "some acceptances: without them all offers look alike".into();
        return refuse(
            format!("{} offers, none of them accepted", data.len()),
            accepted,
        );
    }
    Ok(())
}
