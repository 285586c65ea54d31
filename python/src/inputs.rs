//! The arrays of a problem, checked and laid out for the solver. Large arrays are divided among the threads of the pool, with
//! the interpreter released; Ctrl-C is checked between two passes.

use cbwk_gpu::dp::{ArrayList, Coefficients, ContextSample, SampleArrays};
use cbwk_gpu::task::{COST_LIMIT, NUMBER_LIMIT};
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::arrays::{Numbers, shape_text};
use crate::errors::{refused, wrong};
use crate::pool::pool;

/// Numbers per piece of work; arrays up to this size are not divided.
const BLOCK: usize = 1 << 14;

/// Number of contexts, and whether each step has its own.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    pub steps: usize,
    pub contexts: usize,
    pub actions: usize,
}

/// Rewards, costs and bounds; `lcb` defaults to `ucb`.
pub struct Inputs<'py> {
    pub rewards: Numbers<'py>,
    pub costs: Numbers<'py>,
    pub ucb: Numbers<'py>,
    pub lcb: Option<Numbers<'py>>,
}

impl<'py> Inputs<'py> {
    fn all(&self) -> impl Iterator<Item = &Numbers<'py>> {
        [&self.rewards, &self.costs, &self.ucb]
            .into_iter()
            .chain(&self.lcb)
    }

    /// (contexts, actions) or (horizon, contexts, actions); the former are repeated for every step.
    pub fn shape(&self, horizon: usize) -> PyResult<Shape> {
        let (mut steps, mut last) = (1, None);
        for numbers in self.all() {
            let shape = numbers.shape();
            let pair = match *shape {
                [contexts, actions] => (contexts, actions),
                [first, contexts, actions] if first == horizon => {
                    steps = horizon;
                    (contexts, actions)
                }
                _ => (0, 0),
            };
            let known = *last.get_or_insert(pair);
            if pair.0 == 0 || pair.1 == 0 || pair != known {
                let accepted = match known {
                    (0, _) | (_, 0) => format!(
                        "shape (contexts, actions) or ({horizon}, contexts, actions), at least 1 of each"
                    ),
                    (contexts, actions) => format!(
                        "shape ({contexts}, {actions}) or ({horizon}, {contexts}, {actions}), as in rewards"
                    ),
                };
                return Err(refused(numbers.name(), shape_text(shape), accepted));
            }
        }
        let (contexts, actions) = last.expect("there are arrays");
        if actions > usize::from(u16::MAX) {
            let found = format!("{actions} actions");
            return Err(refused("rewards", found, "at most 65535"));
        }
        Ok(Shape {
            steps,
            contexts,
            actions,
        })
    }

    pub fn check(&self, py: Python) -> PyResult<()> {
        check_rewards(py, &self.rewards)?;
        check_costs(py, &self.costs)?;
        check_probabilities(py, &self.ucb)?;
        let Some(lcb) = &self.lcb else { return Ok(()) };
        check_probabilities(py, lcb)
    }

    /// ucb r and lcb of every (entry, action), and the rewards.
    pub fn coefficients(&self, py: Python, shape: Shape) -> PyResult<(Coefficients, Vec<f64>)> {
        let pairs = shape.contexts * shape.actions;
        let (rewards, ucb) = (self.rewards.values()?, self.ucb.values()?);
        let lcb = self.lcb.as_ref().unwrap_or(&self.ucb).values()?;
        let total = shape.steps * pairs;
        let mut coefficients = Coefficients {
            gain: vec![0.0; total],
            lcb: vec![0.0; total],
        };
        let mut all_rewards = vec![0.0; total];
        for step in 0..shape.steps {
            let (rewards, ucb) = (part(rewards, step, pairs), part(ucb, step, pairs));
            let lcb = part(lcb, step, pairs);
            let own = step * pairs..(step + 1) * pairs;
            let gain = &mut coefficients.gain[own.clone()];
            let lower = &mut coefficients.lcb[own.clone()];
            let copies = &mut all_rewards[own];
            // Whether no lower bound is above its upper one.
            let fill = |first: usize, gain: &mut [f64], lower: &mut [f64], copies: &mut [f64]| {
                let own = first..first + gain.len();
                let (rewards, ucb, lcb) = (&rewards[own.clone()], &ucb[own.clone()], &lcb[own]);
                copies.copy_from_slice(rewards);
                let mut ordered = true;
                for i in 0..gain.len() {
                    (gain[i], lower[i]) = Coefficients::of(ucb[i], lcb[i], rewards[i]);
                    ordered &= lcb[i] <= ucb[i];
                }
                ordered
            };
            let ordered = match pairs <= BLOCK {
                true => fill(0, gain, lower, copies),
                false => in_pool(py, pairs, || {
                    let blocks = gain.par_chunks_mut(BLOCK).zip(lower.par_chunks_mut(BLOCK));
                    let blocks = blocks.zip(copies.par_chunks_mut(BLOCK)).enumerate();
                    let fill = |(i, ((gain, lower), copies)): (usize, ((_, _), _))| {
                        fill(i * BLOCK, gain, lower, copies)
                    };
                    blocks.map(fill).reduce(|| true, |x, y| x & y)
                })?,
            };
            if !ordered {
                let crossed = ucb.iter().zip(lcb).position(|(ucb, lcb)| lcb > ucb);
                let place = crossed.unwrap_or(0);
                let (context, action) = (place / shape.actions, place % shape.actions);
                let found = format!("{} above ucb {}", lcb[place], ucb[place]);
                let field = format!("lcb of context {context}, action {action}");
                return Err(refused(&field, found, "lcb up to ucb"));
            }
        }
        Ok((coefficients, all_rewards))
    }
}

/// Refuses what is no reward.
pub fn check_rewards(py: Python, rewards: &Numbers) -> PyResult<()> {
    let sized = |x: f64| x.abs() <= NUMBER_LIMIT;
    check(py, rewards, "a number of a size up to 1e15", sized)
}

/// Refuses what is no cost.
pub fn check_costs(py: Python, costs: &Numbers) -> PyResult<()> {
    let limit = f64::from(COST_LIMIT);
    let accepted = format!("a whole number from 1 to {COST_LIMIT}");
    let cost = |x: f64| (1.0..=limit).contains(&x) & (f64::from(x as u32) == x);
    check(py, costs, &accepted, cost)
}

/// Refuses what is no probability.
pub fn check_probabilities(py: Python, probabilities: &Numbers) -> PyResult<()> {
    let share = |x: f64| (0.0..=1.0).contains(&x);
    check(py, probabilities, "a probability from 0 to 1", share)
}

/// The index of the cost of every (entry, action), and the distinct costs in rising order.
pub fn cost_rows(costs: &[f64], shape: Shape) -> (Vec<u32>, Vec<u32>) {
    let pairs = shape.contexts * shape.actions;
    let most = costs.iter().fold(0, |most, cost| most.max(*cost as u32));
    // First 1 for each cost that occurs, then its index.
    let mut row_of = vec![0; most as usize + 1];
    costs.iter().for_each(|cost| row_of[*cost as usize] = 1);
    let mut distinct = Vec::new();
    for (cost, row) in row_of.iter_mut().enumerate().filter(|(_, row)| **row == 1) {
        *row = distinct.len() as u32;
        distinct.push(cost as u32);
    }
    let mut rows = vec![0; shape.steps * pairs];
    let fill = |rows: &mut [u32], costs: &[f64]| {
        let both = rows.iter_mut().zip(costs);
        both.for_each(|(row, cost)| *row = row_of[*cost as usize]);
    };
    for (step, rows) in rows.chunks_exact_mut(pairs).enumerate() {
        let costs = part(costs, step, pairs);
        match pairs <= BLOCK {
            true => fill(rows, costs),
            false => {
                let blocks = rows.par_chunks_mut(BLOCK).zip(costs.par_chunks(BLOCK));
                blocks.for_each(|(rows, costs)| fill(rows, costs));
            }
        }
    }
    (rows, distinct)
}

/// Contexts with checked rewards and costs, for one step or for each.
pub fn sample_of(
    shape: Shape,
    rewards: &[f64],
    costs: &[f64],
    (lists, list_of_step): Lists,
) -> PyResult<ContextSample> {
    let size = shape.steps * shape.contexts * shape.actions;
    let (cost_rows, distinct_costs) = cost_rows(costs, shape);
    let sample = ContextSample::of_arrays(SampleArrays {
        actions: shape.actions,
        rewards: rewards.repeat(size / rewards.len()),
        cost_rows,
        distinct_costs,
        lists,
        list_of_step,
    });
    sample.map_err(wrong)
}

/// Refuses numbers that `accept` rejects, with their position.
fn check(
    py: Python,
    numbers: &Numbers,
    accepted: &str,
    accept: impl Fn(f64) -> bool + Sync,
) -> PyResult<()> {
    let values = numbers.values()?;
    // Without an early exit, so that the loop can be vectorised.
    let fits = |block: &[f64]| block.iter().fold(true, |fits, x| fits & accept(*x));
    let fits = in_pool(py, values.len(), || match values.len() <= BLOCK {
        true => fits(values),
        false => values.par_chunks(BLOCK).all(fits),
    })?;
    match fits {
        true => Ok(()),
        false => numbers.check(accepted, accept),
    }
}

/// Runs work on `size` numbers: at once if they are few, else on the threads of the pool with the interpreter released, and
/// then checks for Ctrl-C.
pub fn in_pool<T: Send>(py: Python, size: usize, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    if size <= BLOCK {
        return Ok(work());
    }
    let pool = pool(None)?;
    let done = py.detach(|| pool.install(work));
    py.check_signals()?;
    Ok(done)
}

/// The numbers of a step; an array without steps is the same for all.
fn part(values: &[f64], step: usize, pairs: usize) -> &[f64] {
    match values.len() == pairs {
        true => values,
        false => &values[step * pairs..(step + 1) * pairs],
    }
}

/// The probability of an arrival at each step, or one for all.
pub fn arrivals(no_arrival: &Bound<PyAny>, horizon: usize) -> PyResult<Vec<f64>> {
    let numbers = Numbers::of("no_arrival", no_arrival)?;
    numbers.check("a probability from 0 to 1", |x| (0.0..=1.0).contains(&x))?;
    match *numbers.shape() {
        [] => {}
        [steps] if steps == horizon => {}
        ref other => {
            let accepted = format!("a number, or shape ({horizon},)");
            return Err(refused("no_arrival", shape_text(other), accepted));
        }
    }
    Ok(numbers.values()?.iter().map(|x| 1.0 - x).collect())
}

/// Contexts with their probabilities, and the list of each step.
pub type Lists = (Vec<ArrayList>, Vec<usize>);

/// The contexts of each step with their probabilities; equal steps share a list.
pub fn lists(
    shape: Shape,
    weights: Option<&Numbers>,
    arrivals: &[f64],
    horizon: usize,
) -> PyResult<Lists> {
    let contexts = shape.contexts;
    let by_step = match weights.map(Numbers::shape) {
        None => false,
        Some(&[count]) if count == contexts => false,
        Some(&[steps, count]) if (steps, count) == (horizon, contexts) => true,
        Some(other) => {
            let accepted = format!("shape ({contexts},) or ({horizon}, {contexts})");
            return Err(refused("weights", shape_text(other), accepted));
        }
    };
    if let Some(weights) = weights {
        weights.check("a number from 0, up to 1e15", |x| {
            (0.0..=NUMBER_LIMIT).contains(&x)
        })?;
    }
    let values = weights.map(Numbers::values).transpose()?;
    let several = by_step || shape.steps > 1 || arrivals.len() > 1;
    let steps = if several { horizon } else { 1 };
    let mut lists = Vec::with_capacity(steps);
    for step in 0..steps {
        let arrival = arrivals[step.min(arrivals.len() - 1)];
        let weights = match values {
            None => vec![arrival / contexts as f64; contexts],
            Some(values) => {
                let own = part(values, step, contexts);
                let sum: f64 = own.iter().sum();
                if sum <= 0.0 {
                    return Err(refused(
                        "weights",
                        "a sum of 0",
                        "a positive sum at every step",
                    ));
                }
                own.iter().map(|w| w / sum * arrival).collect()
            }
        };
        let first = if shape.steps > 1 { step * contexts } else { 0 };
        lists.push(ArrayList { first, weights });
    }
    let list_of_step = (0..horizon).map(|step| step.min(steps - 1)).collect();
    Ok((lists, list_of_step))
}
