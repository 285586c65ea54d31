//! The files of a finished study, derived from the records of all its replications in their order: the same bits from one file
//! of records or from many.

use std::path::Path;
use std::time::{Duration, Instant};

use super::RunsError;
use crate::config::StudyFile;
use crate::error::InputError;
use crate::experiment::{Phases, Prepared, Record, Study, Work};
use crate::report::{plot, write_picture};
use crate::results::{EpisodesFile, RecordLog, RecordReader, Results, ResultsFolder};
use crate::results::{Setting, StudyText, TraceError, TraceFile};
use crate::statistics::MeanAndError;

/// What is wrong with a record whose steps cannot be told again.
const ACTIONS: &str = "actions that do not bring its rewards";

/// A study that has run and whose results are on disk.
#[derive(Debug)]
pub struct Finished {
    /// Its results.
    pub results: Results,
    /// Final regret minus that of the first policy, paired by replication; empty where the study had been finished before.
    pub excess: Vec<MeanAndError>,
}

/// Derives all files but `run.json` from records that have every replication; the first file of records says how it was run.
pub(super) fn finish(
    file: &StudyFile,
    prepared: Prepared,
    logs: &[RecordLog],
    folder: &ResultsFolder,
) -> Result<Finished, RunsError> {
    let start = Instant::now();
    let study = &file.study;
    let (phases, total, elapsed) = work(study, &prepared, logs);
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
                let told = trace.record(&prepared.yardstick.budgets, &record);
                told.map_err(|error| match error {
                    TraceError::Output(error) => RunsError::Output(error),
                    TraceError::Mismatch => damaged(folder.path(), &record, ACTIONS).into(),
                })?;
            }
            Ok::<_, RunsError>(record)
        });
        policies.push(prepared.policy_outcome(number, records, elapsed[number])?);
    }
    episodes.finish()?;
    if let Some(trace) = trace {
        trace.finish()?;
    }
    let text = StudyText::parse(&folder.path().join("study.toml"), file.resolved_text())?;
    let origin = &logs[0].origin;
    let setting = Setting {
        command: origin.command.clone(),
        report: total.report,
        strategy: origin.strategy.clone(),
        threads: origin.threads,
    };
    let outcome = prepared.into_outcome(policies, phases);
    let excess = outcome.excess_over(0);
    let mut results = Results::of_outcome(folder.path(), study, text, outcome, setting);
    results.write_tables(folder)?;
    write_picture(folder, "regret", &plot::regret(&results).svg())?;
    results.run.seconds.output = start.elapsed().as_secs_f64();
    Ok(Finished { results, excess })
}

/// The work of all waves: times by phase, all together, and times by policy.
fn work(study: &Study, prepared: &Prepared, logs: &[RecordLog]) -> (Phases, Work, Vec<Duration>) {
    let mut total = Work::default();
    let mut elapsed = vec![Duration::ZERO; study.policies.len()];
    for work in logs.iter().flat_map(|log| &log.work) {
        total.add(work);
        let place = study.policies.iter().position(|p| p.name == work.policy);
        if let Some(place) = place {
            elapsed[place] += work.elapsed;
        }
    }
    let mut phases = Phases {
        optimum: prepared.elapsed,
        ..Phases::default()
    };
    phases += total.phases;
    (phases, total, elapsed)
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
    Err(InputError::Option {
        option: format!("replication {} of `{policy}`", replication + 1),
        message: "found no record; accepted: one of every replication".into(),
    })
}

/// Refuses records that cannot be of the study, whatever their checksums say.
pub(super) fn check(study: &Study, record: &Record) -> Result<(), &'static str> {
    let steps = study.world.task().horizon() + 1;
    let numbers = record.episodes.iter().map(|e| e.reward);
    let numbers = numbers.chain(record.episodes.iter().filter_map(|e| e.expected));
    if record.episodes.len() != study.episodes {
        Err("another number of episodes")
    } else if record.left.len() != steps {
        Err("another number of steps")
    } else if !{ numbers }.all(f64::is_finite) {
        Err("rewards that are no numbers")
    } else {
        Ok(())
    }
}

fn damaged(folder: &Path, record: &Record, found: &str) -> InputError {
    let (policy, number) = (&record.policy, record.replication + 1);
    InputError::File {
        file: folder.to_path_buf(),
        message: format!(
            "replication {number} of `{policy}`: found {found}; accepted: records of the study"
        ),
    }
}
