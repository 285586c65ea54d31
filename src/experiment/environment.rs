//! The environment of one replication: every policy gets the same contexts and acceptance uniforms.

use std::time::Instant;

use rand::RngExt;
use rand::rngs::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::{Latencies, Purpose, Streams};
use crate::policy::{Played, Policy};
use crate::task::EpisodeContexts;
use crate::world::World;

/// The contexts and acceptance uniforms of a replication, episode by episode.
#[derive(Debug)]
pub struct Environment {
    contexts_stream: ChaCha8Rng,
    acceptance_stream: ChaCha8Rng,
    contexts: EpisodeContexts,
    /// The type of the drawn day.
    day: usize,
    left: Vec<u32>,
    actions: Vec<u32>,
    decisions: usize,
    latencies: Latencies,
}

/// The outcome of an episode.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(from = "Cells", into = "Cells")]
pub struct EpisodeOutcome {
    /// Sum of rewards.
    pub reward: f64,
    /// Budget consumed.
    pub spent: u32,
    /// Exact expected reward of the policy's plan, if evaluated.
    pub expected: Option<f64>,
    /// What the regret of a learner consists of.
    pub played: Option<Played>,
}

/// An outcome as files have it, without names.
#[derive(Debug, Serialize, Deserialize)]
struct Cells(f64, u32, Option<f64>, #[serde(default)] Option<(f64, f64)>);

impl From<Cells> for EpisodeOutcome {
    fn from(Cells(reward, spent, expected, played): Cells) -> Self {
        let played = played.map(|(widths, tolerance)| Played { widths, tolerance });
        Self {
            reward,
            spent,
            expected,
            played,
        }
    }
}

impl From<EpisodeOutcome> for Cells {
    fn from(episode: EpisodeOutcome) -> Self {
        let played = episode.played.map(|p| (p.widths, p.tolerance));
        Self(episode.reward, episode.spent, episode.expected, played)
    }
}

/// The positions of an environment's streams between two episodes, in words of 32 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct EnvironmentState {
    contexts: u64,
    acceptance: u64,
}

impl Environment {
    /// The environment of a replication (0-based).
    pub fn new(world: &World, streams: &Streams, replication: u64) -> Self {
        Self {
            contexts_stream: streams.of(replication, Purpose::Contexts),
            acceptance_stream: streams.of(replication, Purpose::Acceptance),
            contexts: EpisodeContexts::new(world.task().dimension()),
            day: 0,
            left: vec![0; world.task().horizon() + 1],
            actions: Vec::new(),
            decisions: 0,
            latencies: Latencies::default(),
        }
    }

    /// Times of decisions since the last call.
    pub(super) fn take_latencies(&mut self) -> Latencies {
        std::mem::take(&mut self.latencies)
    }

    /// The contexts of the last episode played.
    pub fn contexts(&self) -> &EpisodeContexts {
        &self.contexts
    }

    /// Budget left before each step of the last episode played, and at its end.
    pub fn left(&self) -> &[u32] {
        &self.left
    }

    /// The actions of the last episode played, one for each of its contexts.
    pub fn actions(&self) -> &[u32] {
        &self.actions
    }

    /// The state, for a restart.
    pub(super) fn state(&self) -> EnvironmentState {
        EnvironmentState {
            contexts: self.contexts_stream.get_word_pos() as u64,
            acceptance: self.acceptance_stream.get_word_pos() as u64,
        }
    }

    /// Restores a state of the same replication.
    pub(super) fn restore(&mut self, state: EnvironmentState) {
        self.contexts_stream.set_word_pos(state.contexts.into());
        self.acceptance_stream.set_word_pos(state.acceptance.into());
    }

    /// Draws the type and the contexts of the next episode.
    pub fn draw(&mut self, world: &World) {
        let laws = world.contexts();
        self.day = laws.draw(&mut self.contexts_stream, &mut self.contexts);
    }

    /// Draws and plays one episode from budget `b_t`.
    pub fn play(&mut self, world: &World, policy: &mut dyn Policy, b_t: u32) -> EpisodeOutcome {
        self.draw(world);
        self.play_drawn(world, policy, b_t)
    }

    /// Plays the drawn episode. Every step consumes one acceptance uniform, needed or not.
    pub fn play_drawn(
        &mut self,
        world: &World,
        policy: &mut dyn Policy,
        b_t: u32,
    ) -> EpisodeOutcome {
        policy.start_day(self.day);
        let mut arrivals = self.contexts.iter().peekable();
        let mut budget = b_t;
        let mut reward = 0.0;
        self.actions.clear();
        for step in 0..world.task().horizon() {
            self.left[step] = budget;
            let uniform: f64 = self.acceptance_stream.random();
            let Some(context) = arrivals.next_if(|context| context.step == step) else {
                continue;
            };
            self.decisions += 1;
            let start = Latencies::are_due(self.decisions).then(Instant::now);
            let action = policy.choose(&context, budget);
            if let Some(start) = start {
                self.latencies.push(start.elapsed());
            }
            self.actions.push(action as u32);
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
            played: policy.played(),
        }
    }
}
