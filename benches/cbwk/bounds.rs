//! Oracles: bounds of a large sample at once and context by context, and a fit.

use std::hint::black_box;

use cbwk_gpu::dp::{BoundSource, Coefficients, ContextSample};
use cbwk_gpu::oracle::{Bounds, LabeledData, Logistic, LogisticParameters, Oracle};
use cbwk_gpu::task::EpisodeContexts;
use cbwk_gpu::world::World;
use criterion::Criterion;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use crate::Group;
use crate::problems::Size;

pub const SIZE: Size = Size {
    horizon: 24,
    budget: 5,
    contexts: 1000,
    actions: 4,
};

/// A logistic oracle, and `episodes` episodes of random actions for it.
pub fn oracle_and_data(instance: &World, episodes: usize) -> (Logistic, LabeledData) {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let parameters = LogisticParameters {
        gamma: Some(0.5),
        kappa: Some(8.0),
        ..LogisticParameters::default()
    };
    let mut data = LabeledData::new(2);
    let mut episode = EpisodeContexts::new(instance.task().dimension());
    for _ in 0..episodes {
        instance.contexts().draw(&mut rng, &mut episode);
        for context in episode.iter() {
            let action = rng.random_range(1..=instance.task().actions());
            let converted = rng.random::<f64>() < instance.rho(&context, action);
            data.push(&context, action, converted);
        }
    }
    (Logistic::new(instance.task(), parameters), data)
}

pub fn run(c: &mut Criterion, lines: &mut Vec<String>) {
    let mut group = Group::new(c, "bounds");
    let instance = SIZE.continuous_pricing(2);
    let (mut oracle, data) = oracle_and_data(&instance, 1000);
    let unfitted = oracle.clone();
    let fit = group.best("logistic/fit-N24000", 1, || {
        let mut oracle = unfitted.clone();
        oracle.fit(black_box(&data), 0.01);
        black_box(oracle);
    });
    oracle.fit(&data, 0.01);
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    let rows = instance.contexts().draw_rows(&mut rng, SIZE.contexts);
    let sample = ContextSample::of_rows(instance.task(), &rows, false);
    let mut coefficients = Coefficients::default();
    let bulk = group.best("logistic/bulk-S24000-A4", 1, || {
        oracle.fill(black_box(&sample), &mut coefficients);
    });
    let mut row = vec![Bounds::UNKNOWN; 4];
    let single = group.best("logistic/one-by-one-S24000-A4", 1, || {
        for entry in 0..sample.len() {
            oracle.bounds(&sample.context(entry), &mut row);
            black_box(&row);
        }
    });
    let pairs = (sample.len() * sample.actions()) as f64;
    if let (Some(fit), Some(bulk), Some(single)) = (fit, bulk, single) {
        lines.push(format!(
            "logistic oracle: fit of 24,000 observations from nothing {:.2} ms; bounds in bulk {:.1e} pairs/s, {:.1}x one by one (one thread)",
            1e3 * fit,
            pairs / bulk,
            single / bulk
        ));
    }
}
