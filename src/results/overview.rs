//! `overview.csv` of a sweep: one line per point and policy, with a column for every swept key.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::records::shortest_or_empty;
use super::rows::{CsvReader, Row, columns, text_of};
use super::run_json::{PolicyRun, Run};
use crate::error::InputError;
use crate::statistics::MeanAndError;

/// The results of a sweep.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Overview {
    /// Paths of the swept keys.
    pub keys: Vec<String>,
    /// By point, then by policy.
    pub rows: Vec<OverviewRow>,
}

/// A policy at a point of a sweep.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OverviewRow {
    /// Name of the point's folder.
    pub point: String,
    /// The value of each key.
    pub values: Vec<String>,
    /// Its results.
    pub result: PointResult,
}

/// The results of a policy at a point; `None` if unknown.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PointResult {
    /// Name of the policy.
    pub policy: String,
    /// Mean cumulative regret after the last episode.
    #[serde(serialize_with = "shortest_or_empty")]
    pub final_regret: Option<f64>,
    /// Its standard error.
    #[serde(serialize_with = "shortest_or_empty")]
    pub standard_error: Option<f64>,
    /// The same with exact expected rewards of the plans.
    #[serde(serialize_with = "shortest_or_empty")]
    pub expected_regret: Option<f64>,
    /// Total reward as a share of total opt.
    #[serde(serialize_with = "shortest_or_empty")]
    pub share_of_opt: Option<f64>,
    /// Log-log slope of the regret.
    #[serde(serialize_with = "shortest_or_empty")]
    pub slope: Option<f64>,
    /// Its standard error.
    #[serde(serialize_with = "shortest_or_empty")]
    pub slope_standard_error: Option<f64>,
    /// Mean reward per episode.
    #[serde(default, serialize_with = "shortest_or_empty")]
    pub mean_reward: Option<f64>,
    /// Mean of opt_t over the episodes.
    #[serde(default, serialize_with = "shortest_or_empty")]
    pub opt: Option<f64>,
    /// Standard error of the expected regret.
    #[serde(default, serialize_with = "shortest_or_empty")]
    pub expected_standard_error: Option<f64>,
    /// The reference policy of the paired differences; empty if there is none.
    #[serde(default)]
    pub reference: String,
    /// Final regret minus that of the reference, the mean over replications.
    #[serde(default, serialize_with = "shortest_or_empty")]
    pub paired_difference: Option<f64>,
    /// Its standard error.
    #[serde(default, serialize_with = "shortest_or_empty")]
    pub paired_standard_error: Option<f64>,
}

impl Row for PointResult {}

impl PointResult {
    /// The results of every policy of a finished study, in its order.
    pub fn all(run: &Run) -> impl Iterator<Item = Self> {
        run.policies.iter().map(|policy| Self {
            policy: policy.name.clone(),
            final_regret: policy.final_regret,
            standard_error: policy.standard_error,
            expected_regret: policy.expected_regret,
            share_of_opt: policy.share_of_opt,
            slope: policy.slope,
            slope_standard_error: policy.slope_standard_error,
            mean_reward: policy.mean_reward,
            opt: run.opt_per_episode,
            expected_standard_error: policy.expected_standard_error,
            reference: run.reference.clone().unwrap_or_default(),
            paired_difference: policy.paired_difference,
            paired_standard_error: policy.paired_standard_error,
        })
    }

    /// The same results, compared with a policy of another point.
    pub(super) fn compared(self, run: &PolicyRun, reference: &PolicyRun) -> Self {
        let difference = run.excess_over(reference);
        let finite =
            |value: fn(MeanAndError) -> f64| difference.map(value).filter(|x| x.is_finite());
        Self {
            reference: reference.name.clone(),
            paired_difference: finite(|x| x.mean),
            paired_standard_error: finite(|x| x.standard_error),
            ..self
        }
    }

    /// The expected regret, if known.
    pub fn expected(&self) -> Option<MeanAndError> {
        with_error(self.expected_regret, self.expected_standard_error)
    }

    /// The paired difference to the reference, if known.
    pub fn paired(&self) -> Option<MeanAndError> {
        with_error(self.paired_difference, self.paired_standard_error)
    }

    /// The final regret, if known.
    pub fn regret(&self) -> Option<MeanAndError> {
        with_error(self.final_regret, self.standard_error)
    }

    /// The slope, if known.
    pub fn slope(&self) -> Option<MeanAndError> {
        with_error(self.slope, self.slope_standard_error)
    }
}

/// A mean whose error may be unknown.
fn with_error(mean: Option<f64>, error: Option<f64>) -> Option<MeanAndError> {
    mean.map(|mean| MeanAndError {
        mean,
        standard_error: error.unwrap_or(f64::NAN),
    })
}

impl Overview {
    /// Whether any line has a value.
    pub fn has(&self, value: fn(&PointResult) -> Option<f64>) -> bool {
        self.rows.iter().any(|row| value(&row.result).is_some())
    }

    /// The reference policy, if all lines have the same.
    pub fn reference(&self) -> Option<&str> {
        let named = self.rows.iter().map(|row| row.result.reference.as_str());
        let mut named = named.filter(|name| !name.is_empty());
        let first = named.next()?;
        named.all(|name| name == first).then_some(first)
    }

    /// The file's text.
    pub fn text(&self) -> Vec<u8> {
        let first = ["point".to_string()].into_iter();
        let header = first.chain(self.keys.iter().cloned());
        let header = header.chain(columns::<PointResult>());
        let rows = self.rows.iter();
        let rows = rows.map(|row| (&row.point, &row.values, &row.result));
        text_of(header.collect(), rows)
    }

    /// Reads the file.
    pub fn read(file: &Path) -> Result<Self, InputError> {
        let mut rows = CsvReader::<PointResult, _>::open(file)?;
        let mut names = rows.header().iter();
        if names.next() != Some("point") {
            let message = "found another first column; accepted: point";
            return Err(InputError::at(file, 1, message));
        }
        let keys = names.take_while(|name| *name != "policy");
        let mut overview = Self {
            keys: keys.map(String::from).collect(),
            rows: Vec::new(),
        };
        while let Some(line) = rows.next() {
            let result = line?.row;
            let mut cells = rows.cells().iter().map(String::from);
            overview.rows.push(OverviewRow {
                point: cells.next().unwrap_or_default(),
                values: cells.take(overview.keys.len()).collect(),
                result,
            });
        }
        Ok(overview)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_overview_reads_back() {
        let row = |point: &str, regret: Option<f64>| OverviewRow {
            point: point.into(),
            values: vec!["3".into(), "[1 2]".into()],
            result: PointResult {
                policy: "a \"b\"".into(),
                final_regret: regret,
                share_of_opt: Some(1.0),
                ..PointResult::default()
            },
        };
        let overview = Overview {
            keys: vec!["budget.value".into(), "application.prices".into()],
            rows: vec![row("value=3,prices=1-2", Some(0.1)), row("x", None)],
        };
        let text = String::from_utf8(overview.text()).unwrap();
        let second = text.lines().nth(1);
        let expected = r#""value=3,prices=1-2",3,[1 2],"a ""b""",0.1,,,1,,,,,,,,"#;
        assert_eq!(second, Some(expected));
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("overview.csv");
        std::fs::write(&file, &text).unwrap();
        assert_eq!(Overview::read(&file), Ok(overview));
        std::fs::write(&file, text.replacen("0.1", "x", 1)).unwrap();
        let message = Overview::read(&file).unwrap_err().to_string();
        let expected = "overview.csv:2: column `final_regret`: found `x`; accepted: a number";
        assert!(message.ends_with(expected), "{message}");
    }
}
