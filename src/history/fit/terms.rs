//! The terms of a fitted model by name, and its weights in the units of a task.

use super::data::OfferData;
use super::design::ModelKind;
use super::file::Term;
use super::intervals::Uncertainty;
use super::model::{EXACT, Fitter, ModelFit};
use crate::history::task_file::TaskFile;
use crate::task::Task;

/// The terms of a fitted model with their standard errors.
pub(super) fn terms(
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
pub(super) fn norm_bound(data: &OfferData, task: &Task, file: &TaskFile) -> f64 {
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
