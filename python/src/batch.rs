//! `solve_many`: many problems of one shape in one call, as one batch for the backend.

use cbwk_gpu::dp::{
    BackendError, Coefficients, ContextSample, Problem, Report, ValueTable, stoppable,
};
use cbwk_gpu::policy::{Greedy, Rule};
use cbwk_gpu::task::{HORIZON_LIMIT, TABLE_LIMIT};
use numpy::{PyArray1, PyArrayDyn, PyArrayMethods};
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::arrays::{Numbers, shape_text, whole};
use crate::backend::{Asked, Choice, warn_if_single};
use crate::errors::{of_backend, refused};
use crate::inputs::{
    Lists, Shape, arrivals, check_costs, check_probabilities, check_rewards, lists, sample_of,
};
use crate::pool::{AfterStop, Stop, interruptible, pool};

/// Problems are solved in groups of up to so many (context, action), so that memory holds two copies of a group only.
const GROUP: usize = 1 << 22;

/// The most values and actions that a call may return.
const RETURNED: u64 = 1 << 28;

type Answer<'py> = (
    Bound<'py, PyArrayDyn<f64>>,
    Option<Bound<'py, PyArrayDyn<i32>>>,
);

/// The value tables of many problems, shape (problems, horizon + 1, budget + 1), and if `policy` the best actions, shape
/// (problems, horizon, contexts, budget + 1).
#[pyfunction]
#[pyo3(signature = (rewards, costs, probabilities, *, horizon, budget, weights, no_arrival, policy, backend))]
#[expect(clippy::too_many_arguments, reason = "the arguments of solve_many")]
pub fn value_tables<'py>(
    py: Python<'py>,
    rewards: &Bound<'py, PyAny>,
    costs: &Bound<'py, PyAny>,
    probabilities: &Bound<'py, PyAny>,
    horizon: &Bound<'py, PyAny>,
    budget: &Bound<'py, PyAny>,
    weights: Option<&Bound<'py, PyAny>>,
    no_arrival: &Bound<'py, PyAny>,
    policy: bool,
    backend: Asked,
) -> PyResult<Answer<'py>> {
    let choice = Choice::of(backend)?;
    let horizon = whole("horizon", horizon, 1..=HORIZON_LIMIT as u64)? as usize;
    let budget = whole("budget", budget, 0..=TABLE_LIMIT)? as u32;
    let rho = Numbers::of("probabilities", probabilities)?;
    let (count, shape) = match *rho.shape() {
        [n, contexts, actions] => (
            n,
            Shape {
                steps: 1,
                contexts,
                actions,
            },
        ),
        [n, steps, contexts, actions] if steps == horizon => (
            n,
            Shape {
                steps,
                contexts,
                actions,
            },
        ),
        _ => (
            0,
            Shape {
                steps: 0,
                contexts: 0,
                actions: 0,
            },
        ),
    };
    if count * shape.contexts * shape.actions == 0 || shape.actions > usize::from(u16::MAX) {
        let accepted = format!(
            "shape (problems, contexts, actions) or (problems, {horizon}, contexts, actions), at least 1 of each"
        );
        return Err(refused("probabilities", shape_text(rho.shape()), accepted));
    }
    check_probabilities(py, &rho)?;
    let per_problem = (horizon as u64 + 1)
        * (u64::from(budget) + 1)
        * if policy { 1 + shape.contexts as u64 } else { 1 };
    if per_problem.saturating_mul(count as u64) > RETURNED {
        let found = format!("{count} problems with {per_problem} numbers each");
        return Err(refused(
            "problems",
            found,
            format!("at most {RETURNED} numbers in all"),
        ));
    }
    let rewards = Shared::of("rewards", rewards, count, shape)?;
    check_rewards(py, &rewards.numbers)?;
    let costs = Shared::of("costs", costs, count, shape)?;
    check_costs(py, &costs.numbers)?;
    let weights = weights.map(|w| Numbers::of("weights", w)).transpose()?;
    let lists = lists(
        shape,
        weights.as_ref(),
        &arrivals(no_arrival, horizon)?,
        horizon,
    )?;
    let batch = Batch {
        rho: rho.values()?.to_vec(),
        rewards: rewards.owned()?,
        costs: costs.owned()?,
        count,
        shape,
        horizon,
        budget,
        policy,
        lists,
    };
    let (pool, stop) = (pool(None)?, Stop::default());
    let (heard, asked) = (stop.clone(), choice.clone());
    let work = move || pool.install(|| stoppable(heard.flag(), || batch.solve(&asked)));
    let solved = interruptible(py, &stop, AfterStop::Leave, work)?;
    let (values, actions, report) = solved.map_err(of_backend)?;
    warn_if_single(&choice, &report);
    let width = budget as usize + 1;
    let values = PyArray1::from_vec(py, values).reshape(vec![count, horizon + 1, width])?;
    let shape = vec![count, horizon, shape.contexts, width];
    let actions = policy.then(|| PyArray1::from_vec(py, actions).reshape(shape));
    Ok((values, actions.transpose()?))
}

/// Numbers that all problems share, or those of each problem.
struct Shared<T> {
    numbers: T,
    /// Whether each problem has its own, and each step.
    own: bool,
    size: usize,
}

impl<'py> Shared<Numbers<'py>> {
    fn of(
        name: &'static str,
        object: &Bound<'py, PyAny>,
        count: usize,
        shape: Shape,
    ) -> PyResult<Self> {
        let numbers = Numbers::of(name, object)?;
        let Shape {
            steps,
            contexts,
            actions,
        } = shape;
        let pairs = contexts * actions;
        let (own, size) = match *numbers.shape() {
            [c, a] if (c, a) == (contexts, actions) => (false, pairs),
            [n, c, a] if (n, c, a) == (count, contexts, actions) => (true, pairs),
            [n, h, c, a] if (n, h, c, a) == (count, steps, contexts, actions) => {
                (true, steps * pairs)
            }
            ref other => {
                let accepted = format!(
                    "shape ({contexts}, {actions}), or ({count}, ..., {contexts}, {actions}) as the probabilities"
                );
                return Err(refused(name, shape_text(other), accepted));
            }
        };
        Ok(Self { numbers, own, size })
    }

    fn owned(&self) -> PyResult<Shared<Vec<f64>>> {
        Ok(Shared {
            numbers: self.numbers.values()?.to_vec(),
            own: self.own,
            size: self.size,
        })
    }
}

impl Shared<Vec<f64>> {
    /// The numbers of a problem: for one step or for each.
    fn at(&self, problem: usize) -> &[f64] {
        let first = if self.own { problem * self.size } else { 0 };
        &self.numbers[first..first + self.size]
    }
}

/// Problems that own their data.
struct Batch {
    rho: Vec<f64>,
    rewards: Shared<Vec<f64>>,
    costs: Shared<Vec<f64>>,
    count: usize,
    shape: Shape,
    horizon: usize,
    budget: u32,
    policy: bool,
    lists: Lists,
}

/// Values, actions, and what computed them.
type Solved = (Vec<f64>, Vec<i32>, Report);

impl Batch {
    fn solve(&self, choice: &Choice) -> Result<Solved, BackendError> {
        let shared = !self.rewards.own && !self.costs.own;
        let common = shared.then(|| self.sample(0));
        let size = self.shape.steps * self.shape.contexts * self.shape.actions;
        let (mut values, mut actions) = (Vec::new(), Vec::new());
        let mut report = Report::default();
        let numbers: Vec<usize> = (0..self.count).collect();
        for group in numbers.chunks((GROUP / size).max(1)) {
            let own: Vec<ContextSample> = match shared {
                true => Vec::new(),
                false => group.par_iter().map(|&i| self.sample(i)).collect(),
            };
            let sample = |place: usize| common.as_ref().unwrap_or_else(|| &own[place]);
            let coefficients: Vec<Coefficients> = group
                .par_iter()
                .enumerate()
                .map(|(place, &i)| self.coefficients(i, sample(place)))
                .collect();
            let problem = |place: usize| Problem {
                sample: sample(place),
                coefficients: &coefficients[place],
                budget_max: self.budget,
                cap: None,
            };
            let problems: Vec<Problem> = (0..group.len()).map(problem).collect();
            let tables = choice.with(|backend| {
                let tables = backend.solve(&problems)?;
                report = backend.report();
                Ok(tables)
            })?;
            for table in &tables {
                (0..=self.horizon).for_each(|h| values.extend_from_slice(table.row(h)));
            }
            if self.policy {
                let problems = problems.par_iter().zip(&tables);
                let found: Vec<Vec<i32>> =
                    problems.map(|(p, table)| self.actions(p, table)).collect();
                actions.extend(found.into_iter().flatten());
            }
        }
        Ok((values, actions, report))
    }

    fn sample(&self, problem: usize) -> ContextSample {
        let (rewards, costs) = (self.rewards.at(problem), self.costs.at(problem));
        sample_of(self.shape, rewards, costs, self.lists.clone()).expect("its arrays were checked")
    }

    /// rho r and rho of every pair.
    fn coefficients(&self, problem: usize, sample: &ContextSample) -> Coefficients {
        let size = sample.rewards().len();
        let rho = &self.rho[problem * size..(problem + 1) * size];
        let pairs = rho.iter().zip(sample.rewards());
        let (gain, lcb) = pairs
            .map(|(rho, reward)| Coefficients::of(*rho, *rho, *reward))
            .unzip();
        Coefficients { gain, lcb }
    }

    /// The best actions by step, context and budget.
    fn actions(&self, problem: &Problem, table: &ValueTable) -> Vec<i32> {
        let mut greedy = Greedy {
            sample: problem.sample,
            coefficients: problem.coefficients,
            u_hat: table,
            reward_max: cbwk_gpu::statistics::largest(problem.sample.rewards()),
            rule: Rule::default(),
        };
        let contexts = self.shape.contexts;
        let mut found = Vec::with_capacity(self.horizon * contexts * (self.budget as usize + 1));
        for step in 0..self.horizon {
            let first = if self.shape.steps > 1 {
                step * contexts
            } else {
                0
            };
            for entry in first..first + contexts {
                let actions = greedy.actions(step, entry, 0..=self.budget);
                found.extend(actions.iter().map(|action| *action as i32));
            }
        }
        found
    }
}
