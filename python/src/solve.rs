//! `solve` and `optimistic_plan`: Algorithm 2 on plain arrays.

use cbwk_gpu::dp::{
    BackendError, Coefficients, ContextSample, Problem, Report, SampleArrays, stoppable,
};
use cbwk_gpu::task::{HORIZON_LIMIT, NUMBER_LIMIT, TABLE_LIMIT};
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;

use crate::arrays::{Numbers, described, whole};
use crate::backend::{Asked, Choice, Kind, warn_if_single};
use crate::errors::{of_backend, refused, wrong};
use crate::inputs::{Inputs, arrivals, cost_rows, in_pool, lists};
use crate::pool::{AfterStop, Stop, interruptible, pool};

/// Up to this many candidates the calling thread does the work itself, which is faster.
const AT_ONCE: u64 = 20_000;

/// Up to this many candidates a solve need not be interruptible.
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
    backend: Asked,
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
    inputs.check(py)?;
    let (coefficients, rewards) = inputs.coefficients(py, shape)?;
    let costs = inputs.costs.values()?;
    let (cost_rows, distinct_costs) = in_pool(py, costs.len(), || cost_rows(costs, shape))?;
    let weights = weights.map(|w| Numbers::of("weights", w)).transpose()?;
    let absent = arrivals(no_arrival, horizon)?;
    let (lists, list_of_step) = lists(shape, weights.as_ref(), &absent, horizon)?;
    let cap = match cap {
        true => Some(reward_max_of(reward_max, &rewards)?),
        false => None,
    };
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
    let on_gpu = choice.kind == Kind::Gpu;
    let solved = if candidates <= AT_ONCE && !on_gpu {
        py.detach(|| work.solve(&choice))
    } else if candidates <= QUICK && !on_gpu {
        let pool = pool(None)?;
        py.detach(|| pool.install(|| work.solve(&choice)))
    } else {
        let pool = pool(None)?;
        let stop = Stop::default();
        let (heard, asked) = (stop.clone(), choice.clone());
        let work = move || pool.install(|| stoppable(heard.flag(), || work.solve(&asked)));
        interruptible(py, &stop, AfterStop::Leave, work)?
    };
    let (table, report) = solved.map_err(of_backend)?;
    warn_if_single(&choice, &report);
    PyArray1::from_vec(py, table).reshape([horizon + 1, budget as usize + 1])
}

/// A problem that owns its data.
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

    fn solve(&self, choice: &Choice) -> Result<(Vec<f64>, Report), BackendError> {
        let (table, report) = choice.with(|backend| {
            let table = backend.solve(&[self.problem()])?.remove(0);
            Ok((table, backend.report()))
        })?;
        let mut values = Vec::with_capacity((table.horizon() + 1) * (self.budget as usize + 1));
        (0..=table.horizon()).for_each(|h| values.extend_from_slice(table.row(h)));
        Ok((values, report))
    }
}

fn reward_max_of(asked: Option<&Bound<PyAny>>, rewards: &[f64]) -> PyResult<f64> {
    let largest = cbwk_gpu::statistics::largest(rewards);
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
