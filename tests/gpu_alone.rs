//! What measures time or its own process, and so must run alone: timing and memory.

mod common;

use std::fs;
use std::sync::{Mutex, PoisonError};

use cbwk_gpu::dp::cpu::Dense;
use cbwk_gpu::dp::{Auto, Backend, Problem};
use common::{Shape, random_bounds, random_instance, rng, say};

/// One test at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// 1,000 solves hold on to no more memory than ten.
#[test]
fn memory_stays_flat() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(mut gpu) = common::gpu(false) else {
        return;
    };
    let mut rng = rng(61);
    let shape = Shape {
        horizon: 6,
        types: 200,
        actions: 3,
        cost_max: 2,
        budget: 10,
    };
    let instance = random_instance(&mut rng, shape);
    let sample = instance.law_sample(false).unwrap();
    let coefficients = random_bounds(&mut rng, &instance, &sample);
    let problem = Problem {
        sample: &sample,
        coefficients: &coefficients,
        budget_max: shape.budget,
        cap: Some(instance.task().reward_max()),
    };
    let resident = || -> u64 {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let line = status
            .lines()
            .find_map(|l| l.strip_prefix("VmRSS:").map(str::to_string));
        line.and_then(|l| l.trim().trim_end_matches(" kB").parse().ok())
            .unwrap_or(0)
    };
    let mut after_ten = (0, 0);
    for solve in 1..=1000 {
        gpu.solve(&[problem; 4]).unwrap();
        if solve == 10 {
            after_ten = (gpu.held_bytes(), resident());
        }
    }
    assert_eq!(gpu.held_bytes(), after_ten.0);
    let grown = resident().saturating_sub(after_ten.1);
    say(&format!(
        "1,000 solves: {} bytes of buffers, {grown} kB grown",
        after_ten.0
    ));
    // A leak of a solve's 100 kB would show as 100 MB.
    assert!(grown < 20_000, "{grown} kB grown");
}

/// The timing of `auto`, measured for real: small batches do not go to a software adapter.
#[test]
fn small_batches_stay_on_the_cpu() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(gpu) = common::gpu(false) else {
        return;
    };
    if gpu.adapter().is_hardware() {
        return;
    }
    let auto = Auto::measured(Box::new(Dense), Box::new(gpu), |_| {}).unwrap();
    say(&format!("timing: {auto:?}"));
    for candidates in [1_000, 300_000] {
        assert!(!auto.prefers_gpu(candidates), "{auto:?}");
    }
}
