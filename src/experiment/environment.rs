//! What one replication meets: the same contexts and acceptance uniforms for every policy.

use rand::RngExt;
use rand::rngs::ChaCha8Rng;

use super::{Purpose, Streams};
use crate::policy::Policy;
use crate::task::EpisodeContexts;
use crate::world::World;

/// The contexts and luck of a replication, episode after episode.
#[derive(Debug)]
pub struct Environment {
    contexts_stream: ChaCha8Rng,
    acceptance_stream: ChaCha8Rng,
    contexts: EpisodeContexts,
    left: Vec<u32>,
}

/// What an episode brought.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EpisodeOutcome {
    /// Sum of rewards.
    pub reward: f64,
    /// Budget consumed.
    pub spent: u32,
    /// Exact expected reward of the policy's plan, where it was asked for.
    pub expected: Option<f64>,
}

impl Environment {
    /// The environment of a replication (0-based).
    pub fn new(world: &World, streams: &Streams, replication: u64) -> Self {
        Self {
            contexts_stream: streams.of(replication, Purpose::Contexts),
            acceptance_stream: streams.of(replication, Purpose::Acceptance),
            contexts: EpisodeContexts::new(world.task().dimension()),
            left: vec![0; world.task().horizon() + 1],
        }
    }

    /// The contexts of the last episode played.
    pub fn contexts(&self) -> &EpisodeContexts {
        &self.contexts
    }

    /// Budget left before each step of the last episode played, and at its end.
    pub fn left(&self) -> &[u32] {
        &self.left
    }

    /// Plays one episode from budget `b_t`. Every step uses one acceptance uniform, whether or not it is needed.
    pub fn play(&mut self, world: &World, policy: &mut dyn Policy, b_t: u32) -> EpisodeOutcome {
        world
            .contexts()
            .draw(&mut self.contexts_stream, &mut self.contexts);
        let mut arrivals = self.contexts.iter().peekable();
        let mut budget = b_t;
        let mut reward = 0.0;
        for step in 0..world.task().horizon() {
            self.left[step] = budget;
            let uniform: f64 = self.acceptance_stream.random();
            let Some(context) = arrivals.next_if(|context| context.step == step) else {
                continue;
            };
            let action = policy.choose(&context, budget);
            let converted = action > 0 && uniform < world.rho(&context, action);
            if converted {
                reward += world.task().reward(&context, action);
                budget -= world.task().cost(&context, action);
            }
            policy.observe(&context, action, converted);
        }
        self.left[world.task().horizon()] = budget;
        EpisodeOutcome {
            reward,
            spent: b_t - budget,
            expected: None,
        }
    }
}
