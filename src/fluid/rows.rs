//! The fluid bound of rows, with memory for slopes and not for contexts: edges of nearly the same slope are added up in
//! buckets, and between the ends of a bucket the bound follows its steepest or its flattest edge, whichever is lower. So it
//! is never below the program's value, and above it by a share of at most about 1e-8.

use std::collections::BTreeMap;

use super::plan::{add_arrivals, for_each_edge};
use crate::dp::{Coefficients, ContextSample};

/// Binary digits of a slope that are left out of its bucket's number: 2^14 buckets for every power of two.
const DROPPED: u32 = 52 - 14;

/// Buckets for a power of two.
const BUCKETS: usize = 1 << 14;

/// Edges of nearly the same slope.
#[derive(Debug, Clone, Copy)]
struct Bucket {
    cost: f64,
    reward: f64,
    steepest: f64,
    flattest: f64,
}

const EMPTY: Bucket = Bucket {
    cost: 0.0,
    reward: 0.0,
    steepest: 0.0,
    flattest: f64::INFINITY,
};

/// The edges of all rows so far, by powers of two of their slope.
#[derive(Debug, Default)]
pub(crate) struct EdgeBuckets(BTreeMap<usize, Vec<Bucket>>);

/// (slope, cost) of the edges of a sample's arrivals, in place of those in `edges`. `coefficients` must hold rho r and rho of
/// its pairs.
pub(crate) fn arriving_edges(
    sample: &ContextSample,
    coefficients: &Coefficients,
    edges: &mut Vec<(f64, f64)>,
) {
    let mut arrivals = vec![0.0; sample.len()];
    (0..sample.horizon()).for_each(|step| add_arrivals(sample, step, 1.0, &mut arrivals));
    edges.clear();
    for_each_edge(sample, coefficients, |edge| {
        edges.push((edge.slope, arrivals[edge.entry] * edge.cost));
    });
}

impl EdgeBuckets {
    pub fn add(&mut self, edges: &[(f64, f64)]) {
        for &(slope, cost) in edges {
            let number = (slope.to_bits() >> DROPPED) as usize;
            let octave = self.0.entry(number / BUCKETS);
            let bucket = &mut octave.or_insert_with(|| vec![EMPTY; BUCKETS])[number % BUCKETS];
            bucket.cost += cost;
            bucket.reward += slope * cost;
            bucket.steepest = bucket.steepest.max(slope);
            bucket.flattest = bucket.flattest.min(slope);
        }
    }

    /// UB for budgets 0..=`budget_max`, where the edges are those of so many rows.
    pub fn bounds(&self, rows: usize, budget_max: u32) -> Vec<f64> {
        let rows = rows as f64;
        let (mut spent, mut earned) = (0.0, 0.0);
        let falling = self.0.values().rev().flat_map(|octave| octave.iter().rev());
        let mut queue = falling.filter(|b| b.cost > 0.0).peekable();
        (0..=budget_max)
            .map(|budget| {
                let budget = f64::from(budget);
                while let Some(bucket) = queue.next_if(|b| spent + b.cost / rows <= budget) {
                    spent += bucket.cost / rows;
                    earned += bucket.reward / rows;
                }
                queue.peek().map_or(earned, |bucket| {
                    let (cost, reward) = (bucket.cost / rows, bucket.reward / rows);
                    let from_start = earned + (budget - spent) * bucket.steepest;
                    let from_end = earned + reward - (spent + cost - budget) * bucket.flattest;
                    from_start.min(from_end)
                })
            })
            .collect()
    }
}
