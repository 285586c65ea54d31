//! The summary of an import.

use std::fmt::Write;

use serde::Serialize;

use crate::error::printable;
use crate::history::clock::OpeningHours;

/// The most groups of steps in a long table.
const GROUPS: usize = 12;

/// The summary of an import.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// Rows of the raw file.
    pub rows: u64,
    /// The separator of cells.
    pub separator: char,
    /// Whether the first line names the columns.
    pub header: bool,
    /// Rows that were left out.
    pub dropped_rows: u64,
    /// The first of them: line and reason.
    pub dropped_lines: Vec<(u64, String)>,
    /// Columns that were left out, and why.
    pub dropped_columns: Vec<(String, String)>,
    /// Names of the features.
    pub features: Vec<String>,
    /// Episodes.
    pub episodes: usize,
    /// H.
    pub horizon: usize,
    /// Opening hours, if steps come from times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock: Option<OpeningHours>,
    /// Arrivals at each step, all episodes together.
    pub arrivals: Vec<u64>,
    /// Arrivals without an offer.
    pub without_offer: u64,
    /// The noun for an action.
    pub action: String,
    /// Offers by action.
    pub offers: Vec<OfferCount>,
    /// The largest starting budget.
    pub budget: u32,
    /// Where budgets come from, in words.
    pub budget_source: String,
    /// Mean units spent in an episode.
    pub spent: f64,
    /// Episodes that spent their whole budget.
    pub sold_out: usize,
    /// Notes for the user.
    pub notes: Vec<String>,
}

/// Offers of one action.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct OfferCount {
    /// Price, wage or bid.
    pub value: f64,
    /// How often it was offered.
    pub offers: u64,
    /// How often it was accepted.
    pub accepted: u64,
}

impl Summary {
    /// The summary as text.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let arrivals: u64 = self.arrivals.iter().sum();
        let offers: u64 = self.offers.iter().map(|o| o.offers).sum();
        let accepted: u64 = self.offers.iter().map(|o| o.accepted).sum();
        let separator = match self.separator {
            '\t' => "tabs".to_string(),
            other => format!("`{other}`"),
        };
        let header = match self.header {
            true => "",
            false => ", no header: columns by number",
        };
        let hours = self
            .clock
            .map_or(String::new(), |clock| format!(", {clock}"));
        let episodes = count(self.episodes as u64);
        let per_episode = arrivals as f64 / self.episodes.max(1) as f64;
        let mut line = |name: &str, content: String| {
            let _ = writeln!(text, "{name:<10} {}", printable(&content));
        };
        let rows = count(self.rows);
        line("rows", format!("{rows} (separated by {separator}{header})"));
        line(
            "episodes",
            format!("{episodes} of {} steps{hours}", self.horizon),
        );
        line(
            "arrivals",
            format!("{}, {per_episode:.1} per episode", count(arrivals)),
        );
        let share = 100.0 * accepted as f64 / offers.max(1) as f64;
        let [offers, accepted, without] = [offers, accepted, self.without_offer].map(count);
        line(
            "offers",
            format!(
                "{offers}, {accepted} accepted ({share:.1}%); {without} arrivals without an offer"
            ),
        );
        let (units, spent) = (count(self.budget.into()), self.spent);
        let (source, sold_out) = (&self.budget_source, count(self.sold_out as u64));
        line(
            "capacity",
            format!(
                "up to {units} units ({source}); {spent:.1} spent per episode, all of it in {sold_out} of {episodes}"
            ),
        );
        let names = self.features.join(", ");
        line("features", format!("{}: {names}", self.features.len()));
        let _ = writeln!(
            text,
            "\n{:>12}  {:>9}  {:>9}  {:>8}",
            self.action, "offers", "accepted", "share"
        );
        for offer in &self.offers {
            let share = 100.0 * offer.accepted as f64 / offer.offers.max(1) as f64;
            let _ = writeln!(
                text,
                "{:>12}  {:>9}  {:>9}  {share:>7.1}%",
                offer.value.to_string(),
                count(offer.offers),
                count(offer.accepted)
            );
        }
        let _ = writeln!(
            text,
            "\n{:>12}  {:>9}  {:>20}",
            "steps", "arrivals", "per step and episode"
        );
        for (first, last, arrivals) in self.groups() {
            let steps = last - first + 1;
            let rate = arrivals as f64 / (steps * self.episodes.max(1)) as f64;
            let range = match steps {
                1 => first.to_string(),
                _ => format!("{first}-{last}"),
            };
            let bar = "#".repeat((rate.min(1.5) * 20.0).round() as usize);
            let _ = writeln!(
                text,
                "{range:>12}  {:>9}  {rate:>20.3}  {bar}",
                count(arrivals)
            );
        }
        self.write_left_out(&mut text);
        for note in &self.notes {
            let _ = writeln!(text, "note: {note}");
        }
        text
    }

    fn write_left_out(&self, text: &mut String) {
        if self.dropped_columns.is_empty() && self.dropped_rows == 0 {
            return;
        }
        text.push_str("\nleft out\n");
        for (column, reason) in &self.dropped_columns {
            let line = format!("column `{column}`: {reason}");
            let _ = writeln!(text, "  {}", printable(&line));
        }
        if self.dropped_rows > 0 {
            let _ = writeln!(
                text,
                "  {} wrong rows, the first of them:",
                count(self.dropped_rows)
            );
            for (number, reason) in &self.dropped_lines {
                let _ = writeln!(text, "    line {number}: {}", printable(reason));
            }
        }
    }

    /// Groups of neighbouring steps: first and last step (1-based), and arrivals.
    fn groups(&self) -> Vec<(usize, usize, u64)> {
        let size = match self.horizon <= 2 * GROUPS {
            true => 1,
            false => self.horizon.div_ceil(GROUPS),
        };
        let groups = self.arrivals.chunks(size).enumerate();
        groups
            .map(|(i, chunk)| (i * size + 1, i * size + chunk.len(), chunk.iter().sum()))
            .collect()
    }
}

/// A whole number with thousands separators.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
