//! A sample from plain arrays, for callers with rewards and costs but no task: bindings to other languages.

use super::super::WeightedEntries;
use super::super::shared_contexts::SharedContexts;
use super::ContextSample;
use crate::error::Invalid;
use crate::statistics::largest;
use crate::task::{ApplicationSpec, TaskSpec};

/// Rewards and costs of contexts, `actions` numbers of each context together.
#[derive(Debug, Clone, PartialEq)]
pub struct SampleArrays {
    /// Number of non-null actions.
    pub actions: usize,
    /// r of every (context, action); negative means infeasible.
    pub rewards: Vec<f64>,
    /// Row of `distinct_costs` of every (context, action).
    pub cost_rows: Vec<u32>,
    /// The costs that occur, each from 1.
    pub distinct_costs: Vec<u32>,
    /// The lists of contexts that steps have, by their probabilities.
    pub lists: Vec<ArrayList>,
    /// The list of each of the H steps.
    pub list_of_step: Vec<usize>,
}

/// Consecutive contexts of [`SampleArrays`] that arrive at a step, with the probability of each.
#[derive(Debug, Clone, PartialEq)]
pub struct ArrayList {
    /// The first of them.
    pub first: usize,
    /// Their probabilities, which sum to the probability of an arrival.
    pub weights: Vec<f64>,
}

impl ContextSample {
    /// The sample of arrays. Checks that their lengths match; the caller checks the numbers.
    pub fn of_arrays(arrays: SampleArrays) -> Result<Self, Invalid> {
        let SampleArrays {
            actions,
            rewards,
            cost_rows,
            distinct_costs,
            lists,
            list_of_step,
        } = arrays;
        let contexts = rewards.len() / actions.max(1);
        let within = |list: &ArrayList| {
            let last = list.first.checked_add(list.weights.len());
            last.is_some_and(|last| last <= contexts)
        };
        let rows = distinct_costs.len();
        let fits = rewards.len() == contexts * actions
            && cost_rows.len() == rewards.len()
            && u32::try_from(contexts).is_ok()
            && cost_rows.iter().all(|row| (*row as usize) < rows)
            && list_of_step.iter().all(|list| *list < lists.len())
            && lists.iter().all(within);
        if !fits {
            let found = format!("{} rewards, {} costs", rewards.len(), cost_rows.len());
            let accepted = format!("arrays of {actions} actions that fit each other");
            return Err(Invalid::new("arrays", found, accepted));
        }
        // Everything that the task determines is replaced below.
        let wages = vec![1; actions];
        let application = ApplicationSpec::Procurement { wages };
        let task = TaskSpec::new(list_of_step.len(), 0, application, 0).check()?;
        let mut sample = Self::of_weights(&task, false, 1.0, &[]);
        let mut steps = vec![0; contexts];
        for (step, list) in list_of_step.iter().enumerate().rev() {
            let ArrayList { first, weights } = &lists[*list];
            steps[*first..first + weights.len()].fill(step as u32);
        }
        let entries = |list: ArrayList| {
            let first = list.first as u32;
            let last = first + list.weights.len() as u32;
            WeightedEntries::of_weights(first..last, list.weights)
        };
        sample.weighted = lists.iter().map(|list| list.weights.len()).sum();
        sample.lists = lists.into_iter().map(entries).collect();
        sample.list_of_step = list_of_step;
        sample.largest_reward = largest(&rewards);
        sample.unit_cost = distinct_costs.iter().all(|cost| *cost == 1);
        sample.shared = SharedContexts::of_arrays(steps, rewards, cost_rows);
        sample.distinct_costs = distinct_costs;
        Ok(sample)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_that_do_not_fit_are_refused() {
        let list = |first| ArrayList {
            first,
            weights: vec![1.0],
        };
        let arrays = SampleArrays {
            actions: 2,
            rewards: vec![1.0, 2.0],
            cost_rows: vec![0, 1],
            distinct_costs: vec![1, 4],
            lists: vec![list(0)],
            list_of_step: vec![0; 3],
        };
        let sample = ContextSample::of_arrays(arrays.clone()).unwrap();
        assert_eq!((sample.len(), sample.cost(0, 2)), (1, 4));
        assert_eq!((sample.horizon(), sample.has_unit_cost()), (3, false));
        let wrong = |change: &dyn Fn(&mut SampleArrays)| {
            let mut arrays = arrays.clone();
            change(&mut arrays);
            ContextSample::of_arrays(arrays).is_err()
        };
        assert!(wrong(&|arrays| arrays.lists = vec![list(1)]));
        assert!(wrong(&|arrays| arrays.list_of_step = vec![1]));
        assert!(wrong(&|arrays| arrays.cost_rows = vec![0, 2]));
        assert!(wrong(&|arrays| arrays.rewards = vec![1.0]));
        assert!(wrong(&|arrays| arrays.list_of_step.clear()));
    }
}
