//! Labeled rows from before the start, such as a log of real episodes. The oracle and the context laws both learn from them.
//! This is a practical variant: optimism does not need the two to be independent, but the rest of the proof does.

use crate::error::Invalid;
use crate::oracle::LabeledData;
use crate::task::{EpisodeContexts, Task};

/// Labeled rows as read, not yet checked for a task.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct InitialLog {
    /// The episodes.
    pub episodes: Vec<Vec<InitialArrival>>,
}

/// An arrival before the start.
#[derive(Debug, Clone, PartialEq)]
pub struct InitialArrival {
    /// Step within the episode, 0-based.
    pub step: usize,
    /// Features theta.
    pub features: Vec<f64>,
    /// The action; 0 is the null action.
    pub action: usize,
    /// Whether the offer was accepted.
    pub accepted: bool,
}

/// Labeled rows, checked for a task.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WarmStart {
    /// The contexts of every episode.
    pub contexts: Vec<EpisodeContexts>,
    /// All offers with their outcomes, and the number of arrivals without an offer.
    pub data: LabeledData,
}

impl InitialLog {
    /// Checks the rows for a task. Errors name `field`.
    pub fn check(&self, field: &str, task: &Task) -> Result<WarmStart, Invalid> {
        let named = |error: Invalid| Invalid {
            field: field.into(),
            ..error
        };
        let mut start = WarmStart {
            contexts: Vec::with_capacity(self.episodes.len()),
            data: LabeledData::new(task.dimension()),
        };
        for episode in &self.episodes {
            let mut contexts = EpisodeContexts::new(task.dimension());
            for arrival in episode {
                task.check_context(&arrival.features).map_err(named)?;
                let fits = arrival.step < task.horizon() && arrival.action <= task.actions();
                if !fits {
                    let found = format!("action {} at step {}", arrival.action, arrival.step + 1);
                    return Err(Invalid::new(field, found, "actions and steps of the task"));
                }
                let context = task.context(arrival.step, &arrival.features);
                contexts.arrive(context.step, |slot| {
                    slot.copy_from_slice(context.features);
                    context.point
                });
                match arrival.action {
                    0 => start.data.decline(),
                    action => start.data.push(&context, action, arrival.accepted),
                }
            }
            start.contexts.push(contexts);
        }
        Ok(start)
    }
}
