//! An oracle written in Python: one call to fit, one for the bounds of many contexts. Bounds are kept until the next fit, so
//! that decisions cost no call of their own.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use cbwk_gpu::oracle::{
    Belief, BoundFacts, Bounds, BulkBounds, Diagnosis, LabeledData, Observation, Oracle, Pairs,
};
use cbwk_gpu::policy::{LearnerConfig, MakePolicy, Policy, PolicySetting, Start, WholeWave};
use cbwk_gpu::task::{Context, EpisodeContexts, Task};
use numpy::PyArray1;
use pyo3::prelude::*;

use super::{Mistake, arrays_of, of_wave, open};
use crate::arrays::{Numbers, shape_text};
use crate::errors::{refused, wrong};

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
    pub fn look<'c>(&self, contexts: impl Iterator<Item = Context<'c>>) {
        let mut new: Vec<(Key, Context)> = Vec::new();
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
                self.look(std::iter::once(*context));
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
        self.0.look(data.since(0).map(context));
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

    fn bulk(&self) -> Option<&dyn BulkBounds> {
        Some(self)
    }

    fn diagnosis(&self) -> Diagnosis {
        Diagnosis::of(self.0.observations.load(Ordering::Relaxed))
    }
}

impl BulkBounds for OwnOracle {
    fn fill(&self, pairs: &Pairs, ucb: &mut [f64], lcb: &mut [f64]) {
        let entries = pairs.entries.clone();
        self.0
            .look(entries.map(|entry| pairs.sample.context(entry)));
        pairs.one_by_one(self, ucb, lcb);
    }
}

/// Makes learners with such oracles.
#[derive(Debug)]
pub struct Maker {
    make: Py<PyAny>,
    task: Py<PyAny>,
    config: LearnerConfig,
    made: Mutex<Vec<Arc<OracleCell>>>,
    mistake: Mistake,
}

impl Maker {
    /// Of a Python function that makes the oracle of a task.
    pub fn new(make: Py<PyAny>, task: Py<PyAny>, config: LearnerConfig, mistake: Mistake) -> Self {
        Self {
            make,
            task,
            config,
            made: Mutex::default(),
            mistake,
        }
    }

    fn cell(&self, task: &Task) -> PyResult<OracleCell> {
        Python::attach(|py| {
            let object = self.make.call1(py, (&self.task,))?;
            OracleCell::new(object.bind(py), task, self.mistake.clone())
        })
    }
}

/// Says nothing, until the study has noticed that something is wrong.
fn without_oracle(task: &Task, mistake: &Mistake) -> PyResult<OracleCell> {
    Python::attach(|py| OracleCell::new(&py.None().into_bound(py), task, mistake.clone()))
}

impl MakePolicy for Maker {
    fn make(&self, setting: &PolicySetting, start: Start) -> Box<dyn Policy> {
        let task = &setting.task;
        let cell = self.cell(task).or_else(|error| {
            self.mistake.put(error);
            without_oracle(task, &self.mistake)
        });
        let cell = Arc::new(cell.map_err(wrong).expect("None has no attributes to fail"));
        open(&self.made).push(Arc::clone(&cell));
        let oracle = Box::new(OwnOracle(cell));
        let (task, delta) = (Arc::clone(task), setting.delta);
        Box::new(self.config.learner(task, oracle, delta, start.choices))
    }

    fn whole_wave(&self) -> Option<&dyn WholeWave> {
        Some(self)
    }
}

impl WholeWave for Maker {
    /// The bounds of an episode's contexts are asked for together, not one by one as they arrive.
    fn episode_begins(&self, _episode: usize, _b_t: u32, contexts: &[&EpisodeContexts]) {
        let cells = of_wave(&self.made, contexts.len());
        for (cell, contexts) in cells.iter().zip(contexts) {
            cell.look(contexts.iter());
        }
    }
}
