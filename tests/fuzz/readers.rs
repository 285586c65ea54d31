//! What each target reads, as the program reads it, and the right files that inputs are made from.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use cbwk_gpu::config::{Document, Instance, Study, StudyFile};
use cbwk_gpu::dp::cpu::Dense;
use cbwk_gpu::error::InputError;
use cbwk_gpu::experiment::{Prepared, RunList, Sink, SinkError, WaveState};
use cbwk_gpu::files::sha256;
use cbwk_gpu::history::{BudgetSource, ImportSpec, OfferKind, StepSource};
use cbwk_gpu::results::{
    CsvReader, EpisodeRow, Overview, RecordLog, Results, ResultsFolder, Run, StudyText,
};
use cbwk_gpu::runs::{Shards, status};

use super::SMALL;

/// A study file with its sweep, as `simulate` and `solve` read it.
pub fn read_study(file: &Path, input: &[u8]) -> Result<(), InputError> {
    let document = Document::parse(file, &String::from_utf8_lossy(input))?;
    if let Some(sweep) = document.sweep()? {
        for point in sweep.points.iter().take(3) {
            StudyFile::of_point(point)?;
        }
    }
    let _ = Instance::from_document(&document);
    let study = StudyFile::from_document(&document)?;
    // What is accepted is written, and its need is known before it runs.
    assert!(!study.resolved_text().is_empty());
    let _ = (
        study.study.memory(),
        cbwk_gpu::results::disk_needed(&study.study),
    );
    Ok(())
}

pub fn spec(text: &str) -> ImportSpec {
    let time = text.contains("2026");
    ImportSpec {
        episode: "day".into(),
        step: StepSource::Column {
            name: "hour".into(),
            steps: time.then_some(3),
        },
        action: "price".into(),
        accepted: "sold".into(),
        features: None,
        categories: Vec::new(),
        budget: BudgetSource::Column("stock".into()),
        zone: None,
        probability: None,
        kind: OfferKind::Pricing,
        round: None,
        quantity: None,
        relative_to: None,
        units: 1,
        drop_wrong: !time,
    }
}

pub fn cbwk(folder: &Path, args: &[&str]) {
    let run = Command::new(env!("CARGO_BIN_EXE_cbwk-gpu"))
        .args(args)
        .current_dir(folder)
        .output()
        .unwrap();
    let message = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{args:?}: {message}");
}

/// Files of a results folder that a report reads, by name.
pub fn results(folder: &Path) -> BTreeMap<&'static str, Vec<u8>> {
    fs::write(folder.join("t.toml"), SMALL).unwrap();
    let swept = format!("{SMALL}[sweep]\nstudy.seed = [1]\n");
    fs::write(folder.join("u.toml"), swept).unwrap();
    cbwk(folder, &["simulate", "u.toml", "--out", "o", "--quiet"]);
    let names = [
        "run.json",
        "study.toml",
        "summary.csv",
        "steps.csv",
        "actions.csv",
        "episodes.csv",
    ];
    let read = |name: &'static str| (name, fs::read(folder.join("o/seed=1").join(name)).unwrap());
    let mut files: BTreeMap<_, _> = names.into_iter().map(read).collect();
    files.insert(
        "overview.csv",
        fs::read(folder.join("o/overview.csv")).unwrap(),
    );
    files
}

/// One file of a results folder is wrong, the others are right.
pub fn read_results(folder: &Path, name: &str, input: &[u8]) -> Result<(), InputError> {
    let file = folder.join(name);
    fs::write(&file, input).unwrap();
    match name {
        "run.json" => Run::read(&file).map(drop)?,
        "study.toml" => StudyText::read(&file).map(drop)?,
        "overview.csv" => return Overview::read(&file).map(drop),
        "episodes.csv" => {
            return CsvReader::<EpisodeRow, _>::open(&file)?.try_for_each(|line| line.map(drop));
        }
        _ => {}
    }
    Results::read(folder).map(drop)
}

/// A line as `records.jsonl` and `wave.json` have it: whoever means harm can compute a checksum.
pub fn sealed(input: &[u8]) -> Vec<u8> {
    let line = |line: &[u8]| {
        let end = line.strip_suffix(b"\n").unwrap_or(line);
        let json = end.get(17..).unwrap_or(end);
        let digits = sha256(json);
        [&digits.as_bytes()[..16], b" ", json, b"\n"].concat()
    };
    let lines = input.split_inclusive(|byte| *byte == b'\n');
    lines.flat_map(line).collect()
}

/// Two shards of a study, as other machines may have left them.
pub fn shards(folder: &Path) -> Vec<u8> {
    for shard in ["1/2", "2/2"] {
        let args = [
            "simulate", "t.toml", "--out", "shards", "--quiet", "--trace", "--shard", shard,
        ];
        cbwk(folder, &args);
    }
    fs::read(folder.join("shards/shard-1-of-2/records.jsonl")).unwrap()
}

pub fn refused(error: impl std::fmt::Display) -> InputError {
    InputError::Option {
        option: "shards".into(),
        message: error.to_string(),
    }
}

/// Records of a shard: alone, as a status, and merged with the other shard.
pub fn read_records(folder: &Path, input: &[u8]) -> Result<(), InputError> {
    let shards = folder.join("shards");
    let shard = shards.join("shard-1-of-2");
    fs::write(shard.join("records.jsonl"), sealed(input)).unwrap();
    status(&shards).map_err(refused)?;
    if let Some(log) = RecordLog::read(&shard)? {
        let mut reader = log.open()?;
        for policy in log.policies() {
            for number in log.finished(policy) {
                reader.record(policy, number)?;
            }
        }
    }
    let shards = Shards::collect(&shards).map_err(refused)?;
    let merged = ResultsFolder::prepare(&folder.join("merged"), true).map_err(refused)?;
    shards
        .merge_into(&merged, || None)
        .map(drop)
        .map_err(refused)
}

/// The first wave after its first episode.
#[derive(Default)]
pub struct FirstWave(Option<WaveState>);

impl Sink for FirstWave {
    fn wants_state(&mut self, _stopping: bool) -> bool {
        self.0.is_none()
    }

    fn state(&mut self, state: &WaveState) -> Result<(), SinkError> {
        self.0 = Some(state.clone());
        Ok(())
    }
}

/// A checkpoint, taken up to the end of its wave.
pub fn read_wave_file(study: &Study, input: &[u8]) -> Result<(), InputError> {
    let state: WaveState = serde_json::from_slice(input).map_err(refused)?;
    let prepared = Prepared::new(study).map_err(refused)?;
    let todo = RunList {
        replications: vec![Vec::new(); study.policies.len()],
        unfinished: Some(state),
    };
    prepared.run(todo, &mut Dense, &mut ()).map_err(refused)
}

/// The states of a study's policies, each under way.
pub fn waves(study: &Study) -> Vec<Vec<u8>> {
    let prepared = Prepared::new(study).unwrap();
    let states = (0..study.policies.len()).filter_map(|number| {
        let mut first = FirstWave::default();
        let todo = RunList::of_policy(study, number);
        prepared.run(todo, &mut Dense, &mut first).unwrap();
        first.0
    });
    states
        .map(|state| serde_json::to_vec(&state).unwrap())
        .collect()
}
