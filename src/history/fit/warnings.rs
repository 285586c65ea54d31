//! What a user should be careful with, in words.

use super::compare::FOLDS;
use super::file::ModelFile;

/// Offers explained by features beyond this share call for a warning.
const FOLLOWS_FEATURES: f64 = 0.1;

/// Everything that a user should be careful with.
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
            "kept all the same"
        } else {
            "left out of plans"
        };
        warnings.push(format!(
            "offered too seldom to plan with (times), {what}: {noun} {}",
            thin.join(", ")
        ));
    }
    if file.actions.len() == 1 {
        warnings.push(format!(
            "only one {noun} was ever offered: nothing is known of others"
        ));
    }
    if file.log.accepted == file.log.offers {
        warnings
            .push("every offer was accepted: nothing is known of offers that people refuse".into());
    }
    let outside: Vec<String> = file
        .actions
        .iter()
        .filter(|a| !a.thin && !(a.lower..=a.upper).contains(&a.predicted))
        .map(|a| a.value.to_string())
        .collect();
    if !outside.is_empty() {
        warnings.push(format!(
            "the model does not meet the share accepted at {noun} {}: its 95% interval lies elsewhere",
            outside.join(", ")
        ));
    }
    for (from, to) in &file.monotonicity.wrong_steps {
        warnings.push(format!(
            "by the model acceptance is not {} from {noun} {from} to {to}",
            file.monotonicity.expected
        ));
    }
    if file.offers_explained > FOLLOWS_FEATURES {
        warnings.push(format!(
            "offers follow the features: these explain {:.0}% of their variation; the model allows for what it sees, not for what else whoever set them saw",
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
            "nobody was written down once the stock was gone ({} episodes): arrival rates are those of steps before that",
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
    if file.log.episodes < FOLDS as u64 {
        warnings.push(format!(
            "only {} episodes: held-out figures say little",
            file.log.episodes
        ));
    }
    warnings
}
