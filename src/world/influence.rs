//! The standard error of an optimum estimated from sampled rows (Section 3.4's estimator), for every budget at once.
//!
//! The estimate u_hat[1] is a smooth functional of the empirical context laws. To first order, row i moves it by
//!
//! ```text
//! J[h][i](b) = v[h](b, theta_hi) - u_hat[h](b) + sum_c P[h](b -> b - c) J[h+1][i](b - c)
//! ```
//!
//! where v is the value after the context is seen and P the budget's transitions under the estimated policy (how the
//! policy itself moves is second order: it is optimal). The J of all rows average to zero; their spread over the
//! square root of their number is the standard error.

use rayon::prelude::*;

use crate::dp::{Problem, RowEntry, ValueTable};

/// Standard errors of `u_hat.start(b)` for b = 0..=budget_max. The problem's sample must have been made of rows, with
/// ucb = lcb = rho and no cap.
pub fn standard_errors(problem: &Problem, u_hat: &ValueTable) -> Vec<f64> {
    let width = u_hat.budget_max() as usize + 1;
    let horizon = u_hat.horizon();
    let transitions: Vec<Vec<f64>> = (0..horizon)
        .into_par_iter()
        .map(|h| transition_row(problem, u_hat, h))
        .collect();
    let rows: Vec<&[RowEntry]> = problem.sample.rows().collect();
    let squares = rows
        .par_chunks(64)
        .map(|chunk| {
            let mut sums = vec![0.0; width];
            for row in chunk {
                let influence = row_influence(problem, u_hat, &transitions, row);
                for (sum, j) in sums.iter_mut().zip(influence) {
                    *sum += j * j;
                }
            }
            sums
        })
        .collect::<Vec<_>>();
    let m = rows.len() as f64;
    (0..width)
        .map(|b| {
            let sum: f64 = squares.iter().map(|part| part[b]).sum();
            if m > 1.0 {
                (sum / (m * (m - 1.0))).sqrt()
            } else {
                f64::INFINITY
            }
        })
        .collect()
}

/// max(0, max_a (rho r - rho gap)) at (h, b) for an entry, and the action that attains it (0-based, `None` = null).
fn best_gain(problem: &Problem, next: &[f64], entry: usize, b: usize) -> (f64, Option<usize>) {
    let actions = problem.sample.actions();
    let mut best = (0.0, None);
    for a in 0..actions {
        let cost = problem.sample.cost(entry, a + 1) as usize;
        if cost <= b {
            let pair = entry * actions + a;
            let gap = next[b] - next[b - cost];
            let value = problem.coefficients.gain[pair] - problem.coefficients.lcb[pair] * gap;
            if value > best.0 {
                best = (value, Some(a));
            }
        }
    }
    best
}

/// P[h](b -> b - c) for every budget b and distinct cost c, flat.
fn transition_row(problem: &Problem, u_hat: &ValueTable, h: usize) -> Vec<f64> {
    let costs = problem.sample.distinct_costs().len();
    let actions = problem.sample.actions();
    let next = u_hat.row(h + 1);
    let contexts = problem.sample.step(h);
    let mut probabilities = vec![0.0; next.len() * costs];
    for (&entry, &weight) in contexts.entries.iter().zip(&contexts.weights) {
        for b in 0..next.len() {
            if let (_, Some(a)) = best_gain(problem, next, entry as usize, b) {
                let pair = entry as usize * actions + a;
                let cost_row = problem.sample.cost_rows()[pair] as usize;
                probabilities[b * costs + cost_row] +=
                    weight / problem.sample.total() * problem.coefficients.lcb[pair];
            }
        }
    }
    probabilities
}

/// J[1] of one row, for all budgets.
fn row_influence(
    problem: &Problem,
    u_hat: &ValueTable,
    transitions: &[Vec<f64>],
    row: &[RowEntry],
) -> Vec<f64> {
    let costs = problem.sample.distinct_costs();
    let mut arrivals = row.iter().rev().peekable();
    let mut influence = vec![0.0; u_hat.budget_max() as usize + 1];
    for h in (0..u_hat.horizon()).rev() {
        let (now, next) = (u_hat.row(h), u_hat.row(h + 1));
        let arrival = arrivals.next_if(|arrival| arrival.step as usize == h);
        // In falling order of b, because the influence at b needs those of smaller budgets at the later step.
        for b in (0..now.len()).rev() {
            let gain = arrival.map_or(0.0, |a| best_gain(problem, next, a.entry as usize, b).0);
            let mut later = influence[b];
            for (c, &cost) in costs.iter().enumerate().filter(|(_, c)| **c as usize <= b) {
                let p = transitions[h][b * costs.len() + c];
                later += p * (influence[b - cost as usize] - influence[b]);
            }
            influence[b] = next[b] + gain - now[b] + later;
        }
    }
    influence
}
