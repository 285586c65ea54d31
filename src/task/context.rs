//! Contexts as a decision maker sees them.

use serde::{Deserialize, Serialize};

use super::{ContextRows, Support};

/// A context that has arrived at a step (0-based). No arrival, the null context, is the absence of a `Context`.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    /// Step within the episode, 0-based.
    pub step: usize,
    /// The features theta.
    pub features: &'a [f64],
    /// Number of the context type, if it is one of the task's ([`super::Task::support`]).
    pub point: Option<u32>,
}

impl Context<'_> {
    /// The row of a table of context types; the checks of task and world guarantee that there is one.
    pub fn table_row(&self) -> usize {
        self.point
            .expect("tables are only accepted with known context types") as usize
    }
}

/// The contexts that arrive in one episode, in the order of their arrival. The model has at most one per step; a shop may
/// have more.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct EpisodeContexts {
    dimension: usize,
    features: Vec<f64>,
    arrivals: Vec<(u32, Option<u32>)>,
}

impl EpisodeContexts {
    /// An episode without arrivals, of contexts with `dimension` features.
    pub fn new(dimension: usize) -> Self {
        Self {
            dimension,
            ..Self::default()
        }
    }

    /// The episode of a row, with the types of contexts that are points of the support.
    pub fn of_row(rows: &ContextRows, row: usize, support: &Support) -> Self {
        let mut episode = Self::new(rows.dimension());
        for step in 0..rows.horizon() {
            if let Some(features) = rows.get(row, step) {
                episode.arrive(step, |slot| {
                    slot.copy_from_slice(features);
                    support.find(features)
                });
            }
        }
        episode
    }

    /// Removes all arrivals.
    pub fn clear(&mut self) {
        self.features.clear();
        self.arrivals.clear();
    }

    /// Appends a context that arrives at `step` (0-based): `fill` writes the features and returns the number of its type.
    pub fn arrive(&mut self, step: usize, fill: impl FnOnce(&mut [f64]) -> Option<u32>) {
        let start = self.features.len();
        self.features.resize(start + self.dimension, 0.0);
        let point = fill(&mut self.features[start..]);
        self.arrivals.push((step as u32, point));
    }

    /// Whether all arrivals have `dimension` features and steps below `horizon`; contexts from outside may not.
    pub(super) fn fits(&self, horizon: usize, dimension: usize) -> bool {
        self.dimension == dimension
            && self.features.len() == dimension * self.arrivals.len()
            && self
                .arrivals
                .iter()
                .all(|(step, _)| (*step as usize) < horizon)
    }

    /// Number of arrivals.
    pub fn len(&self) -> usize {
        self.arrivals.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.arrivals.is_empty()
    }

    /// All arrivals of the episode, in order.
    pub fn iter(&self) -> impl Iterator<Item = Context<'_>> {
        self.arrivals.iter().enumerate().map(|(n, &(step, point))| {
            let start = n * self.dimension;
            Context {
                step: step as usize,
                features: &self.features[start..start + self.dimension],
                point,
            }
        })
    }
}
