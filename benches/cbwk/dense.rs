//! The dense solver: one large problem and a batch of small ones, in both precisions, as a share of the roofline; and
//! what merging equal contexts gains.

use std::hint::black_box;

use cbwk_gpu::dp::cpu::{Cpu, Strategy};
use cbwk_gpu::dp::{Backend, Coefficients, ContextSample, Precision, Problem};
use criterion::Criterion;

use crate::problems::{Size, candidates_within_reach, coefficients, problem, rows};
use crate::{Group, roofline::Roofline};

/// 3.2e9 candidates.
pub const LARGE: Size = Size {
    horizon: 50,
    budget: 199,
    contexts: 20_000,
    actions: 16,
};

pub fn run(c: &mut Criterion, lines: &mut Vec<String>) {
    let mut group = Group::new(c, "dense");
    large(&mut group, LARGE, rayon::current_num_threads(), lines);
    // Short runs on one thread, of which some are undisturbed on any machine.
    let short = Size {
        contexts: 500,
        ..LARGE
    };
    large(&mut group, short, 1, lines);
    small(&mut group, lines);
    merged(&mut group, lines);
}

fn solver(terms: Precision) -> Cpu {
    Cpu::new(Some(Strategy::Dense), terms)
}

fn large(group: &mut Group, size: Size, threads: usize, lines: &mut Vec<String>) {
    let roofline = Roofline::of_cores(threads);
    lines.push(format!(
        "roofline of {threads} threads: {:.2e} candidates/s with fma, max (the solver's operations); {:.2e} with mul, sub, max",
        roofline.fma_max, roofline.mul_sub_max
    ));
    let instance = size.table();
    let sample = instance.law_sample(false).expect("a finite law");
    let coefficients = coefficients(&sample);
    let problem = problem(&instance, &sample, &coefficients);
    let mut times = Vec::new();
    for (name, terms) in [("f64", Precision::F64), ("f32", Precision::F32)] {
        let mut cpu = solver(terms);
        let best = group.best(&format!("{}/{name}", size.id()), threads, || {
            black_box(cpu.solve(&[problem]).expect("solved"));
        });
        let Some(seconds) = best else { continue };
        let computed = candidates_within_reach(&problem) / seconds;
        lines.push(format!(
            "dense {} {name}, {threads} threads: {seconds:.5} s; {:.2e} candidates/s with those out of reach, {computed:.2e} without = {:.0}% of fma-max, {:.0}% of mul-sub-max",
            size.id(),
            problem.candidates() as f64 / seconds,
            100.0 * computed / roofline.fma_max,
            100.0 * computed / roofline.mul_sub_max,
        ));
        times.push(seconds);
    }
    if let [f64, f32] = times[..] {
        lines.push(format!(
            "dense {}: f32 terms {:.2}x f64",
            size.id(),
            f64 / f32
        ));
    }
}

/// 50 replications of the paper's size: H = 24, budget 5, 100 rows, 4 prices.
fn small(group: &mut Group, lines: &mut Vec<String>) {
    let size = Size {
        horizon: 24,
        budget: 5,
        contexts: 100,
        actions: 4,
    };
    let instance = size.continuous_pricing(1);
    let samples: Vec<ContextSample> = (0..50)
        .map(|_| ContextSample::of_rows(instance.task(), &rows(24, 100, 100), false))
        .collect();
    let tables: Vec<Coefficients> = samples.iter().map(coefficients).collect();
    let zip = samples.iter().zip(&tables);
    let problems: Vec<Problem> = zip.map(|(s, t)| problem(&instance, s, t)).collect();
    let mut cpu = solver(Precision::F64);
    let best = group.best(
        &format!("R50-{}", size.id()),
        rayon::current_num_threads(),
        || {
            black_box(cpu.solve(&problems).expect("solved"));
        },
    );
    if let Some(seconds) = best {
        lines.push(format!("dense small batch: {:.2} ms", 1e3 * seconds));
    }
}

/// 20,000 rows of 500 distinct contexts, merged and one by one.
fn merged(group: &mut Group, lines: &mut Vec<String>) {
    let size = Size {
        horizon: 2,
        budget: 8,
        contexts: 20_000,
        actions: 8,
    };
    let rows = rows(2, 20_000, 500);
    let mut values: Vec<f64> = (0..500).map(|i| i as f64 / 40_000.0).collect();
    values.dedup();
    let finite = cbwk_gpu::world::LawSpec::Finite {
        values: values.into_iter().map(|x| vec![x]).collect(),
        weights: None,
    };
    let prices = (1..=8).map(f64::from).collect();
    let pricing = cbwk_gpu::task::ApplicationSpec::Pricing { prices };
    let mut times = Vec::new();
    for (name, instance) in [
        ("one-by-one", size.continuous_pricing(1)),
        ("merged", size.instance(pricing, finite)),
    ] {
        let sample = ContextSample::of_rows(instance.task(), &rows, false);
        let coefficients = coefficients(&sample);
        let problem = problem(&instance, &sample, &coefficients);
        let mut cpu = solver(Precision::F64);
        let best = group.best(&format!("{}-of-500/{name}", size.id()), 1, || {
            black_box(cpu.solve(&[problem]).expect("solved"));
        });
        times.extend(best);
    }
    if let [apart, merged] = times[..] {
        lines.push(format!(
            "merged contexts, 20,000 of 500: {:.1}x",
            apart / merged
        ));
    }
}
