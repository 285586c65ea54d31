//! Whether a folder is what it says: checksums, the summary from the episodes, and one replication run again.

use std::path::Path;

use super::finish::check;
use super::shards::{missing, refuse_foreign, shard_folders};
use super::{RunsError, read_study};
use crate::config::StudyFile;
use crate::dp::Backend;
use crate::error::InputError;
use crate::experiment::{EpisodeOutcome, Prepared, Record, RegretTally, Todo};
use crate::files::{sha256, sha256_of_file};
use crate::report::{overview, png};
use crate::results::open_episodes;
use crate::results::{EpisodeRow, EpisodesFormat, RecordLog, Run, SummaryRow, SweepIndex};
use crate::results::{csv_text, episode_rows};

/// What a folder was made with, and a backend must be asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MadeWith {
    /// `cpu`, `gpu` or `auto`.
    pub backend: String,
    /// `f64` or `f32`.
    pub precision: String,
    /// `auto`, or the name of a strategy.
    pub strategy: String,
    /// The command line, as of a run that is neither cut nor resumed.
    pub command: String,
}

/// A folder that was found to be what it says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// The folder, from the one that was asked for; empty for that one itself.
    pub folder: String,
    /// What was checked, in words.
    pub checks: Vec<String>,
}

/// The folders of studies in a folder: itself, its points, its shards, and their points.
fn studies(folder: &Path) -> Result<Vec<String>, InputError> {
    let mut places = vec![String::new()];
    let shards = shard_folders(folder)?.into_iter();
    places.extend(shards.map(|(shard, _)| shard.folder()));
    let mut all = Vec::new();
    for place in places {
        match SweepIndex::read(&folder.join(&place))? {
            Some(sweep) => all.extend(sweep.points.iter().map(|point| {
                let path = Path::new(&place).join(&point.label);
                path.to_string_lossy().into_owned()
            })),
            None if folder.join(&place).join("study.toml").is_file() => all.push(place),
            None => {}
        }
    }
    if all.is_empty() {
        return Err(wrong(
            folder,
            "found no study; accepted: a folder of results or of shards",
        ));
    }
    Ok(all)
}

/// What the first study of a folder was made with.
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
    let log = RecordLog::read(&first)?;
    let log =
        log.ok_or_else(|| wrong(&first, "found no records; accepted: a study that has begun"))?;
    Ok(MadeWith {
        backend: log.origin.backend,
        precision: log.origin.precision,
        strategy: log.origin.strategy,
        command: log.origin.command,
    })
}

/// Verifies all studies of a folder; the first thing that is wrong ends it.
pub fn verify(folder: &Path, backend: &mut dyn Backend) -> Result<Vec<Verified>, RunsError> {
    let places = studies(folder)?;
    let mut verified = Vec::new();
    for place in places {
        let inner = folder.join(&place);
        let file = read_study(&inner)?;
        let checks = match inner.join("run.json").is_file() {
            true => finished(&inner, &file, backend)?,
            false => under_way(&inner, &file, backend)?,
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

/// The table and the pictures of a sweep, made again from its points; another version may have drawn others.
fn check_overview(folder: &Path, sweep: &SweepIndex, runs: &[Run]) -> Result<(), InputError> {
    let table = sweep.overview(runs);
    let mut files = vec![("overview.csv", table.text())];
    if runs
        .iter()
        .all(|run| run.version == env!("CARGO_PKG_VERSION"))
    {
        let svg = overview::picture(&sweep.title, &table);
        files.push(("overview.png", png::Painter::default().png(&svg)));
        files.push(("overview.svg", svg.into_bytes()));
    }
    for (name, accepted) in files {
        let file = folder.join(name);
        if bytes(&file)? != accepted {
            return Err(wrong(
                &file,
                "found another one than the points have; accepted: that",
            ));
        }
    }
    Ok(())
}

fn finished(
    folder: &Path,
    file: &StudyFile,
    backend: &mut dyn Backend,
) -> Result<Vec<String>, RunsError> {
    let study = &file.study;
    let prepared = Prepared::new(study)?;
    let path = folder.join("run.json");
    let run = Run::read(&path)?;
    let text = bytes(&path)?;
    if !std::str::from_utf8(&text).is_ok_and(|text| run.is_sealed(text)) {
        return Err(wrong(
            &path,
            "found another checksum than that of its text; accepted: run.json as it was written",
        )
        .into());
    }
    for (name, checksum) in &run.files {
        let file = folder.join(name);
        let found = sha256_of_file(&file);
        let found = found.map_err(|error| InputError::unreadable(&file, &error))?;
        if found != *checksum {
            let message = format!("found checksum {found}; accepted: {checksum}, of run.json");
            return Err(wrong(&file, &message).into());
        }
    }
    let format = file.episodes_format;
    let replication = chosen(&run.checksum, study.replications);
    let episodes = Episodes::read(folder, format, &prepared, replication)?;
    let summary = folder.join("summary.csv");
    if episodes.summary != bytes(&summary)? {
        return Err(wrong(
            &summary,
            "found other means than the episodes have; accepted: those",
        )
        .into());
    }
    let again = run_again(&prepared, backend, episodes.replication, |_| true)?;
    if again != episodes.lines {
        let message = format!(
            "replication {}: found other lines than it has when it is run again; accepted: those",
            episodes.replication + 1
        );
        return Err(wrong(&folder.join(file.episodes_format.file()), &message).into());
    }
    Ok(vec![
        format!("{} checksums", run.files.len() + 1),
        format!(
            "summary.csv from {} lines of {}",
            episodes.count,
            file.episodes_format.file()
        ),
        format!(
            "replication {} run again: {} lines",
            episodes.replication + 1,
            again.len()
        ),
    ])
}

fn under_way(
    folder: &Path,
    file: &StudyFile,
    backend: &mut dyn Backend,
) -> Result<Vec<String>, RunsError> {
    let study = &file.study;
    let log = RecordLog::read(folder)?;
    let log =
        log.ok_or_else(|| wrong(folder, "found no records; accepted: a study that has begun"))?;
    let text = sha256(&bytes(&folder.join("study.toml"))?);
    if text != log.origin.study {
        return Err(wrong(
            &folder.join("study.toml"),
            "found another text than the records were made from; accepted: that one",
        )
        .into());
    }
    refuse_foreign(study, &log)?;
    let mut reader = log.open()?;
    let mut finished: Vec<Record> = Vec::new();
    let all: Vec<usize> = study
        .policies
        .iter()
        .flat_map(|p| log.finished(&p.name))
        .collect();
    let replication = all.get(chosen(&text, all.len().max(1))).copied();
    for policy in &study.policies {
        for number in log.finished(&policy.name) {
            let record = reader.record(&policy.name, number)?;
            let Some(record) = record else { continue };
            check(study, &record).map_err(|what| {
                wrong(
                    &log.path,
                    &format!("found {what}; accepted: records of the study"),
                )
            })?;
            if Some(number) == replication {
                finished.push(record);
            }
        }
    }
    let lacking: usize = missing(study, &log).iter().map(Vec::len).sum();
    let mut checks = vec![format!("{} records, {lacking} to come", log.count())];
    if let Some(replication) = replication {
        let has = |policy: &str| finished.iter().any(|record| record.policy == policy);
        let prepared = Prepared::new(study)?;
        let rows = |record: &Record| episode_rows(&prepared.yardstick, record).collect::<Vec<_>>();
        let expected: Vec<EpisodeRow> = finished.iter().flat_map(rows).collect();
        if run_again(&prepared, backend, replication, has)? != expected {
            let message = format!(
                "replication {}: found other records than it has when it is run again; accepted: those",
                replication + 1
            );
            return Err(wrong(&log.path, &message).into());
        }
        checks.push(format!(
            "replication {} run again: {} lines",
            replication + 1,
            expected.len()
        ));
    }
    Ok(checks)
}

/// One of so many, by the digits of a checksum: another one for another run.
fn chosen(checksum: &str, count: usize) -> usize {
    let digits = checksum.get(..8).unwrap_or("0");
    u32::from_str_radix(digits, 16).unwrap_or(0) as usize % count
}

/// The lines of a replication of some policies, computed anew.
fn run_again(
    prepared: &Prepared,
    backend: &mut dyn Backend,
    replication: usize,
    wanted: impl Fn(&str) -> bool,
) -> Result<Vec<EpisodeRow>, RunsError> {
    let study = prepared.study;
    let of = |name: &str| {
        if wanted(name) {
            vec![replication]
        } else {
            Vec::new()
        }
    };
    let todo = Todo {
        replications: study.policies.iter().map(|p| of(&p.name)).collect(),
        under_way: None,
    };
    let mut records: Vec<Record> = Vec::new();
    prepared.run(todo, backend, &mut records)?;
    let rows = |record: &Record| episode_rows(&prepared.yardstick, record).collect::<Vec<_>>();
    Ok(records.iter().flat_map(rows).collect())
}

/// What the lines of episodes say.
struct Episodes {
    count: usize,
    summary: Vec<u8>,
    replication: usize,
    /// Its lines.
    lines: Vec<EpisodeRow>,
}

impl Episodes {
    fn read(
        folder: &Path,
        format: EpisodesFormat,
        prepared: &Prepared,
        replication: usize,
    ) -> Result<Self, RunsError> {
        let (study, yardstick) = (prepared.study, &prepared.yardstick);
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
                        let message = format!(
                            "found no line of `{}`, replication {}, episode {} in its place; accepted: all lines in order",
                            policy.name,
                            number + 1,
                            t + 1
                        );
                        return Err(wrong(&path, &message).into());
                    };
                    episodes.push(EpisodeOutcome {
                        reward: row.reward,
                        spent: row.spent,
                        expected: row.expected_regret.map(|regret| row.opt - regret),
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
            replication,
            lines,
        })
    }
}

fn bytes(file: &Path) -> Result<Vec<u8>, InputError> {
    std::fs::read(file).map_err(|error| InputError::unreadable(file, &error))
}

fn wrong(file: &Path, message: &str) -> InputError {
    InputError::File {
        file: file.to_path_buf(),
        message: message.into(),
    }
}
