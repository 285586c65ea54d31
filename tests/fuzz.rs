//! Hostile inputs to everything that reads a file: no panic, no hang, no allocation driven by an unchecked number.
//!
//! Inputs are mutations of right ones, the same in every run. By default they are few enough for every day; the script
//! `tests/fuzz` asks for a million.

#![allow(clippy::print_stderr, reason = "the counts are what this test shows")]

#[path = "common/mutate.rs"]
mod mutate;
#[path = "fuzz/readers.rs"]
mod readers;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use cbwk_gpu::config::{Document, Instance, PRESETS, Study};
use cbwk_gpu::error::InputError;
use cbwk_gpu::history::{FeatureColumns, Import, LabeledLog, LogForm, TaskFile};
use mutate::mutated;
use peak_alloc::PeakAlloc;
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use readers::*;
use tempfile::tempdir;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Inputs of a target when nobody asks for more.
const INPUTS: usize = 500;

/// What reading one input may take.
const TIME_LIMIT: Duration = Duration::from_secs(20);

/// Bytes that reading one input may hold at once. A study may ask for a grid of 10^7 points, by the limit that the reader states.
const STUDY_BYTES: usize = 3 << 30;
const OTHER_BYTES: usize = 64 << 20;

const STUDIES: [&str; 6] = [
    include_str!("fuzz/pricing.toml"),
    include_str!("fuzz/auction.toml"),
    include_str!("fuzz/procurement.toml"),
    include_str!("fuzz/table.toml"),
    include_str!("fuzz/files.toml"),
    include_str!("fuzz/sweep.toml"),
];
const SMALL: &str = include_str!("fuzz/small.toml");
const ROWS: [&str; 2] = [
    "episode,step,x,y\n1,1,0,1\n1,2,1,0.5\n1,3,,\n2,3,0.25,1\n2,2,,\n2,1,1,1\n",
    "step,y,episode,x\n1,0.5,7,0\n2,0.1,7,1\n3,,7,\n",
];
const LOGS: [&str; 2] = [
    "episode,step,x,y,action,accepted,budget\n1,1,0,1,2,1,5\n1,3,1,0.5,1,0,5\n2,2,0.5,0.5,,0,4\n3,1,,,,,5\n",
    "step,episode,y,x,accepted,action\n1,a,1,0,0,2\n2,a,1,1,1,1\n3,b,0.3,0.7,1,2\n",
];
const RAW: [&str; 2] = [
    "day,hour,age,sex,price,sold,stock\n2026-01-01,1,44,m,2.5,yes,3\n2026-01-01,2,31,f,3,no,3\n2026-01-02,1,,m,2.5,no,4\n2026-01-02,2,29,f,3,yes,4\n",
    "day;hour;age;sex;price;sold;stock\n1;1;4,5;m;2,5;1;3\n1;2;3,1;f;3;0;3\n2;1;2;m;2,5;0;4\n",
];

type Reader<'a> = dyn Fn(&[u8]) -> Result<(), InputError> + 'a;

/// A reader under attack: what it is given, and what reading it may hold.
struct Target<'a> {
    name: &'static str,
    corpus: Vec<Vec<u8>>,
    bytes: usize,
    read: Box<Reader<'a>>,
}

/// How a target fared.
#[derive(Debug, Default)]
struct Tally {
    accepted: usize,
    refused: usize,
    panics: Vec<String>,
    greedy: Vec<String>,
    slowest: Duration,
    most_bytes: usize,
}

impl Tally {
    fn inputs(&self) -> usize {
        self.refused + self.accepted + self.panics.len()
    }

    fn show(&self, name: &str) {
        eprintln!(
            "{name:<13} {} inputs: {} refused, {} accepted, {} panics; slowest {:.1} ms, most held {:.1} MiB",
            self.inputs(),
            self.refused,
            self.accepted,
            self.panics.len(),
            1e3 * self.slowest.as_secs_f64(),
            self.most_bytes as f64 / f64::from(1 << 20),
        );
    }
}

/// The input at hand, for the watchman.
static AT_HAND: Mutex<Option<(Instant, Vec<u8>)>> = Mutex::new(None);

/// Ends the process, with the input, when reading it takes too long.
fn watch() {
    std::thread::spawn(|| {
        loop {
            std::thread::sleep(Duration::from_millis(200));
            let at_hand = AT_HAND.lock().unwrap();
            if let Some((start, input)) = &*at_hand
                && start.elapsed() > TIME_LIMIT
            {
                let text = String::from_utf8_lossy(input);
                eprintln!("still at it after {TIME_LIMIT:?}:\n{text}");
                std::process::exit(101);
            }
        }
    });
}

impl Target<'_> {
    fn attack(&self, inputs: usize) -> Tally {
        let mut tally = Tally::default();
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for number in 0..inputs {
            // The right ones first: a reader that refuses everything is not attacked at all.
            let input = match self.corpus.get(number) {
                Some(right) => right.clone(),
                None => mutated(&mut rng, &self.corpus),
            };
            let before = MEMORY.current_usage();
            MEMORY.reset_peak_usage();
            let start = Instant::now();
            *AT_HAND.lock().unwrap() = Some((start, input.clone()));
            let answer = catch_unwind(AssertUnwindSafe(|| (self.read)(&input)));
            *AT_HAND.lock().unwrap() = None;
            tally.slowest = tally.slowest.max(start.elapsed());
            let held = MEMORY.peak_usage().saturating_sub(before);
            tally.most_bytes = tally.most_bytes.max(held);
            let shown = || String::from_utf8_lossy(&input).into_owned();
            if held > self.bytes {
                tally.greedy.push(shown());
            }
            match answer {
                Ok(Ok(())) => tally.accepted += 1,
                Ok(Err(error)) => {
                    tally.refused += 1;
                    assert!(!error.to_string().is_empty());
                    if number < self.corpus.len() {
                        tally
                            .panics
                            .push(format!("(a right input: {error}) {}", shown()));
                    }
                }
                Err(_) => tally.panics.push(shown()),
            }
        }
        tally
    }
}

fn as_bytes(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

#[test]
fn hostile_inputs_are_refused() {
    let asked = std::env::var("CBWK_FUZZ_INPUTS").ok();
    let folder = tempdir().unwrap();
    let at = |name: &str| -> PathBuf { folder.path().join(name) };
    for (name, text) in [
        ("rows.csv", ROWS[0]),
        ("log.csv", LOGS[0]),
        ("budgets.csv", "b_t\n3\n4\n5\n6\n"),
    ] {
        fs::write(at(name), text).unwrap();
    }
    let right = results(folder.path());
    let records = shards(folder.path());
    let small = Document::parse(Path::new("t.toml"), SMALL).unwrap();
    let small = Study::from_document(&small).unwrap();
    let waves = waves(&small);
    assert!(waves.len() >= 5, "{} policies can be saved", waves.len());
    let mut presets: Vec<&str> = PRESETS.iter().map(|preset| preset.text).collect();
    // Large grids are slow to check; their text is that of the others.
    presets.retain(|text| !text.contains("points = "));
    let solved = Document::parse(&at("s.toml"), STUDIES[4]).unwrap();
    let instance = Instance::from_document(&solved).unwrap();
    let file = &|name: &str| at(name);
    let mut targets = vec![
        Target {
            name: "study file",
            corpus: as_bytes(&[&STUDIES[..], &presets].concat()),
            bytes: STUDY_BYTES,
            read: Box::new(|input| read_study(&file("s.toml"), input)),
        },
        Target {
            name: "context rows",
            corpus: as_bytes(&ROWS),
            bytes: OTHER_BYTES,
            read: Box::new(|input| {
                fs::write(file("in.csv"), input).unwrap();
                instance.read_rows(&file("in.csv")).map(drop)
            }),
        },
        Target {
            name: "labeled log",
            corpus: as_bytes(&LOGS),
            bytes: OTHER_BYTES,
            read: Box::new(|input| {
                let form = LogForm {
                    horizon: 3,
                    features: FeatureColumns::All,
                    actions: Some(&[1.0, 2.0]),
                };
                LabeledLog::parse(Path::new("log.csv"), input, &form).map(drop)
            }),
        },
        Target {
            name: "raw table",
            corpus: as_bytes(&RAW),
            bytes: OTHER_BYTES,
            read: Box::new(|input| {
                fs::write(file("raw.csv"), input).unwrap();
                let spec = spec(&String::from_utf8_lossy(input));
                let refused = |message: String| InputError::File {
                    file: file("raw.csv"),
                    message,
                };
                let import = Import::survey(&file("raw.csv"), &spec);
                let import = import.map_err(|error| refused(error.to_string()))?;
                let _: &TaskFile = import.task();
                let written = import.write(&mut std::io::sink(), &file("log.csv"));
                written
                    .map(drop)
                    .map_err(|error| refused(error.to_string()))
            }),
        },
    ];
    targets.push(Target {
        name: "checkpoints",
        corpus: waves,
        bytes: OTHER_BYTES,
        read: Box::new(|input| read_wave_file(&small, input)),
    });
    targets.push(Target {
        name: "shards",
        corpus: vec![records],
        bytes: OTHER_BYTES,
        read: Box::new(|input| read_records(folder.path(), input)),
    });
    for (name, content) in &right {
        targets.push(Target {
            name,
            corpus: vec![content.clone()],
            bytes: OTHER_BYTES,
            read: Box::new(move |input| {
                let answer = read_results(&file("o/seed=1"), name, input);
                fs::write(file("o/seed=1").join(name), content).unwrap();
                answer
            }),
        });
    }
    // The names of a study's data are not to lead out of the folder at hand by chance.
    std::env::set_current_dir(folder.path()).unwrap();
    let inputs = asked.map_or(INPUTS, |text| {
        let all: usize = text.parse().expect("CBWK_FUZZ_INPUTS is a whole number");
        all.div_ceil(targets.len() - 1)
    });
    watch();
    std::panic::set_hook(Box::new(|_| {}));
    // Merging writes whole folders, with every file synced: its inputs are beside those that are asked for.
    let share = |target: &Target| match target.name {
        "shards" => inputs.div_ceil(50),
        _ => inputs,
    };
    let attacked = |target: &Target| {
        let tally = target.attack(share(target));
        tally.show(target.name);
        tally
    };
    let tallies: Vec<(&str, Tally)> = targets.iter().map(|t| (t.name, attacked(t))).collect();
    let _ = std::panic::take_hook();
    let mut wrong = Vec::new();
    for (name, tally) in &tallies {
        wrong.extend(
            tally
                .panics
                .iter()
                .map(|input| format!("{name} panics on:\n{input}")),
        );
        wrong.extend(
            tally
                .greedy
                .iter()
                .map(|input| format!("{name} holds too much on:\n{input}")),
        );
        // Mutations are near enough to be read to some depth, and wrong enough to be refused.
        assert!(tally.refused > tally.inputs() / 20, "{name}: {tally:?}");
    }
    let all: usize = tallies.iter().map(|(_, tally)| tally.inputs()).sum();
    eprintln!("{all} inputs in all, {} faults", wrong.len());
    wrong.truncate(5);
    assert!(wrong.is_empty(), "{}", wrong.join("\n---\n"));
}
