//! What `simulate --out DIR --resume` goes on with: sweeps from their folder alone, shards of them, studies on the GPU; what it
//! refuses, by key; and requests to end that come in twos. Run with `--nocapture` to see the counts.

#![cfg(unix)]

mod common;
#[path = "common/durable.rs"]
#[allow(dead_code, reason = "each test file uses a part")]
mod durable_study;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use common::{cbwk, cbwk_ok, rng, say};
use durable_study::{STUDY, contents, differences, kill_after, quick_folder, start};
use rand::RngExt;
use tempfile::TempDir;

const RUN: [&str; 7] = [
    "simulate",
    "s.toml",
    "--out",
    "o",
    "--quiet",
    "--threads",
    "1",
];

/// No study is named: the folder has it. Threads may be others.
const ALONE: [&str; 7] = [
    "simulate",
    "--out",
    "o",
    "--quiet",
    "--threads",
    "2",
    "--resume",
];

fn with_study(text: &str) -> TempDir {
    let folder = quick_folder();
    fs::write(folder.path().join("s.toml"), text).unwrap();
    folder
}

fn sweep() -> String {
    let text = STUDY.replace(
        "kind = \"cycle\"\nvalues = [3, 5]",
        "kind = \"constant\"\nvalue = 3",
    );
    format!("{text}\n[sweep]\n\"budget.value\" = [2, 3, 4]\n")
}

fn refusal(folder: &Path, args: &[&str]) -> String {
    let output = cbwk(folder, args);
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert_eq!(message.lines().count(), 1, "{message}");
    message
}

/// Waits until a run has finished some replications, and saved others on their way where `wave` says so.
fn wait_for(folder: &Path, wave: bool) {
    let began = Instant::now();
    let there = |name: &str| fs::metadata(folder.join(name)).is_ok_and(|found| found.len() > 0);
    while !(there("records.jsonl") && (!wave || there("wave.json"))) {
        assert!(began.elapsed() < Duration::from_secs(60), "nothing saved");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_sweep_goes_on_from_its_folder_alone() {
    let sweep = sweep();
    let save = [&RUN[..], &["--save-episodes", "3"]].concat();
    let folder = with_study(&sweep);
    let began = Instant::now();
    cbwk_ok(folder.path(), &save);
    let whole = began.elapsed();
    let expected = contents(&folder.path().join("o"));
    let mut rng = rng(11);
    let (mut killed, mut alone) = (0, 0);
    for _ in 0..15 {
        let folder = with_study(&sweep);
        let moment = whole.mul_f64(rng.random_range(0.05..1.0));
        killed += usize::from(kill_after(start(folder.path(), &save), moment));
        match folder.path().join("o/sweep.json").exists() {
            true => {
                fs::remove_file(folder.path().join("s.toml")).unwrap();
                cbwk_ok(folder.path(), &ALONE);
                alone += 1;
            }
            // Killed before all its studies were written: nothing is lost.
            false => {
                refusal(folder.path(), &ALONE);
                cbwk_ok(folder.path(), &[&save[..], &["--resume"]].concat());
            }
        }
        let found = contents(&folder.path().join("o"));
        assert_eq!(differences(&found, &expected), [""; 0]);
    }
    say(&format!(
        "{killed} sweeps of 15 killed, {alone} resumed without their study file: 15 ended with the same bytes"
    ));
    assert!(killed >= 5 && alone >= 5, "{killed} and {alone}");
    for (more, key) in [
        (["--replications", "5"], "study.replications: found 5"),
        (["--seed", "9"], "study.seed: found 9; accepted: 5"),
        (["--budget", "7"], "budget.value: found 7; accepted: 2"),
        (["--precision", "f32"], "precision: found f32"),
    ] {
        let message = refusal(folder.path(), &[&ALONE[..], &more].concat());
        assert!(message.contains(key), "{message}");
    }
}

#[test]
fn shards_of_a_sweep_go_on_from_their_folders_alone() {
    let sweep = sweep();
    let whole = with_study(&sweep);
    cbwk_ok(whole.path(), &RUN);
    let folder = with_study(&sweep);
    for shard in ["1/3", "2/3", "3/3"] {
        let args = [&RUN[..], &["--shard", shard, "--save-episodes", "1"]].concat();
        let child = start(folder.path(), &args);
        let place = format!("o/shard-{}", shard.replace('/', "-of-"));
        wait_for(&folder.path().join(place).join("value=2"), false);
        kill_after(child, Duration::from_millis(5));
        cbwk_ok(folder.path(), &[&ALONE[..], &["--shard", shard]].concat());
    }
    // Shards can be merged where they cannot be written to: their locks cannot be taken.
    let lock = folder.path().join("o/shard-2-of-3/.lock");
    fs::remove_file(&lock).unwrap();
    fs::create_dir(&lock).unwrap();
    cbwk_ok(folder.path(), &["merge", "o"]);
    let found = contents(&folder.path().join("o"));
    let expected = contents(&whole.path().join("o"));
    assert_eq!(differences(&found, &expected), [""; 0]);
    // What was merged is not counted twice.
    let status = cbwk_ok(folder.path(), &["status", "o"]);
    let alone = cbwk_ok(whole.path(), &["status", "o"]);
    let last = |text: &str| text.lines().last().unwrap().to_string();
    assert_eq!(last(&status), last(&alone));
}

/// A folder under way on the CPU, and the same study on the GPU; each goes on there alone.
#[test]
fn a_study_on_the_gpu_goes_on_there_and_nowhere_else() {
    if common::gpu(false).is_none() {
        return;
    }
    let long = STUDY.replace("episodes = 24", "episodes = 60");
    let gpu = ["--backend", "gpu"];
    let whole = with_study(&long);
    cbwk_ok(whole.path(), &[&RUN[..], &gpu].concat());
    let expected = contents(&whole.path().join("o"));
    let mut on_the_way = 0;
    for _ in 0..5 {
        let folder = with_study(&long);
        let args = [&RUN[..], &gpu, &["--save-episodes", "4"]].concat();
        let child = start(folder.path(), &args);
        wait_for(&folder.path().join("o"), true);
        kill_after(child, Duration::from_millis(10));
        on_the_way += usize::from(folder.path().join("o/wave.json").exists());
        let message = refusal(folder.path(), &[&ALONE[..], &["--backend", "cpu"]].concat());
        let key = "backend: found cpu; accepted: gpu";
        assert!(message.contains(key), "{message}");
        cbwk_ok(folder.path(), &[&ALONE[..], &gpu].concat());
        let found = contents(&folder.path().join("o"));
        assert_eq!(differences(&found, &expected), [""; 0]);
    }
    say(&format!(
        "5 studies killed on the GPU ({on_the_way} left a saved wave): 5 ended with the same bytes"
    ));
    assert!(on_the_way > 0);
    // The other way round, and when all is finished.
    let folder = with_study(STUDY);
    cbwk_ok(folder.path(), &RUN);
    let message = refusal(folder.path(), &[&ALONE[..], &gpu].concat());
    assert!(
        message.contains("backend: found gpu; accepted: cpu"),
        "{message}"
    );
    let message = refusal(
        folder.path(),
        &[&ALONE[..], &["--precision", "f32"]].concat(),
    );
    assert!(
        message.contains("precision: found f32; accepted: f64"),
        "{message}"
    );
    cbwk_ok(folder.path(), &ALONE);
}

/// `timeout`, `parallel` and batch systems signal more than once for one request: the state is saved all the same.
#[test]
fn signals_that_come_together_are_one_request() {
    let long = STUDY.replace("episodes = 24", "episodes = 3000");
    for pause in [0, 1, 3, 10, 30] {
        let folder = with_study(&long);
        let child = start(folder.path(), &RUN);
        wait_for(&folder.path().join("o"), false);
        for _ in 0..3 {
            let id = child.id().to_string();
            let _ = Command::new("kill").args(["-TERM", &id]).output();
            std::thread::sleep(Duration::from_millis(pause));
        }
        let output = child.wait_with_output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(143), "{message}");
        assert!(message.contains("; resume with: "), "{pause} ms: {message}");
        assert!(folder.path().join("o/wave.json").is_file(), "{pause} ms");
    }
}

/// A kill while the wave is written leaves nothing in a finished folder.
#[test]
fn what_a_kill_leaves_of_a_wave_is_removed() {
    let folder = with_study(STUDY);
    cbwk_ok(folder.path(), &RUN);
    let expected = contents(&folder.path().join("o"));
    for left in [&[][..], &["run.json"]] {
        left.iter()
            .for_each(|name| fs::remove_file(folder.path().join("o").join(name)).unwrap());
        fs::write(folder.path().join("o/wave.json.partial"), "0123").unwrap();
        cbwk_ok(folder.path(), &[&RUN[..], &["--resume"]].concat());
        let found = contents(&folder.path().join("o"));
        assert_eq!(differences(&found, &expected), [""; 0]);
    }
}
