//! The work of a wave of replications: times by phase, and the backend's report. The sum over waves is the study's work,
//! with any number of shards.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Latencies, Phases};
use crate::dp::{Report, Traffic};

/// The work of one wave, or of several.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Work {
    /// Name of the policy.
    pub policy: String,
    /// Wall time.
    pub elapsed: Duration,
    /// Wall time by phase.
    pub phases: Phases,
    /// Times of decisions.
    #[serde(default)]
    pub latencies: Latencies,
    /// The backend's report, with plans by strategy and traffic of this work only.
    pub report: Report,
}

impl Work {
    /// Adds the work of another wave. Keeps the adapter if either used one.
    pub fn add(&mut self, other: &Self) {
        self.policy.clone_from(&other.policy);
        self.elapsed += other.elapsed;
        self.phases += other.phases;
        self.latencies.add(&other.latencies);
        let machine = match self.report.adapter.is_some() {
            true => &self.report,
            false => &other.report,
        };
        self.report = Report {
            strategies: joined(&self.report, &other.report, |a, b| a + b),
            traffic: joined_traffic(&self.report, &other.report, |a, b| a + b),
            ..machine.clone()
        };
    }
}

/// The work of a backend since an earlier report.
pub(super) fn since(before: &Report, now: &Report) -> Report {
    let less = |before: u64, now: u64| now.saturating_sub(before);
    Report {
        strategies: joined(before, now, less),
        traffic: joined_traffic(before, now, less),
        ..now.clone()
    }
}

fn joined(first: &Report, second: &Report, join: impl Fn(u64, u64) -> u64) -> Vec<(String, u64)> {
    let mut counts: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for (name, count) in &first.strategies {
        counts.entry(name).or_default().0 = *count;
    }
    for (name, count) in &second.strategies {
        counts.entry(name).or_default().1 = *count;
    }
    let counts = counts.into_iter();
    let counts = counts.map(|(name, (a, b))| (name.to_string(), join(a, b)));
    counts.filter(|(_, count)| *count > 0).collect()
}

fn joined_traffic(
    first: &Report,
    second: &Report,
    join: impl Fn(u64, u64) -> u64,
) -> Option<Traffic> {
    if first.traffic.is_none() && second.traffic.is_none() {
        return None;
    }
    let (a, b) = (
        first.traffic.unwrap_or_default(),
        second.traffic.unwrap_or_default(),
    );
    Some(Traffic {
        dispatches: join(a.dispatches, b.dispatches),
        bytes_up: join(a.bytes_up, b.bytes_up),
        bytes_down: join(a.bytes_down, b.bytes_down),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(strategies: &[(&str, u64)], dispatches: Option<u64>) -> Work {
        let strategies = strategies.iter();
        Work {
            elapsed: Duration::from_secs(1),
            report: Report {
                strategies: strategies.map(|(s, n)| (s.to_string(), *n)).collect(),
                adapter: dispatches.map(|_| "adapter".into()),
                traffic: dispatches.map(|dispatches| Traffic {
                    dispatches,
                    ..Traffic::default()
                }),
                ..Report::default()
            },
            ..Work::default()
        }
    }

    #[test]
    fn work_before_and_after_a_report_adds_up() {
        let (early, late) = (
            work(&[("dense", 2)], Some(5)),
            work(&[("dense", 3), ("x", 1)], Some(9)),
        );
        let mut sum = early.clone();
        sum.add(&Work {
            report: since(&early.report, &late.report),
            ..Work::default()
        });
        assert_eq!(sum.report, late.report);
        sum.add(&work(&[], None));
        assert_eq!(sum.report, late.report);
        assert_eq!(sum.elapsed, Duration::from_secs(2));
    }
}
