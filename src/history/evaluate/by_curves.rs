//! Plans and their expected rewards where every action costs one unit: curves are found once for each group of contexts,
//! and looked up for every (step, budget).

use super::curve::Curve;
use super::worlds::{LogWorld, Play, Worlds};
use crate::history::fit::Model;

/// By whom offers are chosen.
enum Chooser<'a> {
    World,
    Model(&'a Model),
    Fixed(usize),
}

/// The Bellman table of a world, row by row.
pub fn plan(worlds: &Worlds, world: &LogWorld) -> Vec<f64> {
    let curves = curves(worlds, world, &Chooser::World);
    let (horizon, width) = (worlds.task.horizon(), worlds.task.budget_max() as usize + 1);
    let mut values = vec![0.0; (horizon + 1) * width];
    for h in (0..horizon).rev() {
        let (head, next) = values.split_at_mut((h + 1) * width);
        let now = &mut head[h * width..];
        let curve = &curves[worlds.group_of(h)];
        now[0] = next[0];
        for b in 1..width {
            let gap = next[b] - next[b - 1];
            let (reward, sale) = curve.at(gap);
            now[b] = next[b] + world.rates[h] * (reward - sale * gap);
        }
    }
    values
}

/// Expected rewards by starting budget.
pub fn rewards(worlds: &Worlds, world: &LogWorld, play: Play) -> Vec<f64> {
    let (curves, table) = match play {
        Play::Plan(model, table) => (curves(worlds, world, &Chooser::Model(model)), Some(table)),
        Play::Fixed(action) => (curves(worlds, world, &Chooser::Fixed(action)), None),
    };
    let width = worlds.task.budget_max() as usize + 1;
    let mut next = vec![0.0; width];
    for h in (0..worlds.task.horizon()).rev() {
        let mut now = next.clone();
        let curve = &curves[worlds.group_of(h)];
        for b in 1..width {
            let gap = table.map_or(0.0, |table| table.row(h + 1)[b] - table.row(h + 1)[b - 1]);
            let (reward, sale) = curve.at(gap);
            now[b] += world.rates[h] * (reward - sale * (next[b] - next[b - 1]));
        }
        next = now;
    }
    next
}

/// A curve for each group; acceptance is the world's.
fn curves(worlds: &Worlds, world: &LogWorld, chooser: &Chooser) -> Vec<Curve> {
    let values = worlds.task.application().action_values();
    let curve = |contexts: &Vec<(u32, f64)>| {
        let truth = worlds.rho(&world.model, contexts);
        let weights = contexts.iter().map(|(_, weight)| *weight);
        let rows = weights.zip(truth.chunks_exact(values.len()));
        match chooser {
            Chooser::Fixed(action) => Curve::fixed(values[action - 1], *action, rows),
            Chooser::World => Curve::new(values, rows.map(|(weight, rho)| (weight, rho, rho))),
            Chooser::Model(model) => {
                let choice = worlds.rho(model, contexts);
                let rows = rows.zip(choice.chunks_exact(values.len()));
                let rows = rows.map(|((weight, truth), choice)| (weight, choice, truth));
                Curve::new(values, rows)
            }
        }
    };
    world.groups.iter().map(curve).collect()
}
