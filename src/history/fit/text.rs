//! A fit for a person to read.

use std::fmt::Write;

use super::file::ModelFile;
use crate::history::import::count;

impl ModelFile {
    /// The fit as a text of some lines.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let log = &self.log;
        let _ = writeln!(
            text,
            "{} episodes, {} arrivals, {} offers, {} accepted ({:.1}%)\n",
            count(log.episodes),
            count(log.arrivals),
            count(log.offers),
            count(log.accepted),
            100.0 * log.accepted as f64 / log.offers.max(1) as f64
        );
        let width = self
            .candidates
            .iter()
            .map(|c| c.title.len())
            .max()
            .unwrap_or(0)
            .max(9);
        let _ = writeln!(
            text,
            "  {:<width$}  {:>10}  {:>8}  {:>8}  {:>18}  {:>7}",
            "candidate", "parameters", "ridge", "log loss", "behind (s.e.)", "Brier"
        );
        for c in &self.candidates {
            let mark = if c.chosen { '*' } else { ' ' };
            let behind = match c.behind > 0.0 {
                true => format!("{:.5} ({:.5})", c.behind, c.behind_error),
                false => "best".into(),
            };
            let _ = writeln!(
                text,
                "{mark} {:<width$}  {:>10}  {:>8}  {:>8.5}  {behind:>18}  {:>7.4}",
                c.title, c.parameters, c.lambda, c.log_loss, c.brier
            );
        }
        let _ = writeln!(
            text,
            "  {:<width$}  {:>10}  {:>8}  {:>8.5}  {:>18}  {:>7.4}",
            "base rate", 1, "", self.base_log_loss, "", self.base_brier
        );
        let _ = writeln!(text, "chosen: {}\n", self.model.reason);
        let _ = writeln!(
            text,
            "{:>12}  {:>9}  {:>9}  {:>18}  {:>9}",
            self.action, "offers", "accepted", "95% interval", "model"
        );
        for a in &self.actions {
            let interval = format!("{:.1}% to {:.1}%", 100.0 * a.lower, 100.0 * a.upper);
            let thin = if a.thin { "  thin" } else { "" };
            let _ = writeln!(
                text,
                "{:>12}  {:>9}  {:>8.1}%  {interval:>18}  {:>8.1}%{thin}",
                a.value.to_string(),
                count(a.offers),
                100.0 * a.observed,
                100.0 * a.predicted
            );
        }
        if self.compared_offers < self.log.offers {
            let compared = count(self.compared_offers);
            let _ = writeln!(
                text,
                "shares and held-out figures are of {compared} offers, drawn by episodes"
            );
        }
        let pooled = self.steps.iter().filter(|s| s.pooled).count();
        let arrivals: f64 = self.steps.iter().map(|s| s.rate).sum();
        let _ = writeln!(
            text,
            "\ncontexts: {} of {} steps have their own (at least {} arrivals), the others take those of all steps; {arrivals:.2} arrivals per episode",
            self.steps.len() - pooled,
            self.steps.len(),
            self.pooled_below
        );
        let _ = writeln!(
            text,
            "features and step explain {:.1}% of the variation of the {} (held out)",
            100.0 * self.offers_explained,
            self.action
        );
        let _ = writeln!(
            text,
            "norm bound of the learner's oracle: {} (twice the norm fitted here, so its guarantee is practical, not formal)",
            self.norm_bound
        );
        for warning in &self.warnings {
            let _ = writeln!(text, "warning: {warning}");
        }
        text
    }
}
