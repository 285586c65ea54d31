//! The distinct actions of a log: values that differ only by the rounding of floats are one action.

use std::collections::BTreeSet;

use super::summary::count;

/// Relative difference up to which two values are the same action: what is left of a decimal in 32 bits.
const SAME: f64 = 1e-6;

/// The actions in rising order.
#[derive(Debug, Clone, PartialEq)]
pub struct Actions {
    /// Their values.
    pub values: Vec<f64>,
    /// The largest value in the file that each stands for.
    upto: Vec<f64>,
    /// What was merged, in words.
    pub note: Option<String>,
}

impl Actions {
    /// From the bits of the values found, which are positive.
    pub fn of(found: &BTreeSet<u64>) -> Self {
        let found: Vec<f64> = found.iter().map(|bits| f64::from_bits(*bits)).collect();
        let groups = || found.chunk_by(|a, b| b - a <= SAME * b);
        // The shortest number is the one that was meant.
        let shortest = |group: &[f64]| {
            let digits = |x: &&f64| x.to_string().len();
            group.iter().min_by_key(digits).copied().unwrap_or(group[0])
        };
        let merged = groups().filter(|group| group.len() > 1);
        let note = merged.clone().next().map(|group| {
            let meant = shortest(group);
            let other = group.iter().find(|x| **x != meant).unwrap_or(&meant);
            let more = count(merged.map(|group| group.len() as u64 - 1).sum());
            format!("{more} values differ from others only by rounding and were merged, such as {other} into {meant}")
        });
        Self {
            values: groups().map(shortest).collect(),
            upto: groups().map(|group| group[group.len() - 1]).collect(),
            note,
        }
    }

    /// The place of a value.
    pub fn place(&self, value: f64) -> usize {
        self.upto.partition_point(|largest| *largest < value)
    }
}
