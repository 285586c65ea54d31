//! A study: policies x replications x episodes.
//!
//! Replications advance in lockstep waves, so that the Optimistic-DP problems of an episode form one batch for the
//! backend. A wave holds as many replications as fit the memory allowance.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rayon::prelude::*;
use thiserror::Error;

use super::expected::Evaluator;
use super::{BudgetUse, EpisodeOutcome, Offer, OfferSurvey, Optimum, Purpose, Streams, World};
use super::{NamedPolicy, Record, Sink, SinkError, Study, Yardstick};
use super::{Outcome, Phases, PolicyOutcome, Tally};
use crate::dp::cpu::Dense;
use crate::dp::{Backend, BackendError, ContextSample, PlanRequest};
use crate::error::Invalid;
use crate::fluid::FluidPlan;
use crate::model::ContextRows;
use crate::policy::{Policy, PolicyStreams, Workplace};

/// What the replications of a wave may hold together, in bytes.
const WAVE_BYTES: usize = 192 << 20;

/// Replications in a wave at the most, unless there are more threads: a batch that keeps an adapter busy, beyond which a
/// wave would only cost memory.
const WAVE: usize = 64;

/// Plans of up to this many (step, budget, context, action) have their expected rewards evaluated without being asked.
const SMALL_PLAN: usize = 20_000;

struct Replication {
    world: World,
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
    let place = Workplace {
        instance: Arc::clone(&study.instance),
        optimum: Arc::clone(&optimum.table),
        fluid: fluid_plan_of(study, &streams),
        delta: study.delta,
        episodes: study.episodes,
    };
    let budgets = study.instance.budgets();
    let budgets = budgets.sequence(study.episodes, &mut streams.of_study(Purpose::Budgets));
    let yardstick = Yardstick {
        opt: budgets.iter().map(|&b| optimum.table.start(b)).collect(),
        budgets,
    };
    let mut policies = Vec::new();
    for (number, policy) in study.policies.iter().enumerate() {
        let start = Instant::now();
        let mut tally = Tally::new(study, &yardstick);
        let mut survey = OfferSurvey::new(&study.instance, &streams);
        let per_wave = wave_size(study, policy);
        for first in (0..study.replications).step_by(per_wave) {
            let wave = first..(first + per_wave).min(study.replications);
            let mut wave: Vec<Replication> = wave
                .map(|r| Replication::new(policy, number, &place, &streams, r as u64))
                .collect();
            run_wave(study, &yardstick, &mut wave, backend, &mut phases, sink)?;
            let plans: Vec<&dyn Policy> = wave.iter().map(|r| r.policy.as_ref()).collect();
            let offers = survey.look(&plans);
            for ((replication, offers), number) in wave.into_iter().zip(offers).zip(first..) {
                let record = replication.record(&policy.name, number, offers);
                tally.add(&record);
                let taken = sink.replication(&yardstick, &record);
                taken.map_err(RunError::Sink)?;
            }
            sink.wave().map_err(RunError::Sink)?;
        }
        policies.push(PolicyOutcome {
            name: policy.name.clone(),
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

/// How many replications a wave holds.
fn wave_size(study: &Study, policy: &NamedPolicy) -> usize {
    let fitting = WAVE_BYTES / bytes_per_replication(study, policy).max(1);
    let most = WAVE.max(rayon::current_num_threads());
    fitting.clamp(1, study.replications.min(most))
}

/// What a replication holds by its end, its outcomes included.
fn bytes_per_replication(study: &Study, policy: &NamedPolicy) -> usize {
    let outcomes = study.episodes.saturating_mul(size_of::<EpisodeOutcome>());
    let own = policy
        .config
        .bytes_per_replication(&study.instance, study.episodes);
    own.saturating_add(outcomes)
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
    let instance = &study.instance;
    let evaluator = evaluator_of(study, wave);
    let counted = BudgetUse::new(study.episodes, instance.horizon()).first_episode();
    for (episode, &b_t) in (1..).zip(&yardstick.budgets) {
        if let Some(evaluator) = &evaluator {
            timed(&mut phases.expected, || {
                wave.par_iter_mut().for_each(|r| r.evaluate_plan(evaluator));
            });
        }
        timed(&mut phases.simulation, || {
            wave.par_iter_mut().for_each(|r| {
                r.policy.start_episode(episode, b_t);
                let outcome = r.world.play(instance, r.policy.as_mut(), b_t);
                let expected = r.expected.as_ref().map(|by_budget| by_budget[b_t as usize]);
                r.outcomes.push(EpisodeOutcome {
                    expected,
                    ..outcome
                });
                if episode >= counted {
                    let left = r.left.iter_mut().zip(r.world.left());
                    left.for_each(|(sum, left)| *sum += u64::from(*left));
                }
            });
        });
        timed(&mut phases.fit, || {
            wave.par_iter_mut()
                .for_each(|r| r.plan_changed = r.policy.learn(r.world.contexts()));
        });
        plan(wave, backend, phases)?;
        if sink.episode(wave.len()).is_break() {
            return Err(RunError::Stopped);
        }
    }
    Ok(())
}

/// Makes the plans of all replications whose knowledge has changed, as one batch.
fn plan(
    wave: &mut [Replication],
    backend: &mut dyn Backend,
    phases: &mut Phases,
) -> Result<(), BackendError> {
    let start = Instant::now();
    let wants = |r: &Replication| r.plan_changed && r.policy.plan_request().is_some();
    let changed = wave.iter().filter(|r| r.plan_changed);
    let requests: Vec<PlanRequest> = changed.filter_map(|r| r.policy.plan_request()).collect();
    if requests.is_empty() {
        return Ok(());
    }
    let plans = backend.plan(&requests)?;
    for (replication, table) in wave.iter_mut().filter(|r| wants(r)).zip(plans.tables) {
        replication.policy.install(table);
    }
    phases.bounds += plans.bounds;
    phases.dp += start.elapsed() - plans.bounds;
    Ok(())
}

impl Replication {
    fn new(
        policy: &NamedPolicy,
        number: usize,
        place: &Workplace,
        streams: &Streams,
        replication: u64,
    ) -> Self {
        let policy_streams = PolicyStreams {
            initial_rows: streams.of(replication, Purpose::InitialRows),
            oracle: streams.of(replication, Purpose::Oracle),
            choices: streams.of(replication, Purpose::Policy(number as u64)),
        };
        Self {
            world: World::new(&place.instance, streams, replication),
            policy: policy.config.build(place, policy_streams),
            outcomes: Vec::with_capacity(place.episodes),
            plan_changed: true,
            expected: None,
            left: vec![0; place.instance.horizon() + 1],
        }
    }

    /// What is left of it when it is finished.
    fn record(self, policy: &str, number: usize, offers: Vec<Offer>) -> Record {
        Record {
            policy: policy.into(),
            replication: number,
            episodes: self.outcomes,
            left: self.left,
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
    if let Some(optimum) = Optimum::exact(&study.instance, &mut reference)? {
        return Ok(optimum);
    }
    Optimum::from_rows(&study.instance, &law_rows(study, streams), &mut reference)
}

/// Rows that stand for a continuous law.
fn law_rows(study: &Study, streams: &Streams) -> ContextRows {
    let mut stream = streams.of_study(Purpose::Optimum);
    let contexts = study.instance.contexts();
    contexts.draw_rows(&mut stream, study.optimum_rows)
}

/// The fluid relaxation of the law that the optimum is computed from, where a policy follows it.
fn fluid_plan_of(study: &Study, streams: &Streams) -> Option<Arc<FluidPlan>> {
    let instance = &study.instance;
    if !study.policies.iter().any(|p| p.config.needs_fluid_plan()) {
        return None;
    }
    let split = instance.conversion().depends_on_step();
    let sample = ContextSample::of_law(instance, split)
        .unwrap_or_else(|| ContextSample::of_rows(instance, &law_rows(study, streams), split));
    Some(Arc::new(FluidPlan::new(Arc::clone(instance), sample)))
}

fn evaluator_of(study: &Study, wave: &[Replication]) -> Option<Evaluator> {
    let instance = &study.instance;
    let size = instance.contexts().support().len()
        * instance.actions()
        * instance.horizon()
        * (instance.budgets().max() as usize + 1);
    let small = size <= SMALL_PLAN;
    if !study.expected && !small {
        return None;
    }
    let by_step = wave.first()?.policy.plan()?.depends_on_step();
    Evaluator::new(&study.instance, by_step)
}

fn timed<T>(total: &mut Duration, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = work();
    *total += start.elapsed();
    result
}
