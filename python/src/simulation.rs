//! A study's world step by step, for an external decision maker: the contexts and random draws are those of a replication.

use std::sync::{Arc, Mutex, PoisonError};

use cbwk_gpu::experiment::{Purpose, Streams};
use cbwk_gpu::task::EpisodeContexts;
use cbwk_gpu::world::World;
use numpy::PyArray1;
use pyo3::prelude::*;
use rand::RngExt;
use rand::rngs::ChaCha8Rng;

use crate::changes::Changes;
use crate::errors::{refused, wrong};
use crate::own::Mistake;
use crate::study::StudySource;
use crate::task::TaskHandle;

/// The world of a replication.
#[pyclass(frozen, module = "cbwk._native")]
#[derive(Debug)]
pub struct Simulation {
    world: Arc<World>,
    /// B_1, ..., B_T of the study.
    budgets: Vec<u32>,
    mistake: Mistake,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    contexts_stream: ChaCha8Rng,
    acceptance_stream: ChaCha8Rng,
    contexts: EpisodeContexts,
    /// Steps played; H outside an episode.
    step: usize,
    arrivals: usize,
    budget: u32,
    /// Episodes begun.
    episode: usize,
}

/// Features of the customer, if one has arrived; steps played; units left; feasible actions.
type View<'py> = (
    Option<Bound<'py, PyArray1<f64>>>,
    usize,
    u32,
    Bound<'py, PyArray1<bool>>,
);

#[pymethods]
impl Simulation {
    /// Replication `replication` (from 0) of a study; `seed` replaces the study's.
    #[new]
    #[pyo3(signature = (study, seed, replication))]
    fn new(study: &StudySource, seed: Option<u64>, replication: u64) -> PyResult<Self> {
        let mistake = Mistake::default();
        let study = study.check(&Changes::of_seed(seed), &mistake)?.study;
        let streams = Streams::new(study.seed);
        let world = study.world;
        let task = world.task();
        let state = State {
            contexts_stream: streams.of(replication, Purpose::Contexts),
            acceptance_stream: streams.of(replication, Purpose::Acceptance),
            contexts: EpisodeContexts::new(task.dimension()),
            step: task.horizon(),
            arrivals: 0,
            budget: 0,
            episode: 0,
        };
        let budgets = world.budgets();
        let budgets = budgets.sequence(study.episodes, &mut streams.of_study(Purpose::Budgets));
        Ok(Self {
            budgets,
            mistake,
            state: Mutex::new(state),
            world,
        })
    }

    /// The task.
    #[getter]
    fn task(&self) -> TaskHandle {
        let task = Arc::clone(self.world.task());
        TaskHandle { task }
    }

    /// The next episode, from this budget, by default from that of the study's law; after T episodes its budgets repeat.
    #[pyo3(signature = (budget=None))]
    fn begin(&self, budget: Option<u32>) -> PyResult<()> {
        let drawn = self.budgets[self.open().episode % self.budgets.len()];
        let budget = budget.unwrap_or(drawn);
        let most = self.world.task().budget_max();
        if budget > most {
            let accepted = format!("a whole number from 0 to {most}");
            return Err(refused("budget", budget, accepted));
        }
        let mut state = self.open();
        let State {
            contexts_stream,
            contexts,
            ..
        } = &mut *state;
        self.world.contexts().draw(contexts_stream, contexts);
        (state.step, state.arrivals, state.budget) = (0, 0, budget);
        state.episode += 1;
        self.mistake.take().map_or(Ok(()), Err)
    }

    /// The current observation.
    fn view<'py>(&self, py: Python<'py>) -> View<'py> {
        let state = self.open();
        let task = self.world.task();
        let mut mask = vec![false; task.actions() + 1];
        mask[0] = true;
        let arrived = state.arrived();
        if let Some(context) = &arrived {
            for (action, may) in mask.iter_mut().enumerate().skip(1) {
                *may = task.feasible(context, action, state.budget);
            }
        }
        let features = arrived.map(|context| PyArray1::from_slice(py, context.features));
        (
            features,
            state.step,
            state.budget,
            PyArray1::from_vec(py, mask),
        )
    }

    /// Plays a step: reward, acceptance, and whether the episode is over.
    fn step(&self, action: usize) -> PyResult<(f64, bool, bool)> {
        let mut state = self.open();
        let task = self.world.task();
        if state.step >= task.horizon() {
            return Err(wrong("the episode is over; begin the next one first"));
        }
        if action > task.actions() {
            let accepted = format!("an action from 0 to {}", task.actions());
            return Err(refused("action", action, accepted));
        }
        let feasible = state
            .arrived()
            .map(|c| task.feasible(&c, action.max(1), state.budget));
        if action > 0 && feasible != Some(true) {
            let accepted = "0, or a feasible action (see the mask)";
            return Err(refused(
                "action",
                format!("{action}, which is infeasible"),
                accepted,
            ));
        }
        let uniform: f64 = state.acceptance_stream.random();
        let (mut reward, mut cost, mut accepted) = (0.0, 0, false);
        if let Some(context) = state.arrived() {
            accepted = action > 0 && uniform < self.world.rho(&context, action);
            if accepted {
                reward = task.reward(&context, action);
                cost = task.cost(&context, action);
            }
            state.arrivals += 1;
        }
        if let Some(error) = self.mistake.take() {
            return Err(error);
        }
        state.budget -= cost;
        state.step += 1;
        Ok((reward, accepted, state.step == task.horizon()))
    }
}

impl Simulation {
    fn open(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The arrival at the current step.
    fn arrived(&self) -> Option<cbwk_gpu::task::Context<'_>> {
        let next = self.contexts.iter().nth(self.arrivals);
        next.filter(|context| context.step == self.step)
    }
}
