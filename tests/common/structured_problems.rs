//! Problems with the structures that the CPU's shortcuts are for: auctions with bounds per action, and unit cost.
#![allow(dead_code, reason = "each test file uses a part")]

use std::ops::Range;
use std::sync::Arc;

use cbwk_gpu::dp::{
    BoundParameters, BoundSource, Coefficients, ContextSample, EllipsoidParameters, Link,
};
use cbwk_gpu::task::{ApplicationSpec, Context};
use cbwk_gpu::world::{BudgetSpec, ContextsSpec, ConversionSpec, LawSpec, World, WorldSpec};
use rand::RngExt;
use rand::rngs::ChaCha8Rng;

/// Bounds per action, or per step and action: an oracle without context.
#[derive(Debug)]
pub struct ActionBounds {
    pub bounds: Vec<[f64; 2]>,
    pub by_step: bool,
}

impl ActionBounds {
    pub fn random(rng: &mut ChaCha8Rng, actions: usize, horizon: usize, by_step: bool) -> Self {
        let groups = if by_step { horizon } else { 1 };
        let bounds = (0..groups * actions).map(|_| {
            let ucb = rng.random::<f64>();
            match rng.random_range(0..8) {
                0 => [1.0, 0.0],
                1 => [0.5, 0.5],
                2 => [0.0, 0.0],
                3 => [ucb, ucb],
                _ => [ucb, ucb * rng.random::<f64>()],
            }
        });
        Self {
            bounds: bounds.collect(),
            by_step,
        }
    }
}

impl BoundSource for ActionBounds {
    fn fill_entries(
        &self,
        sample: &ContextSample,
        entries: Range<usize>,
        gain: &mut [f64],
        lcb: &mut [f64],
    ) {
        fill_with(sample, entries, (gain, lcb), |context, action| {
            let group = if self.by_step { context.step } else { 0 };
            self.bounds[group * sample.actions() + action - 1]
        });
    }

    fn parameters(&self) -> Option<BoundParameters> {
        Some(BoundParameters::Armed {
            bounds: self.bounds.clone(),
            estimates: Vec::new(),
            by_step: self.by_step,
        })
    }
}

/// Bounds that jump from context to context: an oracle without parameters.
#[derive(Debug)]
pub struct Scattered {
    pub seed: f64,
}

impl BoundSource for Scattered {
    fn fill_entries(
        &self,
        sample: &ContextSample,
        entries: Range<usize>,
        gain: &mut [f64],
        lcb: &mut [f64],
    ) {
        let spread = |x: f64| (x * 43_758.545_312_3).sin().abs().fract();
        fill_with(sample, entries, (gain, lcb), |context, action| {
            let theta = context.features;
            let sum: f64 = theta.iter().zip(1..).map(|(x, i)| x * f64::from(i)).sum();
            let place = self.seed + sum + 0.37 * action as f64;
            let (x, y) = (spread(place), spread(place + 0.5));
            match (8.0 * spread(place + 0.25)) as u32 {
                0 => [1.0, 0.0],
                1 => [x, x],
                _ => [x, x * y],
            }
        });
    }

    fn parameters(&self) -> Option<BoundParameters> {
        None
    }
}

/// Bounds from an ellipsoid, by an independent copy of the formula.
#[derive(Debug)]
pub struct Ellipsoid(pub EllipsoidParameters);

impl Ellipsoid {
    /// Of every kind, for features of about `size`.
    pub fn random(rng: &mut ChaCha8Rng, actions: usize, dimension: usize, size: f64) -> Self {
        let number = |rng: &mut ChaCha8Rng| rng.random_range(-1.0..1.0) / size;
        let triangle = (dimension + 1) * (dimension + 2) / 2;
        let (link, has_limits) = match rng.random_range(0..3) {
            0 => (Link::Linear, false),
            1 => (Link::Logistic, false),
            _ => (Link::Logistic, true),
        };
        Self(EllipsoidParameters {
            link,
            action_values: (0..actions).map(|_| size * rng.random::<f64>()).collect(),
            mu: (0..=dimension).map(|_| number(rng)).collect(),
            factor: (0..triangle).map(|_| number(rng)).collect(),
            scale: rng.random_range(0.0..0.4),
            limits: has_limits.then(|| (0..=dimension).map(|_| number(rng)).collect()),
            // With and without, whether coupled or not.
            tolerance: (0..actions)
                .map(|_| rng.random_range(-1.0f64..1.0).max(0.0))
                .collect(),
            coupled: rng.random(),
        })
    }
}

impl BoundSource for Ellipsoid {
    fn fill_entries(
        &self,
        sample: &ContextSample,
        entries: Range<usize>,
        gain: &mut [f64],
        lcb: &mut [f64],
    ) {
        let parameters = &self.0;
        let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
        fill_with(sample, entries, (gain, lcb), |context, action| {
            let mut phi = context.features.to_vec();
            phi.push(parameters.action_values[action - 1]);
            let product = |row: &[f64]| -> f64 { row.iter().zip(&phi).map(|(x, y)| x * y).sum() };
            let rows = (0..phi.len()).map(|i| product(&parameters.factor[i * (i + 1) / 2..][..=i]));
            let radius = parameters.scale * rows.map(|x| x * x).sum::<f64>().sqrt();
            let utility = product(&parameters.mu);
            let around = |x: f64| [x + radius, x - radius, x];
            let [mut ucb, mut lcb, estimate] = match (&parameters.limits, parameters.link) {
                (Some(limits), _) => {
                    let squares = limits.iter().zip(&phi).map(|(s, x)| (s * x).powi(2));
                    let limit = squares.sum::<f64>().sqrt();
                    around(utility).map(|x| sigmoid(x.clamp(-limit, limit)))
                }
                (None, Link::Linear) => around(utility).map(|x| x.clamp(0.0, 1.0)),
                (None, Link::Logistic) => around(sigmoid(utility)).map(|x| x.clamp(0.0, 1.0)),
            };
            let q = 0.5 * (estimate + ucb);
            let tau = parameters.tolerance[action - 1] * (q * (1.0 - q)).sqrt().max(1e-5);
            (ucb, lcb) = (estimate.max(ucb - tau), estimate.min(lcb + tau));
            [ucb, if parameters.coupled { ucb } else { lcb }]
        });
    }

    fn parameters(&self) -> Option<BoundParameters> {
        Some(BoundParameters::Ellipsoid(self.0.clone()))
    }
}

/// The coefficients of (ucb, lcb) as a function of context and action.
fn fill_with(
    sample: &ContextSample,
    entries: Range<usize>,
    (gain, lcb): (&mut [f64], &mut [f64]),
    bounds: impl Fn(&Context, usize) -> [f64; 2],
) {
    let actions = sample.actions();
    for (i, entry) in entries.enumerate() {
        let context = sample.context(entry);
        for a in 1..=actions {
            let [ucb, lower] = bounds(&context, a);
            let reward = sample.reward(entry, a);
            let pair = i * actions + a - 1;
            (gain[pair], lcb[pair]) = Coefficients::of(ucb, lower, reward);
        }
    }
}

pub fn instance(
    horizon: usize,
    budget: u32,
    application: ApplicationSpec,
    law: LawSpec,
) -> Arc<World> {
    let actions = match &application {
        ApplicationSpec::Auction { bids } => bids.len(),
        ApplicationSpec::Pricing { prices } => prices.len(),
        _ => unreachable!("not used here"),
    };
    let spec = WorldSpec {
        horizon,
        budget: BudgetSpec::Constant { value: budget },
        application,
        reward_max: None,
        contexts: ContextsSpec {
            law,
            no_arrival: vec![0.1; horizon],
            types: None,
            features: None,
        },
        conversion: ConversionSpec::Armed {
            probabilities: vec![0.5; actions],
        },
    };
    Arc::new(spec.check().unwrap())
}

/// Thetas near the bids or far above, continuous or on few points; some below every bid.
pub fn random_auction(rng: &mut ChaCha8Rng) -> Arc<World> {
    let offset = [0, 0, 1000][rng.random_range(0..3)];
    let most = rng.random_range(1..=12u32);
    let actions = rng.random_range(1..=9);
    let bids: Vec<u32> = (0..actions)
        .map(|_| offset + rng.random_range(1..=most))
        .collect();
    let low = f64::from(offset) - 1.0;
    let high = f64::from(offset + most) * 1.5;
    let law = match rng.random_range(0..3) {
        0 => LawSpec::Box {
            low: vec![low],
            high: vec![high],
        },
        1 => LawSpec::Grid {
            low: vec![low],
            high: vec![high],
            points: vec![rng.random_range(2..=700)],
        },
        _ => LawSpec::Finite {
            values: (0..rng.random_range(1..6))
                .map(|_| vec![rng.random_range(low..high)])
                .collect(),
            weights: None,
        },
    };
    let horizon = rng.random_range(1..=8);
    let budget = rng.random_range(0..=(offset + most) * horizon as u32);
    let auction = ApplicationSpec::Auction { bids };
    instance(horizon, budget.min(3000), auction, law)
}

pub fn random_pricing(rng: &mut ChaCha8Rng, points: usize) -> Arc<World> {
    let actions = rng.random_range(1..=9);
    let prices = (0..actions).map(|_| rng.random_range(0.1..5.0)).collect();
    let law = LawSpec::Grid {
        low: vec![0.0],
        high: vec![1.0],
        points: vec![rng.random_range(2..=points)],
    };
    let horizon = rng.random_range(2..=90);
    let budget = rng.random_range(0..=horizon as u32);
    instance(horizon, budget, ApplicationSpec::Pricing { prices }, law)
}
