//! Builds policies, one per replication.

use std::sync::Arc;

use rand::rngs::ChaCha8Rng;

use super::spec::Checked;
use super::{Clairvoyant, Fixed, Fluid, InitialRows, Myopic, Policy, PolicyConfig, Random};
use crate::dp::ValueTable;
use crate::fluid::FluidPlan;
use crate::oracle::{OracleConfig, Sides, Truth};
use crate::task::{ContextRows, EpisodeContexts, OwnPart, Task};

/// What all policies of a study are built from. Truth, optimum and fluid plan are only for policies that may know them.
#[derive(Debug, Clone)]
pub struct PolicySetting {
    /// The task.
    pub task: Arc<Task>,
    /// The conversion probabilities.
    pub truth: Arc<dyn Truth>,
    /// The optimal value table of each type of day.
    pub optimum: Vec<Arc<ValueTable>>,
    /// The fluid relaxation of each type of day, if a policy needs it.
    pub fluid: Vec<Arc<FluidPlan>>,
    /// delta of the study.
    pub delta: f64,
    /// T.
    pub episodes: usize,
}

/// A policy's inputs in one replication.
#[derive(Debug)]
pub struct Start {
    /// Rows drawn from the context law, as many as [`MakePolicy::rows_to_draw`] says.
    pub drawn_rows: Option<ContextRows>,
    /// A random stream to initialise an oracle.
    pub oracle: ChaCha8Rng,
    /// A random stream for the policy's own choices.
    pub choices: ChaCha8Rng,
}

/// Makes the policy of a replication. [`PolicyConfig`] makes the built-in policies. Your own policy, or a built-in one with
/// your own oracle, is a closure: `|setting: &PolicySetting, start: Start| Box::new(...) as Box<dyn Policy>`.
pub trait MakePolicy: Send + Sync {
    /// The policy of one replication.
    fn make(&self, setting: &PolicySetting, start: Start) -> Box<dyn Policy>;

    /// The same without initial rows and logs, for [`Policy::restore`]: a saved state contains them.
    fn make_bare(&self, setting: &PolicySetting, start: Start) -> Box<dyn Policy> {
        self.make(setting, start)
    }

    /// Number of unlabeled rows to draw from the context law before the start.
    fn rows_to_draw(&self) -> usize {
        0
    }

    /// Whether the policy needs [`PolicySetting::fluid`].
    fn needs_fluid_plan(&self) -> bool {
        false
    }

    /// Callbacks for all replications of a wave at once, for policies whose calls are expensive.
    fn whole_wave(&self) -> Option<&dyn WholeWave> {
        None
    }

    /// The built-in oracle it learns with, if any.
    fn oracle(&self) -> Option<&OracleConfig> {
        None
    }

    /// The own code that it needs, if any.
    fn own(&self) -> Option<OwnPart<'_>> {
        self.oracle()?.own()
    }

    /// Estimated bytes per replication after `episodes` episodes with an offer at every step.
    fn bytes_per_replication(&self, task: &Task, episodes: usize) -> usize {
        let per_step = 8 * (3 * task.dimension() + 8) + task.actions() * 32;
        episodes * task.horizon() * per_step + 4 * table_bytes(task)
    }
}

/// Sees the episodes of all replications of a wave, in the order in which their policies were made. A rule that is fixed
/// during an episode may decide for all contexts at once here, if no decision uses a later context.
pub trait WholeWave: Send + Sync {
    /// Called before any policy chooses, with the contexts of episode `episode` (1-based) and its starting budget `b_t`.
    fn episode_begins(&self, episode: usize, b_t: u32, contexts: &[&EpisodeContexts]);

    /// Called after the episode, before any policy learns from it.
    fn episode_ends(&self, _episode: usize) {}
}

impl<F: Fn(&PolicySetting, Start) -> Box<dyn Policy> + Send + Sync> MakePolicy for F {
    fn make(&self, setting: &PolicySetting, start: Start) -> Box<dyn Policy> {
        self(setting, start)
    }
}

fn table_bytes(task: &Task) -> usize {
    (task.horizon() + 1) * (task.budget_max() as usize + 1) * 8
}

impl PolicyConfig {
    /// Own code; a study whose code is not here is refused before it runs.
    fn own_maker(&self) -> Option<&dyn MakePolicy> {
        match &self.0 {
            Checked::Own(own) => own.runs.as_deref(),
            _ => None,
        }
    }

    fn build(&self, setting: &PolicySetting, start: Start, bare: bool) -> Box<dyn Policy> {
        let task = Arc::clone(&setting.task);
        let delta = setting.delta;
        let oracle = |config: &OracleConfig, sides| {
            let truth = Some(&setting.truth);
            let oracle = config.build(&task, setting.episodes, start.oracle, truth, sides);
            oracle.expect("the truth is given")
        };
        let choices = start.choices;
        match &self.0 {
            Checked::Learner {
                settings,
                initial,
                log,
                oracle: config,
            } => {
                let oracle = oracle(config, settings.sides());
                let mut learner = settings.learner(task, oracle, delta, choices);
                if bare {
                    return Box::new(learner);
                }
                match (initial, &start.drawn_rows) {
                    (InitialRows::Given(rows), _) => learner.add_rows(rows),
                    (InitialRows::Drawn(_), Some(rows)) => learner.add_rows(rows),
                    (InitialRows::Drawn(_), None) => {}
                }
                if let Some(log) = log {
                    learner.add_log(log);
                }
                Box::new(learner)
            }
            Checked::Baseline(baseline) => {
                let oracle = oracle(&baseline.oracle, baseline.baseline.sides());
                baseline.build(task, oracle, delta, setting.episodes, choices)
            }
            Checked::Fluid { resolve } => {
                let plans = setting.fluid.clone();
                Box::new(Fluid::new(task, plans, *resolve, choices))
            }
            Checked::Clairvoyant => {
                let (truth, optimum) = (Arc::clone(&setting.truth), setting.optimum.clone());
                Box::new(Clairvoyant::new(task, truth, optimum))
            }
            Checked::Myopic { oracle: config } => {
                let oracle = oracle(config, Sides::Both);
                Box::new(Myopic::new(task, oracle, delta))
            }
            Checked::Random => Box::new(Random::new(task, choices)),
            Checked::Fixed { action } => Box::new(Fixed::new(task, *action)),
            Checked::Own(own) => unreachable!("{own:?} makes its own policies"),
        }
    }
}

impl MakePolicy for PolicyConfig {
    fn make(&self, setting: &PolicySetting, start: Start) -> Box<dyn Policy> {
        match self.own_maker() {
            Some(own) => own.make(setting, start),
            None => self.build(setting, start, false),
        }
    }

    fn make_bare(&self, setting: &PolicySetting, start: Start) -> Box<dyn Policy> {
        match self.own_maker() {
            Some(own) => own.make_bare(setting, start),
            None => self.build(setting, start, true),
        }
    }

    fn rows_to_draw(&self) -> usize {
        match &self.0 {
            Checked::Learner {
                initial: InitialRows::Drawn(rows),
                ..
            } => *rows,
            _ => 0,
        }
    }

    fn needs_fluid_plan(&self) -> bool {
        matches!(self.0, Checked::Fluid { .. })
    }

    fn whole_wave(&self) -> Option<&dyn WholeWave> {
        self.own_maker()?.whole_wave()
    }

    fn own(&self) -> Option<OwnPart<'_>> {
        match &self.0 {
            Checked::Own(own) => Some(own.part("policy")),
            _ => self.oracle()?.own(),
        }
    }

    fn oracle(&self) -> Option<&OracleConfig> {
        match &self.0 {
            Checked::Baseline(baseline) => Some(&baseline.oracle),
            Checked::Learner { oracle, .. } | Checked::Myopic { oracle } => Some(oracle),
            Checked::Clairvoyant
            | Checked::Fluid { .. }
            | Checked::Random
            | Checked::Fixed { .. }
            | Checked::Own(_) => None,
        }
    }

    fn bytes_per_replication(&self, task: &Task, episodes: usize) -> usize {
        let (horizon, dimension) = (task.horizon(), task.dimension());
        let per_observation = 8 * dimension + 9;
        let per_context = 8 * dimension + 24 + 20 + task.actions() * (8 + 4 + 16);
        let table = table_bytes(task);
        // A finite law limits the number of distinct contexts.
        let distinct = |arrivals: usize| match task.is_finite() {
            true => arrivals.min(task.support().len() * horizon),
            false => arrivals,
        };
        let learnt = |oracle: &OracleConfig, observations: usize, contexts: usize| {
            let own = observations * per_observation + contexts * per_context;
            oracle
                .bytes(task, observations, contexts)
                .saturating_add(own)
        };
        let steps = episodes * horizon;
        match &self.0 {
            Checked::Learner {
                settings, oracle, ..
            } => {
                let arrivals = settings.rows_after(episodes) * horizon;
                // The backend's scratch space is one or two tables.
                if task.is_finite() {
                    let fixed = arrivals * 20 + 4 * table;
                    return learnt(oracle, steps, distinct(arrivals)).saturating_add(fixed);
                }
                // A context that arrives once is stored as features only, and its row stores the features again.
                let own = steps * per_observation + arrivals * (16 * dimension + 5) + 4 * table;
                oracle.bytes(task, steps, arrivals).saturating_add(own)
            }
            Checked::Baseline(own) if own.baseline.stores_contexts() => {
                // The program's costs and rewards are stored with the contexts.
                let program = 64 * distinct(steps) + 4 * table;
                learnt(&own.oracle, steps, distinct(steps)).saturating_add(program)
            }
            Checked::Baseline(own) => learnt(&own.oracle, steps, 0).saturating_add(table),
            Checked::Myopic { oracle } => learnt(oracle, steps, 0).saturating_add(table),
            Checked::Clairvoyant
            | Checked::Fluid { .. }
            | Checked::Random
            | Checked::Fixed { .. } => table,
            Checked::Own(own) => {
                let own = own.runs.as_ref();
                own.map_or(table, |own| own.bytes_per_replication(task, episodes))
            }
        }
    }
}
