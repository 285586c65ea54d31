//! How cost grows: one dimension of a problem doubles three times, and the exponent of seconds ~ size^e is fitted by
//! least squares on logarithms.

use std::hint::black_box;

use cbwk_gpu::dp::cpu::{Cpu, Strategy};
use cbwk_gpu::dp::{Backend, PlanRequest, Precision, Problem};
use criterion::Criterion;

use crate::Group;
use crate::problems::{ArmedBounds, Size, coefficients, problem};

/// Budgets within reach at all steps but the last few, so that H and B do not mix.
const BASE: Size = Size {
    horizon: 40,
    budget: 31,
    contexts: 2000,
    actions: 8,
};

pub fn run(c: &mut Criterion, lines: &mut Vec<String>) {
    let mut group = Group::new(c, "scaling");
    dense(&mut group, "S", [1, 2, 4, 8], lines, |k| {
        (
            Size {
                contexts: 2000 * k,
                ..BASE
            },
            1,
        )
    });
    dense(&mut group, "B", [1, 2, 4, 8], lines, |k| {
        (
            Size {
                horizon: 160,
                budget: 32 * k as u32 - 1,
                contexts: 500,
                ..BASE
            },
            1,
        )
    });
    dense(&mut group, "A", [1, 2, 4, 8], lines, |k| {
        (
            Size {
                actions: 4 * k,
                ..BASE
            },
            1,
        )
    });
    dense(&mut group, "H", [1, 2, 4, 8], lines, |k| {
        (
            Size {
                horizon: 40 * k,
                contexts: 500,
                ..BASE
            },
            1,
        )
    });
    dense(&mut group, "R", [1, 2, 4, 8], lines, |k| {
        (
            Size {
                contexts: 500,
                ..BASE
            },
            2 * k,
        )
    });
    auction(&mut group, lines);
}

fn dense(
    group: &mut Group,
    dimension: &str,
    factors: [usize; 4],
    lines: &mut Vec<String>,
    size: impl Fn(usize) -> (Size, usize),
) {
    let mut points = Vec::new();
    for factor in factors {
        let (size, replications) = size(factor);
        let instance = size.table();
        let sample = instance.law_sample(false).expect("a finite law");
        let coefficients = coefficients(&sample);
        let batch: Vec<Problem> = vec![problem(&instance, &sample, &coefficients); replications];
        let mut cpu = Cpu::new(Some(Strategy::Dense), Precision::F64);
        let id = format!("dense-{dimension}/R{replications}-{}", size.id());
        let best = group.best(&id, 1, || {
            black_box(cpu.solve(&batch).expect("solved"));
        });
        points.extend(best.map(|seconds| (factor as f64, seconds)));
    }
    report("dense", dimension, &points, lines);
}

fn auction(group: &mut Group, lines: &mut Vec<String>) {
    let mut points = Vec::new();
    for contexts in [4000, 16_000, 64_000, 256_000] {
        let size = Size { contexts, ..BASE };
        let instance = size.auction();
        let sample = instance.law_sample(false).expect("a finite law");
        let request = PlanRequest {
            sample: &sample,
            source: &ArmedBounds::new(size.actions),
            budget_max: instance.task().budget_max(),
            reward_max: instance.task().reward_max(),
        };
        let mut cpu = Cpu::new(Some(Strategy::AuctionEnvelope), Precision::F64);
        let best = group.best(&format!("auction-envelope-S/{}", size.id()), 1, || {
            black_box(cpu.plan(&[request]).expect("planned"));
        });
        points.extend(best.map(|seconds| (contexts as f64, seconds)));
    }
    report("auction-envelope", "S", &points, lines);
}

pub fn report(name: &str, dimension: &str, points: &[(f64, f64)], lines: &mut Vec<String>) {
    if points.len() < 2 {
        return;
    }
    let logs: Vec<(f64, f64)> = points.iter().map(|(x, y)| (x.ln(), y.ln())).collect();
    let n = logs.len() as f64;
    let mean = |pick: &dyn Fn(&(f64, f64)) -> f64| logs.iter().map(pick).sum::<f64>() / n;
    let (x, y) = (mean(&|p| p.0), mean(&|p| p.1));
    let slope = mean(&|p| (p.0 - x) * (p.1 - y)) / mean(&|p| (p.0 - x).powi(2));
    lines.push(format!("scaling: {name} ~ {dimension}^{slope:.2}"));
}
