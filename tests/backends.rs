//! One conformance suite, run over every backend and both of its entry points; the known optima; and what no backend may
//! pass off as a result.

mod common;
#[path = "common/conformance.rs"]
mod conformance;
#[path = "common/lemma_1.rs"]
mod lemma_1;
#[path = "common/owned_problem.rs"]
mod owned_problem;
#[path = "common/single_contexts.rs"]
mod single_contexts;
#[path = "common/structured_problems.rs"]
mod structured_problems;

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use cbwk_gpu::dp::cpu::{Cpu, Dense, Strategy};
use cbwk_gpu::dp::{
    Auto, Backend, BackendError, BoundParameters, BoundSource, Coefficients, ContextSample,
    CostLine, PlanRequest, Precision, Problem, RawTable,
};
use cbwk_gpu::oracle::Known;
use common::{Shape, rng, study};
use conformance::Conformance;
use owned_problem::{Owned, Structure};

/// Runs the suite and, where they are of the right structure, the known optima.
fn conforms(name: &str, backend: &mut dyn Backend, structure: Structure, tolerance: f64) {
    known_optima(backend, structure, tolerance);
    Conformance::new(name, backend, structure, tolerance).check();
}

fn forced(strategy: Strategy) -> Cpu {
    Cpu::new(Some(strategy), Precision::F64)
}

#[test]
fn dense_cpu() {
    conforms("dense cpu f64", &mut Dense, Structure::Any, 1e-13);
}

/// Every candidate, in the loops that studies use.
#[test]
fn dense_cpu_several_contexts_at_a_time() {
    for structure in [Structure::Any, Structure::UnitCost] {
        let mut cpu = forced(Strategy::Dense);
        conforms("dense cpu f64, fast loops", &mut cpu, structure, 1e-12);
    }
}

#[test]
fn dense_cpu_with_32_bit_terms() {
    let mut cpu = Cpu::new(Some(Strategy::Dense), Precision::F32);
    conforms("dense cpu f32", &mut cpu, Structure::Any, 1e-6);
}

#[test]
fn cpu_by_the_fastest_strategy() {
    let name = "cpu f64, any strategy";
    for structure in Structure::ALL {
        conforms(name, &mut Cpu::default(), structure, 1e-12);
    }
}

/// The loops over packed contexts against the reference loop: with vectors over budgets the same bits, with vectors over
/// contexts the same to 1e-13; and the same bits for any number of threads.
#[test]
fn both_loops_over_single_contexts_agree_with_the_reference() {
    let mut rng = rng(49);
    let (mut tables, mut worst): (usize, f64) = (0, 0.0);
    for rows in single_contexts::ROWS {
        for budget in [6, 60] {
            let owned = single_contexts::owned(&mut rng, Structure::Any, rows, budget);
            let request = [owned.request()];
            let solve = |threads| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
                let mut cpu = forced(Strategy::Dense);
                pool.build()
                    .unwrap()
                    .install(|| cpu.plan_raw(&request).unwrap().tables.remove(0))
            };
            let one = solve(1);
            assert!(one == solve(3), "other bits with more threads");
            let reference = Dense.plan_raw(&request).unwrap().tables.remove(0);
            let r_max = owned.instance.task().reward_max();
            let off = conformance::difference(
                &conformance::rows(&one),
                &conformance::rows(&reference),
                r_max,
            );
            assert!(off <= 1e-13, "{rows} rows, budget {budget}: {off:e}");
            tables += 1;
            worst = worst.max(off);
        }
    }
    common::say(&format!(
        "loops over single contexts: {tables} tables, worst difference {worst:.1e}, allowed 1e-13"
    ));
}

#[test]
fn auction_envelope() {
    let mut cpu = forced(Strategy::AuctionEnvelope);
    conforms("auction-envelope", &mut cpu, Structure::Auction, 1e-12);
}

#[test]
fn shared_envelope() {
    let mut cpu = forced(Strategy::SharedEnvelope);
    conforms(
        "shared-envelope",
        &mut cpu,
        Structure::SharedUnitCost,
        1e-12,
    );
}

#[test]
fn gpu_f32() {
    if let Some(mut gpu) = common::gpu(false) {
        conforms("gpu f32", &mut gpu, Structure::Any, 2e-6);
    }
}

#[test]
fn gpu_f64() {
    if let Some(mut gpu) = common::gpu(true) {
        conforms("gpu f64", &mut gpu, Structure::Any, 1e-12);
    }
}

const SLOW: CostLine = CostLine {
    overhead: 1.0,
    rate: 1e6,
};
const FAST: CostLine = CostLine {
    overhead: 0.0,
    rate: 1e12,
};

/// `Auto` on either side of its choice. It must not warn.
#[test]
fn auto() {
    let unwanted = |text: &str| panic!("{text}");
    let cpu = || Box::new(Cpu::default());
    let mut auto = Auto::new((cpu(), FAST), (Box::new(Dense), SLOW), unwanted);
    conforms("auto, the cpu chosen", &mut auto, Structure::Any, 1e-12);
    assert_eq!(auto.report().backend, "cpu");
    if let Some(gpu) = common::gpu(false) {
        let mut auto = Auto::new((cpu(), SLOW), (Box::new(gpu), FAST), unwanted);
        conforms("auto, the gpu chosen", &mut auto, Structure::Any, 2e-6);
        assert_eq!(auto.report().backend, "gpu");
    }
    // Plans of auctions may go to the CPU's shortcut all the same, and some of these cost more than the adapter takes.
    if let Some(gpu) = common::gpu(false) {
        let mut auto = Auto::new((cpu(), SLOW), (Box::new(gpu), FAST), |_| {});
        conforms("auto, auctions", &mut auto, Structure::Auction, 2e-6);
        assert_eq!(auto.report().backend, "gpu");
    }
}

fn known_optima(backend: &mut dyn Backend, structure: Structure, tolerance: f64) {
    let auction = [0.0, 3.096432, 5.438661, 7.151783, 8.350458, 9.214368];
    let pricing = [0.0, 3.929430, 7.559875, 10.589666, 12.863936, 14.481368];
    for (name, known) in [("paper-auction", auction), ("paper-pricing", pricing)] {
        let is_auction = name == "paper-auction";
        if structure != Structure::Any && is_auction != (structure == Structure::Auction) {
            continue;
        }
        let instance = study(name, |_| {}).world;
        let law = instance.law_sample(false).unwrap();
        let mut coefficients = Coefficients::default();
        Known::fitted(instance).fill(&law, &mut coefficients);
        let problem = Problem {
            sample: &law,
            coefficients: &coefficients,
            budget_max: 5,
            cap: None,
        };
        let table = backend.solve(&[problem]).unwrap().remove(0);
        for (b, known) in known.iter().enumerate() {
            let allowed = 1e-6 + tolerance * 4.0 * b as f64;
            let off = (table.start(b as u32) - known).abs();
            assert!(off <= allowed, "{name} {b}: {off:e}");
        }
    }
}

const SHAPE: Shape = Shape {
    horizon: 7,
    types: 30,
    actions: 3,
    cost_max: 2,
    budget: 12,
};

/// A backend that spoils one value of every second batch.
struct Spoiling {
    batches: Arc<AtomicUsize>,
    value: f64,
}

impl Backend for Spoiling {
    fn name(&self) -> &'static str {
        "spoiling"
    }

    fn solve_raw(&mut self, batch: &[Problem]) -> Result<Vec<RawTable>, BackendError> {
        let mut tables = Dense.solve_raw(batch)?;
        let batches = self.batches.fetch_add(1, Ordering::Relaxed);
        if batches.is_multiple_of(2) {
            tables[0].row_mut(0)[7] = self.value;
        }
        Ok(tables)
    }
}

/// Tables that cannot be right are an error, on either entry point; under `Auto` such a batch is solved on the CPU, with
/// one warning in all, and the next batch goes to the GPU again.
#[test]
fn tables_that_cannot_be_right_are_refused() {
    let mut rng = rng(46);
    let mut owned = Owned::of_shape(&mut rng, SHAPE);
    owned.capped = true;
    let reference = Dense.solve(&[owned.problem()]).unwrap();
    assert!(reference[0].row(0)[6] > 0.0);
    for value in [f64::NAN, f64::INFINITY, -1e-3, 0.0] {
        let batches = Arc::new(AtomicUsize::new(0));
        let spoiling = || Spoiling {
            batches: Arc::clone(&batches),
            value,
        };
        let refused = spoiling().solve(&[owned.problem()]).unwrap_err();
        assert!(matches!(refused, BackendError::Table { .. }), "{refused}");
        batches.store(0, Ordering::Relaxed);
        let refused = spoiling().plan(&[owned.request()]).unwrap_err();
        assert!(matches!(refused, BackendError::Table { .. }), "{refused}");
        batches.store(0, Ordering::Relaxed);
        let warnings = Arc::new(AtomicUsize::new(0));
        let heard = Arc::clone(&warnings);
        let warn = move |_: &str| {
            heard.fetch_add(1, Ordering::Relaxed);
        };
        let gpu: Box<dyn Backend> = Box::new(spoiling());
        let mut auto = Auto::new((Box::new(Dense), SLOW), (gpu, FAST), warn);
        for _ in 0..3 {
            assert!(auto.solve(&[owned.problem()]).unwrap() == reference);
            assert!(auto.plan(&[owned.request()]).unwrap().tables == reference);
        }
        assert_eq!(batches.load(Ordering::Relaxed), 6);
        assert_eq!(warnings.load(Ordering::Relaxed), 1);
    }
}

/// Given bounds.
#[derive(Debug)]
struct Given(Coefficients, Option<BoundParameters>);

impl BoundSource for Given {
    fn fill_entries(
        &self,
        sample: &ContextSample,
        entries: Range<usize>,
        gain: &mut [f64],
        lcb: &mut [f64],
    ) {
        let pairs = entries.start * sample.actions()..entries.end * sample.actions();
        gain.copy_from_slice(&self.0.gain[pairs.clone()]);
        lcb.copy_from_slice(&self.0.lcb[pairs]);
    }

    fn parameters(&self) -> Option<BoundParameters> {
        self.1.clone()
    }
}

/// What an oracle says is checked where it comes in: a bound that is no finite number is an error on every backend, not an
/// action never taken.
#[test]
fn bounds_that_are_not_finite_are_refused() {
    let mut rng = rng(47);
    let auction = Owned::of_structure(&mut rng, Structure::Auction);
    let unit_cost = Owned::of_structure(&mut rng, Structure::SharedUnitCost);
    let other = Owned::of_shape(&mut rng, SHAPE);
    let f32 = Cpu::new(Some(Strategy::Dense), Precision::F32);
    let mut backends: Vec<(Box<dyn Backend>, &Owned)> = vec![
        (Box::new(Dense), &other),
        (Box::new(Cpu::default()), &other),
        (Box::new(f32), &other),
        (Box::new(forced(Strategy::AuctionEnvelope)), &auction),
        (Box::new(forced(Strategy::SharedEnvelope)), &unit_cost),
    ];
    for f64 in [false, true] {
        if let Some(gpu) = common::gpu(f64) {
            backends.push((Box::new(gpu), &other));
        }
    }
    for (backend, owned) in &mut backends {
        let actions = owned.instance.task().actions();
        let pair = actions + 1 % actions;
        for (gain, lcb) in [
            (f64::NAN, 0.5),
            (f64::INFINITY, 0.5),
            (f64::INFINITY, 0.0),
            (1.0, f64::NAN),
        ] {
            let mut coefficients = owned.coefficients.clone();
            (coefficients.gain[pair], coefficients.lcb[pair]) = (gain, lcb);
            // As a table, and as parameters, which must be no way around the check.
            let bounds = vec![[gain, lcb]; actions * owned.instance.task().horizon()];
            let by_step = owned.sample.is_split_by_step();
            let armed = BoundParameters::Armed {
                bounds,
                estimates: Vec::new(),
                by_step,
            };
            for parameters in [None, Some(armed)] {
                let source = Given(coefficients.clone(), parameters);
                let request = PlanRequest {
                    source: &source,
                    ..owned.request()
                };
                match backend.plan(&[request]).unwrap_err() {
                    BackendError::NotFinite { entry, action, .. } => {
                        assert_eq!((entry, action), (1, pair - actions + 1));
                    }
                    other => panic!("{other}"),
                }
            }
        }
        // The same request with its own bounds is fine.
        backend.plan(&[owned.request()]).unwrap();
    }
}

/// Writes down the size of every problem it solves.
struct Logging(Arc<Mutex<Vec<u64>>>);

impl Backend for Logging {
    fn name(&self) -> &'static str {
        "logging"
    }

    fn solve_raw(&mut self, batch: &[Problem]) -> Result<Vec<RawTable>, BackendError> {
        let mut log = self.0.lock().unwrap();
        log.extend(batch.iter().map(Problem::candidates));
        Dense.solve_raw(batch)
    }
}

/// Timing solves the same two problems on both backends, each once to compile and three times for the clock.
#[test]
fn timing_is_the_same_work_on_both_backends() {
    let logs: [Arc<Mutex<Vec<u64>>>; 2] = Default::default();
    let logging = |i: usize| Box::new(Logging(Arc::clone(&logs[i])));
    Auto::measured(logging(0), logging(1), |text| panic!("{text}")).unwrap();
    let (cpu, gpu) = (logs[0].lock().unwrap(), logs[1].lock().unwrap());
    assert_eq!(*cpu, *gpu);
    assert_eq!(cpu.len(), 8);
    assert!(cpu[..4].iter().all(|size| *size == cpu[0]));
    assert!(cpu[4..].iter().all(|size| *size == 32 * cpu[0]));
}

/// Errors of this layer name no option and no file: those belong to the caller.
#[test]
fn errors_name_no_options() {
    let mut errors: Vec<BackendError> = Strategy::ALL.map(Strategy::refused).to_vec();
    errors.extend(
        Cpu::new(Some(Strategy::SharedEnvelope), Precision::F64)
            .solve(&[])
            .err(),
    );
    if let Some(mut gpu) = common::gpu(false) {
        let mut rng = rng(48);
        let shape = Shape {
            cost_max: 1000,
            budget: 1500,
            types: 60,
            ..SHAPE
        };
        let owned = Owned::of_shape(&mut rng, shape);
        errors.extend(gpu.solve(&[owned.problem()]).err());
    }
    errors.extend(cbwk_gpu::dp::gpu::Gpu::open(Some("no such adapter"), false).err());
    assert!(errors.len() >= 4);
    for error in errors {
        let text = error.to_string();
        assert!(!text.contains("--") && !text.contains(".json"), "{text}");
    }
}
