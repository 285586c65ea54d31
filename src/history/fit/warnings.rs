//! Warnings about a fit, for the user.

use super::compare::FOLDS;
use super::file::ModelFile;

/// A larger share of offers explained by features causes a warning.
const FOLLOWS_FEATURES: f64 = 0.1;

/// All warnings.
pub(super) fn of(file: &ModelFile, keep_thin: bool) -> Vec<String> {
    let mut warnings = Vec::new();
    let noun = &file.action;
    let thin: Vec<String> = file
        .actions
        .iter()
        .filter(|a| a.thin)
        .map(|a| format!("{} ({})", a.value, a.offers))
        .collect();
    if !thin.is_empty() {
        let what = if keep_thin {
            "kept anyway"
        } else {
            "left out of plans"
        };
        warnings.push(format!(
            "offered too rarely to plan with (times), {what}: {noun} {}",
            thin.join(", ")
        ));
    }
    if file.actions.len() == 1 {
        warnings.push(format!(
            "only one {noun} was ever offered: nothing is known of others"
        ));
    }
    if file.log.accepted == file.log.offers {
        warnings.push("every offer was accepted: nothing is known of refused offers".into());
    }
    let outside: Vec<String> = file
        .actions
        .iter()
        .filter(|a| !a.thin && !(a.lower..=a.upper).contains(&a.predicted))
        .map(|a| a.value.to_string())
        .collect();
    if !outside.is_empty() {
        warnings.push(format!(
            "the model's mean is outside the 95% interval of the share accepted at {noun} {}",
            outside.join(", ")
        ));
    }
    for (from, to) in &file.monotonicity.wrong_steps {
        warnings.push(format!(
            "according to the model, acceptance is not {} from {noun} {from} to {to}",
            file.monotonicity.expected
        ));
    }
    if file.offers_explained > FOLLOWS_FEATURES {
        warnings.push(format!(
            "offers depend on the features, which explain {:.0}% of their variation; the model corrects for these features, not for anything else that offers were based on",
            100.0 * file.offers_explained
        ));
    }
    let choice = file.candidates.iter().find(|c| c.chosen);
    if choice.is_some_and(|c| c.log_loss >= file.base_log_loss) {
        warnings
            .push("no candidate does better on held-out episodes than the base rate alone".into());
    }
    if file.cut_short > 0 {
        warnings.push(format!(
            "no arrivals were recorded after the stock was gone ({} episodes): arrival rates are those of the steps before",
            file.cut_short
        ));
    }
    let crowded = file
        .steps
        .iter()
        .filter(|s| s.arrivals > file.log.episodes)
        .count();
    if crowded > 0 {
        warnings.push(format!(
            "{crowded} steps have more than one arrival per episode, where plans expect one: cut episodes into more steps"
        ));
    }
    if file.unsupported > 0.0 {
        warnings.push(format!(
            "{noun}s follow the features, and {:.1}% of the pairs of a customer and a {noun} were hardly ever seen: plans leave them out, unless they are to extrapolate",
            100.0 * file.unsupported
        ));
    }
    warnings.extend(file.days.warnings());
    if file.log.episodes < FOLDS as u64 {
        warnings.push(format!(
            "only {} episodes: held-out figures say little",
            file.log.episodes
        ));
    }
    warnings
}
