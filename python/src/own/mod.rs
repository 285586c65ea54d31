//! Oracles, policies and parts of worlds written in Python. A study file names them; the finder gives the objects of a call, or
//! imports what the file names. An exception in them is stored, and ends the study after the episode.

mod oracle;
mod policy;
mod world;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cbwk_gpu::config::{Document, FindOwn, Found};
use cbwk_gpu::oracle::MakeOracle;
use cbwk_gpu::policy::{LearnerSpec, MakePolicy};
use cbwk_gpu::shop::LiveLearning;
use cbwk_gpu::task::{EpisodeContexts, OwnCode, Task};
use cbwk_gpu::world::{OwnConversion, OwnLaw};
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use toml::{Table, Value};

use crate::errors::{of_input, refused};

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

/// Finds own code: objects of the caller (each a `cbwk._entry.Entry`), or what can be imported.
#[derive(Debug)]
pub struct Finder {
    objects: Arc<Vec<Py<PyAny>>>,
    mistake: Mistake,
    /// Whether code that cannot be found is left out; then the study cannot be run.
    lenient: bool,
}

impl Finder {
    /// A finder whose objects store their exceptions in `mistake`.
    pub fn new(objects: Arc<Vec<Py<PyAny>>>, mistake: Mistake, lenient: bool) -> Self {
        Self {
            objects,
            mistake,
            lenient,
        }
    }

    fn entry(
        &self,
        what: &str,
        code: &OwnCode,
        object: Option<u64>,
    ) -> Result<Option<Py<PyAny>>, String> {
        Python::attach(|py| {
            if let Some(number) = object {
                let known = self.objects.get(number as usize);
                let known = known.map(|object| object.clone_ref(py));
                return known.map(Some).ok_or_else(|| {
                    format!("found object {number}; accepted: an object of this call")
                });
            }
            let arguments = (
                what,
                &code.module,
                &code.class,
                &code.arguments,
                code.instance,
                &code.source,
            );
            let found = || py.import("cbwk._entry")?.call_method1("find", arguments);
            match found() {
                Ok(entry) => Ok(Some(entry.unbind())),
                Err(_) if self.lenient => Ok(None),
                Err(error) => Err(error.value(py).to_string()),
            }
        })
    }
}

impl FindOwn for Finder {
    fn policy(&self, code: &OwnCode, object: Option<u64>) -> Found<dyn MakePolicy> {
        let entry = self.entry("policy", code, object)?;
        Ok(entry.map(|entry| policy::Maker::shared(entry, self.mistake.clone())))
    }

    fn oracle(&self, code: &OwnCode, object: Option<u64>) -> Found<dyn MakeOracle> {
        let entry = self.entry("oracle", code, object)?;
        Ok(entry.map(|entry| oracle::Maker::shared(entry, self.mistake.clone())))
    }

    fn conversion(&self, code: &OwnCode, object: Option<u64>) -> Found<dyn OwnConversion> {
        let entry = self.entry("conversion", code, object)?;
        Ok(entry.map(|entry| world::Code::conversion(entry, self.mistake.clone())))
    }

    fn law(&self, code: &OwnCode, object: Option<u64>) -> Found<dyn OwnLaw> {
        let entry = self.entry("contexts", code, object)?;
        Ok(entry.map(|entry| world::Code::law(entry, self.mistake.clone())))
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
