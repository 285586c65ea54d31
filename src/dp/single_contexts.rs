//! Contexts that arrived once, in one row: their features, packed by list, and the rewards and costs by action.

use std::ops::Range;

use super::shared_contexts::cost_row;
use crate::task::{Context, Task};

/// Single contexts, numbered list by list.
#[derive(Debug)]
pub(super) struct SingleContexts {
    /// Features by list.
    pub features: Vec<Vec<f64>>,
    /// The number of each list's first context, then the number of all contexts.
    starts: Vec<usize>,
    /// By action; for an auction, what is added to theta.
    pub rewards: Vec<f64>,
    /// The largest of them.
    pub largest_reward: f64,
    /// By action, as rows of the distinct costs.
    pub cost_rows: Vec<u32>,
}

impl SingleContexts {
    /// Number of contexts.
    pub fn len(&self) -> usize {
        self.starts[self.features.len()]
    }

    /// The numbers of a list's contexts.
    pub fn numbers(&self, list: usize) -> Range<usize> {
        self.starts[list]..self.starts[list + 1]
    }

    /// The list of a context by its number, and its place there.
    pub fn place(&self, number: usize) -> (usize, usize) {
        let list = self.starts.partition_point(|start| *start <= number) - 1;
        (list, number - self.starts[list])
    }

    /// No contexts yet, of a task without a table of rewards and costs.
    pub fn new(task: &Task, distinct_costs: &mut Vec<u32>) -> Self {
        let context = Context {
            step: 0,
            features: &vec![0.0; task.dimension()],
            point: None,
        };
        let actions = 1..=task.actions();
        // At theta = 0 an auction's reward is what is added to theta.
        let rewards: Vec<f64> = actions.clone().map(|a| task.reward(&context, a)).collect();
        Self {
            features: vec![Vec::new(); task.horizon()],
            starts: vec![0; task.horizon() + 1],
            largest_reward: rewards.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            rewards,
            cost_rows: actions
                .map(|a| cost_row(distinct_costs, task.cost(&context, a)))
                .collect(),
        }
    }

    /// Updates where every list begins.
    pub fn count(&mut self, dimension: usize) {
        let mut start = 0;
        for (features, slot) in self.features.iter().zip(&mut self.starts[1..]) {
            start += features.len() / dimension;
            *slot = start;
        }
    }
}
