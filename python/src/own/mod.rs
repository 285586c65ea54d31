//! Oracles and policies written in Python, as makers of policies for a study. An exception in them is stored, and ends the
//! study after the episode.

mod oracle;
mod policy;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cbwk_gpu::config::Document;
use cbwk_gpu::experiment::{NamedPolicy, Study};
use cbwk_gpu::policy::LearnerSpec;
use cbwk_gpu::shop::LiveLearning;
use cbwk_gpu::task::{EpisodeContexts, Task};
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use toml::{Table, Value};

use crate::errors::{of_input, refused, wrong};
use crate::tables;
use crate::task::TaskHandle;

pub use oracle::{OracleCell, OwnOracle};

/// The first exception raised where none can be propagated.
#[derive(Debug, Clone, Default)]
pub struct Mistake(Arc<Mutex<Option<PyErr>>>);

impl Mistake {
    /// Stores an exception, unless there is one.
    pub fn put(&self, error: PyErr) {
        open(&self.0).get_or_insert(error);
    }

    /// Takes the exception.
    pub fn take(&self) -> Option<PyErr> {
        open(&self.0).take()
    }

    /// Whether there is one.
    pub fn is_there(&self) -> bool {
        open(&self.0).is_some()
    }
}

/// Data under these locks stay consistent after a panic, so poisoning is ignored.
fn open<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The caller's policy, before it is added to a study.
#[pyclass(frozen, module = "cbwk._native")]
#[derive(Debug)]
pub struct OwnPolicy {
    name: String,
    /// Makes the Python object from a task.
    make: Py<PyAny>,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Policy { by_step: bool },
    Learner { settings: Table },
}

#[pymethods]
impl OwnPolicy {
    /// A policy; `make(task, seeds)` makes the object for the replications of a wave. If it decides step by step, it is
    /// called at every arrival.
    #[staticmethod]
    fn policy(name: String, make: Py<PyAny>, by_step: bool) -> Self {
        let kind = Kind::Policy { by_step };
        Self { name, make, kind }
    }

    /// Algorithm 1 with an oracle; `make(task)` makes the oracle of a replication.
    #[staticmethod]
    fn learner(name: String, make: Py<PyAny>, settings: &Bound<PyDict>) -> PyResult<Self> {
        let settings = tables::table("policies", settings)?;
        let kind = Kind::Learner { settings };
        Ok(Self { name, make, kind })
    }
}

impl OwnPolicy {
    /// The policy for a study.
    pub fn named(&self, study: &Study, mistake: &Mistake) -> PyResult<NamedPolicy> {
        let task = study.world.task();
        Python::attach(|py| {
            let make = self.make.clone_ref(py);
            let handle = TaskHandle {
                task: Arc::clone(task),
            };
            let handle = Py::new(py, handle)?.into_any();
            Ok(match &self.kind {
                Kind::Policy { by_step } => {
                    let maker = policy::Maker::new(make, handle, *by_step, mistake.clone());
                    NamedPolicy::new(self.name.clone(), maker)
                }
                Kind::Learner { settings } => {
                    let spec = learner_spec(settings, task)?;
                    let one = make.call1(py, (&handle,))?;
                    let facts = oracle::facts(one.bind(py))?;
                    let config = spec.check("policies", facts, 0).map_err(wrong)?;
                    let maker = oracle::Maker::new(make, handle, config, mistake.clone());
                    NamedPolicy::new(self.name.clone(), maker)
                }
            })
        })
    }
}

/// The settings of a learner with the caller's oracle.
pub fn learner_spec(settings: &Table, task: &Task) -> PyResult<LearnerSpec> {
    let mut policy = settings.clone();
    let mut stand_in = Table::new();
    stand_in.insert("kind".into(), "armed".into());
    policy.insert("oracle".into(), Value::Table(stand_in));
    let document = Document::from_table("policy", &policy);
    let read = LiveLearning::from_document(&document, task).map_err(of_input)?;
    if read.learning.sampling {
        let accepted = "mimic-opt-dp, tight-opt-dp: an own oracle has no posterior to draw from";
        return Err(refused("policy", "`thompson-opt-dp`", accepted));
    }
    Ok(read.learning)
}

/// Features and steps (from 1).
type ContextArrays<'py> = (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray1<i64>>);

/// Features and steps of contexts as arrays.
pub fn arrays_of<'py>(
    py: Python<'py>,
    dimension: usize,
    features: Vec<f64>,
    steps: Vec<i64>,
) -> PyResult<ContextArrays<'py>> {
    let count = steps.len();
    let features = PyArray1::from_vec(py, features).reshape([count, dimension])?;
    Ok((features, PyArray1::from_vec(py, steps)))
}

/// The last `count` objects, which belong to the current wave; the others are dropped.
fn of_wave<T: Clone>(made: &Mutex<Vec<T>>, count: usize) -> Vec<T> {
    let mut made = open(made);
    let old = made.len().saturating_sub(count);
    made.drain(..old);
    made.clone()
}

/// Contexts of an episode one after another.
fn flattened(contexts: &EpisodeContexts) -> (Vec<f64>, Vec<i64>) {
    let features = contexts.iter().flat_map(|c| c.features.iter().copied());
    let steps = contexts.iter().map(|c| c.step as i64 + 1);
    (features.collect(), steps.collect())
}
