//! A policy written in Python. One object plays all replications of a wave: it is told that an episode starts, called once for
//! its decisions at all contexts and budgets, and once with the outcomes. A policy that changes within an episode is called at
//! every arrival, and told every outcome at once.

use std::sync::{Arc, Mutex};

use cbwk_gpu::policy::{MakePolicy, Policy, PolicySetting, Start, WholeWave};
use cbwk_gpu::task::{Context, EpisodeContexts, Task};
use numpy::PyArray1;
use pyo3::prelude::*;
use rand::Rng;

use super::{Mistake, arrays_of, flattened, of_wave, open};
use crate::arrays::{Numbers, shape_text, whole};
use crate::errors::refused;
use crate::task::TaskHandle;

/// Decisions and observations of one replication in the current episode.
#[derive(Debug)]
struct Slot {
    task: Arc<Task>,
    number: usize,
    /// Actions by arrival and budget.
    decisions: Vec<u32>,
    width: usize,
    next: usize,
    seen: Seen,
}

impl Slot {
    fn new(task: Arc<Task>) -> Self {
        Self {
            task,
            number: 0,
            decisions: Vec::new(),
            width: 0,
            next: 0,
            seen: Seen::default(),
        }
    }
}

#[derive(Debug, Default)]
struct Seen {
    features: Vec<f64>,
    steps: Vec<i64>,
    actions: Vec<i64>,
    accepted: Vec<bool>,
}

/// The object of the current wave, and which of its methods are to be called.
#[derive(Debug)]
struct Played {
    object: Py<PyAny>,
    by_step: bool,
    observes: bool,
    starts: bool,
}

/// The object of the current wave; `None` before the first.
type Current = Arc<Mutex<Option<Arc<Played>>>>;

/// Makes the policies of a study.
#[derive(Debug)]
pub struct Maker {
    entry: Py<PyAny>,
    current: Current,
    made: Mutex<Vec<(Arc<Mutex<Slot>>, u64)>>,
    mistake: Mistake,
}

impl Maker {
    /// Of an entry that makes the object of a wave.
    pub fn shared(entry: Py<PyAny>, mistake: Mistake) -> Arc<dyn MakePolicy> {
        Arc::new(Self {
            entry,
            current: Current::default(),
            made: Mutex::default(),
            mistake,
        })
    }

    /// A new object for a new wave.
    fn start(&self, py: Python, task: &Arc<Task>, seeds: Vec<u64>) -> PyResult<()> {
        let handle = TaskHandle {
            task: Arc::clone(task),
        };
        let arguments = (handle, PyArray1::from_vec(py, seeds));
        let made = self.entry.call_method1(py, "policy", arguments)?;
        let (object, by_step, observes, starts) = made.extract(py)?;
        let played = Played {
            object,
            by_step,
            observes,
            starts,
        };
        *open(&self.current) = Some(Arc::new(played));
        Ok(())
    }

    /// An episode starts: what the object wants to know, and its decisions if it decides ahead.
    fn begin(
        &self,
        py: Python,
        (episode, b_t): (usize, u32),
        slots: &[(Arc<Mutex<Slot>>, u64)],
        contexts: &[&EpisodeContexts],
    ) -> PyResult<()> {
        let Some(first) = slots.first() else {
            return Ok(());
        };
        let task = Arc::clone(&open(&first.0).task);
        if episode == 1 {
            self.start(py, &task, slots.iter().map(|(_, seed)| *seed).collect())?;
        }
        for (number, (slot, _)) in slots.iter().enumerate() {
            let mut slot = open(slot);
            slot.number = number;
            slot.next = 0;
        }
        let Some(played) = open(&self.current).clone() else {
            return Ok(());
        };
        let object = played.object.bind(py);
        if played.starts {
            let replications = PyArray1::from_vec(py, (0..slots.len() as i64).collect());
            object.call_method1("start_episode", (replications, episode, b_t))?;
        }
        match played.by_step {
            true => Ok(()),
            false => decide(object, &task, (episode, b_t), slots, contexts),
        }
    }

    fn learn(&self, py: Python, episode: usize) -> PyResult<()> {
        let Some(played) = open(&self.current).clone() else {
            return Ok(());
        };
        let mut all = Seen::default();
        let mut replications = Vec::new();
        let mut dimension = 0;
        for (number, (slot, _)) in (0i64..).zip(open(&self.made).iter()) {
            let mut slot = open(slot);
            dimension = slot.task.dimension();
            let seen = std::mem::take(&mut slot.seen);
            replications.resize(replications.len() + seen.steps.len(), number);
            all.features.extend(seen.features);
            all.steps.extend(seen.steps);
            all.actions.extend(seen.actions);
            all.accepted.extend(seen.accepted);
        }
        let (features, steps) = arrays_of(py, dimension, all.features, all.steps)?;
        let arguments = (
            episode,
            features,
            steps,
            PyArray1::from_vec(py, replications),
            PyArray1::from_vec(py, all.actions),
            PyArray1::from_vec(py, all.accepted),
        );
        played.object.call_method1(py, "learn", arguments)?;
        Ok(())
    }
}

/// All decisions of an episode.
fn decide(
    object: &Bound<PyAny>,
    task: &Task,
    (episode, b_t): (usize, u32),
    slots: &[(Arc<Mutex<Slot>>, u64)],
    contexts: &[&EpisodeContexts],
) -> PyResult<()> {
    let py = object.py();
    let (mut features, mut steps, mut replications) = (Vec::new(), Vec::new(), Vec::new());
    for (number, contexts) in (0i64..).zip(contexts) {
        let (theirs, at) = flattened(contexts);
        features.extend(theirs);
        replications.resize(replications.len() + at.len(), number);
        steps.extend(at);
    }
    let (count, width) = (steps.len(), b_t as usize + 1);
    let (features, steps) = arrays_of(py, task.dimension(), features, steps)?;
    let replications = PyArray1::from_vec(py, replications);
    let arguments = (episode, b_t, features, steps, replications);
    let answer = object.call_method1("decide", arguments)?;
    let actions = Numbers::of("decide", &answer)?;
    if actions.shape() != [count, width] {
        let accepted = shape_text(&[count, width]);
        return Err(refused("decide", shape_text(actions.shape()), accepted));
    }
    let most = task.actions() as f64;
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

impl MakePolicy for Maker {
    fn make(&self, setting: &PolicySetting, mut start: Start) -> Box<dyn Policy> {
        let slot = Arc::new(Mutex::new(Slot::new(Arc::clone(&setting.task))));
        open(&self.made).push((Arc::clone(&slot), start.choices.next_u64()));
        Box::new(OwnPolicy {
            task: Arc::clone(&setting.task),
            slot,
            current: Arc::clone(&self.current),
            played: None,
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
        let begun = Python::attach(|py| self.begin(py, (episode, b_t), &slots, contexts));
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
    current: Current,
    /// The object in this episode, if it is called at every arrival or outcome.
    played: Option<Arc<Played>>,
    mistake: Mistake,
}

impl OwnPolicy {
    fn ask(&self, played: &Played, context: &Context, budget: u32) -> PyResult<usize> {
        let number = open(&self.slot).number;
        Python::attach(|py| {
            let features = PyArray1::from_slice(py, context.features);
            let arguments = (number, context.step + 1, features, budget);
            let action = played.object.bind(py).call_method1("choose", arguments)?;
            Ok(whole("choose", &action, 0..=self.task.actions() as u64)? as usize)
        })
    }

    fn tell(&self, played: &Played, context: &Context, action: usize, accepted: bool) {
        let number = open(&self.slot).number;
        let told = Python::attach(|py| {
            let features = PyArray1::from_slice(py, context.features);
            let arguments = (number, context.step + 1, features, action, accepted);
            played.object.call_method1(py, "observe", arguments)
        });
        if let Err(error) = told {
            self.mistake.put(error);
        }
    }
}

impl Policy for OwnPolicy {
    fn start_episode(&mut self, _episode: usize, _b_t: u32) {
        let played = open(&self.current).clone();
        self.played = played.filter(|played| played.by_step || played.observes);
    }

    fn choose(&mut self, context: &Context, budget: u32) -> usize {
        if self.mistake.is_there() {
            return 0;
        }
        let asked = self.played.as_ref().filter(|played| played.by_step);
        let action = match asked {
            Some(played) => self.ask(played, context, budget).unwrap_or_else(|error| {
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
        let told = self.played.as_ref().filter(|played| played.observes);
        if let Some(played) = told.filter(|_| !self.mistake.is_there()) {
            self.tell(played, context, action, converted);
        }
        let seen = &mut open(&self.slot).seen;
        seen.features.extend_from_slice(context.features);
        seen.steps.push(context.step as i64 + 1);
        seen.actions.push(action as i64);
        seen.accepted.push(converted);
    }
}
