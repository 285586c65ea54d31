//! A study: policies x replications x episodes.
//!
//! Replications advance in lockstep waves, so that the Optimistic-DP problems of an episode form one batch for the
//! backend. A wave holds as many replications as fit the memory allowance.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rayon::prelude::*;
use thiserror::Error;

use super::expected::Evaluator;
use super::need::wave_size;
use super::{
    BudgetUse, Environment, EpisodeOutcome, Knowledge, Offer, OfferSurvey, Purpose, Streams,
};
use super::{Outcome, Phases, PolicyOutcome, Tally};
use super::{Record, Sink, SinkError, Study, Yardstick};
use crate::dp::cpu::Dense;
use crate::dp::{Backend, BackendError, ContextSample};
use crate::error::Invalid;
use crate::fluid::FluidPlan;
use crate::oracle::{OracleConfig, Truth};
use crate::policy::{self, Policy, Setting, Start, Turn};
use crate::task::ContextRows;
use crate::world::{Optimum, World};

/// Plans of up to this many (step, budget, context, action) have their expected rewards evaluated without being asked.
const SMALL_PLAN: usize = 20_000;

struct Replication {
    environment: Environment,
    policy: Box<dyn Policy>,
    outcomes: Vec<EpisodeOutcome>,
    plan_changed: bool,
    expected: Option<Vec<f64>>,
    left: Vec<u64>,
}

/// Why a study ended early.
#[derive(Debug, Error)]
pub enum RunError {
    /// The study cannot run.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// The backend failed.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// The sink could not take a record.
    #[error(transparent)]
    Sink(SinkError),
    /// The sink asked for an end.
    #[error("stopped")]
    Stopped,
}

/// Runs a study, and hands every finished replication to the sink.
pub fn run(
    study: &Study,
    backend: &mut dyn Backend,
    sink: &mut dyn Sink,
) -> Result<Outcome, RunError> {
    study.check()?;
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
    let budgets = world.budgets();
    let budgets = budgets.sequence(study.episodes, &mut streams.of_study(Purpose::Budgets));
    let yardstick = Yardstick {
        opt: budgets.iter().map(|&b| optimum.table.start(b)).collect(),
        budgets,
    };
    let mut policies = Vec::new();
    for (number, policy) in study.policies.iter().enumerate() {
        let start = Instant::now();
        let mut tally = Tally::new(study, &yardstick);
        let mut survey = OfferSurvey::new(world, &streams);
        let per_wave = wave_size(study, policy);
        for first in (0..study.replications).step_by(per_wave) {
            let wave = first..(first + per_wave).min(study.replications);
            let mut wave: Vec<Replication> = wave
                .map(|r| Replication::new(study, number, &setting, &streams, r as u64))
                .collect();
            run_wave(study, &yardstick, &mut wave, backend, &mut phases, sink)?;
            let plans: Vec<&dyn Policy> = wave.iter().map(|r| r.policy.as_ref()).collect();
            let seen = survey.look(&plans);
            for ((replication, seen), number) in wave.into_iter().zip(seen).zip(first..) {
                let record = replication.record(&policy.name, number, seen);
                tally.add(&record);
                let taken = sink.replication(&yardstick, &record);
                taken.map_err(RunError::Sink)?;
            }
            sink.wave().map_err(RunError::Sink)?;
        }
        let knowledge = tally.knowledge.mean();
        let by_hand = policy
            .maker
            .oracle()
            .map_or(Vec::new(), OracleConfig::set_by_hand);
        policies.push(PolicyOutcome {
            name: policy.name.clone(),
            warnings: knowledge.map_or(Vec::new(), |known| known.warnings(&by_hand)),
            knowledge,
            regret: tally.regret.finish(),
            budget_use: tally.budget_use,
            offers: survey.finish(tally.offers, &optimum),
            elapsed: start.elapsed(),
        });
    }
    Ok(Outcome {
        yardstick,
        optimum,
        policies,
        phases,
    })
}

/// Algorithm 1 for all replications of a wave, episode by episode.
fn run_wave(
    study: &Study,
    yardstick: &Yardstick,
    wave: &mut [Replication],
    backend: &mut dyn Backend,
    phases: &mut Phases,
    sink: &mut dyn Sink,
) -> Result<(), RunError> {
    let world = &study.world;
    let evaluator = evaluator_of(study, wave);
    let counted = BudgetUse::new(study.episodes, world.task().horizon()).first_episode();
    let mut turns: Vec<Turn> = wave
        .iter_mut()
        .map(|r| Turn::new(r.policy.as_mut(), r.environment.contexts()))
        .collect();
    timed(&mut phases.fit, || policy::prepare(&mut turns));
    policy::replan(&mut turns, backend)?;
    for (episode, &b_t) in (1..).zip(&yardstick.budgets) {
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
        if sink.episode(wave.len()).is_break() {
            return Err(RunError::Stopped);
        }
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

    /// What is left of it when it is finished.
    fn record(
        self,
        policy: &str,
        number: usize,
        (offers, knowledge): (Vec<Offer>, Option<Knowledge>),
    ) -> Record {
        Record {
            policy: policy.into(),
            replication: number,
            episodes: self.outcomes,
            left: self.left,
            knowledge,
            offers,
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
