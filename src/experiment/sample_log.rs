//! A synthetic shop log from a world with known truth, for trying out import, fit and evaluate. Every arrival gets a random
//! feasible offer, or none if no action is feasible.

use rand::RngExt;

use super::{Purpose, Streams};
use crate::task::EpisodeContexts;
use crate::world::World;

/// One arrival of the log.
#[derive(Debug, Clone, PartialEq)]
pub struct LoggedArrival {
    /// Episode, 1-based.
    pub episode: usize,
    /// Step, 1-based.
    pub step: usize,
    /// Features.
    pub features: Vec<f64>,
    /// The action; 0 is the null action.
    pub action: usize,
    /// Whether the offer was accepted.
    pub accepted: bool,
    /// Units at the start of the episode.
    pub budget: u32,
}

/// Draws `episodes` episodes of a world with random offers.
pub fn sample_log(world: &World, episodes: usize, seed: u64) -> Vec<LoggedArrival> {
    let streams = Streams::new(seed);
    let mut contexts_stream = streams.of_study(Purpose::Contexts);
    let mut luck = streams.of_study(Purpose::Acceptance);
    let mut choices = streams.of_study(Purpose::LoggedOffers);
    let budgets = world.budgets();
    let budgets = budgets.sequence(episodes, &mut streams.of_study(Purpose::Budgets));
    let task = world.task();
    let mut contexts = EpisodeContexts::new(task.dimension());
    let mut log = Vec::new();
    for (t, &b_t) in budgets.iter().enumerate() {
        world.contexts().draw(&mut contexts_stream, &mut contexts);
        let mut left = b_t;
        for context in contexts.iter() {
            let feasible: Vec<usize> = (1..=task.actions())
                .filter(|&a| task.feasible(&context, a, left))
                .collect();
            let action = match feasible.is_empty() {
                true => 0,
                false => feasible[choices.random_range(0..feasible.len())],
            };
            let accepted = action > 0 && luck.random::<f64>() < world.rho(&context, action);
            if accepted {
                left -= task.cost(&context, action);
            }
            log.push(LoggedArrival {
                episode: t + 1,
                step: context.step + 1,
                features: context.features.to_vec(),
                action,
                accepted,
                budget: b_t,
            });
        }
    }
    log
}
