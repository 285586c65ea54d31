//! Studies hand over what they find as they go: memory does not grow with them, and the records are all there is to know.

mod common;

use cbwk_gpu::dp::cpu::Dense;
use cbwk_gpu::experiment::{self, Record, RunError, Sink, Tally};
use cbwk_gpu::statistics::MeanAndError;
use common::{cbwk_ok, say, study};
use serde_json::Value;
use std::ops::ControlFlow;
use tempfile::tempdir;

fn bits(values: &[MeanAndError]) -> Vec<(u64, u64)> {
    let pairs = values.iter();
    pairs
        .map(|x| (x.mean.to_bits(), x.standard_error.to_bits()))
        .collect()
}

/// The outcome of a study follows from its records alone, bit for bit, also where they are more than a wave and more than a
/// block of the moments.
#[test]
fn records_taken_again_in_their_order_give_the_same_outcome() {
    let study = study("paper-auction", |document| {
        document.set_whole("study", "episodes", 30, "test");
        document.set_whole("study", "replications", 150, "test");
    });
    let mut records: Vec<Record> = Vec::new();
    let outcome = experiment::run(&study, &mut Dense, &mut records).unwrap();
    assert_eq!(records.len(), 8 * 150);
    for policy in &outcome.policies {
        let mut tally = Tally::new(&study, &outcome.yardstick);
        let own = records.iter().filter(|r| r.policy == policy.name);
        for (number, record) in own.enumerate() {
            assert_eq!(record.replication, number);
            tally.add(record);
        }
        assert_eq!(
            bits(&tally.budget_use.left()),
            bits(&policy.budget_use.left())
        );
        let (again, regret) = (tally.regret.finish(), &policy.regret);
        assert_eq!(bits(&again.cumulative), bits(&regret.cumulative));
        assert_eq!(again.finals, regret.finals);
        assert_eq!(again.mean_reward.to_bits(), regret.mean_reward.to_bits());
        assert_eq!(again.slope.is_some(), regret.slope.is_some());
        let slopes = |s: Option<MeanAndError>| bits(&s.into_iter().collect::<Vec<_>>());
        assert_eq!(slopes(again.slope), slopes(regret.slope));
        assert_eq!(slopes(again.expected), slopes(regret.expected));
    }
}

/// Asks for an end after some episodes.
struct Patience(usize, Vec<Record>);

impl Sink for Patience {
    fn episode(&mut self, _replications: usize) -> ControlFlow<()> {
        self.0 -= 1;
        match self.0 {
            0 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }

    fn replication(
        &mut self,
        yardstick: &experiment::Yardstick,
        record: &Record,
    ) -> Result<(), experiment::SinkError> {
        self.1.replication(yardstick, record)
    }
}

#[test]
fn a_sink_can_end_a_study_and_keeps_what_was_finished() {
    let study = study("paper-auction", |document| {
        document.set_whole("study", "episodes", 5, "test");
        document.set_whole("study", "replications", 3, "test");
    });
    let mut sink = Patience(8, Vec::new());
    let ended = experiment::run(&study, &mut Dense, &mut sink);
    assert!(matches!(ended, Err(RunError::Stopped)));
    assert_eq!(sink.1.len(), 3);
}

/// Ten times the replications would hold 29 MB of outcomes; half of that is more than the allocator's mood.
#[test]
fn memory_does_not_grow_with_replications() {
    let folder = tempdir().unwrap();
    let peak = |replications: &str| {
        let args = ["simulate", "--policy", "random", "--episodes", "2000"];
        let more = ["--replications", replications, "--out", replications];
        let rest = ["--quiet", "--format", "json", "--threads", "2"];
        let run = cbwk_ok(folder.path(), &[&args[..], &more, &rest].concat());
        let run: Value = serde_json::from_str(&run).unwrap();
        run["peak_memory_bytes"].as_u64()
    };
    let (Some(few), Some(many)) = (peak("50"), peak("500")) else {
        say("skipped: this system does not tell a process's peak memory");
        return;
    };
    assert!(few > 1_000_000, "{few}");
    assert!(many < few + 14_000_000, "{few} and {many} bytes");
}
