//! The GPU backend beyond conformance: limits, precision at size, bounds on the adapter, whole studies.

mod common;
#[path = "common/structured_problems.rs"]
mod structured_problems;

use cbwk_gpu::dp::cpu::Dense;
use cbwk_gpu::dp::gpu::Gpu;
use cbwk_gpu::dp::{
    Backend, BackendError, BoundSource, Coefficients, ContextSample, Link, PlanRequest,
};
use cbwk_gpu::experiment;
use cbwk_gpu::oracle::{
    Coupled, GlmParameters, LabeledData, LogisticMixtureParameters, LogisticParameters, Oracle,
    OracleSpec,
};
use cbwk_gpu::task::ContextRows;
use common::{relative_difference, rng, say, study};
use rand::RngExt;
use structured_problems::ActionBounds;

/// Bounds evaluated on the adapter give the plans of bounds evaluated on the CPU, for every oracle with a shader, narrow and
/// wide costs, merged and growing samples; and the upload does not grow with the sample.
#[test]
fn bounds_on_the_adapter_are_those_of_the_cpu() {
    let Some(mut gpu) = common::gpu(false) else {
        return;
    };
    let mut rng = rng(52);
    let cases = [
        ("paper-auction", OracleSpec::Armed { radius_scale: 0.5 }),
        (
            "ad-auction-budgets",
            OracleSpec::ArmedByStep { radius_scale: 0.3 },
        ),
        ("paper-pricing", OracleSpec::Logistic(narrow_radius())),
        ("rush-hour-pricing", OracleSpec::Logistic(narrow_radius())),
        ("crowd-procurement", OracleSpec::Logistic(narrow_radius())),
    ];
    let linear = GlmParameters {
        link: Link::Linear,
        lambda: Some(1.0),
        gamma: Some(0.5),
        kappa: None,
        radius_scale: 1.0,
    };
    let mixture = |norm_bound| {
        OracleSpec::LogisticMixture(LogisticMixtureParameters {
            norm_bound,
            ..LogisticMixtureParameters::default()
        })
    };
    let cases = cases.into_iter().chain([
        ("linear-pricing", OracleSpec::Glm(linear)),
        ("paper-pricing", mixture(1.0)),
        ("rush-hour-pricing", mixture(10.0)),
        ("crowd-procurement", mixture(10.0)),
    ]);
    let both = cases.flat_map(|(name, spec)| [(name, spec.clone(), false), (name, spec, true)]);
    for (name, spec, coupled) in both {
        let instance = study(name, |_| {}).world;
        let mut oracles: Vec<Box<dyn Oracle>> = (0..3)
            .map(|_| {
                let config = spec.check("oracle", instance.task()).unwrap();
                let oracle = common::build(&config, &instance, 200, common::rng(1));
                match coupled {
                    true => Box::new(Coupled::new(oracle)),
                    false => oracle,
                }
            })
            .collect();
        let split = oracles[0].facts().by_step;
        let mut samples: Vec<_> = (0..3)
            .map(|_| ContextSample::new(instance.task(), split))
            .collect();
        let mut data = LabeledData::new(instance.contexts().dimension());
        let mut episode = cbwk_gpu::task::EpisodeContexts::new(instance.task().dimension());
        let (mut worst, mut ups): (f64, Vec<u64>) = (0.0, Vec::new());
        for round in 0..60 {
            for sample in &mut samples {
                instance.contexts().draw(&mut rng, &mut episode);
                sample.append(instance.task(), episode.iter());
            }
            for context in episode.iter() {
                let action = rng.random_range(1..=instance.task().actions());
                data.push(
                    &context,
                    action,
                    rng.random::<f64>() < instance.rho(&context, action),
                );
            }
            for oracle in &mut oracles {
                oracle.fit(&data, 0.01);
            }
            let requests: Vec<PlanRequest> = samples
                .iter()
                .zip(&oracles)
                .map(|(sample, oracle)| PlanRequest {
                    sample,
                    source: oracle.as_ref(),
                    budget_max: instance.task().budget_max(),
                    reward_max: instance.task().reward_max(),
                })
                .collect();
            let before = gpu.traffic().bytes_up;
            let mine = gpu.plan(&requests).unwrap().tables;
            ups.push(gpu.traffic().bytes_up - before);
            let theirs = Dense.plan(&requests).unwrap().tables;
            for (mine, theirs) in mine.iter().zip(&theirs) {
                worst = worst.max(relative_difference(
                    mine,
                    theirs,
                    instance.task().reward_max(),
                ));
            }
            assert!(worst < 2e-6, "{name}, round {round}: {worst:e}");
        }
        // Except in rounds that lay everything out again, late plans upload no more than early ones, up to random arrivals.
        let typical = |part: &[u64]| *part.iter().min().unwrap();
        say(&format!(
            "{name} (coupled: {coupled}): bounds on the adapter, error {worst:.1e}; bytes up per plan {} early, {} late",
            typical(&ups[1..10]),
            typical(&ups[50..])
        ));
        assert!(
            typical(&ups[50..]) <= typical(&ups[1..10]) * 21 / 20,
            "{name}: {ups:?}"
        );
    }
}

/// A law's probabilities are no rows that could stay on the adapter; a request over them is planned with tables.
#[test]
fn a_law_is_planned_with_tables() {
    let Some(mut gpu) = common::gpu(false) else {
        return;
    };
    let instance = study("paper-auction", |_| {}).world;
    let law = instance.law_sample(false).unwrap();
    let config = OracleSpec::Armed { radius_scale: 0.2 }
        .check("oracle", instance.task())
        .unwrap();
    let mut oracle = common::build(&config, &instance, 200, rng(1));
    let mut data = LabeledData::new(1);
    for n in 0..200 {
        data.push(&law.context(n % 5), 1 + n % 4, n % 3 == 0);
    }
    oracle.fit(&data, 0.1);
    let request = PlanRequest {
        sample: &law,
        source: oracle.as_ref(),
        budget_max: 5,
        reward_max: 4.0,
    };
    let mine = gpu.plan(&[request]).unwrap().tables.remove(0);
    let theirs = Dense.plan(&[request]).unwrap().tables.remove(0);
    assert!(theirs.start(5) > 1.0);
    assert!(relative_difference(&mine, &theirs, 4.0) < 2e-6);
}

/// Contexts worth more than r_max (theta = 400 where r_max is 4): the sums of a step exceed the table before the cap of
/// Algorithm 2 brings them back, on the adapter as on the CPU, with bounds evaluated there and with tables.
#[test]
fn rewards_above_r_max_do_not_overflow_before_the_cap() {
    let instance = study("paper-auction", |_| {}).world;
    let mut rng = rng(53);
    let mut rows = ContextRows::new(instance.task().horizon(), 1);
    for _ in 0..20 * instance.task().horizon() {
        let theta = match rng.random_range(0..40) {
            0 => 400.0,
            1 => 4e8,
            i => f64::from(i % 5),
        };
        rows.push(Some(&[theta]));
    }
    let sample = ContextSample::of_rows(instance.task(), &rows, false);
    let source = ActionBounds {
        bounds: vec![[0.3, 0.2], [0.5, 0.3], [0.6, 0.5], [0.8, 0.6]],
        by_step: false,
    };
    let request = PlanRequest {
        sample: &sample,
        source: &source,
        budget_max: 5,
        reward_max: instance.task().reward_max(),
    };
    let mut coefficients = Coefficients::default();
    source.fill(&sample, &mut coefficients);
    let problem = request.with(&coefficients);
    let reference = Dense.solve(&[problem]).unwrap().remove(0);
    assert!(common::worst_difference(&reference, &cbwk_gpu::dp::optimistic_dp(&problem)) < 1e-9);
    for f64 in [false, true] {
        let Some(mut gpu) = common::gpu(f64) else {
            return;
        };
        let solved = gpu.solve(&[problem]).unwrap().remove(0);
        let planned = gpu.plan(&[request]).unwrap().tables.remove(0);
        for table in [solved, planned] {
            let off = relative_difference(&table, &reference, instance.task().reward_max());
            assert!(off < 2e-6, "f64 {f64}: {off:e} off");
        }
    }
}

fn narrow_radius() -> LogisticParameters {
    LogisticParameters {
        gamma: Some(0.5),
        kappa: Some(8.0),
        ..LogisticParameters::default()
    }
}

/// Whole studies: the same decision in at least 99.9% of steps and mean regrets within 1%.
#[test]
fn studies_on_the_gpu_decide_as_on_the_cpu() {
    let Some(mut gpu) = common::gpu(false) else {
        return;
    };
    // The paper's experiments whole; oracles whose bounds go to the adapter as tables for a while.
    let whole = (200, 50);
    let short = (40, 4);
    let studies = [
        ("paper-auction", "mimic-opt-dp", whole),
        ("paper-pricing", "mimic-opt-dp", whole),
        ("smooth-pricing", "kernel", short),
        ("smooth-pricing", "gp", short),
        ("nonlinear-pricing", "neural", short),
    ];
    for (name, policy, (episodes, replications)) in studies {
        let study = study(name, |document| {
            document.choose_policies(&[policy.into()], "test");
            document.set_whole("study", "episodes", episodes, "test");
            document.set_whole("study", "replications", replications, "test");
        });
        let (mut on_cpu, mut on_gpu) = (Vec::new(), Vec::new());
        let cpu_outcome = experiment::run(&study, &mut Dense, &mut on_cpu).unwrap();
        let backend = &mut gpu as &mut dyn Backend;
        let gpu_outcome = experiment::run(&study, backend, &mut on_gpu).unwrap();
        let outcomes = |records: &[experiment::Record]| -> Vec<(f64, u32)> {
            let episodes = records.iter().flat_map(|record| &record.episodes);
            episodes.map(|e| (e.reward, e.spent)).collect()
        };
        // An episode in which any decision differs in effect earns or spends something else: counting whole episodes as
        // different is stricter than counting steps.
        let (cpu, gpu) = (outcomes(&on_cpu), outcomes(&on_gpu));
        let differing = cpu.iter().zip(&gpu).filter(|(x, y)| x != y).count();
        let share = differing as f64 / cpu.len() as f64;
        say(&format!(
            "{name}, {policy}: {differing} of {} episodes differ between gpu and cpu",
            cpu.len()
        ));
        assert!(share <= 0.001 * 24.0);
        let last = |o: &experiment::Outcome| o.policies[0].regret.cumulative.last().unwrap().mean;
        let (x, y) = (last(&cpu_outcome), last(&gpu_outcome));
        assert!((x - y).abs() <= 0.01 * x.abs(), "{name}: {x} and {y}");
    }
}

#[test]
fn an_unknown_adapter_is_refused_with_the_known_ones() {
    let error = Gpu::open(Some("no such adapter"), false).unwrap_err();
    assert!(matches!(error, BackendError::Unavailable { .. }));
    assert!(error.to_string().contains("no such adapter"), "{error}");
}
