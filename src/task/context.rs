//! Contexts as a decision maker sees them.

use super::{ContextRows, Support};

/// A context that has arrived at a step (0-based). No arrival, the null context, is the absence of a `Context`.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    /// Step within the episode, 0-based.
    pub step: usize,
    /// The features theta.
    pub features: &'a [f64],
    /// Number of the context type, where it is one of the task's ([`super::Task::support`]).
    pub point: Option<u32>,
}

impl Context<'_> {
    /// The row of a table of context types; the checks of task and world guarantee that there is one.
    pub fn table_row(&self) -> usize {
        self.point
            .expect("tables are only accepted with known context types") as usize
    }
}

/// The contexts of one episode, step by step.
#[derive(Debug, Clone)]
pub struct EpisodeContexts {
    dimension: usize,
    features: Vec<f64>,
    arrivals: Vec<Arrival>,
}

#[derive(Debug, Clone, Copy)]
enum Arrival {
    Nobody,
    Somebody(Option<u32>),
}

impl EpisodeContexts {
    /// An episode without arrivals.
    pub fn empty(horizon: usize, dimension: usize) -> Self {
        Self {
            dimension,
            features: vec![0.0; horizon * dimension],
            arrivals: vec![Arrival::Nobody; horizon],
        }
    }

    /// The episode of a row; contexts that are points of the support are marked as such.
    pub fn of_row(rows: &ContextRows, row: usize, support: &Support) -> Self {
        let mut episode = Self::empty(rows.horizon(), rows.dimension());
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

    /// Somebody arrives at `step` (0-based): `fill` writes the features and returns the number of the context type.
    pub fn arrive(&mut self, step: usize, fill: impl FnOnce(&mut [f64]) -> Option<u32>) {
        let slot = &mut self.features[step * self.dimension..(step + 1) * self.dimension];
        self.arrivals[step] = Arrival::Somebody(fill(slot));
    }

    /// Nobody arrives at `step` (0-based).
    pub fn pass(&mut self, step: usize) {
        self.arrivals[step] = Arrival::Nobody;
    }

    /// The context at `step` (0-based); `None` where nobody arrives.
    pub fn get(&self, step: usize) -> Option<Context<'_>> {
        let start = step * self.dimension;
        match self.arrivals[step] {
            Arrival::Nobody => None,
            Arrival::Somebody(point) => Some(Context {
                step,
                features: &self.features[start..start + self.dimension],
                point,
            }),
        }
    }

    /// All arrivals of the episode, in the order of their steps.
    pub fn iter(&self) -> impl Iterator<Item = Context<'_>> {
        (0..self.arrivals.len()).filter_map(|step| self.get(step))
    }
}
