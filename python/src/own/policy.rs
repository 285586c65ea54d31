//! A policy written in Python. One object plays all replications of a wave: it is called once per episode for its decisions at
//! all contexts and budgets, and once with the outcomes. A policy that changes within an episode is called at every arrival.

use std::sync::{Arc, Mutex};

use cbwk_gpu::policy::{MakePolicy, Policy, PolicySetting, Start, WholeWave};
use cbwk_gpu::task::{Context, EpisodeContexts, Task};
use numpy::PyArray1;
use pyo3::prelude::*;
use rand::Rng;

use super::{Mistake, arrays_of, flattened, of_wave, open};
use crate::arrays::{Numbers, shape_text, whole};
use crate::errors::refused;

/// Decisions and observations of one replication in the current episode.
#[derive(Debug, Default)]
struct Slot {
    number: usize,
    /// Actions by arrival and budget.
    decisions: Vec<u32>,
    width: usize,
    next: usize,
    seen: Seen,
}

#[derive(Debug, Default)]
struct Seen {
    features: Vec<f64>,
    steps: Vec<i64>,
    actions: Vec<i64>,
    accepted: Vec<bool>,
}

/// The object of the current wave.
type Object = Arc<Mutex<Option<Py<PyAny>>>>;

/// Makes the policies of a study.
#[derive(Debug)]
pub struct Maker {
    make: Py<PyAny>,
    task: Py<PyAny>,
    by_step: bool,
    object: Object,
    made: Mutex<Vec<(Arc<Mutex<Slot>>, u64)>>,
    mistake: Mistake,
}

impl Maker {
    /// From a Python function that makes the policy from a task and seeds.
    pub fn new(make: Py<PyAny>, task: Py<PyAny>, by_step: bool, mistake: Mistake) -> Self {
        Self {
            make,
            task,
            by_step,
            object: Object::default(),
            made: Mutex::default(),
            mistake,
        }
    }

    fn object(&self, py: Python) -> Option<Py<PyAny>> {
        open(&self.object)
            .as_ref()
            .map(|object| object.clone_ref(py))
    }

    /// A new object for a new wave.
    fn start(&self, py: Python, seeds: Vec<u64>) -> PyResult<()> {
        let seeds = PyArray1::from_vec(py, seeds);
        let object = self.make.call1(py, (&self.task, seeds))?;
        *open(&self.object) = Some(object);
        Ok(())
    }

    /// All decisions of an episode.
    fn decide(
        &self,
        py: Python,
        (episode, b_t): (usize, u32),
        slots: &[(Arc<Mutex<Slot>>, u64)],
        contexts: &[&EpisodeContexts],
    ) -> PyResult<()> {
        let Some(object) = self.object(py) else {
            return Ok(());
        };
        let task: PyRef<crate::task::TaskHandle> = self.task.extract(py)?;
        let (mut features, mut steps, mut replications) = (Vec::new(), Vec::new(), Vec::new());
        for (number, contexts) in (0i64..).zip(contexts) {
            let (theirs, at) = flattened(contexts);
            features.extend(theirs);
            replications.resize(replications.len() + at.len(), number);
            steps.extend(at);
        }
        let (count, width) = (steps.len(), b_t as usize + 1);
        let (features, steps) = arrays_of(py, task.task.dimension(), features, steps)?;
        let replications = PyArray1::from_vec(py, replications);
        let arguments = (episode, b_t, features, steps, replications);
        let answer = object.bind(py).call_method1("decide", arguments)?;
        let actions = Numbers::of("decide", &answer)?;
        if actions.shape() != [count, width] {
            let accepted = shape_text(&[count, width]);
            return Err(refused("decide", shape_text(actions.shape()), accepted));
        }
        let most = task.task.actions() as f64;
        let accepted = format!("an action from 0 to {most}");
        actions.check(&accepted, |x| x.fract() == 0.0 && (0.0..=most).contains(&x))?;
        let mut rows = actions.values()?.chunks_exact(width);
        for ((slot, _), contexts) in slots.iter().zip(contexts) {
            let own = rows.by_ref().take(contexts.len()).flatten();
            let mut slot = open(slot);
            slot.decisions = own.map(|x| *x as u32).collect();
            slot.width = width;
        }
        Ok(())
    }

    fn learn(&self, py: Python, episode: usize) -> PyResult<()> {
        let Some(object) = self.object(py) else {
            return Ok(());
        };
        let task: PyRef<crate::task::TaskHandle> = self.task.extract(py)?;
        let mut all = Seen::default();
        let mut replications = Vec::new();
        for (number, (slot, _)) in (0i64..).zip(open(&self.made).iter()) {
            let seen = std::mem::take(&mut open(slot).seen);
            replications.resize(replications.len() + seen.steps.len(), number);
            all.features.extend(seen.features);
            all.steps.extend(seen.steps);
            all.actions.extend(seen.actions);
            all.accepted.extend(seen.accepted);
        }
        let dimension = task.task.dimension();
        let (features, steps) = arrays_of(py, dimension, all.features, all.steps)?;
        let arguments = (
            episode,
            features,
            steps,
            PyArray1::from_vec(py, replications),
            PyArray1::from_vec(py, all.actions),
            PyArray1::from_vec(py, all.accepted),
        );
        object.bind(py).call_method1("learn", arguments)?;
        Ok(())
    }
}

impl MakePolicy for Maker {
    fn make(&self, setting: &PolicySetting, mut start: Start) -> Box<dyn Policy> {
        let slot: Arc<Mutex<Slot>> = Arc::default();
        open(&self.made).push((Arc::clone(&slot), start.choices.next_u64()));
        Box::new(OwnPolicy {
            task: Arc::clone(&setting.task),
            slot,
            asked: self.by_step.then(|| Arc::clone(&self.object)),
            mistake: self.mistake.clone(),
        })
    }

    fn whole_wave(&self) -> Option<&dyn WholeWave> {
        Some(self)
    }
}

impl WholeWave for Maker {
    fn episode_begins(&self, episode: usize, b_t: u32, contexts: &[&EpisodeContexts]) {
        if self.mistake.is_there() {
            return;
        }
        let slots = of_wave(&self.made, contexts.len());
        let begun = Python::attach(|py| {
            if episode == 1 {
                self.start(py, slots.iter().map(|(_, seed)| *seed).collect())?;
            }
            for (number, (slot, _)) in slots.iter().enumerate() {
                let mut slot = open(slot);
                slot.number = number;
                slot.next = 0;
            }
            match self.by_step {
                true => Ok(()),
                false => self.decide(py, (episode, b_t), &slots, contexts),
            }
        });
        if let Err(error) = begun {
            self.mistake.put(error);
        }
    }

    fn episode_ends(&self, episode: usize) {
        if self.mistake.is_there() {
            return;
        }
        if let Err(error) = Python::attach(|py| self.learn(py, episode)) {
            self.mistake.put(error);
        }
    }
}

/// The policy of one replication.
#[derive(Debug)]
struct OwnPolicy {
    task: Arc<Task>,
    slot: Arc<Mutex<Slot>>,
    /// The object, if it is called at every arrival.
    asked: Option<Object>,
    mistake: Mistake,
}

impl OwnPolicy {
    fn ask(&self, object: &Object, context: &Context, budget: u32) -> PyResult<usize> {
        let number = open(&self.slot).number;
        Python::attach(|py| {
            let object = open(object).as_ref().map(|object| object.clone_ref(py));
            let Some(object) = object else { return Ok(0) };
            let features = PyArray1::from_slice(py, context.features);
            let arguments = (number, context.step + 1, features, budget);
            let action = object.bind(py).call_method1("choose", arguments)?;
            Ok(whole("choose", &action, 0..=self.task.actions() as u64)? as usize)
        })
    }
}

impl Policy for OwnPolicy {
    fn choose(&mut self, context: &Context, budget: u32) -> usize {
        if self.mistake.is_there() {
            return 0;
        }
        let action = match &self.asked {
            Some(object) => self.ask(object, context, budget).unwrap_or_else(|error| {
                self.mistake.put(error);
                0
            }),
            None => {
                let mut slot = open(&self.slot);
                let place = slot.next * slot.width + budget as usize;
                slot.next += 1;
                slot.decisions.get(place).copied().unwrap_or(0) as usize
            }
        };
        let feasible = action > 0 && self.task.feasible(context, action, budget);
        if feasible { action } else { 0 }
    }

    fn observe(&mut self, context: &Context, action: usize, converted: bool) {
        let seen = &mut open(&self.slot).seen;
        seen.features.extend_from_slice(context.features);
        seen.steps.push(context.step as i64 + 1);
        seen.actions.push(action as i64);
        seen.accepted.push(converted);
    }
}
