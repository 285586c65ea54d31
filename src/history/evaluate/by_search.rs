//! Plans and their expected rewards for any costs: every (step, budget, context, action) is looked at.

use super::worlds::{LogWorld, Play, Worlds};
use crate::task::Context;

/// The contexts of a group: weights, and by action acceptance, reward and cost.
struct Rows {
    weights: Vec<f64>,
    rho: Vec<f64>,
    rewards: Vec<f64>,
    costs: Vec<usize>,
}

impl Rows {
    fn new(worlds: &Worlds, world: &LogWorld, group: usize) -> Self {
        let contexts = &world.groups[group];
        let task = &worlds.task;
        let mut rows = Self {
            weights: contexts.iter().map(|(_, weight)| *weight).collect(),
            rho: worlds.rho(&world.model, contexts),
            rewards: Vec::new(),
            costs: Vec::new(),
        };
        for (i, _) in contexts {
            let context = Context {
                step: 0,
                features: worlds.fitted.log.theta(*i as usize),
                point: None,
            };
            for a in 1..=task.actions() {
                rows.rewards.push(task.reward(&context, a));
                rows.costs.push(task.cost(&context, a) as usize);
            }
        }
        rows
    }
}

fn all_rows(worlds: &Worlds, world: &LogWorld) -> Vec<Rows> {
    (0..world.groups.len())
        .map(|group| Rows::new(worlds, world, group))
        .collect()
}

/// The best action of a context by its own acceptance: its place in the row and its gain; `None` for none.
fn best(
    rho: &[f64],
    rewards: &[f64],
    costs: &[usize],
    next: &[f64],
    b: usize,
) -> Option<(usize, f64)> {
    let mut best: Option<(usize, f64)> = None;
    for (a, (&rho, (&reward, &cost))) in rho.iter().zip(rewards.iter().zip(costs)).enumerate() {
        if reward < 0.0 || cost > b {
            continue;
        }
        let gain = rho * (reward - (next[b] - next[b - cost]));
        if gain > best.map_or(0.0, |(_, gain)| gain) {
            best = Some((a, gain));
        }
    }
    best
}

/// The Bellman table of a world, row by row.
pub fn plan(worlds: &Worlds, world: &LogWorld) -> Vec<f64> {
    let all = all_rows(worlds, world);
    let k = worlds.task.actions();
    let (horizon, width) = (worlds.task.horizon(), worlds.task.budget_max() as usize + 1);
    let mut values = vec![0.0; (horizon + 1) * width];
    for h in (0..horizon).rev() {
        let (head, next) = values.split_at_mut((h + 1) * width);
        let now = &mut head[h * width..];
        let rows = &all[worlds.group_of(h)];
        for b in 0..width {
            let gain = |(i, weight): (usize, &f64)| {
                let own = i * k..(i + 1) * k;
                let found = best(
                    &rows.rho[own.clone()],
                    &rows.rewards[own.clone()],
                    &rows.costs[own],
                    next,
                    b,
                );
                weight * found.map_or(0.0, |(_, gain)| gain)
            };
            let sum: f64 = rows.weights.iter().enumerate().map(gain).sum();
            now[b] = next[b] + world.rates[h] * sum;
        }
    }
    values
}

/// Expected rewards by starting budget.
pub fn rewards(worlds: &Worlds, world: &LogWorld, play: Play) -> Vec<f64> {
    let all = all_rows(worlds, world);
    let k = worlds.task.actions();
    let choices: Vec<Vec<f64>> = match play {
        Play::Plan(model, _) => world
            .groups
            .iter()
            .map(|group| worlds.rho(model, group))
            .collect(),
        Play::Fixed(_) => vec![Vec::new(); world.groups.len()],
    };
    let width = worlds.task.budget_max() as usize + 1;
    let mut next = vec![0.0; width];
    for h in (0..worlds.task.horizon()).rev() {
        let group = worlds.group_of(h);
        let (rows, choice) = (&all[group], &choices[group]);
        let now = (0..width).map(|b| {
            let gain = |(i, weight): (usize, &f64)| {
                let own = i * k..(i + 1) * k;
                let (rewards, costs) = (&rows.rewards[own.clone()], &rows.costs[own.clone()]);
                let action = match play {
                    Play::Plan(_, table) => {
                        best(&choice[own], rewards, costs, table.row(h + 1), b).map(|(a, _)| a)
                    }
                    Play::Fixed(a) => Some(a - 1).filter(|&a| rewards[a] >= 0.0 && costs[a] <= b),
                };
                let of_action =
                    |a: usize| rows.rho[i * k + a] * (rewards[a] - (next[b] - next[b - costs[a]]));
                weight * action.map_or(0.0, of_action)
            };
            let sum: f64 = rows.weights.iter().enumerate().map(gain).sum();
            next[b] + world.rates[h] * sum
        });
        next = now.collect();
    }
    next
}
