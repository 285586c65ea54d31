//! The contexts of a log as a sample for Optimistic-DP.

use std::collections::HashMap;

use crate::dp::ContextSample;
use crate::history::fit::Fitted;
use crate::task::{Context, Task};

/// The empirical law: contexts by step with the probability of an arrival. Steps with the same law share one list.
pub fn law_sample(task: &Task, fitted: &Fitted) -> ContextSample {
    let law = &fitted.law;
    let rates = fitted.exposure.rates(&fitted.log, task.horizon(), |_| 1.0);
    let mut first = HashMap::new();
    let alike: Vec<usize> = (0..task.horizon())
        .map(|step| {
            *first
                .entry((law.group_of_step[step], rates[step].to_bits()))
                .or_insert(step)
        })
        .collect();
    let mut sample = ContextSample::of_weights(task, false, 1.0, &alike);
    for step in (0..task.horizon()).filter(|&step| alike[step] == step) {
        let group = &law.groups[law.group_of_step[step]];
        let weight = rates[step] / group.len() as f64;
        let contexts = group.iter().map(|&arrival| {
            let context = Context {
                step,
                features: fitted.log.theta(arrival as usize),
                // An arrival shared by several steps is one entry.
                point: Some(arrival),
            };
            (context, weight)
        });
        sample.add_weighted(task, contexts);
    }
    sample
}
