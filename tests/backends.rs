//! One conformance suite, run over every backend by one line each: random problems over all extremes of shape, the known
//! optima, Lemma 1, and a control that proves that the comparison can fail.

mod common;

use std::sync::Arc;

use cbwk_gpu::dp::cpu::{Cpu, Dense, Strategy, Terms};
use cbwk_gpu::dp::{Backend, BoundSource, Coefficients, ContextSample, Problem, ValueTable};
use cbwk_gpu::oracle::Known;
use cbwk_gpu::world::World;
use common::{
    Shape, literal_dp, random_bounds, random_instance, relative_difference, rng, say, study,
};
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
    let mut cpu = Cpu::new(Some(Strategy::Dense), Terms::F32);
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
    tolerance: f64,
}

impl Score {
    fn check(&mut self, owned: &Owned, table: &ValueTable, what: &str) {
        let problem = owned.problem();
        let reference = Dense.solve(&[problem]).unwrap().remove(0);
        let r_max = owned.instance.task().reward_max();
        let difference = relative_difference(table, &reference, r_max);
        assert!(difference <= self.tolerance, "{what}: {difference:e} off");
        self.problems += 1;
        self.worst = self.worst.max(difference);
        let cost_max = owned.instance.task().application().cost_max();
        lemma_1(table, owned.capped.then_some(r_max), cost_max, what);
    }
}

/// Values never fall in b; under the cap they also rise by no more than 2 r_max cost_max.
fn lemma_1(table: &ValueTable, cap: Option<f64>, cost_max: u32, what: &str) {
    let most = cap.map_or(f64::INFINITY, |r_max| 2.0 * r_max * f64::from(cost_max)) * (1.0 + 1e-5);
    for h in 0..table.horizon() {
        let row = table.row(h);
        for b in 1..row.len() {
            assert!(
                row[b] >= row[b - 1],
                "{what}: values fall at step {h}, budget {b}"
            );
            let below = row[b - (cost_max as usize).min(b)];
            assert!(
                row[b] - below <= most,
                "{what}: too steep at step {h}, budget {b}"
            );
        }
    }
}

fn conforms(name: &str, backend: &mut dyn Backend, tolerance: f64) {
    let mut score = Score {
        problems: 0,
        worst: 0.0,
        tolerance,
    };
    single_problems(backend, &mut score);
    ragged_batches(backend, &mut score);
    zeros_and_ties(backend, &mut score);
    known_optima(backend, tolerance);
    the_comparison_can_fail(backend, tolerance);
    say(&format!(
        "conformance of {name}: {} problems, worst error {:.1e} of r_max * min(b, H), allowed {tolerance:.0e}",
        score.problems, score.worst
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
        let table = backend.solve(&[owned.problem()]).unwrap().remove(0);
        score.check(&owned, &table, &format!("{shape:?}"));
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
        let tables = backend.solve(&problems).unwrap();
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
        let table = backend.solve(&[owned.problem()]).unwrap().remove(0);
        score.check(&owned, &table, &format!("zeros and ties {case}"));
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
