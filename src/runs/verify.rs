//! Verifies a folder: checksums, the summary from the episodes, and one replication run again.

use std::path::Path;

use super::finish::check;
use super::refuse::refuse_foreign;
use super::shards::{missing, no_study, shard_folders, studies_at};
use super::{RunsError, read_study};
use crate::config::StudyFile;
use crate::dp::Backend;
use crate::error::InputError;
use crate::experiment::{EpisodeOutcome, Prepared, Record, RegretTally, RunList, Study, Yardstick};
use crate::files::{sha256, sha256_of_file};
use crate::policy::MakePolicy;
use crate::report::{overview, png};
use crate::results::open_episodes;
use crate::results::{EpisodeRow, EpisodesFormat, RecordLog, Run, SummaryRow, SweepIndex};
use crate::results::{csv_text, episode_rows};

/// The options that a folder was made with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MadeWith {
    /// `cpu`, `gpu` or `auto`.
    pub backend: String,
    /// `f64` or `f32`.
    pub precision: String,
    /// `auto`, or the name of a strategy.
    pub strategy: String,
    /// The command line without options for shards, saving and resuming.
    pub command: String,
}

/// A verified folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// The folder, relative to the requested one; empty for that one itself.
    pub folder: String,
    /// The checks that passed.
    pub checks: Vec<String>,
}

/// The folders of studies in a folder: itself, its points, its shards, and their points.
fn studies(folder: &Path) -> Result<Vec<String>, InputError> {
    let mut places = vec![String::new()];
    let shards = shard_folders(folder)?.into_iter();
    places.extend(shards.map(|(shard, _)| shard.folder()));
    let mut all = Vec::new();
    for place in places {
        let found = studies_at(folder, &place)?;
        let is_study =
            |name: &String| *name != place || folder.join(name).join("study.toml").is_file();
        all.extend(found.into_iter().filter(is_study));
    }
    match all.is_empty() {
        true => Err(no_study(folder)),
        false => Ok(all),
    }
}

/// The options that the first study of a folder was made with.
pub fn made_with(folder: &Path) -> Result<MadeWith, RunsError> {
    let first = folder.join(&studies(folder)?[0]);
    if first.join("run.json").is_file() {
        let run = Run::read(&first.join("run.json"))?;
        return Ok(MadeWith {
            backend: run.backend,
            precision: run.precision,
            strategy: run.strategy,
            command: run.command,
        });
    }
    let origin = records(&first)?.origin;
    Ok(MadeWith {
        backend: origin.backend,
        precision: origin.precision,
        strategy: origin.strategy,
        command: origin.command,
    })
}

/// Verifies all studies of a folder; the first fault is the error.
pub fn verify(folder: &Path, backend: &mut dyn Backend) -> Result<Vec<Verified>, RunsError> {
    let mut verified = Vec::new();
    for place in studies(folder)? {
        let inner = folder.join(&place);
        let file = read_study(&inner)?;
        let checks = match inner.join("run.json").is_file() {
            true => verify_finished(&inner, &file, backend)?,
            false => verify_unfinished(&inner, &file, backend)?,
        };
        verified.push(Verified {
            folder: place,
            checks,
        });
    }
    if let Some(sweep) = SweepIndex::read(folder)?
        && folder.join("overview.csv").is_file()
    {
        let runs = sweep.points.iter();
        let runs = runs.map(|p| Run::read(&folder.join(&p.label).join("run.json")));
        let runs: Vec<Run> = runs.collect::<Result<_, _>>()?;
        check_overview(folder, &sweep, &runs)?;
        verified.push(Verified {
            folder: String::new(),
            checks: vec![format!("overview from {} points", runs.len())],
        });
    }
    Ok(verified)
}

/// Makes the table and the pictures of a sweep again. Another version may have drawn other pictures.
fn check_overview(folder: &Path, sweep: &SweepIndex, runs: &[Run]) -> Result<(), InputError> {
    let table = sweep.overview(runs);
    let mut files = vec![("overview.csv", table.text())];
    let own = |run: &Run| run.version == env!("CARGO_PKG_VERSION");
    if runs.iter().all(own) {
        let svg = overview::picture(&sweep.title, &table);
        files.push(("overview.png", png::Painter::default().png(&svg)));
        files.push(("overview.svg", svg.into_bytes()));
    }
    for (name, content) in files {
        let file = folder.join(name);
        let message = "found other content than the points give; accepted: that";
        require(bytes(&file)? == content, &file, message)?;
    }
    Ok(())
}

fn verify_finished(
    folder: &Path,
    file: &StudyFile,
    backend: &mut dyn Backend,
) -> Result<Vec<String>, RunsError> {
    let study = &file.study;
    let path = folder.join("run.json");
    let run = Run::read(&path)?;
    let text = bytes(&path)?;
    let sealed = std::str::from_utf8(&text).is_ok_and(|text| run.is_sealed(text));
    let message =
        "found another checksum than that of its text; accepted: run.json as it was written";
    require(sealed, &path, message)?;
    let own = env!("CARGO_PKG_VERSION");
    let message = format!(
        "version: found {}; accepted: {own}, because another version may give other results",
        run.version
    );
    require(run.version == own, &path, message)?;
    for (name, checksum) in &run.files {
        let file = folder.join(name);
        let found = sha256_of_file(&file);
        let found = found.map_err(|error| InputError::unreadable(&file, &error))?;
        let message = format!("found checksum {found}; accepted: {checksum}, of run.json");
        require(found == *checksum, &file, message)?;
    }
    let format = file.episodes_format;
    let replication = chosen(&run.checksum, study.replications);
    let runnable = runnable(study);
    let prepared = runnable.as_ref().map(Prepared::new).transpose()?;
    let yardstick = match &prepared {
        Some(prepared) => prepared.yardstick.clone(),
        None => yardstick_of_lines(folder, format, study)?,
    };
    let mut episodes = Episodes::read(folder, format, study, &yardstick, replication)?;
    let summary = folder.join("summary.csv");
    let message = "found other means than those of the episodes; accepted: those";
    require(episodes.summary == bytes(&summary)?, &summary, message)?;
    let (name, number) = (format.file(), replication + 1);
    let mut checks = vec![
        format!("{} checksums", run.files.len() + 1),
        format!("summary.csv from {} lines of {name}", episodes.count),
    ];
    checks.extend(not_run_again(study));
    let Some(prepared) = prepared else {
        return Ok(checks);
    };
    let again = run_again(&prepared, backend, replication, |_| true)?;
    let ran = &prepared.study.policies;
    let lines = &mut episodes.lines;
    lines.retain(|row| ran.iter().any(|policy| policy.name == row.policy));
    let message = format!(
        "replication {number}: found other lines than when it is run again; accepted: those"
    );
    require(again == episodes.lines, &folder.join(name), message)?;
    let count = again.len();
    checks.push(format!("replication {number} run again: {count} lines"));
    Ok(checks)
}

/// The part of a study that needs no own code; `None` if there is none.
fn runnable(study: &Study) -> Option<Study> {
    let mut part = study.clone();
    let is_own = |maker: &dyn MakePolicy| maker.own().is_some_and(|own| !own.is_here);
    part.policies.retain(|policy| !is_own(&*policy.maker));
    part.reference = None;
    let world_is_here = study.world.own().all(|own| own.is_here);
    (world_is_here && !part.policies.is_empty()).then_some(part)
}

/// Budgets and optima as the first lines have them, for a world that is not here.
fn yardstick_of_lines(
    folder: &Path,
    format: EpisodesFormat,
    study: &Study,
) -> Result<Yardstick, InputError> {
    let rows = open_episodes(folder, format)?.take(study.episodes);
    let rows: Vec<EpisodeRow> = rows.collect::<Result<_, _>>()?;
    Ok(Yardstick {
        budgets: rows.iter().map(|row| row.b_t).collect(),
        opt: rows.iter().map(|row| row.opt).collect(),
    })
}

/// Which own code keeps something from being run again.
fn not_run_again(study: &Study) -> Option<String> {
    let parts = study.own().into_iter().filter(|(_, part)| !part.is_here);
    let parts: Vec<String> = parts
        .map(|(place, part)| format!("{place}: own {}, not run again ({})", part.what, part.code))
        .collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

fn verify_unfinished(
    folder: &Path,
    file: &StudyFile,
    backend: &mut dyn Backend,
) -> Result<Vec<String>, RunsError> {
    let study = &file.study;
    let log = records(folder)?;
    let study_file = folder.join("study.toml");
    let text = sha256(&bytes(&study_file)?);
    let message = "found another text than the records were made from; accepted: that one";
    require(text == log.origin.study, &study_file, message)?;
    refuse_foreign(study, &log)?;
    let mut reader = log.open()?;
    let mut finished: Vec<Record> = Vec::new();
    let policies = study.policies.iter();
    let all: Vec<usize> = policies.flat_map(|p| log.finished(&p.name)).collect();
    let replication = all.get(chosen(&text, all.len().max(1))).copied();
    for policy in &study.policies {
        for number in log.finished(&policy.name) {
            let record = reader.record(&policy.name, number)?;
            let Some(record) = record else { continue };
            check(study, &record).map_err(|fault| {
                let message = format!("found {fault}; accepted: records of the study");
                InputError::in_file(&log.path, message)
            })?;
            if Some(number) == replication {
                finished.push(record);
            }
        }
    }
    let lacking: usize = missing(study, &log).iter().map(Vec::len).sum();
    let mut checks = vec![format!("{} records, {lacking} to come", log.count())];
    checks.extend(not_run_again(study));
    if let (Some(replication), Some(runnable)) = (replication, runnable(study)) {
        finished.retain(|record| runnable.policies.iter().any(|p| p.name == record.policy));
        let has = |policy: &str| finished.iter().any(|record| record.policy == policy);
        let prepared = Prepared::new(&runnable)?;
        let lines = lines_of(&prepared, &finished);
        let number = replication + 1;
        let message = format!(
            "replication {number}: found other records than when it is run again; accepted: those"
        );
        let again = run_again(&prepared, backend, replication, has)?;
        require(again == lines, &log.path, message)?;
        let count = lines.len();
        checks.push(format!("replication {number} run again: {count} lines"));
    }
    Ok(checks)
}

/// A number below `count` from the digits of a checksum, so that runs differ.
fn chosen(checksum: &str, count: usize) -> usize {
    let digits = checksum.get(..8).unwrap_or("0");
    u32::from_str_radix(digits, 16).unwrap_or(0) as usize % count
}

/// Runs a replication of some policies again.
fn run_again(
    prepared: &Prepared,
    backend: &mut dyn Backend,
    replication: usize,
    wanted: impl Fn(&str) -> bool,
) -> Result<Vec<EpisodeRow>, RunsError> {
    let study = prepared.study;
    let of = |name: &str| match wanted(name) {
        true => vec![replication],
        false => Vec::new(),
    };
    let todo = RunList {
        replications: study.policies.iter().map(|p| of(&p.name)).collect(),
        unfinished: None,
    };
    let mut records: Vec<Record> = Vec::new();
    prepared.run(todo, backend, &mut records)?;
    Ok(lines_of(prepared, &records))
}

fn lines_of(prepared: &Prepared, records: &[Record]) -> Vec<EpisodeRow> {
    let rows = |record| episode_rows(&prepared.yardstick, record);
    records.iter().flat_map(rows).collect()
}

/// The content of the episodes file.
struct Episodes {
    count: usize,
    /// `summary.csv` as it follows from the lines.
    summary: Vec<u8>,
    /// The lines of one replication.
    lines: Vec<EpisodeRow>,
}

impl Episodes {
    fn read(
        folder: &Path,
        format: EpisodesFormat,
        study: &Study,
        yardstick: &Yardstick,
        replication: usize,
    ) -> Result<Self, RunsError> {
        let path = folder.join(format.file());
        let mut rows = open_episodes(folder, format)?;
        let (mut count, mut lines, mut summary) = (0, Vec::new(), Vec::new());
        for policy in &study.policies {
            let mut tally = RegretTally::new(yardstick, study.replications);
            for number in 0..study.replications {
                let mut episodes = Vec::with_capacity(study.episodes);
                for t in 0..study.episodes {
                    let row = rows.next().transpose()?.filter(|row| {
                        (row.policy.as_str(), row.replication, row.episode)
                            == (policy.name.as_str(), number + 1, t + 1)
                    });
                    let Some(row) = row else {
                        let (policy, number, t) = (&policy.name, number + 1, t + 1);
                        let message = format!(
                            "found no line of `{policy}`, replication {number}, episode {t} in its place; accepted: all lines in order"
                        );
                        return Err(InputError::in_file(&path, message).into());
                    };
                    episodes.push(EpisodeOutcome {
                        reward: row.reward,
                        spent: row.spent,
                        expected: row.expected_regret.map(|regret| row.opt - regret),
                        played: None,
                    });
                    if number == replication {
                        lines.push(row);
                    }
                }
                count += episodes.len();
                tally.add(&episodes);
            }
            let curve = tally.finish().cumulative;
            let points = (1..).zip(&curve);
            summary.extend(points.map(|(t, point)| SummaryRow::new(&policy.name, t, point)));
        }
        Ok(Self {
            count,
            summary: csv_text(summary),
            lines,
        })
    }
}

fn bytes(file: &Path) -> Result<Vec<u8>, InputError> {
    std::fs::read(file).map_err(|error| InputError::unreadable(file, &error))
}

fn records(folder: &Path) -> Result<RecordLog, InputError> {
    let message = "found no records; accepted: a study that has begun";
    RecordLog::read(folder)?.ok_or_else(|| InputError::in_file(folder, message))
}

fn require(holds: bool, file: &Path, message: impl Into<String>) -> Result<(), InputError> {
    match holds {
        true => Ok(()),
        false => Err(InputError::in_file(file, message)),
    }
}
