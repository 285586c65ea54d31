//! The GPU backend beyond conformance: limits, precision at size, bounds on the adapter, whole studies.

mod common;
#[path = "common/structured_problems.rs"]
mod structured_problems;

use cbwk_gpu::dp::cpu::{Cpu, Dense, Strategy};
use cbwk_gpu::dp::gpu::Gpu;
use cbwk_gpu::dp::gpu::limits::Limits;
use cbwk_gpu::dp::{
    Backend, BackendError, BoundParameters, BoundSource, Coefficients, ContextSample,
    EllipsoidParameters, Link, PlanRequest, Precision, Problem,
};
use cbwk_gpu::experiment;
use cbwk_gpu::oracle::{
    Coupled, GlmParameters, LabeledData, LogisticMixtureParameters, LogisticParameters, Oracle,
    OracleSpec,
};
use cbwk_gpu::task::ContextRows;
use common::{Shape, random_bounds, random_instance, relative_difference, rng, say, study};
use rand::RngExt;
use structured_problems::ActionBounds;

/// Bounds evaluated on the adapter give the plans that bounds evaluated on the CPU give, for every oracle with a kernel,
/// narrow and wide costs, merged and growing samples; and what goes up does not grow with the sample.
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
        let split = oracles[0].depends_on_step();
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
        // Rounds that lay everything out anew apart, the last plans upload no more than the first ones, but for the luck of
        // arrivals.
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

/// A request over a law's probabilities, which are no rows that could stay on the adapter, is planned all the same.
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
    assert!(common::worst_difference(&reference, &common::literal_dp(&problem)) < 1e-9);
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

/// Numbers that 32-bit floats do not hold: the plan is that of the CPU, or there is none.
#[test]
fn magnitudes_beyond_32_bit_floats_are_never_wrong() {
    let Some(mut gpu) = common::gpu(false) else {
        return;
    };
    let instance = study("paper-pricing", |_| {}).world;
    let r_max = instance.task().reward_max();
    for (feature, coefficient) in [(1e60, 1e-60), (1e30, 1e-30), (1e9, 1.0), (1e-60, 1e60)] {
        let mut rows = ContextRows::new(instance.task().horizon(), 2);
        for i in 0..10 * instance.task().horizon() {
            let x = i as f64 / 300.0;
            rows.push(Some(&[x * feature, (1.0 - x) * feature]));
        }
        let sample = ContextSample::of_rows(instance.task(), &rows, false);
        let source = Plane {
            action_values: vec![1.0, 2.0, 3.0, 4.0],
            mu: vec![coefficient, -0.5 * coefficient, -0.4],
            factor: vec![0.1 * coefficient, 0.0, 0.1 * coefficient, 0.0, 0.0, 0.1],
        };
        let request = PlanRequest {
            sample: &sample,
            source: &source,
            budget_max: 5,
            reward_max: r_max,
        };
        let reference = Dense.plan(&[request]).unwrap().tables.remove(0);
        let table = gpu.plan(&[request]).unwrap().tables.remove(0);
        let off = relative_difference(&table, &reference, r_max);
        assert!(off < 2e-6, "features of {feature:e}: {off:e} off");
    }
    // Gains far beyond r_max, r_max far beyond 32 bits or below them.
    for (scale, gain) in [(1.0, 1e60), (1e60, 1.0), (1e-60, 1.0), (1e-60, 1e9)] {
        let mut parts = large(50, 4, 3, 2, 8);
        parts.coefficients.gain.iter_mut().for_each(|g| *g *= scale);
        parts.r_max *= scale;
        parts.coefficients.gain[3] = gain * parts.r_max;
        let reference = Dense.solve(&[parts.problem()]).unwrap().remove(0);
        let mut backends: [Box<dyn Backend>; 2] = [
            Box::new(Cpu::new(Some(Strategy::Dense), Precision::F32)),
            Box::new(common::gpu(false).unwrap()),
        ];
        for backend in &mut backends {
            match backend.solve(&[parts.problem()]) {
                Ok(tables) => {
                    let off = relative_difference(&tables[0], &reference, parts.r_max);
                    let name = backend.name();
                    assert!(
                        off < 2e-6,
                        "{name}, r_max {scale:e}, gain {gain:e}: {off:e}"
                    );
                }
                Err(error) => {
                    assert!(gain > 1e9, "{error}");
                    assert!(error.to_string().contains("32-bit"), "{error}");
                }
            }
        }
    }
}

/// The linear link with an ellipsoid, as an adapter evaluates it.
#[derive(Debug)]
struct Plane {
    action_values: Vec<f64>,
    mu: Vec<f64>,
    factor: Vec<f64>,
}

impl BoundSource for Plane {
    fn fill(&self, sample: &ContextSample, coefficients: &mut Coefficients) {
        coefficients.resize_for(sample);
        let actions = sample.actions();
        for pair in 0..sample.len() * actions {
            let mut phi = sample.context(pair / actions).features.to_vec();
            phi.push(self.action_values[pair % actions]);
            let estimate: f64 = phi.iter().zip(&self.mu).map(|(x, m)| x * m).sum();
            let mut square = 0.0;
            for i in 0..phi.len() {
                let row = &self.factor[i * (i + 1) / 2..][..=i];
                let along: f64 = row.iter().zip(&phi).map(|(f, x)| f * x).sum();
                square += along * along;
            }
            let radius = square.sqrt();
            let bound = |x: f64| x.clamp(0.0, 1.0);
            let (ucb, lcb) = (bound(estimate + radius), bound(estimate - radius));
            let reward = sample.rewards()[pair];
            (coefficients.gain[pair], coefficients.lcb[pair]) = Coefficients::of(ucb, lcb, reward);
        }
    }

    fn parameters(&self) -> Option<BoundParameters> {
        Some(BoundParameters::Ellipsoid(EllipsoidParameters {
            link: Link::Linear,
            action_values: self.action_values.clone(),
            mu: self.mu.clone(),
            factor: self.factor.clone(),
            scale: 1.0,
            limits: None,
            coupled: false,
        }))
    }
}

fn narrow_radius() -> LogisticParameters {
    LogisticParameters {
        gamma: Some(0.5),
        kappa: Some(8.0),
        ..LogisticParameters::default()
    }
}

/// A problem of many contexts.
fn large(contexts: usize, horizon: usize, actions: usize, cost_max: u32, budget: u32) -> Parts {
    let mut rng = rng(51);
    let shape = Shape {
        horizon,
        types: contexts,
        actions,
        cost_max,
        budget,
    };
    let instance = random_instance(&mut rng, shape);
    let sample = instance.law_sample(false).unwrap();
    let coefficients = random_bounds(&mut rng, &instance, &sample);
    Parts {
        budget_max: instance.task().budget_max(),
        r_max: instance.task().reward_max(),
        sample,
        coefficients,
    }
}

struct Parts {
    sample: ContextSample,
    coefficients: Coefficients,
    budget_max: u32,
    r_max: f64,
}

impl Parts {
    fn problem(&self) -> Problem<'_> {
        Problem {
            sample: &self.sample,
            coefficients: &self.coefficients,
            budget_max: self.budget_max,
            cap: Some(self.r_max),
        }
    }

    fn difference(&self, backend: &mut dyn Backend) -> f64 {
        let table = backend.solve(&[self.problem()]).unwrap().remove(0);
        let reference = Dense.solve(&[self.problem()]).unwrap().remove(0);
        relative_difference(&table, &reference, self.r_max)
    }
}

/// The stated precision at the stated size: 2e-6 at H = 200 and 100,000 contexts.
#[test]
fn precision_at_size() {
    let Some(mut gpu) = common::gpu(false) else {
        return;
    };
    let parts = large(100_000, 200, 2, 2, 15);
    let difference = parts.difference(&mut gpu);
    say(&format!(
        "gpu f32 at H = 200 and 100,000 contexts: error {difference:.1e}, allowed 2e-6"
    ));
    assert!(difference < 2e-6, "{difference:e}");
}

/// Pretended limits force groups of problems, windows of entries and pieces of contexts; the result stays the same.
#[test]
fn any_cut_gives_the_same_result() {
    let Some(gpu) = common::gpu(false) else {
        return;
    };
    let limits = gpu.adapter().limits;
    let parts = large(3000, 5, 7, 4, 40);
    let wide = large(3000, 5, 7, 9, 40);
    let mut gpu = gpu;
    for (binding_bytes, busy_workgroups) in [
        (64 << 10, 16),
        (32 << 10, 1),
        (1 << 20, 300),
        (limits.binding_bytes, 1),
    ] {
        gpu = gpu.with_limits(Limits {
            binding_bytes,
            busy_workgroups,
            ..limits
        });
        for parts in [&parts, &wide] {
            let difference = parts.difference(&mut gpu);
            assert!(
                difference < 2e-6,
                "{binding_bytes} {busy_workgroups}: {difference:e}"
            );
        }
        // A batch that does not fit one binding.
        let tables = gpu.solve(&[parts.problem(); 9]).unwrap();
        let reference = Dense.solve(&[parts.problem()]).unwrap().remove(0);
        for table in &tables {
            assert!(relative_difference(table, &reference, parts.r_max) < 2e-6);
        }
    }
    let Some(gpu) = common::gpu(true) else { return };
    let mut gpu = gpu.with_limits(Limits {
        binding_bytes: 64 << 10,
        ..limits
    });
    assert!(parts.difference(&mut gpu) < 1e-12);
}

/// One workgroup for very many contexts: more loop iterations than a software adapter grants a thread.
#[test]
fn long_loops_are_cut() {
    for f64 in [false, true] {
        let Some(gpu) = common::gpu(f64) else { return };
        let limits = gpu.adapter().limits;
        let mut gpu = gpu.with_limits(Limits {
            busy_workgroups: 1,
            ..limits
        });
        for cost_max in [1, 4, 9] {
            let parts = large(60_000, 1, 12, cost_max, 3);
            let difference = parts.difference(&mut gpu);
            assert!(
                difference < 2e-6,
                "costs up to {cost_max}, f64 {f64}: {difference:e}"
            );
        }
    }
}

#[test]
fn what_cannot_fit_says_so_before_anything_is_allocated() {
    let Some(gpu) = common::gpu(false) else {
        return;
    };
    let limits = gpu.adapter().limits;
    let mut gpu = gpu.with_limits(Limits {
        binding_bytes: 4096,
        ..limits
    });
    let before = gpu.held_bytes();
    let error = gpu.solve(&[large(5, 40, 2, 4, 100).problem()]).unwrap_err();
    let message = error.to_string();
    assert!(message.contains("the value table needs 16160"), "{message}");
    assert!(
        message.contains("reduce the budget or the horizon"),
        "{message}"
    );
    assert_eq!(gpu.held_bytes(), before);
    let error = gpu
        .solve(&[large(5, 2, 2, 1000, 1500).problem()])
        .unwrap_err();
    assert!(error.to_string().contains("the largest cost"), "{error}");
}

#[test]
fn a_destroyed_device_is_reported_as_lost() {
    let Some(mut gpu) = common::gpu(false) else {
        return;
    };
    let parts = large(10, 3, 2, 2, 5);
    gpu.solve(&[parts.problem()]).unwrap();
    gpu.destroy();
    let error = gpu.solve(&[parts.problem()]).unwrap_err();
    assert!(matches!(error, BackendError::Lost { .. }), "{error:?}");
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
fn opening_an_adapter_that_is_not_there_says_what_is() {
    let error = Gpu::open(Some("no such adapter"), false).unwrap_err();
    assert!(matches!(error, BackendError::Unavailable { .. }));
    assert!(error.to_string().contains("no such adapter"), "{error}");
}
