//! The problems of the benches.

use std::ops::Range;

use cbwk_gpu::dp::{BoundParameters, BoundSource, Coefficients, ContextSample, Problem};
use cbwk_gpu::task::{ApplicationSpec, ContextRows};
use cbwk_gpu::world::{BudgetSpec, ContextsSpec, ConversionSpec, LawSpec, World, WorldSpec};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

/// The size of a problem.
#[derive(Clone, Copy)]
pub struct Size {
    pub horizon: usize,
    pub budget: u32,
    pub contexts: usize,
    pub actions: usize,
}

impl Size {
    pub fn id(&self) -> String {
        let Self {
            horizon,
            budget,
            contexts,
            actions,
        } = self;
        format!("H{horizon}-B{budget}-S{contexts}-A{actions}")
    }

    /// An instance of this size with the same law at all steps.
    pub fn instance(&self, application: ApplicationSpec, law: LawSpec) -> World {
        let weight = 1.0 / 3f64.sqrt();
        let conversion = match law {
            LawSpec::Box { ref low, .. } if low.len() == 2 => ConversionSpec::Logistic {
                weights: vec![weight, weight, -weight],
            },
            _ => ConversionSpec::Armed {
                probabilities: vec![0.5; self.actions],
            },
        };
        let spec = WorldSpec {
            horizon: self.horizon,
            budget: BudgetSpec::Constant { value: self.budget },
            application,
            reward_max: None,
            contexts: ContextsSpec {
                law,
                no_arrival: vec![],
                types: None,
                features: None,
            },
            conversion,
        };
        spec.check().expect("a valid instance")
    }

    /// Random rewards for every context, costs 1 to 4: no structure.
    pub fn table(&self) -> World {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let draw = |_| (0..self.actions).map(|_| rng.random::<f64>()).collect();
        let rewards = (0..self.contexts).map(draw).collect();
        let row = (0..self.actions as u32).map(|a| 1 + a % 4).collect();
        let values = (0..self.contexts).map(|i| vec![i as f64]).collect();
        let application = ApplicationSpec::Table {
            rewards,
            costs: vec![row; self.contexts],
        };
        let weights = None;
        self.instance(application, LawSpec::Finite { values, weights })
    }

    /// Bids 1, 2, ... on evenly spread thetas.
    pub fn auction(&self) -> World {
        let bids = (1..=self.actions as u32).collect();
        let law = self.grid(self.actions as f64 + 5.0);
        self.instance(ApplicationSpec::Auction { bids }, law)
    }

    /// Prices 1, 2, ... with as many distinct contexts as asked for.
    pub fn pricing(&self) -> World {
        let law = self.grid(1.0);
        self.instance(self.prices(), law)
    }

    /// Prices 1, 2, ... on contexts from a box.
    pub fn continuous_pricing(&self, dimension: usize) -> World {
        let law = LawSpec::Box {
            low: vec![0.0; dimension],
            high: vec![1.0; dimension],
        };
        self.instance(self.prices(), law)
    }

    fn prices(&self) -> ApplicationSpec {
        let prices = (1..=self.actions).map(|a| a as f64).collect();
        ApplicationSpec::Pricing { prices }
    }

    fn grid(&self, high: f64) -> LawSpec {
        LawSpec::Grid {
            low: vec![0.0],
            high: vec![high],
            points: vec![self.contexts],
        }
    }
}

/// `rows` rows of one feature, drawn from `distinct` values (as many as rows: all different).
pub fn rows(horizon: usize, rows: usize, distinct: usize) -> ContextRows {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let mut all = ContextRows::new(horizon, 1);
    for i in 0..rows * horizon {
        let number = match distinct == rows {
            true => i,
            false => rng.random_range(0..distinct),
        };
        all.push(Some(&[number as f64 / (rows * horizon) as f64]));
    }
    all
}

/// Bounds around a conversion that falls in the action, as a fitted oracle has them.
pub fn coefficients(sample: &ContextSample) -> Coefficients {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let mut coefficients = Coefficients::default();
    coefficients.resize_for(sample);
    let actions = sample.actions();
    for pair in 0..coefficients.gain.len() {
        let share = (pair % actions + 1) as f64 / (actions + 1) as f64;
        let rho = (1.0 - share) * rng.random_range(0.8..1.0);
        let radius = 0.1 * rng.random::<f64>();
        let (ucb, lcb) = ((rho + radius).min(1.0), (rho - radius).max(0.0));
        let reward = sample.reward(pair / actions, pair % actions + 1);
        (coefficients.gain[pair], coefficients.lcb[pair]) = Coefficients::of(ucb, lcb, reward);
    }
    coefficients
}

/// A problem with its cap, as learners pose it.
pub fn problem<'a>(
    instance: &World,
    sample: &'a ContextSample,
    coefficients: &'a Coefficients,
) -> Problem<'a> {
    Problem {
        sample,
        coefficients,
        budget_max: instance.task().budget_max(),
        cap: Some(instance.task().reward_max()),
    }
}

/// Candidates within reach: those that a dense solver has to compute.
pub fn candidates_within_reach(problem: &Problem) -> f64 {
    let sample = problem.sample;
    let cost_max = sample.distinct_costs().iter().max().copied().unwrap_or(0);
    let steps = (0..sample.horizon()).map(|h| {
        let spendable = cost_max as usize * (sample.horizon() - h);
        let budgets = spendable.min(problem.budget_max as usize) + 1;
        (sample.step(h).len() * sample.actions() * budgets) as f64
    });
    steps.sum()
}

/// Bounds per bid, rising with it: an armed oracle as it is after some episodes.
#[derive(Debug)]
pub struct ArmedBounds(pub Vec<[f64; 2]>);

impl ArmedBounds {
    pub fn new(actions: usize) -> Self {
        let bounds = (1..=actions).map(|a| {
            let rho = a as f64 / (actions + 1) as f64;
            let radius = 0.1 * (a as f64 * 0.618).fract();
            [(rho + radius).min(1.0), (rho - radius).max(0.0)]
        });
        Self(bounds.collect())
    }
}

impl BoundSource for ArmedBounds {
    fn fill_entries(
        &self,
        sample: &ContextSample,
        entries: Range<usize>,
        gain: &mut [f64],
        lcb: &mut [f64],
    ) {
        for (i, entry) in entries.enumerate() {
            for (a, &[ucb, lower]) in self.0.iter().enumerate() {
                let pair = i * self.0.len() + a;
                let reward = sample.reward(entry, a + 1);
                (gain[pair], lcb[pair]) = Coefficients::of(ucb, lower, reward);
            }
        }
    }

    fn parameters(&self) -> Option<BoundParameters> {
        Some(BoundParameters::Armed {
            bounds: self.0.clone(),
            estimates: Vec::new(),
            by_step: false,
        })
    }
}
