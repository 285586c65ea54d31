//! The files of a finished study, derived from the records of all its replications in order: the same bytes from one file of
//! records or from many.

use std::path::Path;
use std::time::Instant;

use super::RunsError;
use crate::config::StudyFile;
use crate::error::InputError;
use crate::experiment::{Phases, Prepared, Record, Study, Work};
use crate::report::{plot, write_picture};
use crate::results::{EpisodesFile, RecordLog, RecordReader, Results, ResultsFolder};
use crate::results::{RunSetup, StudyText, TraceError, TraceFile};

/// The fault of a record whose steps cannot be replayed.
const ACTIONS: &str = "actions that do not match its rewards";

/// Writes all files but `run.json`. The logs have every replication; the first tells how the study was run.
pub(super) fn finish(
    file: &StudyFile,
    prepared: Prepared,
    logs: &[RecordLog],
    folder: &ResultsFolder,
) -> Result<Results, RunsError> {
    let start = Instant::now();
    let study = &file.study;
    let (phases, total, by_policy) = work(study, &prepared, logs);
    let readers = logs.iter().map(RecordLog::open);
    let mut readers: Vec<RecordReader> = readers.collect::<Result<_, _>>()?;
    let mut episodes = EpisodesFile::start(folder, file.episodes_format)?;
    let mut trace = match study.trace {
        true => Some(TraceFile::start(folder, study)?),
        false => None,
    };
    let mut policies = Vec::new();
    for (number, policy) in study.policies.iter().enumerate() {
        let records = (0..study.replications).map(|replication| {
            let record = find(&mut readers, &policy.name, replication)?;
            check(study, &record).map_err(|what| damaged(folder.path(), &record, what))?;
            episodes.record(&prepared.yardstick, &record)?;
            if let Some(trace) = &mut trace {
                let written = trace.record(&prepared.yardstick.budgets, &record);
                written.map_err(|error| match error {
                    TraceError::Output(error) => RunsError::Output(error),
                    TraceError::Mismatch => damaged(folder.path(), &record, ACTIONS).into(),
                })?;
            }
            Ok::<_, RunsError>(record)
        });
        policies.push(prepared.policy_outcome(number, records, &by_policy[number])?);
    }
    episodes.finish()?;
    if let Some(trace) = trace {
        trace.finish()?;
    }
    let text = StudyText::parse(&folder.path().join("study.toml"), file.resolved_text())?;
    let origin = &logs[0].origin;
    let setup = RunSetup {
        command: origin.command.clone(),
        report: total.report,
        strategy: origin.strategy.clone(),
        threads: origin.threads,
    };
    let outcome = prepared.into_outcome(policies, phases);
    let mut results = Results::of_outcome(folder.path(), study, text, outcome, setup);
    results.write_tables(folder)?;
    write_picture(folder, "regret", &plot::regret(&results).svg())?;
    results.run.seconds.output = start.elapsed().as_secs_f64();
    Ok(results)
}

/// The work of all waves: time by phase, the total, and by policy.
fn work(study: &Study, prepared: &Prepared, logs: &[RecordLog]) -> (Phases, Work, Vec<Work>) {
    let mut total = Work::default();
    let mut by_policy = vec![Work::default(); study.policies.len()];
    for work in logs.iter().flat_map(|log| &log.work) {
        total.add(work);
        let place = study.policies.iter().position(|p| p.name == work.policy);
        if let Some(place) = place {
            by_policy[place].add(work);
        }
    }
    let mut phases = Phases {
        optimum: prepared.elapsed,
        ..Phases::default()
    };
    phases += total.phases;
    (phases, total, by_policy)
}

fn find(
    readers: &mut [RecordReader],
    policy: &str,
    replication: usize,
) -> Result<Record, InputError> {
    for reader in readers.iter_mut() {
        if let Some(record) = reader.record(policy, replication)? {
            return Ok(record);
        }
    }
    let place = format!("replication {} of `{policy}`", replication + 1);
    let message = "found no record; accepted: one of every replication";
    Err(InputError::option(&place, message))
}

/// Refuses records that cannot belong to the study even if their checksums are right.
pub(super) fn check(study: &Study, record: &Record) -> Result<(), &'static str> {
    let steps = study.world.task().horizon() + 1;
    let numbers = record.episodes.iter().map(|e| e.reward);
    let numbers = numbers.chain(record.episodes.iter().filter_map(|e| e.expected));
    if record.episodes.len() != study.episodes {
        Err("another number of episodes")
    } else if record.left.len() != steps {
        Err("another number of steps")
    } else if !{ numbers }.all(f64::is_finite) {
        Err("non-finite rewards")
    } else {
        Ok(())
    }
}

fn damaged(folder: &Path, record: &Record, found: &str) -> InputError {
    let (policy, number) = (&record.policy, record.replication + 1);
    let message = format!(
        "replication {number} of `{policy}`: found {found}; accepted: records of the study"
    );
    InputError::in_file(folder, message)
}
