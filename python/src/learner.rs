//! The live learner: begin, decide, observe, end; its state as text.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cbwk_gpu::config::Document;
use cbwk_gpu::learner::{Labeled, Learner, LearnerError, LearnerSettings, LearnerState};
use cbwk_gpu::oracle::Oracle;
use cbwk_gpu::shop::LiveLearning;
use cbwk_gpu::task::{ContextRows, Task};
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use toml::{Table, Value};

use crate::arrays::{Numbers, shape_text, whole};
use crate::backend::{Asked, Choice};
use crate::errors::{of_backend, of_input, of_learner, refused, wrong};
use crate::own::{Mistake, OracleCell, OwnOracle, learner_spec};
use crate::pool::pool;
use crate::tables;
use crate::task::TaskHandle;

/// A live learner.
#[pyclass(frozen, module = "cbwk._native")]
pub struct LiveLearner {
    learner: Mutex<Learner>,
    dimension: usize,
    mistake: Mistake,
}

/// The ended episode: number, reward, units spent, observations, and whether it was replanned.
type Day = (usize, f64, u32, usize, bool);

/// Number, action, value, cost, reward, lower, upper, opportunity cost, planned.
type Offer = (u64, usize, Option<f64>, u32, f64, f64, f64, f64, f64);

/// Labeled rows from outside.
struct LabeledRows {
    features: Vec<f64>,
    steps: Vec<u64>,
    actions: Vec<u64>,
    accepted: Vec<bool>,
}

impl LiveLearner {
    /// Uses the learner with the interpreter released.
    fn with<T: Send>(
        &self,
        py: Python,
        work: impl FnOnce(&mut Learner) -> Result<T, LearnerError> + Send,
    ) -> PyResult<T> {
        let pool = pool(None)?;
        let done = py.detach(|| {
            let mut guard = self.open();
            let learner: &mut Learner = &mut guard;
            pool.install(|| work(learner))
        });
        self.checked(done)
    }

    /// Uses the learner for short work on this thread.
    fn at_once<T: Send>(
        &self,
        py: Python,
        work: impl FnOnce(&mut Learner) -> Result<T, LearnerError> + Send,
    ) -> PyResult<T> {
        let done = py.detach(|| work(&mut self.open()));
        self.checked(done)
    }

    fn checked<T>(&self, done: Result<T, LearnerError>) -> PyResult<T> {
        match self.mistake.take() {
            Some(mistake) => Err(mistake),
            None => done.map_err(of_learner),
        }
    }

    fn open(&self) -> MutexGuard<'_, Learner> {
        self.learner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl LiveLearner {
    /// A learner for a task; `policy` is a table of settings, `oracle` a table or the caller's object, `state`
    /// the result of [`LiveLearner::state`].
    #[new]
    #[pyo3(signature = (task, policy, oracle, *, own, delta, seed, episodes, backend, state))]
    #[expect(clippy::too_many_arguments, reason = "the arguments of Learner")]
    fn new(
        py: Python,
        task: &TaskHandle,
        policy: &Bound<PyAny>,
        oracle: &Bound<PyAny>,
        own: bool,
        delta: f64,
        seed: u64,
        episodes: usize,
        backend: Asked,
        state: Option<&str>,
    ) -> PyResult<Self> {
        let choice = Choice::of(backend)?;
        let state: Option<LearnerState> = state
            .map(serde_json::from_str)
            .transpose()
            .map_err(|error| refused("state", error, "a state saved by a learner"))?;
        let settings = tables::table("policy", policy)?;
        let mistake = Mistake::default();
        let known = Arc::clone(&task.task);
        let (learning, oracle): (_, Box<dyn Oracle>) = if own {
            let cell = OracleCell::new(oracle, &known, mistake.clone())?;
            (
                learner_spec(&settings, &known)?,
                Box::new(OwnOracle(Arc::new(cell))),
            )
        } else {
            let read = read(settings, tables::table("oracle", oracle)?, &known)?;
            let config = read.oracle.check("oracle", &known).map_err(wrong)?;
            let checked = read.learning.check("policy", config.facts(), 0);
            let sides = checked.map_err(wrong)?.sides();
            let start = ChaCha8Rng::seed_from_u64(seed);
            let oracle = config.build(&known, episodes, start, None, sides);
            (read.learning, oracle.map_err(wrong)?)
        };
        let settings = LearnerSettings {
            learning,
            delta,
            seed,
            initial_rows: 0,
        };
        let opened = py.detach(|| choice.open());
        let backend = opened.map_err(of_backend)?;
        let known = Task::clone(&task.task);
        let pool = pool(None)?;
        let made = py.detach(|| {
            pool.install(|| match state {
                None => Learner::new(known, oracle, settings, backend),
                Some(state) => Learner::restore(known, oracle, settings, backend, state),
            })
        });
        if let Some(mistake) = mistake.take() {
            return Err(mistake);
        }
        Ok(Self {
            learner: Mutex::new(made.map_err(of_learner)?),
            dimension: task.task.dimension(),
            mistake,
        })
    }

    /// Begins an episode.
    fn begin(&self, py: Python, budget: u32) -> PyResult<usize> {
        self.at_once(py, |learner| learner.begin(budget))
    }

    /// Decides on an offer to a customer.
    fn decide(&self, py: Python, step: usize, features: &Bound<PyAny>) -> PyResult<Offer> {
        let features = Numbers::of("features", features)?;
        let flat = matches!(features.shape(), [count] if *count == self.dimension)
            || (features.shape().is_empty() && self.dimension == 1);
        if !flat {
            let accepted = shape_text(&[self.dimension]);
            return Err(refused("features", shape_text(features.shape()), accepted));
        }
        let features = features.values()?.to_vec();
        self.at_once(py, |learner| {
            let offer = learner.decide(step, &features)?;
            let bounds = (offer.lower, offer.upper, offer.opportunity_cost);
            Ok((
                offer.number,
                offer.action,
                offer.value,
                offer.cost,
                offer.reward,
                bounds.0,
                bounds.1,
                bounds.2,
                offer.planned,
            ))
        })
    }

    /// Records the outcome of the only open offer, or of one by number.
    #[pyo3(signature = (accepted, number=None))]
    fn observe(&self, py: Python, accepted: bool, number: Option<u64>) -> PyResult<()> {
        self.at_once(py, |learner| match number {
            None => learner.observe(accepted),
            Some(number) => learner.observe_offer(number, accepted).map(drop),
        })
    }

    /// Removes an offer.
    fn withdraw(&self, py: Python, number: u64) -> PyResult<()> {
        self.at_once(py, |learner| learner.withdraw(number))
    }

    /// Ends the episode.
    fn end(&self, py: Python) -> PyResult<Day> {
        self.with(py, |learner| {
            let day = learner.end()?;
            let (number, units) = (day.episode, day.spent);
            Ok((number, day.reward, units, day.observations, day.replanned))
        })
    }

    /// Adds labeled rows, and replans if requested.
    #[expect(clippy::too_many_arguments, reason = "the columns of a log")]
    fn extend(
        &self,
        py: Python,
        task: &TaskHandle,
        contexts: &Bound<PyAny>,
        steps: &Bound<PyAny>,
        actions: &Bound<PyAny>,
        accepted: &Bound<PyAny>,
        replan: bool,
    ) -> PyResult<usize> {
        let rows = labeled_rows(task, contexts, steps, actions, accepted)?;
        let width = self.dimension;
        self.with(py, |learner| {
            let labeled = (0..rows.steps.len()).map(|i| Labeled {
                step: rows.steps[i] as usize,
                features: &rows.features[i * width..(i + 1) * width],
                action: rows.actions[i] as usize,
                accepted: rows.accepted[i],
            });
            let count = learner.extend(labeled)?;
            if replan {
                learner.replan()?;
            }
            Ok(count)
        })
    }

    /// Adds rows of contexts, shape (rows, horizon, features); a step of NaN is no arrival.
    fn extend_contexts(
        &self,
        py: Python,
        task: &TaskHandle,
        rows: &Bound<PyAny>,
    ) -> PyResult<usize> {
        let numbers = Numbers::of("contexts", rows)?;
        let (horizon, width) = (task.task.horizon(), self.dimension);
        if !matches!(numbers.shape(), [_, h, d] if (*h, *d) == (horizon, width)) {
            let accepted = format!("shape (rows, {horizon}, {width})");
            return Err(refused("contexts", shape_text(numbers.shape()), accepted));
        }
        let mut contexts = ContextRows::new(horizon, width);
        for features in numbers.values()?.chunks_exact(width.max(1)) {
            contexts.push((!features.iter().all(|x| x.is_nan())).then_some(features));
        }
        self.with(py, |learner| learner.extend_contexts(&contexts))
    }

    /// Fits and replans.
    fn replan(&self, py: Python) -> PyResult<()> {
        self.with(py, Learner::replan)
    }

    /// Number of the open episode, units left, units held, observations.
    fn status(&self, py: Python) -> (Option<usize>, Option<u32>, u32, usize) {
        py.detach(|| {
            let learner = self.open();
            let count = learner.policy().observations().len();
            (learner.episode(), learner.budget(), learner.held(), count)
        })
    }

    /// u_hat of the current plan.
    fn plan<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (values, shape) = py.detach(|| {
            let learner = self.open();
            let table = learner.policy().u_hat();
            let rows = 0..=table.horizon();
            let values: Vec<f64> = rows.flat_map(|h| table.row(h).to_vec()).collect();
            (
                values,
                [table.horizon() + 1, table.budget_max() as usize + 1],
            )
        });
        PyArray1::from_vec(py, values).reshape(shape)
    }

    /// The complete state.
    fn state(&self, py: Python) -> PyResult<String> {
        let text = py.detach(|| serde_json::to_string(&self.open().save()));
        text.map_err(|error| refused("state", error, "finite numbers"))
    }
}

fn read(mut policy: Table, oracle: Table, task: &Task) -> PyResult<LiveLearning> {
    if !oracle.is_empty() {
        policy.insert("oracle".into(), Value::Table(oracle));
    }
    let document = Document::from_table("policy", &policy);
    LiveLearning::from_document(&document, task).map_err(of_input)
}

fn labeled_rows(
    task: &TaskHandle,
    contexts: &Bound<PyAny>,
    steps: &Bound<PyAny>,
    actions: &Bound<PyAny>,
    accepted: &Bound<PyAny>,
) -> PyResult<LabeledRows> {
    let features = task.contexts(contexts)?;
    let count = features.shape()[0];
    let wholes = |name: &'static str, object: &Bound<PyAny>, most: usize| {
        let items: Vec<Bound<PyAny>> = object.try_iter()?.collect::<PyResult<_>>()?;
        if items.len() != count {
            let found = format!("{} values", items.len());
            return Err(refused(
                name,
                found,
                format!("{count}, as there are contexts"),
            ));
        }
        let items = items.iter().map(|x| whole(name, x, 1..=most as u64));
        items.collect::<PyResult<Vec<u64>>>()
    };
    let outcomes: Vec<Bound<PyAny>> = accepted.try_iter()?.collect::<PyResult<_>>()?;
    if outcomes.len() != count {
        let found = format!("{} values", outcomes.len());
        return Err(refused(
            "accepted",
            found,
            format!("{count}, as there are contexts"),
        ));
    }
    let outcome = |x: &Bound<PyAny>| match x.extract::<bool>() {
        Ok(flag) => Ok(flag),
        Err(_) => whole("accepted", x, 0..=1).map(|x| x == 1),
    };
    Ok(LabeledRows {
        features: features.values()?.to_vec(),
        steps: wholes("steps", steps, task.task.horizon())?,
        actions: wholes("actions", actions, task.task.actions())?,
        accepted: outcomes.iter().map(outcome).collect::<PyResult<_>>()?,
    })
}
