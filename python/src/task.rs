//! Tasks, defined by hand or taken from a study.

use std::sync::Arc;

use cbwk_gpu::task::{ApplicationSpec, COST_LIMIT, FeatureRange, NUMBER_LIMIT, Task, TaskSpec};
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;

use crate::arrays::{Numbers, shape_text};
use crate::errors::{refused, wrong};
use crate::study::StudySource;

/// A checked task.
#[pyclass(frozen, module = "cbwk._native")]
#[derive(Debug, Clone)]
pub struct TaskHandle {
    /// The task.
    pub task: Arc<Task>,
}

impl TaskHandle {
    /// Contexts of this task, checked.
    pub fn contexts<'py>(&self, features: &Bound<'py, PyAny>) -> PyResult<Numbers<'py>> {
        let numbers = Numbers::of("contexts", features)?;
        let dimension = self.task.dimension();
        if !matches!(numbers.shape(), [_, d] if *d == dimension) {
            let accepted = format!("shape (n, {dimension})");
            return Err(refused("contexts", shape_text(numbers.shape()), accepted));
        }
        if dimension > 0 {
            for context in numbers.values()?.chunks_exact(dimension) {
                self.task.check_context(context).map_err(wrong)?;
            }
        }
        Ok(numbers)
    }

    fn by_action<'py>(
        &self,
        py: Python<'py>,
        features: &Bound<'py, PyAny>,
        value: impl Fn(&cbwk_gpu::task::Context, usize) -> f64,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let numbers = self.contexts(features)?;
        let (count, dimension) = (numbers.shape()[0], self.task.dimension());
        let values = numbers.values()?;
        let actions = self.task.actions();
        let mut cells = Vec::with_capacity(count * actions);
        for i in 0..count {
            let context = self
                .task
                .context(0, &values[i * dimension..(i + 1) * dimension]);
            cells.extend((1..=actions).map(|a| value(&context, a)));
        }
        PyArray1::from_vec(py, cells).reshape([count, actions])
    }
}

/// The rows of a two-dimensional array.
fn rows(name: &'static str, object: &Bound<PyAny>) -> PyResult<Vec<Vec<f64>>> {
    let numbers = Numbers::of(name, object)?;
    match *numbers.shape() {
        [_, width] if width > 0 => {
            let rows = numbers.values()?.chunks_exact(width);
            Ok(rows.map(<[f64]>::to_vec).collect())
        }
        ref other => Err(refused(name, shape_text(other), "two dimensions")),
    }
}

fn numbers(name: &'static str, object: &Bound<PyAny>) -> PyResult<Vec<f64>> {
    let numbers = Numbers::of(name, object)?;
    match *numbers.shape() {
        [_] => {
            let accepted = "a number of a size up to 1e15";
            numbers.check(accepted, |x| x.abs() <= NUMBER_LIMIT)?;
            Ok(numbers.values()?.to_vec())
        }
        ref other => Err(refused(name, shape_text(other), "one dimension")),
    }
}

fn costs(name: &'static str, values: &[f64]) -> PyResult<Vec<u32>> {
    let limit = f64::from(COST_LIMIT);
    let fits = |x: &f64| x.fract() == 0.0 && (1.0..=limit).contains(x);
    match values.iter().find(|x| !fits(x)) {
        Some(x) => {
            let accepted = format!("whole numbers from 1 to {COST_LIMIT}");
            Err(refused(name, x, accepted))
        }
        None => Ok(values.iter().map(|x| *x as u32).collect()),
    }
}

#[pymethods]
impl TaskHandle {
    /// A task; `kind` is the meaning of `values`, and `tables` are rewards and costs by context type.
    #[new]
    #[pyo3(signature = (horizon, budget, kind, values, tables, dimension, sizes, types, reward_max))]
    #[expect(clippy::too_many_arguments, reason = "the arguments of Task")]
    fn new(
        horizon: usize,
        budget: u32,
        kind: &str,
        values: Option<&Bound<PyAny>>,
        tables: Option<(Bound<PyAny>, Bound<PyAny>)>,
        dimension: usize,
        sizes: Option<&Bound<PyAny>>,
        types: Option<&Bound<PyAny>>,
        reward_max: Option<f64>,
    ) -> PyResult<Self> {
        if dimension > 10_000 {
            return Err(refused("features", dimension, "at most 10000"));
        }
        let application = match (kind, values, tables) {
            ("prices", Some(values), _) => ApplicationSpec::Pricing {
                prices: numbers("prices", values)?,
            },
            ("wages", Some(values), _) => ApplicationSpec::Procurement {
                wages: costs("wages", &numbers("wages", values)?)?,
            },
            ("bids", Some(values), _) => ApplicationSpec::Auction {
                bids: costs("bids", &numbers("bids", values)?)?,
            },
            (_, _, Some((rewards, units))) => {
                let units = rows("costs", &units)?;
                let units: PyResult<Vec<_>> = units.iter().map(|row| costs("costs", row)).collect();
                ApplicationSpec::Table {
                    rewards: rows("rewards", &rewards)?,
                    costs: units?,
                }
            }
            _ => {
                return Err(refused(
                    "task",
                    "nothing",
                    "prices, wages, bids, or rewards and costs",
                ));
            }
        };
        let mut spec = TaskSpec::new(horizon, budget, application, dimension);
        if let Some(sizes) = sizes {
            spec.range = FeatureRange::of_sizes(numbers("sizes", sizes)?);
        }
        if let Some(types) = types {
            spec.types = rows("types", types)?;
        }
        spec.reward_max = reward_max;
        let task = Arc::new(spec.check().map_err(wrong)?);
        Ok(Self { task })
    }

    /// The task of a study's world.
    #[staticmethod]
    fn of_study(study: &StudySource) -> PyResult<Self> {
        let study = study.look()?.study;
        let task = Arc::clone(study.world.task());
        Ok(Self { task })
    }

    /// H.
    #[getter]
    fn horizon(&self) -> usize {
        self.task.horizon()
    }

    /// The largest starting budget.
    #[getter]
    fn budget(&self) -> u32 {
        self.task.budget_max()
    }

    /// Number of non-null actions.
    #[getter]
    fn actions(&self) -> usize {
        self.task.actions()
    }

    /// Number of features of a context.
    #[getter]
    fn features(&self) -> usize {
        self.task.dimension()
    }

    /// r_max.
    #[getter]
    fn reward_max(&self) -> f64 {
        self.task.reward_max()
    }

    /// Prices, wages, bids, or the numbers of a table's actions.
    fn action_values<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, self.task.application().action_values())
    }

    /// r of contexts, shape (n, actions); negative if an action is infeasible.
    fn rewards<'py>(
        &self,
        py: Python<'py>,
        contexts: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        self.by_action(py, contexts, |context, a| self.task.reward(context, a))
    }

    /// Costs of contexts, shape (n, actions).
    fn costs<'py>(
        &self,
        py: Python<'py>,
        contexts: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        self.by_action(py, contexts, |context, a| self.task.cost(context, a).into())
    }
}
