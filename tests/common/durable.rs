//! Helpers of the tests of long studies: what a results folder holds, times aside, and runs that are killed.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::{TempDir, tempdir, tempdir_in};

/// A study that has every kind of policy and lasts about a second.
pub const STUDY: &str = r#"
[study]
name = "durable"
episodes = 24
horizon = 8
replications = 12
seed = 5

[budget]
kind = "cycle"
values = [3, 5]

[application]
kind = "auction"
bids = [1, 2, 3]

[contexts]
kind = "finite"
values = [[1.0], [2.0], [3.0], [4.0]]
no_arrival = 0.1

[conversion]
kind = "armed"
probabilities = [0.2, 0.5, 0.8]

[[policies]]
kind = "mimic-opt-dp"
initial_rows = 2
oracle = { kind = "armed" }

[[policies]]
kind = "thompson-opt-dp"
oracle = { kind = "armed" }

[[policies]]
kind = "square-cbwk"
oracle = { kind = "logistic" }

[[policies]]
kind = "logistic-ucb1"
oracle = { kind = "logistic" }

[[policies]]
kind = "myopic"
oracle = { kind = "armed" }

[[policies]]
kind = "fluid"

[[policies]]
kind = "random"

[[policies]]
kind = "clairvoyant"
"#;

/// A folder in memory where there is one: these tests wait for the disk often, and kills do not tell the difference.
pub fn quick_folder() -> TempDir {
    tempdir_in("/dev/shm").or_else(|_| tempdir()).unwrap()
}

/// What a results folder holds, by name, its inner folders too; `run.json` without times and what follows from them.
pub fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    collect(folder, "", &mut found);
    found
}

fn collect(folder: &Path, start: &str, found: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{start}{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            if !name.starts_with("shard-") {
                collect(&entry.path(), &format!("{name}/"), found);
            }
        } else if !name.ends_with(".lock") {
            let bytes = fs::read(entry.path()).unwrap();
            let bytes = match name.ends_with("run.json") {
                true => without_times(&bytes),
                false => bytes,
            };
            found.insert(name, bytes);
        }
    }
}

fn without_times(run: &[u8]) -> Vec<u8> {
    let mut run: Value = serde_json::from_slice(run).unwrap();
    let object = run.as_object_mut().unwrap();
    for key in ["seconds", "peak_memory_bytes", "checksum", "threads"] {
        assert!(object.remove(key).is_some(), "{key}");
    }
    // Contexts go up to an adapter again after a restart.
    object.remove("gpu");
    for policy in object["policies"].as_array_mut().unwrap() {
        policy.as_object_mut().unwrap().remove("seconds").unwrap();
        policy.as_object_mut().unwrap().remove("decision_seconds");
    }
    serde_json::to_vec(&run).unwrap()
}

/// The names of files that differ, or that only one of two folders has.
pub fn differences(a: &BTreeMap<String, Vec<u8>>, b: &BTreeMap<String, Vec<u8>>) -> Vec<String> {
    let names = a
        .keys()
        .chain(b.keys().filter(|name| !a.contains_key(*name)));
    let differs = |name: &&String| a.get(*name) != b.get(*name);
    names.filter(differs).cloned().collect()
}

/// Starts the program.
pub fn start(folder: &Path, args: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_cbwk-gpu"))
        .args(args)
        .current_dir(folder)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Kills a run after a time; returns whether it was still running.
pub fn kill_after(mut child: Child, time: Duration) -> bool {
    let start = Instant::now();
    while start.elapsed() < time {
        if child.try_wait().unwrap().is_some() {
            return false;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    let _ = child.kill();
    child.wait().unwrap();
    true
}

/// Sends a signal by name, and waits for the end.
pub fn end_by(child: Child, signal: &str) -> Output {
    let sent = Command::new("kill")
        .args([&format!("-{signal}"), &child.id().to_string()])
        .status();
    assert!(sent.unwrap().success());
    child.wait_with_output().unwrap()
}
