//! The CSV files of a results folder, one struct per file. Policies, replications, episodes and steps count from 1.

use serde::{Deserialize, Serialize, Serializer};

use super::rows::{Row, Unaccepted};
use crate::statistics::MeanAndError;

/// `episodes.csv`: one line per policy, replication and episode.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct EpisodeRow {
    /// Name of the policy.
    pub policy: String,
    /// Its replication.
    pub replication: usize,
    /// t.
    pub episode: usize,
    /// Starting budget B_t.
    pub b_t: u32,
    /// Sum of rewards.
    #[serde(serialize_with = "shortest")]
    pub reward: f64,
    /// opt_t.
    #[serde(serialize_with = "shortest")]
    pub opt: f64,
    /// opt_t minus the reward.
    #[serde(serialize_with = "shortest")]
    pub regret: f64,
    /// Its sum over the episodes so far.
    #[serde(serialize_with = "shortest")]
    pub cumulative_regret: f64,
    /// Units of the budget consumed.
    pub spent: u32,
    /// opt_t minus the exact expected reward of the plan, if it was evaluated.
    #[serde(serialize_with = "shortest_or_empty")]
    pub expected_regret: Option<f64>,
    /// Of a learner: the sum of ucb - lcb over the pairs (context, action) that were offered.
    #[serde(serialize_with = "shortest_or_empty")]
    pub played_widths: Option<f64>,
    /// Of a learner: the sum of the tolerance tau over them.
    #[serde(serialize_with = "shortest_or_empty")]
    pub played_tolerance: Option<f64>,
}

/// `summary.csv`: cumulative regret per policy and episode, with a band of 3 standard errors.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SummaryRow {
    /// Name of the policy.
    pub policy: String,
    /// t.
    pub episode: usize,
    /// Mean over replications.
    #[serde(serialize_with = "shortest")]
    pub mean: f64,
    /// Standard error of the mean, NaN for one replication.
    #[serde(serialize_with = "shortest")]
    pub standard_error: f64,
    /// Lower end of the band.
    #[serde(serialize_with = "shortest")]
    pub lower: f64,
    /// Upper end of the band.
    #[serde(serialize_with = "shortest")]
    pub upper: f64,
}

/// `steps.csv`: mean budget left at the start of each step over the last quarter of the episodes; step H + 1 is the
/// end of the episode.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StepRow {
    /// Name of the policy.
    pub policy: String,
    /// h.
    pub step: usize,
    /// Mean over replications.
    #[serde(serialize_with = "shortest")]
    pub budget_left: f64,
    /// Standard error of the mean, NaN for one replication.
    #[serde(serialize_with = "shortest")]
    pub standard_error: f64,
}

/// `actions.csv`: what each greedy policy's last plan offers at (step, budget), beside what the optimal policy offers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ActionRow {
    /// Name of the policy.
    pub policy: String,
    /// h.
    pub step: usize,
    /// b.
    pub budget: u32,
    /// Mean action value over arriving contexts, the null action counting 0.
    #[serde(serialize_with = "shortest")]
    pub mean_action: f64,
    /// Share of arriving contexts that are offered anything.
    #[serde(serialize_with = "shortest")]
    pub offer_share: f64,
    /// The optimal policy's mean action on the same contexts.
    #[serde(serialize_with = "shortest")]
    pub optimal_mean_action: f64,
    /// The optimal policy's share.
    #[serde(serialize_with = "shortest")]
    pub optimal_offer_share: f64,
}

/// `values.csv`: the value table of `solve`, steps 1..=H.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ValueRow {
    /// h.
    pub step: usize,
    /// b.
    pub budget: usize,
    /// Value to go.
    #[serde(serialize_with = "shortest")]
    pub value: f64,
}

/// `coverage.csv`: how well an oracle's bounds hold after N observations.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CoverageRow {
    /// Name of the oracle.
    pub oracle: String,
    /// N.
    pub observations: usize,
    /// Share of pairs inside their interval.
    #[serde(serialize_with = "shortest")]
    pub pairs_covered: f64,
    /// Share of data sets with all pairs inside their intervals at once.
    #[serde(serialize_with = "shortest")]
    pub all_covered: f64,
    /// Share of data sets with all pairs inside their intervals at this and every earlier size.
    #[serde(serialize_with = "shortest", default)]
    pub always_covered: f64,
    /// Mean width of the intervals.
    #[serde(serialize_with = "shortest")]
    pub width: f64,
    /// Mean distance between the point estimate and the truth.
    #[serde(serialize_with = "shortest")]
    pub error: f64,
    /// Factor on the radius that would have covered all pairs at once in a share 1 - delta of the data sets.
    #[serde(serialize_with = "shortest")]
    pub factor: f64,
}

/// The table of `solve --sample-sizes`: estimates of opt from M rows.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct EstimationRow {
    /// M.
    pub rows: usize,
    /// The estimated value.
    #[serde(serialize_with = "shortest")]
    pub opt: f64,
    /// Mean of the estimates.
    #[serde(serialize_with = "shortest")]
    pub mean_estimate: f64,
    /// Its standard error.
    #[serde(serialize_with = "shortest")]
    pub bias_standard_error: f64,
    /// Root of the mean squared error.
    #[serde(serialize_with = "shortest")]
    pub rms_error: f64,
    /// Its standard error.
    #[serde(serialize_with = "shortest")]
    pub rms_standard_error: f64,
    /// Mean of the standard errors that came with the estimates.
    #[serde(serialize_with = "shortest")]
    pub reported_error: f64,
}

/// The fewest digits that read back as the same float64.
fn shortest<S: Serializer>(number: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(number)
}

/// The same, or an empty cell.
pub(super) fn shortest_or_empty<S: Serializer>(
    number: &Option<f64>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match number {
        Some(number) => serializer.collect_str(number),
        None => serializer.serialize_none(),
    }
}

fn finite<const N: usize>(cells: [(&'static str, f64); N]) -> Result<(), Unaccepted> {
    let accepted = "a finite number";
    let wrong = cells.iter().find(|(_, x)| !x.is_finite());
    wrong.map_or(Ok(()), |&(column, _)| Err(Unaccepted { column, accepted }))
}

/// A standard error is NaN for one replication.
fn error(column: &'static str, x: f64) -> Result<(), Unaccepted> {
    let accepted = "a number from 0, or NaN";
    let fits = x.is_nan() || (0.0..f64::INFINITY).contains(&x);
    fits.then_some(()).ok_or(Unaccepted { column, accepted })
}

fn share(column: &'static str, x: f64) -> Result<(), Unaccepted> {
    let accepted = "a share from 0 to 1";
    let fits = (0.0..=1.0 + 1e-9).contains(&x);
    fits.then_some(()).ok_or(Unaccepted { column, accepted })
}

impl Row for EpisodeRow {
    /// Version 0.1 did not write them.
    const OPTIONAL: &[&str] = &["played_widths", "played_tolerance"];

    fn check(&self) -> Result<(), Unaccepted> {
        finite([
            ("reward", self.reward),
            ("opt", self.opt),
            ("regret", self.regret),
            ("cumulative_regret", self.cumulative_regret),
            ("expected_regret", self.expected_regret.unwrap_or(0.0)),
            ("played_widths", self.played_widths.unwrap_or(0.0)),
            ("played_tolerance", self.played_tolerance.unwrap_or(0.0)),
        ])
    }
}

impl Row for SummaryRow {
    fn check(&self) -> Result<(), Unaccepted> {
        finite([("mean", self.mean)])?;
        error("standard_error", self.standard_error)
    }
}

impl Row for StepRow {
    fn check(&self) -> Result<(), Unaccepted> {
        finite([("budget_left", self.budget_left)])?;
        error("standard_error", self.standard_error)
    }
}

impl Row for ActionRow {
    fn check(&self) -> Result<(), Unaccepted> {
        share("offer_share", self.offer_share)?;
        share("optimal_offer_share", self.optimal_offer_share)?;
        finite([
            ("mean_action", self.mean_action),
            ("optimal_mean_action", self.optimal_mean_action),
        ])
    }
}

impl Row for ValueRow {
    fn check(&self) -> Result<(), Unaccepted> {
        finite([("value", self.value)])
    }
}

impl Row for CoverageRow {
    fn check(&self) -> Result<(), Unaccepted> {
        share("pairs_covered", self.pairs_covered)?;
        share("all_covered", self.all_covered)?;
        share("always_covered", self.always_covered)
    }
}

impl Row for EstimationRow {
    fn check(&self) -> Result<(), Unaccepted> {
        finite([("opt", self.opt), ("mean_estimate", self.mean_estimate)])
    }
}

impl SummaryRow {
    /// The line of a mean with its error.
    pub fn new(policy: &str, episode: usize, value: &MeanAndError) -> Self {
        Self {
            policy: policy.into(),
            episode,
            mean: value.mean,
            standard_error: value.standard_error,
            lower: value.lower(),
            upper: value.upper(),
        }
    }
}
