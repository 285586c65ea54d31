//! The contexts a plan averages over: the unlabeled sample s_t, rows from a file, or a finite law.
//!
//! There are two kinds. *Shared* contexts, those of a finite law or with weights of their own, may serve many steps: each
//! is stored once, with its rewards and costs, and every step holds a list of (entry, weight). *Single* contexts arrived
//! once, in one row: only their features are stored, packed by step in the order of arrival, because without a table of
//! types rewards and costs follow from the action and theta. Entries number both kinds: shared contexts first, then single
//! ones step by step, whose numbers change when the sample grows. A step without an arrival only counts in `total`.

mod of_arrays;
mod rewards_and_costs;
mod thetas;

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use super::shared_contexts::{SharedContexts, include};
use super::single_contexts::SingleContexts;
use super::{RowEntry, StepContexts, WeightedEntries};
use crate::task::{Context, ContextRows, Task};

pub use of_arrays::{ArrayList, SampleArrays};
pub(in crate::dp) use thetas::SortedThetas;

/// Weighted contexts per step, in flat arrays. It only grows.
#[derive(Debug)]
pub struct ContextSample {
    id: u64,
    actions: usize,
    dimension: usize,
    shared: SharedContexts,
    lists: Vec<WeightedEntries>,
    list_of_step: Vec<usize>,
    singles: Option<SingleContexts>,
    largest_features: Vec<f64>,
    largest_reward: f64,
    distinct_costs: Vec<u32>,
    bids: Vec<f64>,
    /// Of an auction, list by list.
    thetas: Option<Vec<SortedThetas>>,
    unit_cost: bool,
    /// The shared contexts that arrived in rows, and the step of every arrival, marked where its context is single.
    arrivals: Vec<RowEntry>,
    arrival_steps: Vec<u32>,
    row_ends: Vec<usize>,
    weighted: usize,
    total: f64,
}

/// Marks the step of a single context.
const SINGLE: u32 = 1 << 31;

/// Numbers samples, so that a backend can recognise one.
static NEXT_ID: AtomicU64 = AtomicU64::new(0);

impl ContextSample {
    /// An empty sample for rows. With `split_by_step` a context seen at two steps is two entries, for bounds that differ
    /// by step.
    pub fn new(task: &Task, split_by_step: bool) -> Self {
        let mut sample = Self::in_order(task, split_by_step);
        let application = task.application();
        if application.table_types().is_none() && !application.is_per_customer() {
            sample.singles = Some(SingleContexts::new(task, &mut sample.distinct_costs));
        }
        sample.clear_thetas();
        sample
    }

    /// The same, not for plans: entries are numbered in the order of their first arrival, so that numbers stay when the
    /// sample grows.
    pub(crate) fn in_order(task: &Task, split_by_step: bool) -> Self {
        let horizon = task.horizon();
        let application = task.application();
        let bids = application.action_values().iter();
        let bids = bids.filter(|_| application.is_auction());
        Self {
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            actions: task.actions(),
            dimension: task.dimension(),
            shared: SharedContexts::new(split_by_step),
            lists: vec![WeightedEntries::default(); horizon],
            list_of_step: (0..horizon).collect(),
            singles: None,
            largest_features: vec![0.0; task.dimension()],
            largest_reward: 0.0,
            distinct_costs: Vec::new(),
            bids: bids.copied().collect(),
            thetas: None,
            unit_cost: application.cost_max() == 1,
            arrivals: Vec::new(),
            arrival_steps: Vec::new(),
            row_ends: Vec::new(),
            weighted: 0,
            total: 0.0,
        }
    }

    fn clear_thetas(&mut self) {
        let smallest = self.bids.iter().copied().reduce(f64::min);
        self.thetas = smallest.map(|bid| vec![SortedThetas::new(bid); self.lists.len()]);
    }

    /// An empty sample for contexts whose weights sum to `total` at each step. Step h has the contexts of step `alike[h]`,
    /// the first with the same law.
    pub(crate) fn of_weights(
        task: &Task,
        split_by_step: bool,
        total: f64,
        alike: &[usize],
    ) -> Self {
        let mut sample = Self::in_order(task, split_by_step);
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
        sample.clear_thetas();
        sample
    }

    /// Adds contexts with their weights to the lists of their steps.
    pub fn add_weighted<'c>(
        &mut self,
        task: &Task,
        contexts: impl Iterator<Item = (Context<'c>, f64)>,
    ) {
        for (context, weight) in contexts {
            self.add_shared(task, &context, weight);
            self.weighted += 1;
        }
        self.count_up();
    }

    /// Rows from a file or drawn from the law.
    pub fn of_rows(task: &Task, rows: &ContextRows, split_by_step: bool) -> Self {
        let mut sample = Self::new(task, split_by_step);
        sample.append_rows(task, rows);
        sample
    }

    /// Reserves memory for the single contexts of rows to come.
    pub(crate) fn reserve(&mut self, rows: usize) {
        if let Some(singles) = &mut self.singles {
            let numbers = rows * self.dimension;
            let lists = singles.features.iter_mut();
            lists.for_each(|features| features.reserve_exact(numbers));
        }
    }

    /// Appends rows; contexts of the task's known types are merged.
    pub(crate) fn append_rows(&mut self, task: &Task, rows: &ContextRows) {
        for row in 0..rows.len() {
            let steps = 0..rows.horizon();
            let contexts = steps.filter_map(|step| {
                let features = rows.get(row, step)?;
                Some(task.context(step, features))
            });
            self.append_row(task, contexts);
        }
        self.count_up();
    }

    /// Appends one row: the contexts that arrived in one episode.
    pub fn append<'c>(&mut self, task: &Task, contexts: impl Iterator<Item = Context<'c>>) {
        self.append_row(task, contexts);
        self.count_up();
    }

    fn append_row<'c>(&mut self, task: &Task, contexts: impl Iterator<Item = Context<'c>>) {
        for context in contexts {
            let step = context.step as u32;
            match &mut self.singles {
                Some(singles) if context.point.is_none() => {
                    singles.features[context.step].extend_from_slice(context.features);
                    include(&mut self.largest_features, context.features);
                    let theta = self.bids.first().map_or(0.0, |_| context.features[0]);
                    if let Some(thetas) = &mut self.thetas {
                        thetas[self.list_of_step[context.step]].insert(theta, 1.0);
                    }
                    self.largest_reward = self.largest_reward.max(theta + singles.largest_reward);
                    self.arrival_steps.push(step | SINGLE);
                }
                _ => {
                    let entry = self.add_shared(task, &context, 1.0);
                    self.arrivals.push(RowEntry { step, entry });
                    self.arrival_steps.push(step);
                }
            }
        }
        self.row_ends.push(self.arrival_steps.len());
        self.total += 1.0;
    }

    /// Brings up to date what is derived from the contexts.
    fn count_up(&mut self) {
        if let Some(singles) = &mut self.singles {
            singles.count(self.dimension);
        }
        let thetas = self.thetas.iter_mut().flatten();
        thetas.for_each(SortedThetas::add_up);
    }

    /// Adds weight to a shared context, new or known, in the list of its step; returns its entry.
    fn add_shared(&mut self, task: &Task, context: &Context, weight: f64) -> u32 {
        let (entry, is_new) = self.shared.add(task, context, &mut self.distinct_costs);
        if is_new {
            let rewards = &self.shared.rewards[entry as usize * self.actions..];
            self.largest_reward = rewards.iter().copied().fold(self.largest_reward, f64::max);
            include(&mut self.largest_features, context.features);
        }
        let list = self.list_of_step[context.step];
        let may_repeat = context.point.is_some() || task.application().is_per_customer();
        self.lists[list].add(entry, weight, may_repeat);
        if let Some(thetas) = &mut self.thetas {
            thetas[list].insert(context.features[0], weight);
        }
        entry
    }

    /// A number no other sample has.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Whether the sample consists of appended rows, not of a law's probabilities.
    #[cfg(feature = "gpu")]
    pub(crate) fn is_made_of_rows(&self) -> bool {
        self.weighted == 0 && self.row_ends.len() as f64 == self.total
    }

    /// How many contexts were added with weights of their own.
    pub fn weighted(&self) -> usize {
        self.weighted
    }

    /// Every arrival of a shared context that was appended, in order.
    pub fn arrivals(&self) -> &[RowEntry] {
        &self.arrivals
    }

    /// The arrivals of every row that was appended, row by row.
    pub fn rows(&self) -> impl Iterator<Item = Vec<RowEntry>> {
        let mut shared = self.arrivals.iter();
        let mut next: Vec<usize> = (0..self.lists.len())
            .map(|list| self.singles_of(list).start)
            .collect();
        let starts = std::iter::once(0).chain(self.row_ends.iter().copied());
        starts.zip(&self.row_ends).map(move |(start, &end)| {
            let mut arrival = |&step: &u32| {
                if step & SINGLE == 0 {
                    return shared.next().copied();
                }
                let step = step & !SINGLE;
                let entry = next[self.list_of_step[step as usize]] as u32;
                next[self.list_of_step[step as usize]] += 1;
                Some(RowEntry { step, entry })
            };
            let steps = self.arrival_steps[start..end].iter();
            steps.filter_map(&mut arrival).collect()
        })
    }

    /// The entry of a context that is a point of a finite law and in the sample.
    pub fn find(&self, context: &Context) -> Option<usize> {
        self.shared.find(context)
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.shared.len() + self.singles.as_ref().map_or(0, SingleContexts::len)
    }

    /// Number of entries that are shared contexts: the first ones.
    pub fn shared(&self) -> usize {
        self.shared.len()
    }

    /// Whether there are no entries.
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
    pub fn step(&self, step: usize) -> StepContexts<'_> {
        self.list(self.list_of_step[step])
    }

    /// The contexts of a list; a law that serves several steps is one list.
    pub fn list(&self, list: usize) -> StepContexts<'_> {
        StepContexts {
            shared: &self.lists[list],
            singles: self.singles_of(list),
        }
    }

    /// Number of lists.
    pub fn lists(&self) -> usize {
        self.lists.len()
    }

    /// The number of a step's list.
    pub fn list_of_step(&self, step: usize) -> usize {
        self.list_of_step[step]
    }

    /// The entries that are single contexts of a list.
    fn singles_of(&self, list: usize) -> Range<usize> {
        let shared = self.shared.len();
        let singles = self.singles.as_ref();
        let numbers = singles.map_or(0..0, |singles| singles.numbers(list));
        shared + numbers.start..shared + numbers.end
    }

    /// The entries in ranges whose features lie side by side: the shared contexts, then the single ones of each list.
    pub fn ranges(&self) -> impl Iterator<Item = Range<usize>> {
        let singles = (0..self.lists.len()).map(|list| self.singles_of(list));
        std::iter::once(0..self.shared.len()).chain(singles)
    }

    /// Whether a context seen at two steps is two entries.
    pub fn is_split_by_step(&self) -> bool {
        self.shared.is_split_by_step()
    }

    /// The list of a single context and its place there; `None` for a shared one.
    fn place(&self, entry: usize) -> Option<(&SingleContexts, usize, usize)> {
        let number = entry.checked_sub(self.shared.len())?;
        let singles = self.singles.as_ref()?;
        let (list, place) = singles.place(number);
        Some((singles, list, place))
    }

    /// An entry as a context; its step is that of its first appearance.
    pub fn context(&self, entry: usize) -> Context<'_> {
        match self.place(entry) {
            None => self.shared.context(entry, self.dimension),
            // Singles come in rows, where every step has a list of its own.
            Some((singles, step, place)) => Context {
                step,
                features: &singles.features[step][place * self.dimension..][..self.dimension],
                point: None,
            },
        }
    }

    /// The features of neighbouring entries, entry by entry; they must be of one of [`ContextSample::ranges`].
    pub(crate) fn features_of(&self, entries: Range<usize>) -> &[f64] {
        if entries.is_empty() {
            return &[];
        }
        let size = entries.len() * self.dimension;
        match self.place(entries.start) {
            None => &self.shared.features[entries.start * self.dimension..][..size],
            Some((singles, list, place)) => {
                &singles.features[list][place * self.dimension..][..size]
            }
        }
    }

    /// The largest magnitude of each feature so far.
    #[cfg(feature = "gpu")]
    pub(crate) fn largest_features(&self) -> &[f64] {
        &self.largest_features
    }

    /// The largest reward so far, 0 where none is positive.
    pub(crate) fn largest_reward(&self) -> f64 {
        self.largest_reward
    }
}
