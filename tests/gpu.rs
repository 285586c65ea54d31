//! The GPU backend beyond conformance: shaders and structs, limits, precision at size, faults, memory, whole studies.

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::mem::offset_of;
use std::path::Path;
use std::sync::{Arc, Mutex};

use cbwk_gpu::dp::cpu::Dense;
use cbwk_gpu::dp::gpu::Gpu;
use cbwk_gpu::dp::gpu::bounds::Source;
use cbwk_gpu::dp::gpu::kernel::{Kernel, Shader};
use cbwk_gpu::dp::gpu::layout::{Header32, Header64, Member32, Member64, Step};
use cbwk_gpu::dp::gpu::limits::Limits;
use cbwk_gpu::dp::{
    Auto, Backend, BackendError, Coefficients, ContextSample, CostLine, PlanRequest, Problem,
    ValueTable,
};
use cbwk_gpu::oracle::{LabeledData, LogisticParameters, OracleSpec};
use cbwk_gpu::sim::{self, FinishedWave, Observer, RunError};
use common::{Shape, random_bounds, random_instance, relative_difference, rng, say, study};
use naga::valid::{Capabilities, ValidationFlags, Validator};
use rand::RngExt;

/// Every kernel that can be chosen, with all the constants that are.
fn kernels() -> Vec<Kernel> {
    let mut kernels = Vec::new();
    for threads in [8, 64] {
        for tile_vectors in [2, 8] {
            for costs in [1, 4] {
                kernels.push(Kernel::Narrow {
                    tile_vectors,
                    costs,
                    threads,
                });
            }
            kernels.push(Kernel::Wide {
                tile_vectors,
                threads,
            });
        }
        kernels.push(Kernel::F64 { threads });
    }
    kernels
}

fn shaders() -> Vec<Shader> {
    let others = [(1, 1), (4, 2), (64, 16)]
        .into_iter()
        .flat_map(|(actions, dimension)| {
            let bounds = Shader::bounds(actions, dimension, 32).expect("within its limits");
            [Shader::Append { threads: 64 }, bounds]
        });
    kernels()
        .into_iter()
        .map(Shader::Bellman)
        .chain(others)
        .collect()
}

fn validated(name: &str, source: &str) -> naga::Module {
    let module = naga::front::wgsl::parse_str(source)
        .unwrap_or_else(|error| panic!("{name}: {}", error.emit_to_string(source)));
    let capabilities = Capabilities::FLOAT64;
    Validator::new(ValidationFlags::all(), capabilities)
        .validate(&module)
        .unwrap_or_else(|error| panic!("{name}: {error:?}"));
    module
}

#[test]
fn every_shader_is_valid_and_named_after_its_entry_point() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("shaders");
    let mut files = BTreeSet::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_str().unwrap().to_string();
        let module = validated(&stem, &fs::read_to_string(&path).unwrap());
        let names: Vec<&str> = module
            .entry_points
            .iter()
            .map(|e| e.name.as_str())
            .collect();
        assert_eq!(names, [stem.as_str()]);
        files.insert(stem);
    }
    let used: BTreeSet<String> = shaders()
        .iter()
        .map(|s| s.entry_point().to_string())
        .collect();
    assert!(!files.is_empty());
    assert_eq!(files, used, "shaders in the folder and shaders in use");
    for shader in shaders() {
        let module = validated(shader.entry_point(), &shader.source());
        assert_eq!(
            module.entry_points[0].workgroup_size,
            [shader.threads(), 1, 1]
        );
    }
}

/// (name, offset) of a struct's fields and its size, as naga lays it out.
fn reflected(module: &naga::Module, name: &str) -> (Vec<(String, u32)>, u32) {
    let found = module
        .types
        .iter()
        .find(|(_, ty)| ty.name.as_deref() == Some(name));
    match found.map(|(_, ty)| &ty.inner) {
        Some(naga::TypeInner::Struct { members, span }) => {
            let field = |m: &naga::StructMember| (m.name.clone().unwrap(), m.offset);
            (members.iter().map(field).collect(), *span)
        }
        other => panic!("no struct {name}: {other:?}"),
    }
}

macro_rules! assert_same_layout {
    ($module:expr, $name:literal, $ty:ty, [$($field:ident),*]) => {
        let (fields, size) = reflected(&$module, $name);
        let mine = vec![$((stringify!($field).to_string(), offset_of!($ty, $field) as u32)),*];
        assert_eq!(fields, mine, "{} and {}", $name, stringify!($ty));
        assert_eq!(size as usize, size_of::<$ty>(), "size of {}", $name);
    };
}

#[test]
fn structs_have_the_same_layout_on_both_sides() {
    for kernel in kernels() {
        let module = validated(kernel.entry_point(), &kernel.source());
        assert_same_layout!(
            module,
            "Step",
            Step,
            [remaining, pieces, first_piece, pieces_before, first_range]
        );
        if kernel.is_f64() {
            assert_same_layout!(
                module,
                "Problem",
                Header64,
                [
                    actions,
                    width,
                    horizon,
                    first_pair,
                    first_cost,
                    first_value,
                    first_sum,
                    sum_stride,
                    total,
                    cap,
                    half
                ]
            );
            assert_same_layout!(module, "Member", Member64, [weight, entry]);
        } else {
            assert_same_layout!(
                module,
                "Problem",
                Header32,
                [
                    actions,
                    width,
                    horizon,
                    first_pair,
                    first_cost,
                    first_value,
                    first_sum,
                    sum_stride,
                    unit,
                    value_of_unit,
                    cap,
                    half
                ]
            );
            assert_same_layout!(module, "Member", Member32, [entry, weight]);
        }
    }
}

#[test]
fn the_source_of_bounds_has_the_same_layout_on_both_sides() {
    let shader = Shader::bounds(4, 2, 4).unwrap();
    let module = validated("bounds", &shader.source());
    assert_same_layout!(
        module,
        "Source",
        Source,
        [
            kind,
            entries,
            first_record,
            first_offer,
            first_pair,
            first_parameter,
            by_step,
            scale
        ]
    );
}

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
    for (name, spec) in cases {
        let instance = study(name, |_| {}).instance;
        let mut oracles: Vec<_> = (0..3)
            .map(|_| spec.check("oracle").unwrap().build(&instance))
            .collect();
        let split = oracles[0].depends_on_step();
        let mut samples: Vec<_> = (0..3)
            .map(|_| ContextSample::new(&instance, split))
            .collect();
        let mut data = LabeledData::new(instance.contexts().dimension());
        let mut episode = instance.contexts().empty_episode();
        let (mut worst, mut ups): (f64, Vec<u64>) = (0.0, Vec::new());
        for round in 0..60 {
            for sample in &mut samples {
                instance.contexts().draw(&mut rng, &mut episode);
                sample.append(&instance, episode.iter());
            }
            for context in episode.iter() {
                let action = rng.random_range(1..=instance.actions());
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
                    budget_max: instance.budgets().max(),
                    reward_max: instance.reward_max(),
                })
                .collect();
            let before = gpu.traffic().bytes_up;
            let mine = gpu.plan(&requests).unwrap().tables;
            ups.push(gpu.traffic().bytes_up - before);
            let theirs = Dense.plan(&requests).unwrap().tables;
            for (mine, theirs) in mine.iter().zip(&theirs) {
                worst = worst.max(relative_difference(mine, theirs, instance.reward_max()));
            }
            assert!(worst < 2e-6, "{name}, round {round}: {worst:e}");
        }
        // Rounds that lay everything out anew apart, the last plans upload no more than the first ones.
        let typical = |part: &[u64]| *part.iter().min().unwrap();
        say(&format!(
            "{name}: bounds on the adapter, error {worst:.1e}; bytes up per plan {} early, {} late",
            typical(&ups[1..10]),
            typical(&ups[50..])
        ));
        assert!(
            typical(&ups[50..]) <= typical(&ups[1..10]),
            "{name}: {ups:?}"
        );
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
    let sample = ContextSample::of_law(&instance, false).unwrap();
    let coefficients = random_bounds(&mut rng, &instance, &sample);
    Parts {
        budget_max: instance.budgets().max(),
        r_max: instance.reward_max(),
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

/// A backend that fails after some solves.
struct Failing {
    solves: usize,
    error: BackendError,
}

impl Backend for Failing {
    fn name(&self) -> &'static str {
        "failing"
    }

    fn solve(&mut self, batch: &[Problem]) -> Result<Vec<ValueTable>, BackendError> {
        if self.solves == 0 {
            return Err(self.error.clone());
        }
        self.solves -= 1;
        Dense.solve(batch)
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
    let expected = sim::run(&study, &mut Dense, &mut ()).unwrap();
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
        let outcome = sim::run(&study, &mut auto, &mut ()).unwrap();
        for (mine, theirs) in outcome.policies.iter().zip(&expected.policies) {
            assert_eq!(mine.episodes, theirs.episodes);
        }
        let warnings = warnings.lock().unwrap();
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(warnings[0].ends_with("continuing on the CPU"));
    }
}

/// Counts finished waves.
#[derive(Default)]
struct Waves(Vec<(String, usize)>);

impl Observer for Waves {
    fn wave(&mut self, wave: &FinishedWave) -> Result<(), cbwk_gpu::error::OutputError> {
        self.0.push((wave.policy.to_string(), wave.episodes.len()));
        Ok(())
    }
}

/// Without `auto` a fault ends the study, but finished waves have been handed over.
#[test]
fn a_fault_elsewhere_ends_the_study_after_its_finished_waves() {
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
        let mut waves = Waves::default();
        let ended = sim::run(&study, &mut failing, &mut waves).unwrap_err();
        assert!(matches!(ended, RunError::Backend(found) if found == error));
        assert_eq!(waves.0, [("random".to_string(), 4)]);
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

/// Whole studies: the same decision in at least 99.9% of steps and mean regrets within 1%.
#[test]
fn studies_on_the_gpu_decide_as_on_the_cpu() {
    let Some(mut gpu) = common::gpu(false) else {
        return;
    };
    for name in ["paper-auction", "paper-pricing"] {
        let study = study(name, |document| {
            document.choose_policies(&["mimic-opt-dp".into()], "test");
        });
        let on_cpu = sim::run(&study, &mut Dense, &mut ()).unwrap();
        let on_gpu = sim::run(&study, &mut gpu as &mut dyn Backend, &mut ()).unwrap();
        let outcomes = |o: &sim::Outcome| -> Vec<(f64, u32)> {
            o.policies[0]
                .episodes
                .iter()
                .flatten()
                .map(|e| (e.reward, e.spent))
                .collect()
        };
        // An episode in which any decision differs in effect earns or spends something else: counting whole episodes as
        // different is stricter than counting steps.
        let (cpu, gpu) = (outcomes(&on_cpu), outcomes(&on_gpu));
        let differing = cpu.iter().zip(&gpu).filter(|(x, y)| x != y).count();
        let share = differing as f64 / cpu.len() as f64;
        say(&format!(
            "{name}: {differing} of {} episodes differ between gpu and cpu",
            cpu.len()
        ));
        assert!(share <= 0.001 * 24.0);
        let last = |o: &sim::Outcome| o.regrets()[0].cumulative.last().unwrap().mean;
        let (x, y) = (last(&on_cpu), last(&on_gpu));
        assert!((x - y).abs() <= 0.01 * x.abs(), "{name}: {x} and {y}");
    }
}

#[test]
fn opening_an_adapter_that_is_not_there_says_what_is() {
    let error = Gpu::open(Some("no such adapter"), false).unwrap_err();
    assert!(matches!(error, BackendError::Unavailable { .. }));
    assert!(error.to_string().contains("no such adapter"), "{error}");
}
