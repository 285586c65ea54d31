//! Contexts that may serve many steps: points of a finite law, merged when they appear again, and contexts with weights of
//! their own. Each is stored once, as an entry with its rewards and costs in flat arrays.

use std::collections::HashMap;

use crate::task::{Context, Task};

/// The entries, in the order of their first appearance.
#[derive(Debug, Default)]
pub(super) struct SharedContexts {
    split_by_step: bool,
    pub features: Vec<f64>,
    steps: Vec<u32>,
    points: Vec<Option<u32>>,
    pub rewards: Vec<f64>,
    pub cost_rows: Vec<u32>,
    /// Whether some entry has other costs than the first.
    costs_differ: bool,
    entry_of: HashMap<(u32, u32), u32>,
}

impl SharedContexts {
    /// No contexts yet. With `split_by_step` a context seen at two steps is two entries.
    pub fn new(split_by_step: bool) -> Self {
        Self {
            split_by_step,
            ..Self::default()
        }
    }

    /// Contexts without features, each with the step of its first appearance.
    pub fn of_arrays(steps: Vec<u32>, rewards: Vec<f64>, cost_rows: Vec<u32>) -> Self {
        let actions = cost_rows.len() / steps.len().max(1);
        let first = cost_rows.get(..actions).unwrap_or_default();
        let mut entries = cost_rows.chunks_exact(actions.max(1));
        Self {
            costs_differ: entries.any(|entry| entry != first),
            points: vec![None; steps.len()],
            steps,
            rewards,
            cost_rows,
            ..Self::default()
        }
    }

    /// The costs of all entries, where they are the same.
    pub fn common_cost_rows(&self, actions: usize) -> Option<&[u32]> {
        self.cost_rows.get(..actions).filter(|_| !self.costs_differ)
    }

    pub fn is_split_by_step(&self) -> bool {
        self.split_by_step
    }

    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// The key of a point.
    fn key(&self, point: u32, step: usize) -> (u32, u32) {
        (point, if self.split_by_step { step as u32 } else { 0 })
    }

    /// The entry of a context that is a point and has been added.
    pub fn find(&self, context: &Context) -> Option<usize> {
        let key = self.key(context.point?, context.step);
        self.entry_of.get(&key).map(|entry| *entry as usize)
    }

    /// The entry of a context, and whether it is new.
    pub fn add(
        &mut self,
        task: &Task,
        context: &Context,
        distinct_costs: &mut Vec<u32>,
    ) -> (u32, bool) {
        let next = self.len() as u32;
        if let Some(point) = context.point {
            let key = self.key(point, context.step);
            let entry = *self.entry_of.entry(key).or_insert(next);
            if entry != next {
                return (entry, false);
            }
        }
        self.features.extend_from_slice(context.features);
        self.steps.push(context.step as u32);
        self.points.push(context.point);
        for action in 1..=task.actions() {
            self.rewards.push(task.reward(context, action));
            let cost = task.cost(context, action);
            self.cost_rows.push(cost_row(distinct_costs, cost));
        }
        let costs = &self.cost_rows[next as usize * task.actions()..];
        self.costs_differ |= costs != &self.cost_rows[..task.actions()];
        (next, true)
    }

    /// An entry as a context; its step is that of its first appearance.
    pub fn context(&self, entry: usize, dimension: usize) -> Context<'_> {
        let start = entry * dimension;
        Context {
            step: self.steps[entry] as usize,
            features: &self.features[start..start + dimension],
            point: self.points[entry],
        }
    }
}

/// The row of a cost among the distinct ones; a new cost is added.
pub(super) fn cost_row(distinct_costs: &mut Vec<u32>, cost: u32) -> u32 {
    let known = distinct_costs.iter().position(|c| *c == cost);
    known.unwrap_or_else(|| {
        distinct_costs.push(cost);
        distinct_costs.len() - 1
    }) as u32
}

/// Raises the largest magnitude of each feature.
pub(super) fn include(largest: &mut [f64], features: &[f64]) {
    for (largest, x) in largest.iter_mut().zip(features) {
        *largest = largest.max(x.abs());
    }
}
