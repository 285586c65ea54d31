//! A wave: replications of a policy that advance in lockstep, so the Optimistic-DP problems of an episode form one batch for
//! the backend. A wave can be saved between two episodes; another process resumes it with the same bits.

use std::time::{Duration, Instant};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::environment::EnvironmentState;
use super::expected::Evaluator;
use super::work::since;
use super::{BudgetUse, Environment, EpisodeOutcome, Knowledge, Latencies, MeanOffer};
use super::{Phases, Prepared, Record, RunError, Sink, Study, Work};
use crate::dp::Backend;
use crate::error::Invalid;
use crate::oracle::Truth;
use crate::policy::{self, Policy, SavedPolicy};

/// Plans with up to this many (step, budget, context, action) always have their expected rewards evaluated.
const SMALL_PLAN: usize = 20_000;

/// Running replications.
#[derive(Debug)]
pub(super) struct Wave {
    policy: usize,
    /// Numbers of the replications, 0-based.
    numbers: Vec<usize>,
    replications: Vec<Replication>,
    /// Finished episodes.
    episodes: usize,
    work: Work,
}

#[derive(Debug)]
struct Replication {
    environment: Environment,
    policy: Box<dyn Policy>,
    outcomes: Vec<EpisodeOutcome>,
    plan_changed: bool,
    expected: Option<Vec<f64>>,
    left: Vec<u64>,
    /// All actions so far, if the study is traced.
    actions: Vec<u32>,
}

/// A saved wave, between two episodes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WaveState {
    /// Index of the policy in the study.
    pub policy: usize,
    /// Numbers of the replications, 0-based.
    pub replications: Vec<usize>,
    /// Finished episodes.
    pub episodes: usize,
    states: Vec<ReplicationState>,
    work: Work,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct ReplicationState {
    environment: EnvironmentState,
    outcomes: Vec<EpisodeOutcome>,
    left: Vec<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    actions: Vec<u32>,
    policy: SavedPolicy,
}

impl Wave {
    /// Replications before their first episode.
    pub fn new(prepared: &Prepared, policy: usize, numbers: &[usize]) -> Self {
        let replication = |number: &usize| Replication {
            environment: prepared.environment(*number),
            policy: prepared.make_policy(policy, *number),
            outcomes: Vec::with_capacity(prepared.study.episodes),
            plan_changed: true,
            expected: None,
            left: vec![0; prepared.study.world.task().horizon() + 1],
            actions: Vec::new(),
        };
        Self {
            policy,
            numbers: numbers.to_vec(),
            replications: numbers.iter().map(replication).collect(),
            episodes: 0,
            work: Work {
                policy: prepared.study.policies[policy].name.clone(),
                ..Work::default()
            },
        }
    }

    /// Restores a saved wave.
    pub fn restore(prepared: &Prepared, state: WaveState) -> Result<Self, Invalid> {
        let study = prepared.study;
        let wrong = || Invalid::new("state", "one of another study", "a state of the same study");
        let fits = state.policy < study.policies.len()
            && state.replications.len() == state.states.len()
            && (1..=study.episodes).contains(&state.episodes)
            && state.replications.iter().all(|r| *r < study.replications);
        if !fits {
            return Err(wrong());
        }
        let numbered = state.replications.par_iter().zip(state.states);
        let replications = numbered.map(|(number, saved)| {
            let steps = study.world.task().horizon() + 1;
            if saved.outcomes.len() != state.episodes || saved.left.len() != steps {
                return Err(wrong());
            }
            let mut environment = prepared.environment(*number);
            environment.restore(saved.environment);
            let mut policy = prepared.make_bare_policy(state.policy, *number);
            policy.restore(saved.policy)?;
            Ok(Replication {
                environment,
                policy,
                outcomes: saved.outcomes,
                plan_changed: true,
                expected: None,
                left: saved.left,
                actions: saved.actions,
            })
        });
        Ok(Self {
            policy: state.policy,
            replications: replications.collect::<Result<_, _>>()?,
            numbers: state.replications,
            episodes: state.episodes,
            work: state.work,
        })
    }

    /// The state of the wave; `None` if a policy cannot be saved.
    fn state(&self) -> Option<WaveState> {
        let states = self.replications.par_iter().map(|r| {
            Some(ReplicationState {
                environment: r.environment.state(),
                outcomes: r.outcomes.clone(),
                left: r.left.clone(),
                actions: r.actions.clone(),
                policy: r.policy.save()?,
            })
        });
        Some(WaveState {
            policy: self.policy,
            replications: self.numbers.clone(),
            episodes: self.episodes,
            states: states.collect::<Option<_>>()?,
            work: self.work.clone(),
        })
    }

    /// Algorithm 1 for all replications, episode by episode, to the end of the study.
    pub fn run(
        &mut self,
        prepared: &Prepared,
        backend: &mut dyn Backend,
        sink: &mut dyn Sink,
    ) -> Result<(), RunError> {
        let study = prepared.study;
        let evaluator = self.evaluator(study);
        if self.episodes == 0 {
            self.measured(backend, |wave, backend| wave.prepare(backend))?;
        }
        while self.episodes < study.episodes {
            let b_t = prepared.yardstick.budgets[self.episodes];
            self.measured(backend, |wave, backend| {
                wave.play_episode(study, evaluator.as_ref(), b_t);
                wave.learn(backend)
            })?;
            // After the last episode the sink gets records, not a state.
            let stopping = sink.episode(self.numbers.len()).is_break();
            if self.episodes == study.episodes {
                break;
            }
            if sink.wants_state(stopping)
                && let Some(state) = self.state()
            {
                sink.state(&state).map_err(RunError::Sink)?;
            }
            if stopping {
                return Err(RunError::Stopped);
            }
        }
        Ok(())
    }

    /// Prepares the policies before the first episode.
    fn prepare(&mut self, backend: &mut dyn Backend) -> Result<(), RunError> {
        self.advance(backend, |replication| replication.policy.prepare())
    }

    /// Lets the policies learn from the finished episode.
    fn learn(&mut self, backend: &mut dyn Backend) -> Result<(), RunError> {
        self.advance(backend, |replication| {
            let contexts = replication.environment.contexts();
            replication.policy.learn(contexts)
        })
    }

    /// Calls `learn` for every replication, then fits and plans those that are due, as one batch.
    fn advance(
        &mut self,
        backend: &mut dyn Backend,
        learn: impl Fn(&mut Replication) -> bool + Sync,
    ) -> Result<(), RunError> {
        let start = Instant::now();
        let replications = self.replications.par_iter_mut();
        replications.for_each(|replication| replication.plan_changed = learn(replication));
        let phases = &mut self.work.phases;
        phases.fit += start.elapsed();
        let changed = self.replications.iter_mut().filter(|r| r.plan_changed);
        let mut changed: Vec<&mut dyn Policy> =
            changed.map(|r| &mut *r.policy as &mut dyn Policy).collect();
        let times = policy::advance(&mut changed, self.episodes + 1, backend)?;
        phases.fit += times.fit;
        phases.bounds += times.bounds;
        phases.dp += times.dp;
        Ok(())
    }

    fn play_episode(&mut self, study: &Study, evaluator: Option<&Evaluator>, b_t: u32) {
        let world = &study.world;
        let counted = BudgetUse::new(study.episodes, world.task().horizon()).first_episode();
        let phases = &mut self.work.phases;
        if let Some(evaluator) = evaluator {
            timed(&mut phases.expected, || {
                let replications = self.replications.par_iter_mut();
                replications.for_each(|r| r.evaluate_plan(evaluator));
            });
        }
        self.episodes += 1;
        let episode = self.episodes;
        let maker = &study.policies[self.policy].maker;
        let (whole, own) = (maker.whole_wave(), maker.own());
        // Own code is asked once for many contexts, not context by context.
        let drawn = whole.is_some() || own.is_some() || world.own().next().is_some();
        timed(&mut phases.simulation, || {
            if drawn {
                let replications = self.replications.par_iter_mut();
                replications.for_each(|r| r.environment.draw(world));
                let replications = self.replications.iter();
                let contexts: Vec<_> = replications.map(|r| r.environment.contexts()).collect();
                world.look(&mut contexts.iter().flat_map(|contexts| contexts.iter()));
                if let Some(whole) = whole {
                    whole.episode_begins(episode, b_t, &contexts);
                }
                for r in &self.replications {
                    if let Some(oracle) = r.policy.oracle() {
                        oracle.look(&mut r.environment.contexts().iter());
                    }
                }
            }
            self.replications.par_iter_mut().for_each(|r| {
                r.policy.start_episode(episode, b_t);
                let policy = r.policy.as_mut();
                let outcome = match drawn {
                    true => r.environment.play_drawn(world, policy, b_t),
                    false => r.environment.play(world, policy, b_t),
                };
                let expected = r.expected.as_ref().map(|by_budget| by_budget[b_t as usize]);
                r.outcomes.push(EpisodeOutcome {
                    expected,
                    ..outcome
                });
                if study.trace {
                    r.actions.extend_from_slice(r.environment.actions());
                }
                if episode >= counted {
                    let left = r.left.iter_mut().zip(r.environment.left());
                    left.for_each(|(sum, left)| *sum += u64::from(*left));
                }
            });
            if let Some(whole) = whole {
                whole.episode_ends(episode);
            }
        });
        for replication in &mut self.replications {
            let latencies = replication.environment.take_latencies();
            self.work.latencies.add(&latencies);
        }
    }

    /// Runs `work` and adds its time and backend use to the wave's.
    fn measured(
        &mut self,
        backend: &mut dyn Backend,
        work: impl FnOnce(&mut Self, &mut dyn Backend) -> Result<(), RunError>,
    ) -> Result<(), RunError> {
        let (start, before) = (Instant::now(), backend.report());
        work(self, backend)?;
        self.work.add(&Work {
            policy: self.work.policy.clone(),
            elapsed: start.elapsed(),
            phases: Phases::default(),
            latencies: Latencies::default(),
            report: since(&before, &backend.report()),
        });
        Ok(())
    }

    /// The policies of the replications.
    pub fn policies(&self) -> Vec<&dyn Policy> {
        self.replications
            .iter()
            .map(|r| r.policy.as_ref())
            .collect()
    }

    /// A record per replication, and the work of the wave; to call after the last episode.
    pub fn finish(
        self,
        seen: Vec<(Vec<MeanOffer>, Option<Knowledge>)>,
    ) -> (impl Iterator<Item = Record>, Work) {
        let name = self.work.policy.clone();
        let finished = self.replications.into_iter().zip(self.numbers).zip(seen);
        let records = finished.map(move |((replication, number), (offers, knowledge))| Record {
            policy: name.clone(),
            replication: number,
            episodes: replication.outcomes,
            left: replication.left,
            actions: replication.actions,
            knowledge,
            offers,
        });
        (records, self.work)
    }

    fn evaluator(&self, study: &Study) -> Option<Evaluator> {
        let task = study.world.task();
        let size = task.support().len()
            * task.actions()
            * task.horizon()
            * (task.budget_max() as usize + 1);
        let small = size <= SMALL_PLAN;
        if !study.expected && !small {
            return None;
        }
        let by_step = self.replications.first()?.policy.plan()?.depends_on_step();
        Evaluator::new(&study.world, by_step)
    }
}

impl Replication {
    fn evaluate_plan(&mut self, evaluator: &Evaluator) {
        if self.plan_changed || self.expected.is_none() {
            self.expected = evaluator.expected_of(self.policy.as_ref());
        }
    }
}

fn timed<T>(total: &mut Duration, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = work();
    *total += start.elapsed();
    result
}
