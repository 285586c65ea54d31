//! Problems with the structures that the CPU's shortcuts are for: auctions with bounds per action, and unit cost.
#![allow(dead_code, reason = "each test file uses a part")]

use std::sync::Arc;

use cbwk_gpu::dp::{BoundParameters, BoundSource, Coefficients, ContextSample};
use cbwk_gpu::task::ApplicationSpec;
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
    fn fill(&self, sample: &ContextSample, coefficients: &mut Coefficients) {
        coefficients.resize_for(sample);
        let actions = sample.actions();
        for pair in 0..sample.len() * actions {
            let step = sample.context(pair / actions).step;
            let group = if self.by_step { step } else { 0 };
            let [ucb, lcb] = self.bounds[group * actions + pair % actions];
            let reward = sample.rewards()[pair];
            (coefficients.gain[pair], coefficients.lcb[pair]) = Coefficients::of(ucb, lcb, reward);
        }
    }

    fn parameters(&self) -> Option<BoundParameters> {
        Some(BoundParameters::Armed {
            bounds: self.bounds.clone(),
            by_step: self.by_step,
        })
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

pub fn random_pricing(rng: &mut ChaCha8Rng) -> Arc<World> {
    let actions = rng.random_range(1..=9);
    let prices = (0..actions).map(|_| rng.random_range(0.1..5.0)).collect();
    let law = LawSpec::Grid {
        low: vec![0.0],
        high: vec![1.0],
        points: vec![rng.random_range(2..=3000)],
    };
    let horizon = rng.random_range(2..=90);
    let budget = rng.random_range(0..=horizon as u32);
    instance(horizon, budget, ApplicationSpec::Pricing { prices }, law)
}
