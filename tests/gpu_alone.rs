//! The memory of this process, which must therefore run alone.
#![cfg(target_os = "linux")]

mod common;

use std::fs;

use cbwk_gpu::dp::{Backend, Problem};
use common::{Shape, random_bounds, random_instance, rng, say};

/// Kilobytes of this process in memory.
fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("Linux has it");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.trim().strip_suffix(" kB"));
    let kilobytes = number.and_then(|number| number.parse().ok());
    kilobytes.expect("a number of kilobytes")
}

/// 1,000 solves hold on to no more memory than ten. A leak of what a solve uploads, 100 kB, would show as 100 MB: the
/// control leaks as much on purpose, and the same reading sees it.
#[test]
fn memory_stays_flat() {
    const ALLOWED: u64 = 20_000;
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
    assert!(grown < ALLOWED, "{grown} kB grown");

    let before = resident();
    let leak: Vec<Vec<u8>> = (0..1000).map(|_| vec![1; 100_000]).collect();
    let grown = resident().saturating_sub(before);
    assert!(grown > ALLOWED, "100 MB read as {grown} kB");
    drop(leak);
}
