//! Checks of conversion parameters: rho must be a probability. Errors name the fields of a study file.

use super::ContextLaws;
use super::conversion::{KernelExpansion, inner};
use super::law_spec::probabilities;
use crate::error::Invalid;
use crate::task::{Application, Kernel, finite_numbers};

pub(super) fn win_probabilities(
    values: &[f64],
    weights: &[f64],
    application: &Application,
) -> Result<Vec<f64>, Invalid> {
    let field = "conversion.highest_other_bid";
    if !application.is_auction() {
        return Err(Invalid::new(
            field,
            "an application without bids",
            "an auction",
        ));
    }
    if values.len() != weights.len() || values.iter().any(|v| !v.is_finite()) {
        return Err(Invalid::new(
            format!("{field}.values"),
            format!("{} values for {} weights", values.len(), weights.len()),
            "one finite value per weight",
        ));
    }
    let weights = probabilities(&format!("{field}.weights"), weights)?;
    let win = |bid: f64| {
        let below = values.iter().zip(&weights).filter(|(c, _)| **c <= bid);
        below.map(|(_, w)| w).sum::<f64>().min(1.0)
    };
    Ok(application
        .action_values()
        .iter()
        .map(|&bid| win(bid))
        .collect())
}

/// Checks that mu.phi is a probability. The extremes of a linear function over a box are at its corners.
pub(super) fn linear_stays_a_probability(
    mu: &[f64],
    application: &Application,
    contexts: &ContextLaws,
) -> Result<(), Invalid> {
    let reject = |value: f64, place: String| {
        Err(Invalid::new(
            "conversion.weights",
            format!("mu.phi = {value} {place}"),
            "weights with mu.phi from 0 to 1 on all contexts and actions",
        ))
    };
    let slack = 1e-12;
    let inside = |value: f64| (-slack..=1.0 + slack).contains(&value);
    for &a in application.action_values() {
        for point in 0..contexts.support().len() as u32 {
            let features = contexts.support().features(point);
            let value = inner(mu, features, a);
            if !inside(value) {
                return reject(value, format!("at context {features:?}, action {a}"));
            }
        }
        for (low, high) in contexts.boxes() {
            let (mut least, mut most) = (mu[low.len()] * a, mu[low.len()] * a);
            for ((low, high), m) in low.iter().zip(high).zip(mu) {
                least += (m * low).min(m * high);
                most += (m * low).max(m * high);
            }
            for value in [least, most] {
                if !inside(value) {
                    return reject(
                        value,
                        format!("at a corner of the contexts' box, action {a}"),
                    );
                }
            }
        }
    }
    Ok(())
}

pub(super) fn weight_vector(weights: &[f64], length: usize) -> Result<(), Invalid> {
    if weights.len() != length {
        return Err(Invalid::new(
            "conversion.weights",
            format!("{} entries", weights.len()),
            format!("{length} entries (one per context feature, then one for the action value)"),
        ));
    }
    finite_numbers("conversion.weights", weights)
}

/// Weights of the features of each action, its intercept last.
pub(super) fn rows_by_action(
    intercepts: &[f64],
    weights: &[Vec<f64>],
    actions: usize,
    dimension: usize,
) -> Result<Vec<Vec<f64>>, Invalid> {
    let meaning = "one per non-null action";
    for (name, found) in [("intercepts", intercepts.len()), ("weights", weights.len())] {
        if found != actions {
            let field = format!("conversion.{name}");
            let accepted = format!("{actions} ({meaning})");
            return Err(Invalid::new(field, format!("{found} of them"), accepted));
        }
    }
    finite_numbers("conversion.intercepts", intercepts)?;
    let row = |(i, row): (usize, &Vec<f64>)| {
        let field = format!("conversion.weights[{}]", i + 1);
        finite_numbers(&field, row)?;
        if row.len() != dimension {
            let accepted = format!("{dimension} entries (one per context feature)");
            return Err(Invalid::new(
                field,
                format!("{} entries", row.len()),
                accepted,
            ));
        }
        Ok([&row[..], &[intercepts[i]]].concat())
    };
    weights.iter().enumerate().map(row).collect()
}

pub(super) fn kernel_expansion(
    kernel: Kernel,
    centers: &[Vec<f64>],
    weights: &[f64],
) -> Result<KernelExpansion, Invalid> {
    let field = "conversion.centers";
    if centers.len() != weights.len() || centers.is_empty() {
        return Err(Invalid::new(
            field,
            format!("{} centers for {} weights", centers.len(), weights.len()),
            "one center per weight, at least one",
        ));
    }
    let dimension = kernel.dimension();
    for (i, center) in centers.iter().enumerate() {
        if center.len() != dimension {
            return Err(Invalid::new(
                format!("{field}[{}]", i + 1),
                format!("{} entries", center.len()),
                format!("{dimension} entries (one per context feature, then the action value)"),
            ));
        }
        finite_numbers(field, center)?;
    }
    finite_numbers("conversion.weights", weights)?;
    Ok(KernelExpansion {
        kernel,
        centers: centers.to_vec(),
        weights: weights.to_vec(),
    })
}

pub(super) fn probability_row(field: &str, row: &[f64], actions: usize) -> Result<(), Invalid> {
    if row.len() != actions {
        return Err(Invalid::new(
            field,
            format!("{} entries", row.len()),
            format!("{actions} entries (one per non-null action)"),
        ));
    }
    match row.iter().position(|p| !(0.0..=1.0).contains(p)) {
        Some(i) => {
            let field = format!("{field}[{}]", i + 1);
            Err(Invalid::new(field, row[i], "a probability from 0 to 1"))
        }
        None => Ok(()),
    }
}

pub(super) fn probability_rows(
    rows: &[Vec<f64>],
    count: usize,
    meaning: &str,
    actions: usize,
) -> Result<(), Invalid> {
    if rows.len() != count {
        return Err(Invalid::new(
            "conversion.probabilities",
            format!("{} rows", rows.len()),
            format!("{count} rows ({meaning})"),
        ));
    }
    for (i, row) in rows.iter().enumerate() {
        probability_row(
            &format!("conversion.probabilities[{}]", i + 1),
            row,
            actions,
        )?;
    }
    Ok(())
}
