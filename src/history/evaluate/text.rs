//! An evaluation for a person to read.

use std::fmt::Write;

use super::{Evaluation, Reward};
use crate::history::import::count;

impl Evaluation {
    /// The evaluation as a text of some lines; `action` is what an action is called.
    pub fn text(&self, action: &str) -> String {
        let mut text = String::new();
        let _ = writeln!(
            text,
            "reward per episode, in the unit of the log ({} episodes, {} arrivals; {} splits, {} draws)\n",
            count(self.episodes),
            count(self.arrivals),
            self.splits,
            self.draws
        );
        let _ = writeln!(text, "{:<16}  {:>12}  {:>27}", "", "mean", "95% interval");
        for row in [&self.policy, &self.against, &self.difference] {
            let _ = writeln!(text, "{}", line(row));
        }
        let share =
            100.0 * self.difference.reward / self.against.reward.abs().max(f64::MIN_POSITIVE);
        let verdict = match (self.difference.lower > 0.0, self.difference.upper < 0.0) {
            _ if self.against_the_log() && share.abs() < LIKENESS => {
                "no more than a world of a log may differ from the log".into()
            }
            (true, _) => format!(
                "{} earns more than {}",
                self.policy.policy, self.against.policy
            ),
            (_, true) => format!(
                "{} earns less than {}",
                self.policy.policy, self.against.policy
            ),
            _ => "the log cannot tell which earns more".into(),
        };
        let _ = writeln!(text, "\n{share:+.1}%: {verdict}");
        let _ = writeln!(
            text,
            "the log itself earned {:.4} (standard error {:.4}); in the world it was made from the plan expects {:.4}\n",
            self.logged, self.logged_error, self.own_expectation
        );
        let _ = writeln!(
            text,
            "{action:>12}  {:>9}  {:>9}  {:>8}  {:>20}  {:>9}",
            "offers", "of plan's", "model", "doubly robust", "counting"
        );
        for a in &self.actions {
            let robust = format!(
                "{:.1}% +- {:.1}%",
                100.0 * a.robust,
                200.0 * a.standard_error
            );
            let mark = if a.objection.is_some() {
                "  not supported"
            } else {
                ""
            };
            let _ = writeln!(
                text,
                "{:>12}  {:>9}  {:>8.1}%  {:>7.1}%  {robust:>20}  {:>9.0}{mark}",
                a.value.to_string(),
                count(a.offers),
                100.0 * a.plan_share,
                100.0 * a.model,
                a.effective_offers
            );
        }
        for warning in &self.warnings {
            let _ = writeln!(text, "warning: {warning}");
        }
        text
    }

    fn against_the_log(&self) -> bool {
        [&self.policy, &self.against]
            .iter()
            .any(|reward| reward.policy == "logged")
    }
}

/// Percent by which a world, in which steps are independent and probabilities come from a model, may well differ from the
/// log it was made from, whatever is offered.
const LIKENESS: f64 = 0.5;

fn line(row: &Reward) -> String {
    let interval = format!("{:.4} to {:.4}", row.lower, row.upper);
    format!("{:<16}  {:>12.4}  {interval:>27}", row.policy, row.reward)
}
