//! `model.json`: the fitted model, why it was chosen and how well it fits.

use serde::{Deserialize, Serialize};

use super::design::ModelKind;
use crate::history::days::DaysFile;

/// The content of a model file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelFile {
    /// Version of the program that wrote it.
    pub version: String,
    /// Counts of its log.
    pub log: LogCounts,
    /// Lines of the journal of live offers that were read after the log.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub journal_lines: u64,
    /// What an action is called.
    pub action: String,
    /// The model.
    pub model: FittedModel,
    /// All candidates, the simpler first.
    pub candidates: Vec<CandidateFit>,
    /// Offers on which they were compared.
    pub compared_offers: u64,
    /// Log loss of the base rate, held out.
    pub base_log_loss: f64,
    /// Mean squared error of the base rate, held out.
    pub base_brier: f64,
    /// Held-out probabilities against shares accepted.
    pub reliability: Vec<ReliabilityBin>,
    /// By action.
    pub actions: Vec<ActionFit>,
    /// Values of the actions that plans use.
    pub planned: Vec<f64>,
    /// Whether acceptance is monotone in the action's value.
    pub monotonicity: Monotonicity,
    /// Share of the variation of offers that features and step explain, held out.
    pub offers_explained: f64,
    /// By step.
    pub steps: Vec<StepArrivals>,
    /// A step with fewer arrivals takes the contexts of all steps.
    pub pooled_below: u64,
    /// Episodes that were observed only until their stock was gone.
    pub cut_short: u64,
    /// A norm bound for the learner's oracle: at least twice the norm fitted here, on columns divided by their sizes.
    pub norm_bound: f64,
    /// Share of the pairs of a customer and a planned action that the log does not support; plans leave them out.
    #[serde(default)]
    pub unsupported: f64,
    /// Days that differ.
    #[serde(default)]
    pub days: DaysFile,
    /// Warnings.
    pub warnings: Vec<String>,
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde calls it with a reference"
)]
fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl ModelFile {
    /// Share of the log's arrivals that plans ignore: several at one step, where plans expect at most one.
    pub fn crowded_out(&self) -> f64 {
        let beyond = |s: &StepArrivals| s.arrivals.saturating_sub(self.log.episodes);
        let lost: u64 = self.steps.iter().map(beyond).sum();
        lost as f64 / self.log.arrivals.max(1) as f64
    }
}

/// Counts of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogCounts {
    /// Episodes.
    pub episodes: u64,
    /// Arrivals.
    pub arrivals: u64,
    /// Offers.
    pub offers: u64,
    /// Accepted offers.
    pub accepted: u64,
}

/// The model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FittedModel {
    /// Its kind.
    pub kind: ModelKind,
    /// Ridge penalty.
    pub lambda: f64,
    /// Why it was chosen.
    pub reason: String,
    /// Its terms; features and action are scaled as in the task file. Kernel models have none.
    pub terms: Vec<Term>,
}

/// A coefficient, or a rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Term {
    /// Name of the column.
    pub name: String,
    /// Its value.
    pub coefficient: f64,
    /// Standard error, if known.
    pub standard_error: Option<f64>,
}

/// A candidate on held-out episodes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CandidateFit {
    /// Its kind.
    pub kind: ModelKind,
    /// What it is.
    pub title: String,
    /// Number of parameters.
    pub parameters: u64,
    /// Ridge penalty.
    pub lambda: f64,
    /// Mean log loss.
    pub log_loss: f64,
    /// Its standard error over folds.
    pub standard_error: f64,
    /// Log loss above the best candidate's.
    pub behind: f64,
    /// Standard error of that over folds.
    pub behind_error: f64,
    /// Mean squared error.
    pub brier: f64,
    /// Whether it was chosen.
    pub chosen: bool,
}

/// Offers with similar probabilities.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ReliabilityBin {
    /// Mean probability.
    pub predicted: f64,
    /// Share accepted.
    pub observed: f64,
    /// Lower end of its 95% interval.
    pub lower: f64,
    /// Upper end of its 95% interval.
    pub upper: f64,
    /// Number of offers.
    pub offers: u64,
}

/// Offers of one action.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ActionFit {
    /// Price, wage or bid.
    pub value: f64,
    /// How often it was offered.
    pub offers: u64,
    /// How often it was accepted.
    pub accepted: u64,
    /// Share accepted, of the offers that were compared.
    pub observed: f64,
    /// Lower end of its 95% interval.
    pub lower: f64,
    /// Upper end of its 95% interval.
    pub upper: f64,
    /// Mean held-out probability of these.
    pub predicted: f64,
    /// Whether it was offered too rarely to plan with.
    pub thin: bool,
}

/// How acceptance depends on the action's value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Monotonicity {
    /// `falling` or `rising`.
    pub expected: String,
    /// Mean acceptance by action over all arrivals, by the model.
    pub means: Vec<f64>,
    /// Neighbouring values between which the mean goes the wrong way.
    pub wrong_steps: Vec<(f64, f64)>,
    /// Share of arrivals for whom it goes the wrong way somewhere.
    pub wrong_share: f64,
}

/// Arrivals at a step.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct StepArrivals {
    /// The step, 1-based.
    pub step: usize,
    /// Arrivals in the log.
    pub arrivals: u64,
    /// Probability of an arrival.
    pub rate: f64,
    /// Whether its contexts are those of all steps.
    pub pooled: bool,
}
