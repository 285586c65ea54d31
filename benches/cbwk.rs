//! Optimistic-DP by backend: `cargo bench`. Sizes are in the ids; throughput is in candidates (h, budget, context,
//! action) per second. GPU groups run on the adapter that `--backend gpu` would take (WGPU_ADAPTER_NAME chooses
//! another) and are left out, with the reason, where there is none.

#![allow(clippy::print_stderr, reason = "the adapter is part of the result")]

use std::hint::black_box;
use std::sync::Arc;

use cbwk_gpu::dp::cpu::Dense;
use cbwk_gpu::dp::gpu::Gpu;
use cbwk_gpu::dp::{Backend, BoundSource, Coefficients, ContextSample, PlanRequest, Problem};
use cbwk_gpu::model::{
    ApplicationSpec, BudgetSpec, ContextsSpec, ConversionSpec, Instance, InstanceSpec, LawSpec,
};
use cbwk_gpu::oracle::{LabeledData, Logistic, LogisticParameters, Oracle};
use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

/// 3.2e9 candidates: H = 50, 200 budgets, 20,000 contexts, 16 actions with costs 1 to 4.
fn large_instance() -> Instance {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let types = 20_000;
    let rewards = (0..types)
        .map(|_| (0..16).map(|_| rng.random::<f64>()).collect())
        .collect();
    let spec = InstanceSpec {
        horizon: 50,
        budget: BudgetSpec::Constant { value: 199 },
        application: ApplicationSpec::Table {
            rewards,
            costs: vec![(0..16).map(|a| 1 + a % 4).collect(); types],
        },
        reward_max: Some(1.0),
        contexts: ContextsSpec {
            law: LawSpec::Finite {
                values: (0..types).map(|i| vec![i as f64]).collect(),
                weights: None,
            },
            no_arrival: vec![],
            types: None,
        },
        conversion: ConversionSpec::Armed {
            probabilities: vec![0.5; 16],
        },
    };
    spec.check().expect("a valid instance")
}

/// The paper's pricing: H = 24, budget 5, 4 prices, contexts on a 100 x 100 grid.
fn paper_instance() -> Instance {
    let weight = 1.0 / 3f64.sqrt();
    let spec = InstanceSpec {
        horizon: 24,
        budget: BudgetSpec::Constant { value: 5 },
        application: ApplicationSpec::Pricing {
            prices: vec![1.0, 2.0, 3.0, 4.0],
        },
        reward_max: None,
        contexts: ContextsSpec {
            law: LawSpec::Grid {
                low: vec![0.0; 2],
                high: vec![1.0; 2],
                points: vec![100; 2],
            },
            no_arrival: vec![],
            types: None,
        },
        conversion: ConversionSpec::Logistic {
            weights: vec![weight, weight, -weight],
        },
    };
    spec.check().expect("a valid instance")
}

fn random_coefficients(sample: &ContextSample) -> Coefficients {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let mut coefficients = Coefficients::default();
    coefficients.resize_for(sample);
    for pair in 0..coefficients.gain.len() {
        coefficients.gain[pair] = rng.random::<f64>() * sample.rewards()[pair];
        coefficients.lcb[pair] = rng.random();
    }
    coefficients
}

/// A logistic oracle fitted to some data.
fn fitted_oracle(instance: &Instance) -> Logistic {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let parameters = LogisticParameters {
        gamma: Some(0.5),
        kappa: Some(8.0),
        ..LogisticParameters::default()
    };
    let mut oracle = Logistic::new(instance, parameters);
    let mut data = LabeledData::new(2);
    let mut episode = instance.contexts().empty_episode();
    for _ in 0..50 {
        instance.contexts().draw(&mut rng, &mut episode);
        for context in episode.iter() {
            let action = rng.random_range(1..=4);
            data.push(
                &context,
                action,
                rng.random::<f64>() < instance.rho(&context, action),
            );
        }
    }
    oracle.fit(&data, 0.01);
    oracle
}

fn gpu() -> Option<Gpu> {
    match Gpu::open(None, false) {
        Ok(gpu) => {
            eprintln!("GPU groups run on {}", gpu.adapter().name);
            Some(gpu)
        }
        Err(error) => {
            eprintln!("GPU groups are left out: {error}");
            None
        }
    }
}

type Group<'a> = BenchmarkGroup<'a, criterion::measurement::WallTime>;

fn backends(
    c: &mut Criterion,
    name: &str,
    samples: usize,
    mut run: impl FnMut(&mut Group, &mut dyn Backend),
) {
    let mut group = c.benchmark_group(format!("dense/{name}"));
    group.sample_size(samples);
    run(&mut group, &mut Dense);
    group.finish();
    if let Some(mut gpu) = gpu() {
        let mut group = c.benchmark_group(format!("gpu/{name}"));
        group.sample_size(samples);
        run(&mut group, &mut gpu);
        group.finish();
    }
}

fn large(c: &mut Criterion) {
    let instance = large_instance();
    let sample = ContextSample::of_law(&instance, false).expect("a finite law");
    let coefficients = random_coefficients(&sample);
    let problem = Problem {
        sample: &sample,
        coefficients: &coefficients,
        budget_max: 199,
        cap: Some(1.0),
    };
    backends(c, "large", 10, |group, backend| {
        group.throughput(Throughput::Elements(problem.candidates()));
        group.bench_function("H50-B199-S20000-A16", |b| {
            b.iter(|| backend.solve(black_box(&[problem])).expect("solved"));
        });
    });
}

/// 50 replications of the paper's size, 100 rows each: with coefficients given, and with a fitted oracle's bounds.
fn small(c: &mut Criterion) {
    let instance = Arc::new(paper_instance());
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    let samples: Vec<ContextSample> = (0..50)
        .map(|_| {
            let rows = instance.contexts().draw_rows(&mut rng, 100);
            ContextSample::of_rows(&instance, &rows, false)
        })
        .collect();
    let oracle = fitted_oracle(&instance);
    let requests: Vec<PlanRequest> = samples
        .iter()
        .map(|sample| PlanRequest {
            sample,
            source: &oracle as &dyn BoundSource,
            budget_max: 5,
            reward_max: 4.0,
        })
        .collect();
    let coefficients: Vec<Coefficients> = samples.iter().map(random_coefficients).collect();
    let problems: Vec<Problem> = requests
        .iter()
        .zip(&coefficients)
        .map(|(request, c)| request.with(c))
        .collect();
    let candidates = problems.iter().map(Problem::candidates).sum();
    backends(c, "small", 20, |group, backend| {
        group.throughput(Throughput::Elements(candidates));
        group.bench_function("R50-H24-B5-S100-A4/tables", |b| {
            b.iter(|| backend.solve(black_box(&problems)).expect("solved"));
        });
        group.bench_function("R50-H24-B5-S100-A4/with-bounds", |b| {
            b.iter(|| backend.plan(black_box(&requests)).expect("planned"));
        });
    });
}

criterion_group!(benches, small, large);
criterion_main!(benches);
