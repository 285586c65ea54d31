//! A study: policies x replications x episodes.
//!
//! Replications advance in lockstep waves, so that the Optimistic-DP problems of an episode form one batch for the
//! backend. A wave holds as many replications as fit the memory allowance.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rayon::prelude::*;
use thiserror::Error;

use super::expected::Evaluator;
use super::{BudgetUse, EpisodeOutcome, OfferMap, OfferSurvey};
use super::{Environment, Purpose, Streams};
use crate::config::Study;
use crate::dp::cpu::Dense;
use crate::dp::{Backend, BackendError, ContextSample};
use crate::error::OutputError;
use crate::fluid::FluidPlan;
use crate::oracle::Truth;
use crate::policy::{self, Policy, Setting, Start, Turn};
use crate::task::ContextRows;
use crate::world::{Optimum, World};

/// What the replications of a wave may hold together, in bytes.
const WAVE_BYTES: usize = 192 << 20;

/// Plans of up to this many (step, budget, context, action) have their expected rewards evaluated without being asked.
const SMALL_PLAN: usize = 20_000;

/// Everything a study found.
#[derive(Debug)]
pub struct Outcome {
    /// B_1, ..., B_T.
    pub budgets: Vec<u32>,
    /// opt and UB per budget.
    pub optimum: Optimum,
    /// One entry per policy, in the order of the study.
    pub policies: Vec<PolicyOutcome>,
    /// Wall time by phase.
    pub phases: Phases,
}

/// What one policy did.
#[derive(Debug)]
pub struct PolicyOutcome {
    /// Its name in the study.
    pub name: String,
    /// Outcomes, `[replication][episode]`.
    pub episodes: Vec<Vec<EpisodeOutcome>>,
    /// Budget left by step.
    pub budget_use: BudgetUse,
    /// What its last plan offers, where that is a greedy one.
    pub offers: Option<OfferMap>,
    /// Wall time of the policy.
    pub elapsed: Duration,
}

/// Wall time by phase of the work.
#[derive(Debug, Default, Clone, Copy)]
pub struct Phases {
    /// opt and UB.
    pub optimum: Duration,
    /// Playing episodes.
    pub simulation: Duration,
    /// Fitting oracles.
    pub fit: Duration,
    /// Evaluating bounds on samples.
    pub bounds: Duration,
    /// Optimistic-DP.
    pub dp: Duration,
    /// Expected rewards of plans.
    pub expected: Duration,
}

struct Replication {
    environment: Environment,
    policy: Box<dyn Policy>,
    outcomes: Vec<EpisodeOutcome>,
    plan_changed: bool,
    expected: Option<Vec<f64>>,
    left: Vec<u64>,
}

/// Sees a study's results as they come.
pub trait Observer {
    /// So many replications have finished another episode.
    fn episode(&mut self, _replications: usize) {}

    /// A wave is finished: the outcomes of consecutive replications, from number `first` (0-based) on.
    fn wave(&mut self, _wave: &FinishedWave) -> Result<(), OutputError> {
        Ok(())
    }
}

/// Sees nothing.
impl Observer for () {}

/// A finished wave and what it is measured against.
#[derive(Debug)]
pub struct FinishedWave<'a> {
    /// The policy's name.
    pub policy: &'a str,
    /// Number of the first replication, 0-based.
    pub first: usize,
    /// Outcomes, `[replication][episode]`.
    pub episodes: &'a [Vec<EpisodeOutcome>],
    /// B_1, ..., B_T.
    pub budgets: &'a [u32],
    /// opt and UB per budget.
    pub optimum: &'a Optimum,
}

/// Why a study ended early.
#[derive(Debug, Error)]
pub enum RunError {
    /// The backend failed.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// Results could not be written.
    #[error(transparent)]
    Output(#[from] OutputError),
}

/// Runs a study.
pub fn run(
    study: &Study,
    backend: &mut dyn Backend,
    observer: &mut dyn Observer,
) -> Result<Outcome, RunError> {
    let streams = Streams::new(study.seed);
    let mut phases = Phases::default();
    let optimum = timed(&mut phases.optimum, || optimum_of(study, &streams))?;
    let world = &study.world;
    let truth: Arc<dyn Truth> = Arc::<World>::clone(world);
    let setting = Setting {
        task: Arc::clone(world.task()),
        truth,
        optimum: Arc::clone(&optimum.table),
        fluid: fluid_plan_of(study, &streams),
        delta: study.delta,
        episodes: study.episodes,
    };
    let mut budget_stream = streams.of_study(Purpose::Budgets);
    let budgets = study
        .world
        .budgets()
        .sequence(study.episodes, &mut budget_stream);
    let mut policies = Vec::new();
    for (number, policy) in study.policies.iter().enumerate() {
        let start = Instant::now();
        let mut episodes = Vec::with_capacity(study.replications);
        let mut budget_use = BudgetUse::new(study.episodes, study.world.task().horizon());
        let mut offers = OfferSurvey::new(&study.world, &streams);
        let per_wave = (WAVE_BYTES / policy.maker.bytes_per_replication(&setting).max(1)).max(1);
        for first in (0..study.replications).step_by(per_wave) {
            let wave = first..(first + per_wave).min(study.replications);
            let mut wave: Vec<Replication> = wave
                .map(|r| Replication::new(study, number, &setting, &streams, r as u64))
                .collect();
            run_wave(study, &budgets, &mut wave, backend, &mut phases, observer)?;
            wave.iter().for_each(|r| budget_use.add(&r.left));
            offers.add(&wave.iter().map(|r| r.policy.as_ref()).collect::<Vec<_>>());
            episodes.extend(wave.into_iter().map(|replication| replication.outcomes));
            observer.wave(&FinishedWave {
                policy: &policy.name,
                first,
                episodes: &episodes[first..],
                budgets: &budgets,
                optimum: &optimum,
            })?;
        }
        policies.push(PolicyOutcome {
            name: policy.name.clone(),
            episodes,
            budget_use,
            offers: offers.finish(&optimum),
            elapsed: start.elapsed(),
        });
    }
    Ok(Outcome {
        budgets,
        optimum,
        policies,
        phases,
    })
}

/// Algorithm 1 for all replications of a wave, episode by episode.
fn run_wave(
    study: &Study,
    budgets: &[u32],
    wave: &mut [Replication],
    backend: &mut dyn Backend,
    phases: &mut Phases,
    observer: &mut dyn Observer,
) -> Result<(), BackendError> {
    let world = &study.world;
    let evaluator = evaluator_of(study, wave);
    let counted = BudgetUse::new(study.episodes, world.task().horizon()).first_episode();
    let mut turns: Vec<Turn> = wave
        .iter_mut()
        .map(|r| Turn::new(r.policy.as_mut(), r.environment.contexts()))
        .collect();
    timed(&mut phases.fit, || policy::prepare(&mut turns));
    policy::replan(&mut turns, backend)?;
    for (episode, &b_t) in (1..).zip(budgets) {
        if let Some(evaluator) = &evaluator {
            timed(&mut phases.expected, || {
                wave.par_iter_mut().for_each(|r| r.evaluate_plan(evaluator));
            });
        }
        timed(&mut phases.simulation, || {
            wave.par_iter_mut().for_each(|r| {
                r.policy.start_episode(episode, b_t);
                let outcome = r.environment.play(world, r.policy.as_mut(), b_t);
                let expected = r.expected.as_ref().map(|by_budget| by_budget[b_t as usize]);
                r.outcomes.push(EpisodeOutcome {
                    expected,
                    ..outcome
                });
                if episode >= counted {
                    let left = r.left.iter_mut().zip(r.environment.left());
                    left.for_each(|(sum, left)| *sum += u64::from(*left));
                }
            });
        });
        let mut turns: Vec<Turn> = wave
            .iter_mut()
            .map(|r| Turn::new(r.policy.as_mut(), r.environment.contexts()))
            .collect();
        timed(&mut phases.fit, || policy::learn(&mut turns));
        let start = Instant::now();
        let bounds = policy::replan(&mut turns, backend)?;
        phases.bounds += bounds;
        phases.dp += start.elapsed() - bounds;
        let changed: Vec<bool> = turns.iter().map(Turn::changed).collect();
        for (replication, changed) in wave.iter_mut().zip(changed) {
            replication.plan_changed = changed;
        }
        observer.episode(wave.len());
    }
    Ok(())
}

impl Replication {
    fn new(
        study: &Study,
        number: usize,
        setting: &Setting,
        streams: &Streams,
        replication: u64,
    ) -> Self {
        let maker = &study.policies[number].maker;
        let rows = maker.rows_to_draw();
        let mut row_stream = streams.of(replication, Purpose::InitialRows);
        let laws = study.world.contexts();
        let start = Start {
            drawn_rows: (rows > 0).then(|| laws.draw_rows(&mut row_stream, rows)),
            oracle: streams.of(replication, Purpose::Oracle),
            choices: streams.of(replication, Purpose::Policy(number as u64)),
        };
        Self {
            environment: Environment::new(&study.world, streams, replication),
            policy: maker.make(setting, start),
            outcomes: Vec::with_capacity(setting.episodes),
            plan_changed: true,
            expected: None,
            left: vec![0; setting.task.horizon() + 1],
        }
    }

    fn evaluate_plan(&mut self, evaluator: &Evaluator) {
        if self.plan_changed || self.expected.is_none() {
            let plan = self.policy.plan();
            self.expected = plan.map(|plan| evaluator.expected_rewards(plan));
        }
    }
}

fn optimum_of(study: &Study, streams: &Streams) -> Result<Optimum, BackendError> {
    // The yardstick of every regret is always the 64-bit reference.
    let mut reference = Dense;
    if let Some(optimum) = Optimum::exact(&study.world, &mut reference)? {
        return Ok(optimum);
    }
    Optimum::from_rows(&study.world, &law_rows(study, streams), &mut reference)
}

/// Rows that stand for a continuous law.
fn law_rows(study: &Study, streams: &Streams) -> ContextRows {
    let mut stream = streams.of_study(Purpose::Optimum);
    let contexts = study.world.contexts();
    contexts.draw_rows(&mut stream, study.optimum_rows)
}

/// The fluid relaxation of the law that the optimum is computed from, where a policy follows it.
fn fluid_plan_of(study: &Study, streams: &Streams) -> Option<Arc<FluidPlan>> {
    let world = &study.world;
    if !study.policies.iter().any(|p| p.maker.needs_fluid_plan()) {
        return None;
    }
    let split = world.depends_on_step();
    let task = world.task();
    let sample = world
        .law_sample(split)
        .unwrap_or_else(|| ContextSample::of_rows(task, &law_rows(study, streams), split));
    let truth: Arc<dyn Truth> = Arc::<World>::clone(world);
    Some(Arc::new(FluidPlan::new(Arc::clone(task), truth, sample)))
}

fn evaluator_of(study: &Study, wave: &[Replication]) -> Option<Evaluator> {
    let world = &study.world;
    let size = world.task().support().len()
        * world.task().actions()
        * world.task().horizon()
        * (world.task().budget_max() as usize + 1);
    let small = size <= SMALL_PLAN;
    if !study.expected && !small {
        return None;
    }
    let by_step = wave.first()?.policy.plan()?.depends_on_step();
    Evaluator::new(&study.world, by_step)
}

fn timed<T>(total: &mut Duration, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = work();
    *total += start.elapsed();
    result
}
