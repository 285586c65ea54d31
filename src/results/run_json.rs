//! `run.json`: the options, times and results of a run.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Deserializer, Serialize};

use crate::error::InputError;
use crate::files::{read_json, sha256};
use crate::statistics::MeanAndError;
use crate::task::OwnCode;

/// A number per starting budget.
pub type ByBudget = BTreeMap<u32, f64>;

/// The content of `run.json`. NaN is null.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The program's version.
    pub version: String,
    /// The command line.
    pub command: String,
    /// Seed of all random streams.
    pub seed: u64,
    /// `cpu` or `gpu`.
    pub backend: String,
    /// Name of the graphics adapter.
    pub adapter: Option<String>,
    /// Its driver.
    pub driver: Option<String>,
    /// `f64` or `f32`.
    pub precision: String,
    /// The CPU strategy: `auto`, or the name of one.
    #[serde(default = "auto")]
    pub strategy: String,
    /// Number of plans by CPU strategy.
    #[serde(default)]
    pub strategies: BTreeMap<String, u64>,
    /// Worker threads.
    pub threads: usize,
    /// T.
    #[serde(deserialize_with = "count")]
    pub episodes: usize,
    /// H.
    #[serde(deserialize_with = "count")]
    pub horizon: usize,
    /// Independent repetitions.
    #[serde(deserialize_with = "count")]
    pub replications: usize,
    /// Confidence parameter.
    pub delta: f64,
    /// Wall time by phase.
    pub seconds: Seconds,
    /// Traffic to and from the adapter.
    pub gpu: Option<AdapterTraffic>,
    /// The peak resident memory of the process, if the system reports it.
    pub peak_memory_bytes: Option<u64>,
    /// The reference policy of the paired differences.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// Own code that the study ran, with its place there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub own: Vec<OwnRun>,
    /// One entry per policy, in the order of the study.
    pub policies: Vec<PolicyRun>,
    /// Mean of opt_t over the episodes.
    pub opt_per_episode: Option<f64>,
    /// Mean over the episodes of its standard error, if opt was estimated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opt_per_episode_standard_error: Option<f64>,
    /// Mean of UB_t over the episodes.
    pub fluid_bound_per_episode: Option<f64>,
    /// opt per budget that occurred.
    #[serde(default)]
    pub opt: ByBudget,
    /// Rows that opt was estimated from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opt_rows: Option<usize>,
    /// Standard error of that estimate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opt_standard_error: Option<ByBudget>,
    /// UB per budget that occurred.
    #[serde(default)]
    pub fluid_bound: ByBudget,
    /// SHA-256 of the other files of the folder.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// SHA-256 of this text with this field empty; missing in files of earlier versions.
    #[serde(default)]
    pub checksum: String,
}

fn auto() -> String {
    "auto".into()
}

/// Wall time by phase, in seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Seconds {
    /// From start to the writing of `run.json`.
    pub total: f64,
    /// opt and UB.
    pub optimum: f64,
    /// Playing episodes.
    pub simulation: f64,
    /// Fitting oracles.
    pub fit: f64,
    /// Evaluating bounds on samples.
    pub bounds: f64,
    /// Optimistic-DP.
    pub dp: f64,
    /// Expected rewards of plans.
    pub expected: f64,
    /// Writing the other files.
    pub output: f64,
}

/// Traffic to and from the graphics adapter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdapterTraffic {
    /// Dispatches.
    pub dispatches: u64,
    /// Bytes to the adapter.
    pub bytes_up: u64,
    /// Bytes from the adapter.
    pub bytes_down: u64,
    /// Why bounds were evaluated on the CPU and copied as tables, if they were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bounds_on_cpu: Option<String>,
}

/// The results of one policy.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PolicyRun {
    /// Its name in the study.
    pub name: String,
    /// Mean reward per episode.
    #[serde(deserialize_with = "number_or_null")]
    pub mean_reward: Option<f64>,
    /// Total reward as a share of total opt.
    #[serde(deserialize_with = "number_or_null")]
    pub share_of_opt: Option<f64>,
    /// Mean cumulative regret after the last episode.
    pub final_regret: Option<f64>,
    /// Its standard error.
    pub standard_error: Option<f64>,
    /// The regret after the last episode, by replication.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub final_regrets: Vec<f64>,
    /// The final regret with exact expected rewards of the plans, if known.
    pub expected_regret: Option<f64>,
    /// Its standard error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_standard_error: Option<f64>,
    /// Log-log slope of the regret over the last half of the episodes, if the regret is clearly positive.
    pub slope: Option<f64>,
    /// Its standard error.
    pub slope_standard_error: Option<f64>,
    /// Final regret minus that of [`Run::reference`], by replication: the mean of the paired differences.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paired_difference: Option<f64>,
    /// Its standard error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paired_standard_error: Option<f64>,
    /// The bounds of its oracle at the end of the study.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bounds: Option<BoundsRun>,
    /// Of a learner: the widths of the bounds of all pairs that were offered, summed over the study, and the tolerances.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub played: Option<PlayedRun>,
    /// Warnings about the policy's figures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Wall time of the policy.
    #[serde(default)]
    pub seconds: f64,
    /// Seconds that a decision took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision_seconds: Option<DecisionSeconds>,
}

/// Seconds that the decisions of a policy took, from one decision in eight; off by at most 2.2%.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct DecisionSeconds {
    /// The median.
    pub p50: f64,
    /// 99% of decisions took no longer.
    pub p99: f64,
}

/// Own code that a study ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnRun {
    /// Its place in the study file.
    pub place: String,
    /// Where it is found.
    #[serde(flatten)]
    pub code: OwnCode,
}

/// What the regret bound of a learner consists of, summed over the study; a mean over replications.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PlayedRun {
    /// Sum of ucb - lcb.
    pub widths: f64,
    /// Sum of tau.
    pub tolerance: f64,
}

/// The bounds of an oracle at the end of a study, averaged over replications.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct BoundsRun {
    /// Number of observations.
    pub observations: f64,
    /// Mean width of the confidence intervals, over contexts and actions.
    pub mean_width: f64,
    /// Share of intervals that exclude nothing.
    pub vacuous_share: f64,
    /// Share of replications whose fitted parameter lies on the boundary of the norm bound.
    pub at_norm_bound: f64,
}

impl PolicyRun {
    /// Final regret minus that of another policy, paired by replication: both had the same contexts and outcomes.
    pub fn excess_over(&self, other: &Self) -> Option<MeanAndError> {
        let (own, other) = (&self.final_regrets, &other.final_regrets);
        let comparable = !own.is_empty() && own.len() == other.len();
        comparable.then(|| MeanAndError::of_differences(own, other))
    }
}

impl Run {
    /// Reads the file.
    pub fn read(file: &Path) -> Result<Self, InputError> {
        read_json(file)
    }

    /// The file's text.
    pub fn text(&self) -> String {
        let text = serde_json::to_string_pretty(self);
        text.expect("plain fields can be written") + "\n"
    }

    /// Sets the checksum.
    pub fn seal(&mut self) {
        self.checksum.clear();
        self.checksum = sha256(self.text().as_bytes());
    }

    /// Whether a text is that of the run, unchanged since it was sealed.
    pub fn is_sealed(&self, text: &str) -> bool {
        let mut again = self.clone();
        again.seal();
        again.checksum == self.checksum && self.text() == text
    }

    /// The entry of a policy.
    pub fn policy(&self, name: &str) -> Option<&PolicyRun> {
        self.policies.iter().find(|policy| policy.name == name)
    }
}

fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
    let found = serde_json::Value::deserialize(deserializer)?;
    let count = found.as_u64().filter(|n| (1..1 << 32).contains(n));
    count.map(|n| n as usize).ok_or_else(|| {
        let message = format!("found {found}; accepted: a whole number from 1 to 4294967295");
        serde::de::Error::custom(message)
    })
}

/// Accepts null, but not a missing field.
fn number_or_null<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    Option::deserialize(deserializer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run() -> Run {
        Run {
            version: "1".into(),
            command: "simulate".into(),
            seed: 1,
            backend: "cpu".into(),
            precision: "f64".into(),
            strategy: "auto".into(),
            strategies: BTreeMap::from([("dense".into(), 3)]),
            threads: 2,
            episodes: 4,
            horizon: 2,
            replications: 1,
            delta: 0.1,
            peak_memory_bytes: Some(1 << 40),
            reference: Some("clairvoyant".into()),
            policies: vec![PolicyRun {
                name: "a".into(),
                mean_reward: Some(0.1 + 0.2),
                final_regret: Some(1.0),
                final_regrets: vec![1.0, 2.5],
                slope: Some(2.0 / 3.0),
                paired_difference: Some(20.0),
                warnings: vec!["the oracle has learnt nothing".into()],
                seconds: 0.5,
                ..PolicyRun::default()
            }],
            opt_per_episode: Some(1e-300),
            fluid_bound_per_episode: Some(2.0),
            opt: ByBudget::from([(5, 9.214368293094353)]),
            fluid_bound: ByBudget::from([(5, 10.37333333333327)]),
            ..Run::default()
        }
    }

    fn read(text: &str) -> Result<Run, String> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("run.json");
        std::fs::write(&file, text).unwrap();
        let folder = format!("{}/", folder.path().display());
        Run::read(&file).map_err(|error| error.to_string().replace(&folder, ""))
    }

    #[test]
    fn a_run_reads_back_bit_for_bit() {
        assert_eq!(read(&run().text()), Ok(run()));
    }

    #[test]
    fn errors_name_line_and_field() {
        let text = run().text();
        for (from, to, expected) in [
            (
                "\"horizon\": 2",
                "\"horizon\": 0",
                "run.json:15: horizon: found 0; accepted: a whole number from 1 to 4294967295",
            ),
            (
                "\"seed\": 1",
                "\"seed\": \"x\"",
                "run.json:4: seed: found string \"x\"; accepted: a whole number",
            ),
            (
                "\"mean_reward\"",
                "\"reward\"",
                ": `mean_reward`: found nothing; accepted: a file of this program",
            ),
            (
                "\"final_regret\": 1.0",
                "\"final_regret\": []",
                ": policies[0].final_regret: found sequence; accepted: a number",
            ),
            (
                "\"seed\": 1,",
                "\"seed\": 1",
                "run.json:5: expected `,` or `}`",
            ),
        ] {
            assert!(text.contains(from), "{from}");
            let message = read(&text.replacen(from, to, 1)).unwrap_err();
            assert!(message.contains(expected), "{message:?}, not {expected:?}");
        }
    }
}
