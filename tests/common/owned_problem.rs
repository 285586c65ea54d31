//! Random problems that own their parts: of a given shape, or of a structure that a backend takes.

use std::sync::Arc;

use cbwk_gpu::dp::{BoundSource, Coefficients, ContextSample, PlanRequest, Problem};
use cbwk_gpu::world::World;
use rand::RngExt;
use rand::rngs::ChaCha8Rng;

use crate::common::{Shape, random_instance};
use crate::structured_problems::{
    ActionBounds, Ellipsoid, Scattered, random_auction, random_pricing,
};

/// The problems that a backend takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Structure {
    Any,
    /// Auctions with bounds that do not depend on the context.
    Auction,
    /// Every action costs 1.
    UnitCost,
    /// Every action costs 1, and contexts serve several steps.
    SharedUnitCost,
}

impl Structure {
    pub const ALL: [Self; 4] = [
        Self::Any,
        Self::Auction,
        Self::UnitCost,
        Self::SharedUnitCost,
    ];
}

/// A problem that owns its parts, as a table of bounds and as a source of them.
pub struct Owned {
    pub instance: Arc<World>,
    pub sample: ContextSample,
    pub source: Box<dyn BoundSource>,
    pub coefficients: Coefficients,
    pub capped: bool,
}

impl Owned {
    pub fn new(
        instance: Arc<World>,
        sample: ContextSample,
        source: Box<dyn BoundSource>,
        capped: bool,
    ) -> Self {
        let mut coefficients = Coefficients::default();
        source.fill(&sample, &mut coefficients);
        Self {
            instance,
            sample,
            source,
            coefficients,
            capped,
        }
    }

    /// Of a given shape: contexts of the law or rows of them, bounds of every kind of oracle.
    pub fn of_shape(rng: &mut ChaCha8Rng, shape: Shape) -> Self {
        let instance = random_instance(rng, shape);
        let by_step = rng.random();
        let sample = if rng.random() {
            instance.law_sample(by_step).unwrap()
        } else {
            let rows = instance.contexts().draw_rows(rng, shape.types);
            ContextSample::of_rows(instance.task(), &rows, by_step)
        };
        let actions = shape.actions;
        let source: Box<dyn BoundSource> = match rng.random_range(0..3) {
            0 => Box::new(Scattered { seed: rng.random() }),
            1 => Box::new(ActionBounds::random(rng, actions, shape.horizon, by_step)),
            _ => Box::new(Ellipsoid::random(rng, actions, 1, shape.types as f64)),
        };
        let capped = rng.random();
        Self::new(instance, sample, source, capped)
    }

    /// Of a structure.
    pub fn of_structure(rng: &mut ChaCha8Rng, structure: Structure) -> Self {
        if structure == Structure::Any {
            let shape = Shape {
                horizon: rng.random_range(1..=12),
                types: rng.random_range(1..=90),
                actions: rng.random_range(1..=6),
                cost_max: rng.random_range(1..=40),
                budget: rng.random_range(0..=45),
            };
            return Self::of_shape(rng, shape);
        }
        let instance = match structure {
            Structure::Auction => random_auction(rng),
            _ => random_pricing(rng, 100),
        };
        let rows = rng.random_range(1..60);
        let rows = instance.contexts().draw_rows(rng, rows);
        let by_step = structure == Structure::Auction && rng.random();
        let of_law = instance.law_sample(by_step);
        let wants_law = structure == Structure::SharedUnitCost || rng.random();
        let sample = match of_law {
            Some(law) if wants_law => law,
            _ => ContextSample::of_rows(instance.task(), &rows, by_step),
        };
        let (actions, horizon) = (instance.task().actions(), instance.task().horizon());
        let source: Box<dyn BoundSource> = if structure == Structure::Auction || rng.random() {
            Box::new(ActionBounds::random(rng, actions, horizon, by_step))
        } else {
            Box::new(Scattered { seed: rng.random() })
        };
        let capped = rng.random();
        Self::new(instance, sample, source, capped)
    }

    pub fn problem(&self) -> Problem<'_> {
        Problem {
            sample: &self.sample,
            coefficients: &self.coefficients,
            budget_max: self.instance.task().budget_max(),
            cap: self.capped.then(|| self.instance.task().reward_max()),
        }
    }

    pub fn request(&self) -> PlanRequest<'_> {
        PlanRequest {
            sample: &self.sample,
            source: self.source.as_ref(),
            budget_max: self.instance.task().budget_max(),
            reward_max: self.instance.task().reward_max(),
        }
    }
}
