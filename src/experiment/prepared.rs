//! A study ready to run: its optimum, its budgets and the inputs of its policies. Its replications can run in any order, in
//! any process. The outcome follows from all records, taken in order.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::need::wave_size;
use super::wave::{Wave, WaveState};
use super::{Environment, OfferSurvey, Outcome, Phases, PolicyOutcome, Purpose, Record};
use super::{RunError, Shard, Sink, Streams, Study, Tally, Work, Yardstick};
use crate::dp::cpu::{Cpu, Strategy};
use crate::dp::{Backend, BackendError, ContextSample, Precision};
use crate::fluid::FluidPlan;
use crate::oracle::{OracleConfig, Truth};
use crate::policy::{Policy, PolicySetting, Start};
use crate::task::ContextRows;
use crate::world::{Optimum, World};

/// A study ready to run.
#[derive(Debug)]
pub struct Prepared<'s> {
    /// The study.
    pub study: &'s Study,
    /// opt and UB per budget.
    pub optimum: Optimum,
    /// Budgets and optima of the episodes.
    pub yardstick: Yardstick,
    /// Wall time of the preparation.
    pub elapsed: Duration,
    streams: Streams,
    setting: PolicySetting,
}

/// The replications to run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunList {
    /// Replications (0-based) by policy, in the order of the study.
    pub replications: Vec<Vec<usize>>,
    /// An unfinished wave of an earlier process, to resume; its replications may be listed above.
    pub unfinished: Option<WaveState>,
}

impl RunList {
    /// A shard of a study, or the whole study.
    pub fn share(study: &Study, shard: Option<Shard>) -> Self {
        let all = 0..study.replications;
        let share = shard.map_or(all, |shard| shard.share(study.replications));
        Self {
            replications: vec![share.collect(); study.policies.len()],
            unfinished: None,
        }
    }

    /// All replications of one policy.
    pub fn of_policy(study: &Study, number: usize) -> Self {
        let mut replications = vec![Vec::new(); study.policies.len()];
        replications[number] = (0..study.replications).collect();
        Self {
            replications,
            unfinished: None,
        }
    }
}

impl<'s> Prepared<'s> {
    /// Checks a study and computes what its replications share.
    pub fn new(study: &'s Study) -> Result<Self, RunError> {
        study.check()?;
        study.check_own()?;
        let start = Instant::now();
        let streams = Streams::new(study.seed);
        let optimum = optimum_of(study, &streams)?;
        let elapsed = start.elapsed();
        let world = &study.world;
        let truth: Arc<dyn Truth> = Arc::<World>::clone(world);
        let setting = PolicySetting {
            task: Arc::clone(world.task()),
            truth,
            optimum: optimum.days.clone(),
            fluid: fluid_plans_of(study, &streams),
            delta: study.delta,
            episodes: study.episodes,
        };
        let budgets = world.budgets();
        let budgets = budgets.sequence(study.episodes, &mut streams.of_study(Purpose::Budgets));
        Ok(Self {
            yardstick: Yardstick {
                opt: budgets.iter().map(|&b| optimum.table.start(b)).collect(),
                budgets,
            },
            study,
            optimum,
            elapsed,
            streams,
            setting,
        })
    }

    /// Runs replications wave by wave and sends every finished one to the sink.
    pub fn run(
        &self,
        runs: RunList,
        backend: &mut dyn Backend,
        sink: &mut dyn Sink,
    ) -> Result<(), RunError> {
        let mut unfinished = runs.unfinished;
        for (number, mut pending) in runs.replications.into_iter().enumerate() {
            let mut survey = OfferSurvey::new(&self.study.world, &self.streams);
            if let Some(state) = unfinished.take_if(|state| state.policy == number) {
                let numbers = state.replications.clone();
                // If the state cannot be restored, its replications run again from the start.
                if let Ok(wave) = Wave::restore(self, state) {
                    pending.retain(|replication| !numbers.contains(replication));
                    self.run_wave(wave, &mut survey, backend, sink)?;
                }
            }
            let per_wave = wave_size(self.study, &self.study.policies[number]);
            for numbers in pending.chunks(per_wave) {
                let wave = Wave::new(self, number, numbers);
                self.run_wave(wave, &mut survey, backend, sink)?;
            }
        }
        Ok(())
    }

    fn run_wave(
        &self,
        mut wave: Wave,
        survey: &mut OfferSurvey,
        backend: &mut dyn Backend,
        sink: &mut dyn Sink,
    ) -> Result<(), RunError> {
        wave.run(self, backend, sink)?;
        let seen = survey.look(&wave.policies());
        let (records, work) = wave.finish(seen);
        for record in records {
            let taken = sink.replication(&self.yardstick, &record);
            taken.map_err(RunError::Sink)?;
        }
        sink.wave(&work).map_err(RunError::Sink)
    }

    /// A policy's results from the records of all its replications, in order.
    pub fn policy_outcome<E>(
        &self,
        number: usize,
        records: impl IntoIterator<Item = Result<Record, E>>,
        work: &Work,
    ) -> Result<PolicyOutcome, E> {
        let mut tally = Tally::new(self.study, &self.yardstick);
        for record in records {
            tally.add(&record?);
        }
        Ok(self.conclude(number, tally, work))
    }

    pub(super) fn conclude(&self, number: usize, tally: Tally, work: &Work) -> PolicyOutcome {
        let policy = &self.study.policies[number];
        let knowledge = tally.knowledge.mean();
        let oracle = policy.maker.oracle();
        let by_hand = oracle.map_or(Vec::new(), OracleConfig::set_by_hand);
        let survey = OfferSurvey::new(&self.study.world, &self.streams);
        let made = self.make_bare_policy(number, 0);
        PolicyOutcome {
            name: policy.name.clone(),
            warnings: knowledge.map_or(Vec::new(), |known| known.warnings(&by_hand)),
            knowledge,
            regret: tally.regret.finish(),
            budget_use: tally.budget_use,
            offers: survey.finish(tally.offers, made.as_ref(), &self.optimum),
            elapsed: work.elapsed,
            latencies: work.latencies.clone(),
        }
    }

    /// All results of the study; `policies` must be in its order.
    pub fn into_outcome(self, policies: Vec<PolicyOutcome>, phases: Phases) -> Outcome {
        Outcome {
            yardstick: self.yardstick,
            optimum: self.optimum,
            policies,
            phases,
        }
    }

    pub(super) fn environment(&self, replication: usize) -> Environment {
        Environment::new(&self.study.world, &self.streams, replication as u64)
    }

    pub(super) fn make_policy(&self, number: usize, replication: usize) -> Box<dyn Policy> {
        let maker = &self.study.policies[number].maker;
        let rows = maker.rows_to_draw();
        let stream = self.streams.of(replication as u64, Purpose::InitialRows);
        let laws = self.study.world.contexts();
        let drawn_rows = (rows > 0).then(|| laws.draw_rows(&mut { stream }, rows));
        maker.make(&self.setting, self.start(number, replication, drawn_rows))
    }

    pub(super) fn make_bare_policy(&self, number: usize, replication: usize) -> Box<dyn Policy> {
        let maker = &self.study.policies[number].maker;
        maker.make_bare(&self.setting, self.start(number, replication, None))
    }

    fn start(&self, number: usize, replication: usize, drawn_rows: Option<ContextRows>) -> Start {
        let stream = |purpose| self.streams.of(replication as u64, purpose);
        Start {
            drawn_rows,
            oracle: stream(Purpose::Oracle),
            choices: stream(Purpose::Policy(&self.study.policies[number].name)),
        }
    }
}

fn optimum_of(study: &Study, streams: &Streams) -> Result<Optimum, BackendError> {
    // Regret is always measured against the 64-bit reference.
    let mut reference = Cpu::new(Some(Strategy::Dense), Precision::F64);
    if let Some(optimum) = Optimum::exact(&study.world, &mut reference)? {
        return Ok(optimum);
    }
    let mut stream = streams.of_study(Purpose::Optimum);
    Optimum::drawn(
        &study.world,
        study.optimum_rows,
        &mut stream,
        &mut reference,
    )
}

/// The fluid relaxation of the optimum's law by type of day, if a policy needs it.
fn fluid_plans_of(study: &Study, streams: &Streams) -> Vec<Arc<FluidPlan>> {
    let world = &study.world;
    if !study.policies.iter().any(|p| p.maker.needs_fluid_plan()) {
        return Vec::new();
    }
    let split = world.depends_on_step();
    let (task, laws) = (world.task(), world.contexts());
    let samples = world.day_samples(split).unwrap_or_else(|| {
        let mut stream = streams.of_study(Purpose::Optimum);
        let mut rows = |day| laws.draw_rows_of(day, &mut stream, study.optimum_rows);
        let days = 0..laws.days().len();
        days.map(|day| ContextSample::of_rows(task, &rows(day), split))
            .collect()
    });
    let plan = |sample| {
        let truth: Arc<dyn Truth> = Arc::<World>::clone(world);
        Arc::new(FluidPlan::new(Arc::clone(task), truth, sample))
    };
    samples.into_iter().map(plan).collect()
}
