//! The tables of a fit.

use std::fmt::Write;

use super::percent;
use crate::history::fit::ModelFile;
use crate::history::{Z_LIMIT, count};
use crate::report::style::{Style, Table};

/// The candidates and the actions of a fit, with notes and warnings.
pub fn fit_tables(model: &ModelFile, style: Style) -> String {
    let log = &model.log;
    let headline = format!(
        "{} episodes, {} arrivals, {} offers, {} accepted ({})\n\n",
        count(log.episodes),
        count(log.arrivals),
        count(log.offers),
        count(log.accepted),
        percent(log.accepted as f64 / log.offers.max(1) as f64)
    );
    let chosen = format!("chosen: {}", model.model.reason);
    let mut text = style.prose(&headline);
    text += &candidates(model).text(style);
    text += &style.prose(&chosen);
    text.push('\n');
    text += &actions(model).text(style);
    text += &style.prose(&notes(model));
    text
}

fn candidates(model: &ModelFile) -> Table {
    let mut table = Table::new([
        "  candidate",
        "parameters",
        "ridge",
        "log loss",
        "behind (s.e.)",
        "Brier",
    ]);
    for c in &model.candidates {
        let mark = if c.chosen { '*' } else { ' ' };
        let behind = match c.behind > 0.0 {
            true => format!("{:.5} ({:.5})", c.behind, c.behind_error),
            false => "best".into(),
        };
        table.push([
            format!("{mark} {}", c.title),
            c.parameters.to_string(),
            c.lambda.to_string(),
            format!("{:.5}", c.log_loss),
            behind,
            format!("{:.4}", c.brier),
        ]);
    }
    table.push([
        "  base rate".into(),
        "1".into(),
        String::new(),
        format!("{:.5}", model.base_log_loss),
        String::new(),
        format!("{:.4}", model.base_brier),
    ]);
    table
}

fn actions(model: &ModelFile) -> Table {
    let any_thin = model.actions.iter().any(|a| a.thin);
    let header = [&model.action, "offers", "accepted", "95% interval", "model"];
    let mut table = Table::new(header.into_iter().chain(any_thin.then_some("")));
    for a in &model.actions {
        let row = [
            a.value.to_string(),
            count(a.offers),
            percent(a.observed),
            format!("{} to {}", percent(a.lower), percent(a.upper)),
            percent(a.predicted),
        ];
        let thin = any_thin.then(|| if a.thin { "thin" } else { "" }.into());
        table.push(row.into_iter().chain(thin));
    }
    table
}

fn notes(model: &ModelFile) -> String {
    let mut notes = String::new();
    if model.compared_offers < model.log.offers {
        let compared = count(model.compared_offers);
        let _ = writeln!(
            notes,
            "shares and held-out figures are of {compared} offers, drawn by episodes"
        );
    }
    let pooled = model.steps.iter().filter(|s| s.pooled).count();
    let arrivals: f64 = model.steps.iter().map(|s| s.rate).sum();
    let _ = writeln!(
        notes,
        "\ncontexts: {} of {} steps have their own (at least {} arrivals), the others take those of all steps; {arrivals:.2} arrivals per episode",
        model.steps.len() - pooled,
        model.steps.len(),
        model.pooled_below
    );
    notes += &days(model);
    let _ = writeln!(
        notes,
        "features and step explain {} of the variation of the {} (held out)",
        percent(model.offers_explained),
        model.action
    );
    let _ = writeln!(
        notes,
        "norm bound of the learner's oracle: {} (twice the norm fitted here, so its guarantee is practical, not formal)",
        model.norm_bound
    );
    for warning in &model.warnings {
        let _ = writeln!(notes, "warning: {warning}");
    }
    notes
}

/// In what the days of the log differ.
fn days(model: &ModelFile) -> String {
    let days = &model.days;
    let mut text = String::new();
    let groups = days.tree.groups();
    if !days.columns.is_empty() {
        let columns = days.columns.join(", ");
        let _ = write!(text, "columns of the day: {columns}; ");
        text += match groups.len() {
            1 => "they do not change what a day is worth, so one plan serves all days\n",
            _ => "each group of days has arrivals, contexts and a plan of its own:\n",
        };
    }
    for (i, (words, days)) in groups.iter().enumerate().filter(|_| groups.len() > 1) {
        let _ = writeln!(text, "  group {}: {words} ({} days)", i + 1, count(*days));
    }
    let z = |z: Option<f64>| z.map_or("not tested".into(), |z| format!("{z:.1}"));
    let _ = writeln!(
        text,
        "days beyond that, z of pair sums (above {Z_LIMIT} they differ): arrivals {}, worth of customers {}, acceptance {}",
        z(days.moods.arrivals),
        z(days.moods.contexts),
        z(days.moods.acceptance)
    );
    if let Some(drift) = days.drift {
        let found = match drift.half_life {
            Some(half_life) => format!("yes, an offer counts half after {half_life:.0} days"),
            None => "no sign of it that a forecast would confirm".into(),
        };
        let _ = writeln!(
            text,
            "acceptance over the calendar (p = {:.2}): {found}",
            drift.p
        );
    }
    text
}
