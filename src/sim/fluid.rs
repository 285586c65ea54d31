//! The fluid bound UB_t of Appendix A.3: a linear program with one budget constraint.
//!
//! ```text
//! max  sum_h E[ r rho x_h(theta, a) ]   subject to   sum_h E[ cost rho x_h(theta, a) ] <= B,  x_h(theta, .) a mixture
//! ```
//!
//! With a single constraint the program is a fractional knapsack: each (step, context) offers the increments of the
//! upper concave hull of its points (cost rho, r rho), and increments are bought in falling order of reward per cost
//! until the budget is spent. That is exact, and serves all budgets in one pass.

use crate::dp::{Coefficients, ContextSample};

/// A stretch of the bound as a function of the budget.
#[derive(Debug, Clone, Copy)]
struct Increment {
    cost: f64,
    reward: f64,
}

/// UB for budgets 0..=`budget_max`. `coefficients` must hold rho r and rho of the sample's pairs.
pub fn fluid_bounds(
    sample: &ContextSample,
    coefficients: &Coefficients,
    budget_max: u32,
) -> Vec<f64> {
    let mut increments = Vec::new();
    let mut hull = Vec::new();
    let weights = entry_weights(sample);
    for (entry, weight) in weights.into_iter().enumerate().filter(|(_, w)| *w > 0.0) {
        concave_hull(sample, coefficients, entry, &mut hull);
        increments.extend(hull.windows(2).map(|pair| Increment {
            cost: weight * (pair[1].cost - pair[0].cost),
            reward: weight * (pair[1].reward - pair[0].reward),
        }));
    }
    increments.sort_by(|x, y| (y.reward / y.cost).total_cmp(&(x.reward / x.cost)));
    let mut bounds = Vec::with_capacity(budget_max as usize + 1);
    let mut spent = 0.0;
    let mut earned = 0.0;
    let mut queue = increments.into_iter().peekable();
    for budget in 0..=budget_max {
        let budget = f64::from(budget);
        while let Some(next) = queue.next_if(|i| spent + i.cost <= budget) {
            spent += next.cost;
            earned += next.reward;
        }
        let part = queue
            .peek()
            .map_or(0.0, |i| i.reward * (budget - spent) / i.cost);
        bounds.push(earned + part);
    }
    bounds
}

/// The expected number of arrivals of each entry in an episode.
fn entry_weights(sample: &ContextSample) -> Vec<f64> {
    let mut weights = vec![0.0; sample.len()];
    for step in 0..sample.horizon() {
        let contexts = sample.step(step);
        for (&entry, weight) in contexts.entries.iter().zip(&contexts.weights) {
            weights[entry as usize] += weight / sample.total();
        }
    }
    weights
}

/// Corners of the upper concave hull of (0, 0) and the actions' points, by rising cost and falling slope.
fn concave_hull(
    sample: &ContextSample,
    coefficients: &Coefficients,
    entry: usize,
    hull: &mut Vec<Increment>,
) {
    let actions = sample.actions();
    let mut points: Vec<Increment> = (1..=actions)
        .map(|a| {
            let pair = entry * actions + a - 1;
            Increment {
                cost: coefficients.lcb[pair] * f64::from(sample.cost(entry, a)),
                reward: coefficients.gain[pair],
            }
        })
        .filter(|p| p.cost > 0.0 && p.reward > 0.0)
        .collect();
    points.sort_by(|x, y| {
        x.cost
            .total_cmp(&y.cost)
            .then(y.reward.total_cmp(&x.reward))
    });
    hull.clear();
    hull.push(Increment {
        cost: 0.0,
        reward: 0.0,
    });
    for p in points {
        if p.reward <= hull[hull.len() - 1].reward {
            continue;
        }
        while hull.len() >= 2 {
            let (a, b) = (hull[hull.len() - 2], hull[hull.len() - 1]);
            let above = (b.reward - a.reward) * (p.cost - a.cost)
                > (p.reward - a.reward) * (b.cost - a.cost);
            if above {
                break;
            }
            hull.pop();
        }
        hull.push(p);
    }
}
