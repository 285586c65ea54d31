//! Reads files written by version 0.1.0 (`written_by_0.1.0/`): a finished study, a shard, a task folder and its journal.
//! Studies of another version can be shown, but not resumed, merged or verified. Journals open.

mod common;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use common::{cbwk, cbwk_ok};
use serde_json::{Value, json};
use tempfile::tempdir;

/// Copies a fixture, so that tests do not change it.
fn copied(name: &str, to: &Path) -> PathBuf {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/written_by_0.1.0");
    copy(&from.join(name), &to.join(name));
    to.join(name)
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let place = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copy(&entry.path(), &place),
            false => drop(fs::copy(entry.path(), place).unwrap()),
        }
    }
}

/// The error message of a command that must fail with exit code 2.
fn refused(folder: &Path, arguments: &[&str]) -> String {
    let output = cbwk(folder, arguments);
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
    assert_eq!(text.trim_end().lines().count(), 1, "{text}");
    text
}

#[test]
fn a_finished_study_is_shown_but_not_verified() {
    let folder = tempdir().unwrap();
    copied("study", folder.path());
    cbwk_ok(folder.path(), &["status", "study"]);
    cbwk_ok(folder.path(), &["report", "study"]);
    let said = refused(folder.path(), &["verify", "study"]);
    assert!(said.contains("0.1.0"), "{said}");
    // Its study file runs, and the results have the current version.
    let again = ["simulate", "study/study.toml", "--out", "again", "--quiet"];
    cbwk_ok(folder.path(), &again);
    cbwk_ok(folder.path(), &["verify", "again"]);
}

#[test]
fn a_shard_is_neither_resumed_nor_merged() {
    let folder = tempdir().unwrap();
    let shards = copied("shards", folder.path());
    let study = shards.join("shard-1-of-2/study.toml");
    let study = study.to_str().unwrap();
    let (first, second) = (["--shard", "1/2"], ["--shard", "2/2"]);
    let run = ["simulate", study, "--out", "shards", "--quiet", "--resume"];
    let said = refused(folder.path(), &[&run[..], &first].concat());
    assert!(said.contains("version") && said.contains("0.1.0"), "{said}");
    cbwk_ok(folder.path(), &[&run[..5], &second].concat());
    let said = refused(folder.path(), &["merge", "shards"]);
    assert!(said.contains("version") && said.contains("0.1.0"), "{said}");
}

/// Sends one request per line to `serve`; returns the answers.
fn served(folder: &Path, shop: &str, requests: &[Value]) -> Vec<Value> {
    let mut child = Command::new(env!("CARGO_BIN_EXE_cbwk-gpu"))
        .args(["serve", shop])
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    for request in requests {
        writeln!(input, "{request}").unwrap();
    }
    drop(input);
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let answers = text.lines().map(|line| serde_json::from_str(line).unwrap());
    answers.collect()
}

#[test]
fn a_journal_opens_with_and_without_its_snapshot() {
    let requests = [
        json!({"op": "state"}),
        json!({"op": "decide", "id": "c1", "step": 1, "context": {"income": 0.7}}),
        json!({"op": "observe", "id": "open", "accepted": true}),
        json!({"op": "decide", "id": "new", "step": 3, "context": {"income": 0.2}}),
        json!({"op": "end", "episode": "d13"}),
    ];
    let answers = [true, false].map(|with_snapshot| {
        let folder = tempdir().unwrap();
        let shop = copied("shop", folder.path());
        if !with_snapshot {
            fs::remove_file(shop.join("journal.snapshot")).unwrap();
        }
        served(folder.path(), "shop", &requests)
    });
    assert_eq!(answers[0], answers[1]);
    let [state, repeated, observed, decided, ended] = &answers[0][..] else {
        panic!("{answers:?}");
    };
    for answer in &answers[0] {
        assert_eq!(answer["ok"], true, "{answer}");
    }
    assert_eq!(
        (&state["episodes"], &state["decisions"]),
        (&json!(13), &json!(73))
    );
    assert_eq!(state["open"]["held"], 1);
    // The same answer as version 0.1.0 gave.
    assert_eq!(
        (&repeated["offer"], &repeated["plan"]),
        (&json!(3.0), &json!(1))
    );
    assert_eq!(observed["budget"], 2);
    assert_eq!(
        (&decided["budget"], &ended["spent"]),
        (&json!(2), &json!(1))
    );
}

#[test]
fn a_task_folder_is_fitted_planned_and_evaluated() {
    let folder = tempdir().unwrap();
    copied("shop", folder.path());
    cbwk_ok(folder.path(), &["plan", "shop"]);
    cbwk_ok(folder.path(), &["fit", "shop"]);
    let evaluate = [
        "evaluate",
        "shop",
        "--policy",
        "plan",
        "--against",
        "fixed:2",
    ];
    cbwk_ok(folder.path(), &evaluate);
}
