//! One conformance suite, run over every backend by one line each: random problems over all extremes of shape, the known
//! optima, Lemma 1, and a control that proves that the comparison can fail.

mod common;
#[path = "common/lemma_1.rs"]
mod lemma_1;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cbwk_gpu::dp::cpu::{Cpu, Dense, Strategy};
use cbwk_gpu::dp::{
    Auto, Backend, BackendError, BoundSource, Coefficients, ContextSample, CostLine, Precision,
    Problem, RawTable, ValueTable,
};
use cbwk_gpu::oracle::Known;
use cbwk_gpu::world::World;
use common::{
    Shape, literal_dp, random_bounds, random_instance, relative_difference, rng, say, study,
};
use lemma_1::{assert_lemma_1_can_fail, largest_fall, lemma_1};
use rand::RngExt;
use rand::rngs::ChaCha8Rng;

#[test]
fn dense_cpu() {
    conforms("dense cpu f64", &mut Dense, 1e-13);
}

#[test]
fn cpu_by_the_fastest_strategy() {
    conforms("cpu f64, strategy auto", &mut Cpu::default(), 1e-12);
}

#[test]
fn cpu_f32() {
    let mut cpu = Cpu::new(Some(Strategy::Dense), Precision::F32);
    conforms("dense cpu f32", &mut cpu, 1e-6);
}

#[test]
fn gpu_f32() {
    if let Some(mut gpu) = common::gpu(false) {
        conforms("gpu f32", &mut gpu, 2e-6);
    }
}

#[test]
fn gpu_f64() {
    if let Some(mut gpu) = common::gpu(true) {
        conforms("gpu f64", &mut gpu, 1e-12);
    }
}

/// A problem that owns its parts.
struct Owned {
    instance: Arc<World>,
    sample: ContextSample,
    coefficients: Coefficients,
    budget_max: u32,
    capped: bool,
}

impl Owned {
    fn random(rng: &mut ChaCha8Rng, shape: Shape) -> Self {
        let instance = random_instance(rng, shape);
        let sample = instance.law_sample(false).unwrap();
        let coefficients = random_bounds(rng, &instance, &sample);
        Self {
            sample,
            coefficients,
            budget_max: instance.task().budget_max(),
            capped: rng.random(),
            instance,
        }
    }

    fn problem(&self) -> Problem<'_> {
        Problem {
            sample: &self.sample,
            coefficients: &self.coefficients,
            budget_max: self.budget_max,
            cap: self.capped.then(|| self.instance.task().reward_max()),
        }
    }
}

/// Counts problems and keeps the worst error.
struct Score {
    problems: usize,
    worst: f64,
    fall: f64,
    tolerance: f64,
}

impl Score {
    fn check(&mut self, owned: &Owned, raw: &RawTable, what: &str) {
        let problem = owned.problem();
        let reference = Dense.solve(&[problem]).unwrap().remove(0);
        let r_max = owned.instance.task().reward_max();
        let table = checked(raw);
        let difference = relative_difference(&table, &reference, r_max);
        assert!(difference <= self.tolerance, "{what}: {difference:e} off");
        self.problems += 1;
        self.worst = self.worst.max(difference);
        let cost_max = owned.instance.task().application().cost_max();
        self.fall = self.fall.max(largest_fall(raw, r_max));
        if let Err(violation) = lemma_1(raw, r_max, cost_max, owned.capped) {
            panic!("{what}: {violation}");
        }
    }
}

fn checked(raw: &RawTable) -> ValueTable {
    ValueTable::checked(raw.clone()).unwrap()
}

fn conforms(name: &str, backend: &mut dyn Backend, tolerance: f64) {
    let mut score = Score {
        problems: 0,
        worst: 0.0,
        fall: 0.0,
        tolerance,
    };
    single_problems(backend, &mut score);
    ragged_batches(backend, &mut score);
    zeros_and_ties(backend, &mut score);
    known_optima(backend, tolerance);
    the_comparison_can_fail(backend, tolerance);
    lemma_1_can_fail(backend);
    say(&format!(
        "conformance of {name}: {} problems, worst error {:.1e} of r_max * min(b, H), allowed {tolerance:.0e}; largest fall before smoothing {:.1e}",
        score.problems, score.worst, score.fall
    ));
}

/// Sizes around every tile, workgroup and chunk boundary, and the extremes of each dimension.
fn single_problems(backend: &mut dyn Backend, score: &mut Score) {
    let mut rng = rng(41);
    let mut shapes = Vec::new();
    for types in [1, 2, 7, 8, 9, 63, 64, 65, 127, 128, 129, 255, 256, 257, 600] {
        shapes.push((3, types, 3, 3, 9));
    }
    for budget in [
        0, 1, 6, 7, 8, 9, 14, 15, 16, 17, 30, 31, 32, 33, 63, 64, 65, 127, 128, 200,
    ] {
        shapes.push((60, 5, 2, 4, budget));
        shapes.push((70, 5, 2, 1, budget));
    }
    for actions in [1, 2, 3, 4, 5, 8, 13, 16, 31] {
        shapes.push((4, 11, actions, 4, 12));
        shapes.push((4, 11, actions, 1, 5));
    }
    for cost_max in [1, 2, 3, 4, 5, 6, 31, 32, 33, 100, 254, 255] {
        shapes.push((6, 9, 4, cost_max, 3 * cost_max + 1));
        // Costs larger than the budget.
        shapes.push((3, 9, 4, cost_max, cost_max / 2));
    }
    for horizon in [1, 2, 3, 100] {
        shapes.push((horizon, 6, 3, 2, 20));
    }
    shapes.push((2, 40, 4, 255, 510));
    shapes.push((40, 3, 2, 255, 10_000));
    for (horizon, types, actions, cost_max, budget) in shapes {
        let shape = Shape {
            horizon,
            types,
            actions,
            cost_max,
            budget,
        };
        let owned = Owned::random(&mut rng, shape);
        let raw = backend.solve_raw(&[owned.problem()]).unwrap().remove(0);
        score.check(&owned, &raw, &format!("{shape:?}"));
        let table = checked(&raw);
        // The reference itself is checked against the algorithm word for word.
        if horizon * types * actions * budget as usize <= 200_000 {
            let literal = literal_dp(&owned.problem());
            let r_max = owned.instance.task().reward_max().max(1e-300);
            let difference = common::worst_difference(&table, &literal) / r_max;
            assert!(
                difference <= score.tolerance * horizon as f64,
                "{shape:?}: {difference:e}"
            );
        }
    }
}

/// Batches of problems of different shapes and sample sizes, empty samples among them.
fn ragged_batches(backend: &mut dyn Backend, score: &mut Score) {
    let mut rng = rng(42);
    for round in 0..6 {
        let cost_max = [1, 4, 40][round % 3];
        let mut batch: Vec<Owned> = (0..17)
            .map(|_| {
                let shape = Shape {
                    horizon: rng.random_range(1..=12),
                    types: rng.random_range(1..=90),
                    actions: rng.random_range(1..=6),
                    cost_max: rng.random_range(1..=cost_max),
                    budget: rng.random_range(0..=45),
                };
                Owned::random(&mut rng, shape)
            })
            .collect();
        // A sample of rows in which nobody arrived.
        let mut rows = cbwk_gpu::task::ContextRows::new(batch[3].instance.task().horizon(), 1);
        for _ in 0..2 * batch[3].instance.task().horizon() {
            rows.push(None);
        }
        batch[3].sample = ContextSample::of_rows(batch[3].instance.task(), &rows, false);
        batch[3].coefficients = Coefficients::default();
        let problems: Vec<Problem> = batch.iter().map(Owned::problem).collect();
        let tables = backend.solve_raw(&problems).unwrap();
        assert_eq!(tables.len(), batch.len());
        for (owned, table) in batch.iter().zip(&tables) {
            score.check(owned, table, &format!("ragged batch {round}"));
        }
        assert!(tables[3].row(0).iter().all(|u| *u == 0.0));
    }
    assert!(backend.solve(&[]).unwrap().is_empty());
}

/// Bounds of zero (free or worthless actions) and equal actions.
fn zeros_and_ties(backend: &mut dyn Backend, score: &mut Score) {
    let mut rng = rng(43);
    let shape = Shape {
        horizon: 8,
        types: 20,
        actions: 4,
        cost_max: 3,
        budget: 13,
    };
    for case in 0..4 {
        let mut owned = Owned::random(&mut rng, shape);
        let Coefficients { gain, lcb } = &mut owned.coefficients;
        match case {
            0 => gain.fill(0.0),
            1 => lcb.fill(0.0),
            2 => {
                gain.fill(0.0);
                lcb.fill(0.0);
            }
            _ => {
                gain.fill(1.0);
                lcb.fill(0.5);
            }
        }
        let raw = backend.solve_raw(&[owned.problem()]).unwrap().remove(0);
        score.check(&owned, &raw, &format!("zeros and ties {case}"));
    }
}

fn known_optima(backend: &mut dyn Backend, tolerance: f64) {
    for (name, r_max, known) in [
        (
            "paper-auction",
            4.0,
            [0.0, 3.096432, 5.438661, 7.151783, 8.350458, 9.214368],
        ),
        (
            "paper-pricing",
            4.0,
            [0.0, 3.929430, 7.559875, 10.589666, 12.863936, 14.481368],
        ),
    ] {
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
            let allowed = 1e-6 + tolerance * r_max * b as f64;
            assert!(
                (table.start(b as u32) - known).abs() <= allowed,
                "{name} {b}"
            );
        }
    }
}

/// One coefficient of one context, moved by little more than the tolerance, makes the comparison fail.
fn the_comparison_can_fail(backend: &mut dyn Backend, tolerance: f64) {
    let mut rng = rng(44);
    let shape = Shape {
        horizon: 1,
        types: 1,
        actions: 1,
        cost_max: 1,
        budget: 1,
    };
    let mut owned = Owned::random(&mut rng, shape);
    owned.capped = false;
    owned.coefficients.gain[0] = 0.5 * owned.instance.task().reward_max();
    let reference = Dense.solve(&[owned.problem()]).unwrap().remove(0);
    let arrival = 1.0 - owned.instance.contexts().no_arrival(0);
    owned.coefficients.gain[0] += 3.0 * tolerance * owned.instance.task().reward_max() / arrival;
    let table = backend.solve(&[owned.problem()]).unwrap().remove(0);
    let difference = relative_difference(&table, &reference, owned.instance.task().reward_max());
    assert!(difference > tolerance, "{difference:e} passes as equal");
}

/// A table of the backend's own, with one value moved, is no longer as Lemma 1 says.
fn lemma_1_can_fail(backend: &mut dyn Backend) {
    let mut rng = rng(45);
    let shape = Shape {
        horizon: 7,
        types: 30,
        actions: 3,
        cost_max: 2,
        budget: 12,
    };
    let mut owned = Owned::random(&mut rng, shape);
    owned.capped = true;
    let raw = backend.solve_raw(&[owned.problem()]).unwrap().remove(0);
    assert_lemma_1_can_fail(&raw, owned.instance.task().reward_max(), shape.cost_max);
}

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
        if self
            .batches
            .fetch_add(1, Ordering::Relaxed)
            .is_multiple_of(2)
        {
            tables[0].row_mut(0)[7] = self.value;
        }
        Ok(tables)
    }
}

/// Tables that cannot be right are an error; under `Auto` such a batch is solved on the CPU, with one warning in all, and
/// the next batch goes to the GPU again.
#[test]
fn tables_that_cannot_be_right_are_refused() {
    let mut rng = rng(46);
    let shape = Shape {
        horizon: 7,
        types: 30,
        actions: 3,
        cost_max: 2,
        budget: 12,
    };
    let owned = Owned::random(&mut rng, shape);
    let reference = Dense.solve(&[owned.problem()]).unwrap();
    let line = |rate| CostLine {
        overhead: 0.0,
        rate,
    };
    for value in [f64::NAN, f64::INFINITY, -1e-3, 0.0] {
        let batches = Arc::new(AtomicUsize::new(0));
        let spoiling = || Spoiling {
            batches: Arc::clone(&batches),
            value,
        };
        let refused = spoiling().solve(&[owned.problem()]).unwrap_err();
        assert!(matches!(refused, BackendError::Table { .. }), "{refused}");
        batches.store(0, Ordering::Relaxed);
        let warnings = Arc::new(AtomicUsize::new(0));
        let heard = Arc::clone(&warnings);
        let mut auto = Auto::new(
            (Box::new(Dense), line(1e6)),
            (Box::new(spoiling()), line(1e12)),
            move |_| {
                heard.fetch_add(1, Ordering::Relaxed);
            },
        );
        for _ in 0..6 {
            assert_eq!(auto.solve(&[owned.problem()]).unwrap(), reference);
        }
        assert_eq!(batches.load(Ordering::Relaxed), 6);
        assert_eq!(warnings.load(Ordering::Relaxed), 1);
    }
}

/// A bound that is no finite number is an error on every backend, not an action that is never taken.
#[test]
fn bounds_that_are_not_finite_are_refused() {
    let mut rng = rng(47);
    let shape = Shape {
        horizon: 2,
        types: 5,
        actions: 3,
        cost_max: 1,
        budget: 4,
    };
    let mut backends: Vec<Box<dyn Backend>> = vec![Box::new(Dense), Box::new(Cpu::default())];
    for f64 in [false, true] {
        if let Some(gpu) = common::gpu(f64) {
            backends.push(Box::new(gpu));
        }
    }
    for wrong in [f64::NAN, f64::INFINITY] {
        let mut owned = Owned::random(&mut rng, shape);
        owned.coefficients.gain[4] = wrong;
        for backend in &mut backends {
            let refused = backend.solve(&[owned.problem()]).unwrap_err();
            let place = |error: &BackendError| match error {
                BackendError::NotFinite { entry, action, .. } => Some((*entry, *action)),
                _ => None,
            };
            assert_eq!(place(&refused), Some((1, 2)), "{refused}");
        }
    }
}
