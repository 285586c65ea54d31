//! What every backend must do, on every entry point: random problems of the structures it takes, against Algorithm 2 word
//! for word; Lemma 1 on tables as computed; and controls that prove that each comparison can fail.

use std::sync::Arc;

use cbwk_gpu::dp::{
    Backend, BoundSource, Coefficients, ContextSample, PlanRequest, Problem, RawTable, ValueTable,
    optimistic_dp,
};
use cbwk_gpu::task::{ContextRows, EpisodeContexts};

use crate::common::{Shape, rng, say};
use crate::lemma_1::{assert_lemma_1_can_fail, largest_fall, lemma_1};
use crate::owned_problem::{Owned, Structure};
use crate::single_contexts::{self, BUDGETS, ROWS};
use crate::structured_problems::{ActionBounds, Ellipsoid};

/// A backend's entry points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    Solve,
    Plan,
}

impl Entry {
    pub const ALL: [Self; 2] = [Self::Solve, Self::Plan];

    /// The tables of a batch as computed; the checked entry point must agree with them.
    pub fn raw(self, backend: &mut dyn Backend, batch: &[&Owned]) -> Vec<RawTable> {
        let problems: Vec<Problem> = batch.iter().map(|owned| owned.problem()).collect();
        let requests: Vec<PlanRequest> = batch.iter().map(|owned| owned.request()).collect();
        let (raw, checked) = match self {
            Self::Solve => (
                backend.solve_raw(&problems).unwrap(),
                backend.solve(&problems).unwrap(),
            ),
            Self::Plan => (
                backend.plan_raw(&requests).unwrap().tables,
                backend.plan(&requests).unwrap().tables,
            ),
        };
        assert_eq!((raw.len(), checked.len()), (batch.len(), batch.len()));
        for (raw, checked) in raw.iter().zip(&checked) {
            assert!(ValueTable::checked(raw.clone()).unwrap() == *checked);
        }
        raw
    }

    /// Algorithm 2 word for word on what this entry point is given. Plans are always capped.
    pub fn literal(self, owned: &Owned) -> Vec<Vec<f64>> {
        optimistic_dp(&Problem {
            cap: (self == Self::Plan || owned.capped).then(|| owned.instance.task().reward_max()),
            ..owned.problem()
        })
    }
}

/// The rows of a table.
pub fn rows(raw: &RawTable) -> Vec<Vec<f64>> {
    (0..raw.horizon()).map(|h| raw.row(h).to_vec()).collect()
}

/// The largest difference of two tables, as a share of r_max min(b, H).
pub fn difference(mine: &[Vec<f64>], other: &[Vec<f64>], r_max: f64) -> f64 {
    let mut worst: f64 = 0.0;
    for (mine_row, other) in mine.iter().zip(other) {
        for (b, (x, y)) in mine_row.iter().zip(other).enumerate() {
            let scale = r_max.max(f64::MIN_POSITIVE) * b.clamp(1, mine.len()) as f64;
            let off = (x - y).abs() / scale;
            // NaN must not hide.
            worst = if off <= worst { worst } else { off };
        }
    }
    worst
}

/// A backend under test.
pub struct Conformance<'a> {
    pub name: &'a str,
    pub backend: &'a mut dyn Backend,
    pub structure: Structure,
    /// What a value may be off, as a share of r_max min(b, H).
    pub tolerance: f64,
    tables: usize,
    worst: f64,
    fall: f64,
}

impl<'a> Conformance<'a> {
    pub fn new(
        name: &'a str,
        backend: &'a mut dyn Backend,
        structure: Structure,
        tolerance: f64,
    ) -> Self {
        Self {
            name,
            backend,
            structure,
            tolerance,
            tables: 0,
            worst: 0.0,
            fall: 0.0,
        }
    }

    /// The whole suite.
    pub fn check(mut self) {
        if self.structure == Structure::Any {
            let mut rng = rng(41);
            for shape in shapes() {
                let owned = Owned::of_shape(&mut rng, shape);
                self.check_batch(&[&owned], &format!("{shape:?}"));
            }
        }
        self.ragged_batches();
        self.single_contexts();
        self.zeros_and_ties();
        self.growing_samples();
        self.controls();
        say(&format!(
            "conformance of {}, solve and plan: {} tables, worst error {:.1e} of r_max min(b, H), allowed {:.0e}; largest fall \
             before smoothing {:.1e}",
            self.name, self.tables, self.worst, self.tolerance, self.fall
        ));
    }

    fn check_batch(&mut self, batch: &[&Owned], what: &str) {
        for entry in Entry::ALL {
            let tables = entry.raw(self.backend, batch);
            for (owned, raw) in batch.iter().zip(&tables) {
                let r_max = owned.instance.task().reward_max();
                let off = difference(&rows(raw), &entry.literal(owned), r_max);
                assert!(off <= self.tolerance, "{what}, {entry:?}: {off:e} off");
                let cost_max = owned.instance.task().cost_max();
                let capped = owned.capped || entry == Entry::Plan;
                if let Err(violation) = lemma_1(raw, r_max, cost_max, capped) {
                    panic!("{what}, {entry:?}: {violation}");
                }
                self.tables += 1;
                self.worst = self.worst.max(off);
                self.fall = self.fall.max(largest_fall(raw, r_max));
            }
        }
    }

    /// Batches of problems of different shapes and sample sizes, an empty sample among them, and the empty batch.
    fn ragged_batches(&mut self) {
        let mut rng = rng(42);
        for round in 0..6 {
            let mut batch: Vec<Owned> = (0..17)
                .map(|_| Owned::of_structure(&mut rng, self.structure))
                .collect();
            if self.structure != Structure::SharedUnitCost {
                let empty = &mut batch[3];
                let dimension = empty.instance.task().dimension();
                let horizon = empty.instance.task().horizon();
                let mut rows = ContextRows::new(horizon, dimension);
                (0..2 * horizon).for_each(|_| rows.push(None));
                let by_step = empty.sample.is_split_by_step();
                empty.sample = ContextSample::of_rows(empty.instance.task(), &rows, by_step);
                empty.coefficients = Coefficients::default();
            }
            let batch: Vec<&Owned> = batch.iter().collect();
            self.check_batch(&batch, &format!("ragged batch {round}"));
        }
        assert!(self.backend.solve(&[]).unwrap().is_empty());
        assert!(self.backend.plan(&[]).unwrap().tables.is_empty());
    }

    /// Rows of contexts that arrive once, alone and with others in a batch.
    fn single_contexts(&mut self) {
        if self.structure == Structure::SharedUnitCost {
            return;
        }
        let mut rng = rng(46);
        let mut problem =
            |rows, budget| single_contexts::owned(&mut rng, self.structure, rows, budget);
        let mut all: Vec<Owned> = ROWS.iter().map(|&rows| problem(rows, 6)).collect();
        all.extend(BUDGETS.iter().map(|&budget| problem(21, budget)));
        for owned in &all {
            let what = format!("{} rows of single contexts", owned.sample.total());
            self.check_batch(&[owned], &what);
        }
        let batch: Vec<&Owned> = all.iter().collect();
        self.check_batch(&batch, "a batch of single contexts");
    }

    /// Bounds of zero (free or worthless actions) and equal actions.
    fn zeros_and_ties(&mut self) {
        let mut rng = rng(43);
        for bounds in [[0.0, 0.0], [1.0, 0.0], [0.5, 0.5], [1.0, 1.0]] {
            for _ in 0..4 {
                let mut owned = Owned::of_structure(&mut rng, self.structure);
                let source = ActionBounds {
                    bounds: vec![
                        bounds;
                        owned.instance.task().actions() * owned.instance.task().horizon()
                    ],
                    by_step: owned.sample.is_split_by_step(),
                };
                source.fill(&owned.sample, &mut owned.coefficients);
                owned.source = Box::new(source);
                self.check_batch(&[&owned], &format!("bounds {bounds:?}"));
            }
        }
    }

    /// Samples that grow row by row between plans, several of one size together: what a backend keeps of them must grow
    /// with them.
    fn growing_samples(&mut self) {
        if self.structure == Structure::SharedUnitCost {
            return;
        }
        let mut rng = rng(45);
        let first = Owned::of_structure(&mut rng, self.structure);
        let instance = first.instance;
        let task = instance.task();
        let mut batch: Vec<Owned> = (0..3)
            .map(|i| {
                let source: Box<dyn BoundSource> = if i == 1 && self.structure == Structure::Any {
                    Box::new(Ellipsoid::random(&mut rng, task.actions(), 1, 50.0))
                } else {
                    let (actions, horizon) = (task.actions(), task.horizon());
                    Box::new(ActionBounds::random(&mut rng, actions, horizon, false))
                };
                let sample = ContextSample::new(task, false);
                Owned::new(Arc::clone(&instance), sample, source, true)
            })
            .collect();
        let mut episode = EpisodeContexts::new(task.dimension());
        for round in 0..40 {
            for owned in &mut batch {
                for _ in 0..=round % 3 {
                    instance.contexts().draw(&mut rng, &mut episode);
                    owned.sample.append(task, episode.iter());
                }
                owned.source.fill(&owned.sample, &mut owned.coefficients);
            }
            let batch: Vec<&Owned> = batch.iter().collect();
            self.check_batch(&batch, &format!("{round} rounds of rows"));
        }
    }

    /// Bounds moved by little more than the tolerance make the comparison fail, on either entry point, and a table of the
    /// backend's own with one value moved is no longer as Lemma 1 says.
    fn controls(&mut self) {
        let mut rng = rng(44);
        let usable = |owned: &Owned| {
            let table = optimistic_dp(&owned.problem());
            owned.capped && owned.instance.task().budget_max() > 1 && table[0].last() > Some(&0.0)
        };
        let mut owned = loop {
            let owned = Owned::of_structure(&mut rng, self.structure);
            if usable(&owned) {
                break owned;
            }
        };
        let r_max = owned.instance.task().reward_max();
        let cost_max = owned.instance.task().cost_max();
        let count = owned.instance.task().actions() * owned.instance.task().horizon();
        let by_step = owned.sample.is_split_by_step();
        // Small enough to stay below the cap.
        let set = |owned: &mut Owned, ucb: f64| {
            let source = ActionBounds {
                bounds: vec![[ucb, 5e-4]; count],
                by_step,
            };
            source.fill(&owned.sample, &mut owned.coefficients);
            owned.source = Box::new(source);
        };
        for entry in Entry::ALL {
            set(&mut owned, 1e-3);
            let literal = entry.literal(&owned);
            let raw = entry.raw(self.backend, &[&owned]).remove(0);
            assert!(difference(&rows(&raw), &literal, r_max) <= self.tolerance);
            assert_lemma_1_can_fail(&raw, r_max, cost_max);
            let mut moved = 1e-15;
            loop {
                set(&mut owned, 1e-3 + moved);
                if difference(&entry.literal(&owned), &literal, r_max) > 3.0 * self.tolerance {
                    break;
                }
                moved *= 2.0;
            }
            let raw = entry.raw(self.backend, &[&owned]).remove(0);
            let off = difference(&rows(&raw), &literal, r_max);
            assert!(off > self.tolerance, "{entry:?}: {off:e} passes as equal");
        }
    }
}

/// Sizes around every tile, workgroup and chunk boundary, and the extremes of each dimension.
fn shapes() -> Vec<Shape> {
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
    for actions in [1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 16, 31] {
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
    let shape = |(horizon, types, actions, cost_max, budget)| Shape {
        horizon,
        types,
        actions,
        cost_max,
        budget,
    };
    shapes.into_iter().map(shape).collect()
}
