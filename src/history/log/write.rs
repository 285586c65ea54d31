//! Writing a labeled log, for imports and journals.

use std::fmt::Write;

use crate::history::encoding::Encoding;

/// A log that is being written.
#[derive(Debug)]
pub(in crate::history) struct LogWriter {
    dimension: usize,
    budgets: bool,
    probabilities: bool,
    /// The text so far; whoever stores it may clear it.
    pub text: String,
}

/// A row of the log.
#[derive(Debug, Default)]
pub(in crate::history) struct LogRow<'r> {
    pub episode: &'r str,
    /// 1-based.
    pub step: usize,
    /// The features of the customer; empty if nobody came.
    pub features: &'r [f64],
    /// The value offered, if any.
    pub offer: Option<f64>,
    pub accepted: bool,
    pub budget: Option<u32>,
    /// The probability with which the offer was chosen.
    pub probability: Option<f64>,
}

impl LogWriter {
    /// Writes the header; budgets and probabilities are optional columns.
    pub fn new(encoding: &Encoding, budgets: bool, probabilities: bool) -> Self {
        let mut names = vec!["episode".to_string(), "step".into()];
        names.extend(encoding.names());
        names.extend(["action".into(), "accepted".into()]);
        names.extend(budgets.then(|| "budget".into()));
        names.extend(probabilities.then(|| "probability".into()));
        let cells: Vec<String> = names.iter().map(|name| quoted(name)).collect();
        Self {
            dimension: encoding.dimension(),
            budgets,
            probabilities,
            text: cells.join(",") + "\n",
        }
    }

    /// Writes a row.
    pub fn row(&mut self, row: &LogRow) {
        let text = &mut self.text;
        text.push_str(&quoted(row.episode));
        let _ = write!(text, ",{}", row.step);
        for i in 0..self.dimension {
            optional(text, row.features.get(i));
        }
        optional(text, row.offer);
        let somebody = !row.features.is_empty();
        optional(text, somebody.then_some(u8::from(row.accepted)));
        if self.budgets {
            optional(text, row.budget);
        }
        if self.probabilities {
            optional(text, row.probability);
        }
        text.push('\n');
    }
}

fn optional(text: &mut String, value: Option<impl std::fmt::Display>) {
    text.push(',');
    if let Some(value) = value {
        let _ = write!(text, "{value}");
    }
}

/// Text as a CSV cell.
fn quoted(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_string(),
    }
}
