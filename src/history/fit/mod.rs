//! From a labeled log to a model of acceptance: candidates of increasing complexity, compared on held-out episodes.

mod checks;
mod compare;
mod data;
mod design;
mod file;
mod intervals;
mod kernel;
mod model;
mod warnings;

use std::sync::Arc;

use super::law::{EmpiricalLaw, Exposure, POOLED_BELOW};
use super::log::LabeledLog;
use super::task_file::TaskFile;
use crate::error::Invalid;
use crate::task::Task;

use checks::THIN_OFFERS;
use compare::Comparison;
use file::{ActionFit, FittedModel, LogCounts, StepArrivals, Term};

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

/// Settings of a fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FitSettings {
    /// Whether plans may use rarely offered actions.
    pub keep_thin: bool,
    /// A step with fewer arrivals takes the contexts of all steps.
    pub pooled_below: u64,
}

impl Default for FitSettings {
    fn default() -> Self {
        Self {
            keep_thin: false,
            pooled_below: POOLED_BELOW,
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
    /// Contexts by step.
    pub law: EmpiricalLaw,
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
    let (fit, uncertainty, terms) = fit_all(task_file, &data, values, choice.kind, choice.lambda);
    let law = EmpiricalLaw::new(&log, task.horizon(), settings.pooled_below);
    let exposure = Exposure::of(&log, &task);
    let actions = checks::actions(&data, &comparison, values, log.arrivals().len());
    let planned = planned(&actions, task_file, settings)?;
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
        warnings: Vec::new(),
    };
    file.warnings = warnings::of(&file, settings.keep_thin);
    Ok(Fitted {
        task,
        log,
        data,
        fit,
        uncertainty,
        law,
        exposure,
        file,
    })
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
        let (fit, uncertainty, terms) = fit_all(task_file, &data, &values, kind, lambda);
        let far = |(a, b): (&Term, &Term)| {
            (a.coefficient - b.coefficient).abs() > 1e-6 * (1.0 + b.coefficient.abs())
        };
        let differs =
            terms.len() != file.model.terms.len() || terms.iter().zip(&file.model.terms).any(far);
        if differs {
            return Err(another());
        }
        Ok(Self {
            law: EmpiricalLaw::new(&log, task.horizon(), file.pooled_below),
            exposure: Exposure::of(&log, &task),
            task,
            log,
            data,
            fit,
            uncertainty,
            file,
        })
    }

    /// The actions that plans use, numbered from 1.
    pub fn planned(&self) -> Vec<usize> {
        let values = self.task.application().action_values().iter().enumerate();
        let used = values.filter(|(_, value)| self.file.planned.contains(value));
        used.map(|(i, _)| i + 1).collect()
    }
}

fn fit_all(
    task_file: &TaskFile,
    data: &OfferData,
    values: &[f64],
    kind: ModelKind,
    lambda: f64,
) -> (ModelFit, Uncertainty, Vec<Term>) {
    let fitter = Fitter::new(kind, data);
    let fit = fitter.fit(lambda, None, None, EXACT);
    let uncertainty = Uncertainty::new(&fitter, data, &fit, lambda);
    let terms = terms(&fitter, data, &fit, &uncertainty, task_file, values);
    (fit, uncertainty, terms)
}

/// Values of the actions that plans use.
fn planned(
    actions: &[ActionFit],
    task: &TaskFile,
    settings: FitSettings,
) -> Result<Vec<f64>, Invalid> {
    let used = actions
        .iter()
        .filter(|action| settings.keep_thin || !action.thin);
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

fn terms(
    fitter: &Fitter,
    data: &OfferData,
    fit: &ModelFit,
    uncertainty: &Uncertainty,
    task: &TaskFile,
    values: &[f64],
) -> Vec<Term> {
    let noun = task.application.noun();
    let (names, errors): (Vec<String>, Vec<Option<f64>>) = match fitter.kind() {
        ModelKind::Kernel => return Vec::new(),
        ModelKind::Rates => {
            let error =
                |((n, _), p): (&(f64, f64), &f64)| (*n > 0.0).then(|| (p * (1.0 - p) / n).sqrt());
            let errors = data
                .counts(None)
                .iter()
                .zip(&fit.coefficients)
                .map(error)
                .collect();
            (
                values.iter().map(|v| format!("{noun}={v}")).collect(),
                errors,
            )
        }
        _ => {
            let names = fitter.columns().names(&task.encoding.names(), noun, values);
            let errors = uncertainty.standard_errors();
            let errors = errors.map(|list| list.into_iter().map(Some).collect());
            let none = vec![None; names.len()];
            (names, errors.unwrap_or(none))
        }
    };
    let term = |((name, coefficient), standard_error)| Term {
        name,
        coefficient,
        standard_error,
    };
    let coefficients = fit.coefficients.iter().copied();
    names
        .into_iter()
        .zip(coefficients)
        .zip(errors)
        .map(term)
        .collect()
}

/// At least twice the norm of the plain logistic fit, on columns of phi = (theta, action value) divided by their largest
/// sizes, and never below 1.
fn norm_bound(data: &OfferData, task: &Task, file: &TaskFile) -> f64 {
    let fitter = Fitter::new(ModelKind::Logistic, data);
    let beta = fitter.fit(1.0, None, None, EXACT).coefficients;
    let weights = phi_weights(&beta, file);
    let sizes = task.phi_sizes();
    let square: f64 = weights
        .iter()
        .zip(&sizes)
        .map(|(w, size)| (w * size).powi(2))
        .sum();
    // One decimal is enough for a bound.
    let twice = 2.0 * square.sqrt();
    (twice * 10.0).ceil().max(10.0) / 10.0
}

/// The weights on phi = (theta, action value) of a plain logistic fit. Without a constant feature the intercept is left
/// out.
pub(crate) fn phi_weights(beta: &[f64], file: &TaskFile) -> Vec<f64> {
    let encoding = &file.encoding;
    let features = encoding.dimension() - usize::from(encoding.constant);
    let slope = beta[features + 1] / file.action.deviation;
    let mut weights = Vec::new();
    if encoding.constant {
        weights.push(beta[0] - slope * file.action.mean);
    }
    weights.extend_from_slice(&beta[1..=features]);
    weights.push(slope);
    weights
}
