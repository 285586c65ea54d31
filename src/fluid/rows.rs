//! The fluid bound of rows, in one pass and with memory for slopes and not for contexts: edges of nearly the same slope are
//! added up, and between the ends of such a bucket the bound follows its steepest or its flattest edge, whichever is lower.
//! So it is never below the program's value, and above it by no more than a share of about 1e-8.

use std::collections::BTreeMap;
use std::ops::Range;

use rayon::prelude::*;

use super::Hull;
use crate::dp::Coefficients;
use crate::task::{Context, ContextRows, Task};

/// Rows whose edges exist at a time, and the rows of one task among them.
const ROWS: usize = 4096;
const CHUNK: usize = 64;

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

/// UB for budgets 0..=`budget_max`, with `rho` known.
pub fn fluid_bounds_of_rows(
    task: &Task,
    rows: &ContextRows,
    rho: &(dyn Fn(&Context, usize) -> f64 + Sync),
) -> Vec<f64> {
    let mut buckets: BTreeMap<usize, Vec<Bucket>> = BTreeMap::new();
    let starts: Vec<usize> = (0..rows.len()).step_by(CHUNK).collect();
    for starts in starts.chunks(ROWS / CHUNK) {
        let edges = starts.par_iter().map(|&first| {
            let some = first..(first + CHUNK).min(rows.len());
            edges_of(task, rows, some, rho)
        });
        // One after the other: the same bits for any number of threads.
        for (slope, cost) in edges.collect::<Vec<_>>().into_iter().flatten() {
            let number = (slope.to_bits() >> DROPPED) as usize;
            let octave = buckets.entry(number / BUCKETS);
            let bucket = &mut octave.or_insert_with(|| vec![EMPTY; BUCKETS])[number % BUCKETS];
            bucket.cost += cost;
            bucket.reward += slope * cost;
            bucket.steepest = bucket.steepest.max(slope);
            bucket.flattest = bucket.flattest.min(slope);
        }
    }
    let falling = buckets
        .values()
        .rev()
        .flat_map(|octave| octave.iter().rev());
    let filled: Vec<Bucket> = falling.filter(|b| b.cost > 0.0).copied().collect();
    buy_all(&filled, rows.len() as f64, task.budget_max())
}

/// (slope, cost) of the edges of some rows' contexts.
fn edges_of(
    task: &Task,
    rows: &ContextRows,
    some: Range<usize>,
    rho: &(dyn Fn(&Context, usize) -> f64 + Sync),
) -> Vec<(f64, f64)> {
    let mut edges = Vec::new();
    let mut hull = Hull::default();
    for row in some {
        for step in 0..rows.horizon() {
            let Some(features) = rows.get(row, step) else {
                continue;
            };
            let context = task.context(step, features);
            hull.set((1..=task.actions()).map(|a| {
                let rho = rho(&context, a);
                let (gain, rho) = Coefficients::of(rho, rho, task.reward(&context, a));
                (rho * f64::from(task.cost(&context, a)), gain)
            }));
            edges.extend(hull.edges());
        }
    }
    edges
}

/// The bound for budgets 0..=`budget_max`, from buckets by falling slope whose sums are over so many rows.
fn buy_all(buckets: &[Bucket], rows: f64, budget_max: u32) -> Vec<f64> {
    let (mut spent, mut earned) = (0.0, 0.0);
    let mut queue = buckets.iter().peekable();
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
