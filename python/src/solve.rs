//! `solve` and `optimistic_plan`: Algorithm 2 on plain arrays.

use std::collections::HashMap;

use cbwk_gpu::dp::{ArrayList, BackendError, Coefficients, ContextSample, Problem, SampleArrays};
use cbwk_gpu::task::{COST_LIMIT, HORIZON_LIMIT, NUMBER_LIMIT, TABLE_LIMIT};
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;

use crate::arrays::{Numbers, described, shape_text, whole};
use crate::backend::Choice;
use crate::errors::{of_backend, refused, wrong};
use crate::pool::{AfterStop, Stop, interruptible, pool};

/// Candidates up to which the calling thread does the work itself, faster than it could hand it over.
const AT_ONCE: u64 = 20_000;

/// Candidates up to which nobody will want to interrupt.
const QUICK: u64 = 20_000_000;

/// The value table of rewards, costs and bounds, shape (horizon + 1, budget + 1). Without `lcb` the probabilities are `ucb`
/// for rewards and costs; without `cap` values are not capped.
#[pyfunction]
#[pyo3(signature = (rewards, costs, ucb, lcb, *, horizon, budget, weights, no_arrival, cap, reward_max, backend))]
#[expect(
    clippy::too_many_arguments,
    reason = "the arguments of the Python functions"
)]
pub fn value_table<'py>(
    py: Python<'py>,
    rewards: &Bound<'py, PyAny>,
    costs: &Bound<'py, PyAny>,
    ucb: &Bound<'py, PyAny>,
    lcb: Option<&Bound<'py, PyAny>>,
    horizon: &Bound<'py, PyAny>,
    budget: &Bound<'py, PyAny>,
    weights: Option<&Bound<'py, PyAny>>,
    no_arrival: &Bound<'py, PyAny>,
    cap: bool,
    reward_max: Option<&Bound<'py, PyAny>>,
    backend: &str,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let choice = Choice::of(backend)?;
    let horizon = whole("horizon", horizon, 1..=HORIZON_LIMIT as u64)? as usize;
    let budget = whole("budget", budget, 0..=u64::from(u32::MAX))? as u32;
    let values = (horizon as u64 + 1) * (u64::from(budget) + 1);
    if values > TABLE_LIMIT {
        let found = format!("{budget} units over {horizon} steps, {values} table values");
        let accepted = format!("at most {TABLE_LIMIT} table values");
        return Err(refused("budget", found, accepted));
    }
    let inputs = Inputs {
        rewards: Numbers::of("rewards", rewards)?,
        costs: Numbers::of("costs", costs)?,
        ucb: Numbers::of(
            if lcb.is_some() {
                "ucb"
            } else {
                "probabilities"
            },
            ucb,
        )?,
        lcb: lcb.map(|lcb| Numbers::of("lcb", lcb)).transpose()?,
    };
    let shape = inputs.shape(horizon)?;
    inputs.check()?;
    let (coefficients, rewards) = inputs.coefficients(shape)?;
    let (cost_rows, distinct_costs) = inputs.cost_rows(shape)?;
    let weights = weights.map(|w| Numbers::of("weights", w)).transpose()?;
    let absent = arrivals(no_arrival, horizon)?;
    let (lists, list_of_step) = lists(shape, weights.as_ref(), &absent, horizon)?;
    let largest = rewards.iter().copied().fold(0.0, f64::max);
    let cap = cap
        .then(|| reward_max_of(reward_max, largest))
        .transpose()?;
    let sample = ContextSample::of_arrays(SampleArrays {
        actions: shape.actions,
        rewards,
        cost_rows,
        distinct_costs,
        lists,
        list_of_step,
    });
    let sample = sample.map_err(wrong)?;
    let work = Work {
        sample,
        coefficients,
        budget,
        cap,
    };
    let candidates = work.problem().candidates();
    let solved = if candidates <= AT_ONCE && choice != Choice::Gpu {
        py.detach(|| work.solve(choice))
    } else if candidates <= QUICK && choice != Choice::Gpu {
        let pool = pool(None)?;
        py.detach(|| pool.install(|| work.solve(choice)))
    } else {
        let pool = pool(None)?;
        let work = move || pool.install(|| work.solve(choice));
        interruptible(py, &Stop::default(), AfterStop::Leave, work)?
    };
    let table = solved.map_err(of_backend)?;
    PyArray1::from_vec(py, table).reshape([horizon + 1, budget as usize + 1])
}

/// A problem that owns all it needs.
struct Work {
    sample: ContextSample,
    coefficients: Coefficients,
    budget: u32,
    cap: Option<f64>,
}

impl Work {
    fn problem(&self) -> Problem<'_> {
        Problem {
            sample: &self.sample,
            coefficients: &self.coefficients,
            budget_max: self.budget,
            cap: self.cap,
        }
    }

    fn solve(&self, choice: Choice) -> Result<Vec<f64>, BackendError> {
        let table = choice.with(|backend| Ok(backend.solve(&[self.problem()])?.remove(0)))?;
        let mut values = Vec::with_capacity((table.horizon() + 1) * (self.budget as usize + 1));
        (0..=table.horizon()).for_each(|h| values.extend_from_slice(table.row(h)));
        Ok(values)
    }
}

/// How many contexts there are, and whether they are those of each step.
#[derive(Debug, Clone, Copy)]
struct Shape {
    steps: usize,
    contexts: usize,
    actions: usize,
}

struct Inputs<'py> {
    rewards: Numbers<'py>,
    costs: Numbers<'py>,
    ucb: Numbers<'py>,
    lcb: Option<Numbers<'py>>,
}

impl<'py> Inputs<'py> {
    fn all(&self) -> impl Iterator<Item = &Numbers<'py>> {
        [&self.rewards, &self.costs, &self.ucb]
            .into_iter()
            .chain(&self.lcb)
    }

    /// (contexts, actions) or (horizon, contexts, actions); arrays of the first kind serve every step of the second.
    fn shape(&self, horizon: usize) -> PyResult<Shape> {
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

    fn check(&self) -> PyResult<()> {
        let sized = |x: f64| x.abs() <= NUMBER_LIMIT;
        self.rewards.check("a number of a size up to 1e15", sized)?;
        let limit = f64::from(COST_LIMIT);
        let accepted = format!("a whole number from 1 to {COST_LIMIT}");
        let cost = |x: f64| x.fract() == 0.0 && (1.0..=limit).contains(&x);
        self.costs.check(&accepted, cost)?;
        let share = |x: f64| (0.0..=1.0).contains(&x);
        self.ucb.check("a probability from 0 to 1", share)?;
        let Some(lcb) = &self.lcb else { return Ok(()) };
        lcb.check("a probability from 0 to 1", share)
    }

    /// ucb r and lcb of every (entry, action), and the rewards.
    fn coefficients(&self, shape: Shape) -> PyResult<(Coefficients, Vec<f64>)> {
        let pairs = shape.contexts * shape.actions;
        let (rewards, ucb) = (self.rewards.values()?, self.ucb.values()?);
        let lcb = self.lcb.as_ref().unwrap_or(&self.ucb).values()?;
        let total = shape.steps * pairs;
        let mut coefficients = Coefficients {
            gain: Vec::with_capacity(total),
            lcb: Vec::with_capacity(total),
        };
        let mut all_rewards = Vec::with_capacity(total);
        for step in 0..shape.steps {
            let (rewards, ucb) = (part(rewards, step, pairs), part(ucb, step, pairs));
            let lcb = part(lcb, step, pairs);
            let crossed = ucb.iter().zip(lcb).position(|(ucb, lcb)| lcb > ucb);
            if let Some(place) = crossed {
                let (context, action) = (place / shape.actions, place % shape.actions);
                let found = format!("{} above ucb {}", lcb[place], ucb[place]);
                let field = format!("lcb of context {context}, action {action}");
                return Err(refused(&field, found, "lcb up to ucb"));
            }
            let both = rewards.iter().zip(ucb).zip(lcb);
            for ((&reward, &ucb), &lcb) in both {
                let (gain, lcb) = Coefficients::of(ucb, lcb, reward);
                coefficients.gain.push(gain);
                coefficients.lcb.push(lcb);
            }
            all_rewards.extend_from_slice(rewards);
        }
        Ok((coefficients, all_rewards))
    }

    /// The costs that occur, and which of them every (entry, action) has.
    fn cost_rows(&self, shape: Shape) -> PyResult<(Vec<u32>, Vec<u32>)> {
        let pairs = shape.contexts * shape.actions;
        let costs = self.costs.values()?;
        let mut row_of: HashMap<u32, u32> = HashMap::new();
        let mut distinct: Vec<u32> = Vec::new();
        let mut rows = Vec::with_capacity(shape.steps * pairs);
        for step in 0..shape.steps {
            for &cost in part(costs, step, pairs) {
                let cost = cost as u32;
                // Few costs are the rule, and looking them up one by one is then the fastest.
                let few = distinct.iter().take(16).position(|known| *known == cost);
                let row = match few {
                    Some(row) => row as u32,
                    None => *row_of.entry(cost).or_insert_with(|| {
                        distinct.push(cost);
                        distinct.len() as u32 - 1
                    }),
                };
                rows.push(row);
            }
        }
        Ok((rows, distinct))
    }
}

/// The numbers of a step; an array without steps has the same for all.
fn part(values: &[f64], step: usize, pairs: usize) -> &[f64] {
    match values.len() == pairs {
        true => values,
        false => &values[step * pairs..(step + 1) * pairs],
    }
}

/// The probability of an arrival at each step, or one for all.
fn arrivals(no_arrival: &Bound<PyAny>, horizon: usize) -> PyResult<Vec<f64>> {
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

/// The contexts of each step with their probabilities; steps that are alike share a list.
fn lists(
    shape: Shape,
    weights: Option<&Numbers>,
    arrivals: &[f64],
    horizon: usize,
) -> PyResult<(Vec<ArrayList>, Vec<usize>)> {
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

fn reward_max_of(asked: Option<&Bound<PyAny>>, largest: f64) -> PyResult<f64> {
    let Some(asked) = asked else {
        return Ok(largest);
    };
    let number = asked.extract::<f64>().ok();
    let fits = |x: &f64| (largest..=NUMBER_LIMIT).contains(x);
    number.filter(fits).ok_or_else(|| {
        let accepted = format!("a number from {largest}, the largest reward, to 1e15");
        refused("reward_max", described(asked), accepted)
    })
}
