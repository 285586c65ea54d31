//! An oracle written in Python: one call to fit, one for the bounds of many contexts. Bounds are kept until the next fit, so
//! that decisions cost no call of their own.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use cbwk_gpu::oracle::{
    Belief, BoundFacts, Bounds, Diagnosis, LabeledData, MakeOracle, Observation, Oracle,
};
use cbwk_gpu::task::{Context, Task};
use numpy::PyArray1;
use pyo3::prelude::*;

use super::{Mistake, arrays_of, open};
use crate::arrays::{Numbers, shape_text};
use crate::errors::refused;
use crate::task::TaskHandle;

/// What an oracle's class says of its bounds.
pub fn facts(oracle: &Bound<PyAny>) -> PyResult<BoundFacts> {
    Ok(BoundFacts {
        by_step: flag(oracle, "by_step")?,
        anytime: flag(oracle, "anytime")?,
    })
}

fn flag(oracle: &Bound<PyAny>, name: &str) -> PyResult<bool> {
    let value = oracle.getattr_opt(name)?;
    value.map_or(Ok(false), |value| value.is_truthy())
}

/// Steps (where bounds depend on them) and the bits of features.
type Key = (usize, Vec<u64>);

/// The Python object with the bounds it gave since its last fit.
#[derive(Debug)]
pub struct OracleCell {
    object: Py<PyAny>,
    facts: BoundFacts,
    actions: usize,
    dimension: usize,
    observations: AtomicUsize,
    /// `None` before the first fit.
    known: Mutex<Option<HashMap<Key, Vec<Bounds>>>>,
    mistake: Mistake,
}

impl OracleCell {
    /// For a task.
    pub fn new(object: &Bound<PyAny>, task: &Task, mistake: Mistake) -> PyResult<Self> {
        Ok(Self {
            object: object.clone().unbind(),
            facts: facts(object)?,
            actions: task.actions(),
            dimension: task.dimension(),
            observations: AtomicUsize::new(0),
            known: Mutex::new(None),
            mistake,
        })
    }

    fn key(&self, context: &Context) -> Key {
        let step = if self.facts.by_step { context.step } else { 0 };
        (step, context.features.iter().map(|x| x.to_bits()).collect())
    }

    /// Asks for the bounds of contexts that are not known, all at once.
    pub fn look<'c>(&self, contexts: &mut dyn Iterator<Item = Context<'c>>) {
        let mut new: Vec<(Key, Context<'c>)> = Vec::new();
        {
            let known = open(&self.known);
            let Some(known) = known.as_ref() else { return };
            let mut seen = std::collections::HashSet::new();
            for context in contexts {
                let key = self.key(&context);
                if !known.contains_key(&key) && seen.insert(key.clone()) {
                    new.push((key, context));
                }
            }
        }
        if new.is_empty() || self.mistake.is_there() {
            return;
        }
        match Python::attach(|py| self.ask(py, &new)) {
            Err(error) => self.mistake.put(error),
            Ok(bounds) => {
                if let Some(known) = open(&self.known).as_mut() {
                    let rows = bounds.chunks_exact(self.actions).map(<[Bounds]>::to_vec);
                    known.extend(new.into_iter().map(|(key, _)| key).zip(rows));
                }
            }
        }
    }

    fn ask(&self, py: Python, contexts: &[(Key, Context)]) -> PyResult<Vec<Bounds>> {
        let features = contexts
            .iter()
            .flat_map(|(_, c)| c.features.iter().copied());
        let steps = contexts.iter().map(|(_, c)| c.step as i64 + 1);
        let (features, steps) = arrays_of(py, self.dimension, features.collect(), steps.collect())?;
        let answer = self
            .object
            .bind(py)
            .call_method1("bounds", (features, steps))?;
        let Ok((lcb, ucb)) = answer.extract::<(Bound<PyAny>, Bound<PyAny>)>() else {
            return Err(refused(
                "bounds",
                "another answer",
                "a pair of arrays (lcb, ucb)",
            ));
        };
        let (lcb, ucb) = (Numbers::of("lcb", &lcb)?, Numbers::of("ucb", &ucb)?);
        for numbers in [&lcb, &ucb] {
            if numbers.shape() != [contexts.len(), self.actions] {
                let accepted = shape_text(&[contexts.len(), self.actions]);
                return Err(refused(
                    numbers.name(),
                    shape_text(numbers.shape()),
                    accepted,
                ));
            }
            let share = |x: f64| (0.0..=1.0).contains(&x);
            numbers.check("a probability from 0 to 1", share)?;
        }
        let pairs = lcb.values()?.iter().zip(ucb.values()?);
        pairs
            .map(|(&lcb, &ucb)| match lcb <= ucb {
                true => Ok(Bounds { lcb, ucb }),
                false => Err(refused(
                    "lcb",
                    format!("{lcb} above ucb {ucb}"),
                    "lcb up to ucb",
                )),
            })
            .collect()
    }

    /// The bounds of a context, if they can be had.
    fn bounds_of(&self, context: &Context, out: &mut [Bounds]) {
        let key = self.key(context);
        for attempt in 0..2 {
            if let Some(found) = open(&self.known).as_ref().and_then(|known| known.get(&key)) {
                out.copy_from_slice(found);
                return;
            }
            if attempt == 0 {
                self.look(&mut std::iter::once(*context));
            }
        }
        out.fill(Bounds::UNKNOWN);
    }

    fn fit(&self, py: Python, data: &LabeledData, delta: f64) -> PyResult<()> {
        let (mut features, mut steps) = (Vec::new(), Vec::new());
        let (mut actions, mut accepted) = (Vec::new(), Vec::new());
        for seen in data.since(0) {
            features.extend_from_slice(seen.features);
            steps.push(seen.step as i64 + 1);
            actions.push(seen.action as i64);
            accepted.push(seen.converted);
        }
        let (features, steps) = arrays_of(py, self.dimension, features, steps)?;
        let actions = PyArray1::from_vec(py, actions);
        let accepted = PyArray1::from_vec(py, accepted);
        let arguments = (features, steps, actions, accepted, delta);
        self.object.bind(py).call_method1("fit", arguments)?;
        Ok(())
    }
}

/// The oracle of one replication or one learner.
#[derive(Debug, Clone)]
pub struct OwnOracle(pub Arc<OracleCell>);

impl Oracle for OwnOracle {
    fn fit(&mut self, data: &LabeledData, delta: f64) {
        if self.0.mistake.is_there() {
            return;
        }
        if let Err(error) = Python::attach(|py| self.0.fit(py, data, delta)) {
            self.0.mistake.put(error);
        }
        self.0.observations.store(data.len(), Ordering::Relaxed);
        *open(&self.0.known) = Some(HashMap::new());
    }

    fn bounds(&self, context: &Context, out: &mut [Bounds]) {
        self.0.bounds_of(context, out);
    }

    fn estimate(&self, context: &Context, out: &mut [f64]) {
        let mut bounds = vec![Bounds::UNKNOWN; out.len()];
        self.0.bounds_of(context, &mut bounds);
        let middles = bounds.iter().map(|b| (b.lcb + b.ucb) / 2.0);
        out.iter_mut()
            .zip(middles)
            .for_each(|(x, middle)| *x = middle);
    }

    fn beliefs(&self, context: &Context, out: &mut [Belief]) {
        let mut bounds = vec![Bounds::UNKNOWN; out.len()];
        self.0.bounds_of(context, &mut bounds);
        for (belief, bounds) in out.iter_mut().zip(bounds) {
            *belief = Belief::new((bounds.lcb + bounds.ucb) / 2.0, bounds);
        }
    }

    /// All contexts are asked for together.
    fn each_observed(&self, task: &Task, data: &LabeledData, see: &mut dyn FnMut(f64, f64, f64)) {
        let context = |o: Observation| task.context(o.step, o.features);
        self.0.look(&mut data.since(0).map(context));
        let mut beliefs = vec![Belief::UNKNOWN; task.actions()];
        for observation in data.since(0) {
            self.beliefs(&context(observation), &mut beliefs);
            let belief = beliefs[observation.action - 1];
            see(1.0, belief.estimate, belief.bounds.ucb);
        }
    }

    fn facts(&self) -> BoundFacts {
        self.0.facts
    }

    fn look(&self, contexts: &mut dyn Iterator<Item = Context<'_>>) {
        self.0.look(contexts);
    }

    fn diagnosis(&self) -> Diagnosis {
        Diagnosis::of(self.0.observations.load(Ordering::Relaxed))
    }
}

/// Makes such oracles for the replications of a study.
#[derive(Debug)]
pub struct Maker {
    entry: Py<PyAny>,
    mistake: Mistake,
}

impl Maker {
    /// Of an entry that makes the object of a task.
    pub fn shared(entry: Py<PyAny>, mistake: Mistake) -> Arc<dyn MakeOracle> {
        Arc::new(Self { entry, mistake })
    }

    /// A new object; after an exception, which is kept, `None`, which has no facts.
    fn cell(&self, task: &Task) -> OracleCell {
        Python::attach(|py| {
            let handle = TaskHandle {
                task: Arc::new(task.clone()),
            };
            let object = self.entry.call_method1(py, "oracle", (handle,));
            let cell =
                |object: Py<PyAny>| OracleCell::new(object.bind(py), task, self.mistake.clone());
            object.and_then(cell).unwrap_or_else(|error| {
                self.mistake.put(error);
                cell(py.None()).expect("None has no attributes to fail")
            })
        })
    }
}

impl MakeOracle for Maker {
    fn facts(&self, task: &Task) -> BoundFacts {
        self.cell(task).facts
    }

    fn make(&self, task: &Task) -> Box<dyn Oracle> {
        Box::new(OwnOracle(Arc::new(self.cell(task))))
    }
}
