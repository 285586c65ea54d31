//! Samples of single contexts: rows of continuous contexts, each of which arrives once. Sizes around every chunk and vector,
//! ragged steps, steps without arrivals.
#![allow(dead_code, reason = "each test file uses a part")]

use std::sync::Arc;

use cbwk_gpu::dp::{BoundSource, ContextSample};
use cbwk_gpu::task::{ApplicationSpec, ContextRows};
use cbwk_gpu::world::{BudgetSpec, ContextsSpec, ConversionSpec, LawSpec, World, WorldSpec};
use rand::RngExt;
use rand::rngs::ChaCha8Rng;

use crate::owned_problem::{Owned, Structure};
use crate::structured_problems::{ActionBounds, Ellipsoid, Scattered};

/// Rows that make lists just below, at and above lanes, vectors and chunks.
pub const ROWS: [usize; 14] = [1, 3, 7, 8, 9, 16, 31, 64, 255, 256, 257, 513, 2048, 2051];

/// Budgets on either side of every tile and of the choice between the loops.
pub const BUDGETS: [u32; 9] = [0, 1, 4, 5, 8, 15, 22, 23, 70];

/// A problem over so many rows.
pub fn owned(rng: &mut ChaCha8Rng, structure: Structure, rows: usize, budget: u32) -> Owned {
    let actions = rng.random_range(1..=6);
    let application = match (structure, rng.random_range(0..3)) {
        (Structure::Auction, _) | (Structure::Any, 0) => ApplicationSpec::Auction {
            bids: (0..actions).map(|_| rng.random_range(1..=4)).collect(),
        },
        (Structure::Any, 1) => ApplicationSpec::Procurement {
            wages: (0..actions).map(|_| rng.random_range(1..=4)).collect(),
        },
        _ => ApplicationSpec::Pricing {
            prices: (0..actions).map(|_| rng.random_range(0.1..5.0)).collect(),
        },
    };
    let dimension = match application {
        ApplicationSpec::Auction { .. } => 1,
        _ => rng.random_range(1..=3),
    };
    let instance = instance(budget, application, dimension, actions);
    let task = instance.task();
    let by_step = rng.random();
    let mut all = ContextRows::new(task.horizon(), dimension);
    for row in 0..rows {
        for step in 0..task.horizon() {
            // All arrive at the first step, nobody at the second, and fewer and fewer later.
            let arrives = step == 0 || step > 1 && row % step == 0;
            let theta: Vec<f64> = (0..dimension).map(|_| rng.random_range(0.0..5.0)).collect();
            all.push(arrives.then_some(&theta[..]));
        }
    }
    let sample = ContextSample::of_rows(task, &all, by_step);
    assert_eq!(sample.shared(), 0, "continuous contexts are single");
    let armed = structure == Structure::Auction;
    let source: Box<dyn BoundSource> = match rng.random_range(0..3) {
        0 if !armed => Box::new(Scattered { seed: rng.random() }),
        1 if !armed => Box::new(Ellipsoid::random(rng, actions, dimension, 5.0)),
        _ => Box::new(ActionBounds::random(rng, actions, task.horizon(), by_step)),
    };
    let capped = rng.random();
    Owned::new(instance, sample, source, capped)
}

fn instance(
    budget: u32,
    application: ApplicationSpec,
    dimension: usize,
    actions: usize,
) -> Arc<World> {
    let spec = WorldSpec {
        horizon: 5,
        budget: BudgetSpec::Constant { value: budget },
        application,
        reward_max: None,
        contexts: ContextsSpec {
            law: LawSpec::Box {
                low: vec![0.0; dimension],
                high: vec![5.0; dimension],
            },
            no_arrival: vec![],
            types: None,
            features: None,
        },
        conversion: ConversionSpec::Armed {
            probabilities: vec![0.5; actions],
        },
    };
    Arc::new(spec.check().expect("a valid instance"))
}
