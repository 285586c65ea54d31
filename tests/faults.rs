//! Faults of a backend, by a double that fails on cue; and the rule of `auto`.

mod common;

use std::sync::{Arc, Mutex};

use cbwk_gpu::dp::cpu::Dense;
use cbwk_gpu::dp::{Auto, Backend, BackendError, CostLine, Problem, RawTable};
use cbwk_gpu::experiment::{self, Record, RunError};
use common::study;

/// A backend that fails after some solves.
struct Failing {
    solves: usize,
    error: BackendError,
}

impl Backend for Failing {
    fn name(&self) -> &'static str {
        "failing"
    }

    fn solve_raw(&mut self, batch: &[Problem]) -> Result<Vec<RawTable>, BackendError> {
        if self.solves == 0 {
            return Err(self.error.clone());
        }
        self.solves -= 1;
        Dense.solve_raw(batch)
    }
}

fn faults() -> [BackendError; 3] {
    [
        BackendError::Lost {
            reason: "reset".into(),
        },
        BackendError::Timeout { seconds: 60.0 },
        BackendError::OutOfMemory {
            reason: "full".into(),
        },
    ]
}

const FAST: CostLine = CostLine {
    overhead: 0.0,
    rate: 1e12,
};
const SLOW: CostLine = CostLine {
    overhead: 1.0,
    rate: 1e6,
};

/// Under `auto` a fault costs one warning and nothing else: the study ends as if it had run on the CPU.
#[test]
fn auto_goes_on_after_a_fault_and_loses_nothing() {
    let study = study("paper-auction", |document| {
        document.set_whole("study", "episodes", 12, "test");
        document.set_whole("study", "replications", 4, "test");
    });
    let mut expected: Vec<Record> = Vec::new();
    experiment::run(&study, &mut Dense, &mut expected).unwrap();
    for error in faults() {
        let warnings = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&warnings);
        let failing = Failing { solves: 2, error };
        let mut auto = Auto::new(
            (Box::new(Dense), SLOW),
            (Box::new(failing), FAST),
            move |text| {
                heard.lock().unwrap().push(text.to_string());
            },
        );
        let mut records: Vec<Record> = Vec::new();
        experiment::run(&study, &mut auto, &mut records).unwrap();
        assert_eq!(records, expected);
        let warnings = warnings.lock().unwrap();
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(warnings[0].ends_with("continuing on the CPU"));
    }
}

/// Without `auto` a fault ends the study, but finished replications have been handed over.
#[test]
fn a_fault_elsewhere_ends_the_study_after_its_finished_replications() {
    let study = study("paper-auction", |document| {
        document.set_whole("study", "episodes", 12, "test");
        document.set_whole("study", "replications", 4, "test");
        let order = ["random".into(), "mimic-opt-dp".into()];
        document.choose_policies(&order, "test");
    });
    for error in faults() {
        let mut failing = Failing {
            solves: 2,
            error: error.clone(),
        };
        let mut records: Vec<Record> = Vec::new();
        let ended = experiment::run(&study, &mut failing, &mut records).unwrap_err();
        assert!(matches!(ended, RunError::Backend(found) if found == error));
        assert!(records.iter().all(|record| record.policy == "random"));
        let numbers: Vec<usize> = records.iter().map(|r| r.replication).collect();
        assert_eq!(numbers, [0, 1, 2, 3]);
    }
}

/// The rule of `auto`: the lower of two measured lines.
#[test]
fn auto_takes_the_backend_with_the_lower_line() {
    let line = CostLine::through((1e6, 0.011), (1e8, 0.11));
    assert!((line.rate - 1e9).abs() < 1e3 && (line.overhead - 0.01).abs() < 1e-9);
    let cpu = CostLine {
        overhead: 0.0,
        rate: 1e9,
    };
    let gpu = CostLine {
        overhead: 0.01,
        rate: 5e10,
    };
    let auto = Auto::new((Box::new(Dense), cpu), (Box::new(Dense), gpu), |_| {});
    // The lines cross where c / 1e9 = 0.01 + c / 5e10, at about 1.02e7 candidates.
    assert!(!auto.prefers_gpu(10_000_000));
    assert!(auto.prefers_gpu(10_500_000));
}
