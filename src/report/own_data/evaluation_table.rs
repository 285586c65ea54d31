//! The tables of an evaluation.

use std::fmt::Write;

use super::percent;
use crate::history::count;
use crate::history::evaluate::Evaluation;
use crate::report::style::{Style, Table, counted};

/// Percent by which a replay with modelled acceptance may differ from the log itself under any policy.
const MODEL_ERROR: f64 = 0.5;

/// The compared rewards and the support of every action; `action` is the noun for an action.
pub fn evaluation_tables(evaluation: &Evaluation, action: &str, style: Style) -> String {
    let headline = format!(
        "reward per episode, in the unit of the log ({} episodes, {} arrivals; {}, {})\n\n",
        count(evaluation.episodes),
        count(evaluation.arrivals),
        counted(evaluation.splits as usize, "split"),
        counted(evaluation.draws as usize, "draw")
    );
    let finding = format!(
        "\n{}\nthe log itself earned {:.4} (standard error {:.4}); the plan of the whole log promises {:.4}\nif the steps of a day were independent of each other, {} would earn {:.4}",
        verdict(evaluation),
        evaluation.logged,
        evaluation.logged_error,
        evaluation.own_expectation,
        evaluation.policy.policy,
        evaluation.independent
    );
    let mut warnings = String::new();
    for warning in &evaluation.warnings {
        let _ = writeln!(warnings, "warning: {warning}");
    }
    let mut text = style.prose(&headline);
    text += &rewards(evaluation).text(style);
    text += &style.prose(&finding);
    text.push('\n');
    text += &support(evaluation, action).text(style);
    text += &style.prose(&warnings);
    text
}

fn rewards(evaluation: &Evaluation) -> Table {
    let mut table = Table::new(["policy", "mean", "95% interval"]);
    for row in [
        &evaluation.policy,
        &evaluation.against,
        &evaluation.difference,
    ] {
        table.push([
            row.policy.clone(),
            format!("{:.4}", row.reward),
            format!("{:.4} to {:.4}", row.lower, row.upper),
        ]);
    }
    table
}

fn verdict(evaluation: &Evaluation) -> String {
    let Evaluation {
        policy,
        against,
        difference,
        ..
    } = evaluation;
    let against_the_log = [policy, against].iter().any(|r| r.policy == "logged");
    let share = 100.0 * difference.reward / against.reward.abs().max(f64::MIN_POSITIVE);
    let verdict = match (difference.lower > 0.0, difference.upper < 0.0) {
        _ if against_the_log && share.abs() < MODEL_ERROR => {
            "within the error of modelled acceptance".into()
        }
        (true, _) => format!("{} earns more than {}", policy.policy, against.policy),
        (_, true) => format!("{} earns less than {}", policy.policy, against.policy),
        _ => "the log cannot tell which earns more".into(),
    };
    format!("{share:+.1}%: {verdict}")
}

fn support(evaluation: &Evaluation, action: &str) -> Table {
    let any_objection = evaluation.actions.iter().any(|a| a.objection.is_some());
    let columns = [
        "offers",
        "of plan's",
        "model",
        "doubly robust (95%)",
        "counting",
    ];
    let header = [action].into_iter().chain(columns);
    let mut table = Table::new(header.chain(any_objection.then_some("")));
    for a in &evaluation.actions {
        let (robust, half) = (a.robust, 1.96 * a.standard_error);
        let [low, high] = [robust - half, robust + half].map(|x| percent(x.clamp(0.0, 1.0)));
        let row = [
            a.value.to_string(),
            count(a.offers),
            percent(a.plan_share),
            percent(a.model),
            format!("{} ({low} to {high})", percent(robust)),
            format!("{:.0}", a.effective_offers),
        ];
        let support = match a.objection {
            None => "",
            Some(_) => "not supported",
        };
        table.push(row.into_iter().chain(any_objection.then(|| support.into())));
    }
    table
}
