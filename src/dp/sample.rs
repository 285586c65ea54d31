//! The contexts a plan averages over: the unlabeled sample s_t, rows from a file, or a finite law.
//!
//! Every distinct context is stored once, as an *entry* with its rewards and costs in flat arrays; each step holds a
//! list of (entry, weight). Equal contexts of a finite law are merged with their multiplicity, so a sample stops
//! growing once every context has been seen. No-arrival contexts add nothing but waiting: they only count in `total`.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use super::WeightedEntries;
use crate::task::{Context, ContextRows, Task};

/// Weighted contexts per step, in flat arrays. It only grows.
#[derive(Debug)]
pub struct ContextSample {
    id: u64,
    actions: usize,
    dimension: usize,
    split_by_step: bool,
    features: Vec<f64>,
    steps: Vec<u32>,
    points: Vec<Option<u32>>,
    largest_features: Vec<f64>,
    rewards: Vec<f64>,
    largest_reward: f64,
    cost_rows: Vec<u32>,
    distinct_costs: Vec<u32>,
    entry_of: HashMap<(u32, u32), u32>,
    lists: Vec<WeightedEntries>,
    list_of_step: Vec<usize>,
    bids: Vec<f64>,
    unit_cost: bool,
    row_entries: Vec<RowEntry>,
    row_ends: Vec<usize>,
    total: f64,
}

/// An arrival of a row that was appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowEntry {
    /// Step, 0-based.
    pub step: u32,
    /// Its place in the step's list.
    pub place: u32,
    /// Its entry.
    pub entry: u32,
}

/// Numbers samples, so that a backend can keep what it knows of one.
static NEXT_ID: AtomicU64 = AtomicU64::new(0);

impl ContextSample {
    /// An empty sample. With `split_by_step` a context seen at two steps is two entries, for bounds that differ by
    /// step.
    pub fn new(task: &Task, split_by_step: bool) -> Self {
        let horizon = task.horizon();
        let application = task.application();
        let bids = match application.is_auction() {
            true => application.action_values().to_vec(),
            false => Vec::new(),
        };
        Self {
            lists: vec![WeightedEntries::default(); horizon],
            bids,
            unit_cost: application.cost_max() == 1,
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            actions: task.actions(),
            dimension: task.dimension(),
            split_by_step,
            features: Vec::new(),
            steps: Vec::new(),
            points: Vec::new(),
            largest_features: vec![0.0; task.dimension()],
            rewards: Vec::new(),
            largest_reward: 0.0,
            cost_rows: Vec::new(),
            distinct_costs: Vec::new(),
            entry_of: HashMap::new(),
            list_of_step: (0..horizon).collect(),
            row_entries: Vec::new(),
            row_ends: Vec::new(),
            total: 0.0,
        }
    }

    /// A sample of contexts with weights of their own that sum to `total` at each step, still without contexts. Step h has
    /// the contexts of step `alike[h]`, the first of those with the same law.
    pub fn of_weights(task: &Task, split_by_step: bool, total: f64, alike: &[usize]) -> Self {
        let mut sample = Self::new(task, split_by_step);
        sample.lists.clear();
        sample.total = total;
        for (step, &first) in alike.iter().enumerate() {
            if first == step {
                sample.list_of_step[step] = sample.lists.len();
                sample.lists.push(WeightedEntries::default());
            } else {
                sample.list_of_step[step] = sample.list_of_step[first];
            }
        }
        sample
    }

    /// Adds contexts with their weights to the lists of their steps.
    pub fn add_weighted<'c>(
        &mut self,
        task: &Task,
        contexts: impl Iterator<Item = (Context<'c>, f64)>,
    ) {
        for (context, weight) in contexts {
            let entry = self.entry(task, &context);
            let list = self.list_of_step[context.step];
            self.lists[list].add(entry, weight, context.point.is_some());
        }
    }

    /// Rows from a file or drawn from the law.
    pub fn of_rows(task: &Task, rows: &ContextRows, split_by_step: bool) -> Self {
        let mut sample = Self::new(task, split_by_step);
        sample.append_rows(task, rows);
        sample
    }

    /// Appends rows; features that are of the task's known types are merged.
    pub fn append_rows(&mut self, task: &Task, rows: &ContextRows) {
        for row in 0..rows.len() {
            let steps = 0..rows.horizon();
            let contexts = steps.filter_map(|step| {
                let features = rows.get(row, step)?;
                Some(task.context(step, features))
            });
            self.append(task, contexts);
        }
    }

    /// Appends one row: the contexts that arrived in one episode.
    pub fn append<'c>(&mut self, task: &Task, contexts: impl Iterator<Item = Context<'c>>) {
        for context in contexts {
            let entry = self.entry(task, &context);
            let list = self.list_of_step[context.step];
            let place = self.lists[list].add(entry, 1.0, context.point.is_some());
            self.row_entries.push(RowEntry {
                step: context.step as u32,
                place,
                entry,
            });
        }
        self.row_ends.push(self.row_entries.len());
        self.total += 1.0;
    }

    /// A number no other sample has.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Whether the sample is made of appended rows, and not of a law's probabilities.
    pub fn is_made_of_rows(&self) -> bool {
        self.row_ends.len() as f64 == self.total
    }

    /// Every arrival that was appended, in order.
    pub fn arrivals(&self) -> &[RowEntry] {
        &self.row_entries
    }

    /// The arrivals of every row that was appended, row by row.
    pub fn rows(&self) -> impl Iterator<Item = &[RowEntry]> {
        let starts = std::iter::once(0).chain(self.row_ends.iter().copied());
        starts
            .zip(&self.row_ends)
            .map(|(start, &end)| &self.row_entries[start..end])
    }

    /// The entry of a context, where it is a point of a finite law that the sample has met.
    pub fn find(&self, context: &Context) -> Option<usize> {
        let step = if self.split_by_step { context.step } else { 0 };
        let entry = self.entry_of.get(&(context.point?, step as u32));
        entry.map(|entry| *entry as usize)
    }

    /// The entry of a context, made where it is new.
    fn entry(&mut self, task: &Task, context: &Context) -> u32 {
        let next = self.len() as u32;
        if let Some(point) = context.point {
            let step = if self.split_by_step { context.step } else { 0 };
            let entry = *self.entry_of.entry((point, step as u32)).or_insert(next);
            if entry != next {
                return entry;
            }
        }
        self.features.extend_from_slice(context.features);
        for (largest, x) in self.largest_features.iter_mut().zip(context.features) {
            *largest = largest.max(x.abs());
        }
        self.steps.push(context.step as u32);
        self.points.push(context.point);
        for action in 1..=self.actions {
            let reward = task.reward(context, action);
            self.largest_reward = self.largest_reward.max(reward);
            self.rewards.push(reward);
            let cost = task.cost(context, action);
            let row = match self.distinct_costs.iter().position(|c| *c == cost) {
                Some(row) => row,
                None => {
                    self.distinct_costs.push(cost);
                    self.distinct_costs.len() - 1
                }
            };
            self.cost_rows.push(row as u32);
        }
        next
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Whether there is no entry (nobody has arrived yet).
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// H.
    pub fn horizon(&self) -> usize {
        self.list_of_step.len()
    }

    /// Number of non-null actions.
    pub fn actions(&self) -> usize {
        self.actions
    }

    /// Number of features of a context.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// What the weights of a step sum to, no-arrivals included: the number of rows, or 1 for a law.
    pub fn total(&self) -> f64 {
        self.total
    }

    /// The contexts of a step (0-based).
    pub fn step(&self, step: usize) -> &WeightedEntries {
        &self.lists[self.list_of_step[step]]
    }

    /// The distinct lists of contexts; a law that serves several steps is one list.
    pub fn lists(&self) -> &[WeightedEntries] {
        &self.lists
    }

    /// The number of a step's list in [`ContextSample::lists`].
    pub fn list_of_step(&self, step: usize) -> usize {
        self.list_of_step[step]
    }

    /// Whether a context seen at two steps is two entries.
    pub fn is_split_by_step(&self) -> bool {
        self.split_by_step
    }

    /// The bids, where contexts are private values of an auction: r = theta - bid, cost = bid.
    pub fn bids(&self) -> Option<&[f64]> {
        (!self.bids.is_empty()).then_some(&self.bids)
    }

    /// Whether every action costs 1.
    pub fn has_unit_cost(&self) -> bool {
        self.unit_cost
    }

    /// An entry as a context; its step is that of its first appearance.
    pub fn context(&self, entry: usize) -> Context<'_> {
        let start = entry * self.dimension;
        Context {
            step: self.steps[entry] as usize,
            features: &self.features[start..start + self.dimension],
            point: self.points[entry],
        }
    }

    /// The features of neighbouring entries, entry by entry.
    pub fn features_of(&self, entries: Range<usize>) -> &[f64] {
        &self.features[entries.start * self.dimension..entries.end * self.dimension]
    }

    /// The largest magnitude of each feature so far.
    pub fn largest_features(&self) -> &[f64] {
        &self.largest_features
    }

    /// The largest reward so far, 0 where none is positive.
    pub fn largest_reward(&self) -> f64 {
        self.largest_reward
    }

    /// r of all entries, `actions()` per entry; negative means infeasible.
    pub fn rewards(&self) -> &[f64] {
        &self.rewards
    }

    /// Costs of all entries, `actions()` per entry, as rows of [`ContextSample::distinct_costs`].
    pub fn cost_rows(&self) -> &[u32] {
        &self.cost_rows
    }

    /// The costs that occur, in order of first appearance.
    pub fn distinct_costs(&self) -> &[u32] {
        &self.distinct_costs
    }

    /// The cost of non-null action `action` for an entry.
    pub fn cost(&self, entry: usize, action: usize) -> u32 {
        self.distinct_costs[self.cost_rows[entry * self.actions + action - 1] as usize]
    }
}
