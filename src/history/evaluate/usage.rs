//! What a plan does in the world it was made for: which share of its offers each action has.

use super::worlds::{LogWorld, Worlds};
use crate::dp::ValueTable;
use crate::policy::best_action;

/// Contexts of a group that are looked at.
const LOOKED_AT: usize = 300;

/// Expected share of offers by planned action, starting from budget `start`.
pub fn shares(worlds: &Worlds, world: &LogWorld, table: &ValueTable, start: u32) -> Vec<f64> {
    let task = &worlds.task;
    let k = task.actions();
    let groups: Vec<Vec<(u32, f64)>> = world.groups.iter().map(|group| evenly(group)).collect();
    let rho: Vec<Vec<f64>> = groups
        .iter()
        .map(|group| worlds.rho(&world.model, group))
        .collect();
    let mut offers = vec![0.0; k];
    let mut left = vec![0.0; start as usize + 1];
    left[start as usize] = 1.0;
    for h in 0..task.horizon() {
        let (group, rate) = (worlds.group_of(h), world.rates[h]);
        let next = table.row(h + 1);
        let mut later = left.clone();
        for (b, &mass) in left.iter().enumerate().filter(|(_, mass)| **mass > 1e-12) {
            for ((i, weight), rho) in groups[group].iter().zip(rho[group].chunks_exact(k)) {
                let context = worlds.fitted.log.context(task, *i as usize);
                let gains = (1..=k).map(|a| {
                    let reward = task.reward(&context, a);
                    (
                        rho[a - 1] * reward,
                        rho[a - 1],
                        reward,
                        task.cost(&context, a),
                    )
                });
                let action = best_action(gains, next, b as u32, task.reward_max());
                if action > 0 {
                    let made = mass * rate * weight;
                    offers[action - 1] += made;
                    let sold = made * rho[action - 1];
                    later[b] -= sold;
                    later[b - task.cost(&context, action) as usize] += sold;
                }
            }
        }
        left = later;
    }
    let all: f64 = offers.iter().sum();
    offers
        .iter()
        .map(|x| x / all.max(f64::MIN_POSITIVE))
        .collect()
}

/// Some of a group's contexts, with the weights of all.
fn evenly(group: &[(u32, f64)]) -> Vec<(u32, f64)> {
    let count = group.len().min(LOOKED_AT);
    let some: Vec<(u32, f64)> = (0..count).map(|i| group[i * group.len() / count]).collect();
    let total: f64 = some.iter().map(|(_, weight)| weight).sum();
    some.into_iter()
        .map(|(i, weight)| (i, weight / total))
        .collect()
}
