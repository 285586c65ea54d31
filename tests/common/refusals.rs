//! Studies with mistakes, and what the program says of them.
#![allow(dead_code, reason = "each test file uses a part")]

use std::fs;
use std::path::Path;

use crate::common::cbwk;

pub const GOOD: &str = r#"[study]
episodes = 4
horizon = 2
replications = 2

[budget]
kind = "constant"
value = 3

[application]
kind = "procurement"
wages = [1, 2]

[contexts]
kind = "finite"
values = [[0.0], [1.0]]
weights = [0.5, 0.5]

[conversion]
kind = "armed"
probabilities = [0.3, 0.6]

[[policies]]
kind = "mimic-opt-dp"
alpha = 0.5
oracle = { kind = "armed" }
"#;

/// Runs `simulate` on the good study with one thing replaced; returns the message.
pub fn complaint(folder: &Path, find: &str, replace: &str) -> String {
    assert!(GOOD.contains(find), "{find:?} is not in the study");
    fs::write(folder.join("study.toml"), GOOD.replacen(find, replace, 1)).unwrap();
    refused(folder, &["simulate", "study.toml", "--out", "o"])
}

/// The one line of a run that must be refused with exit code 2 and write nothing.
pub fn refused(folder: &Path, args: &[&str]) -> String {
    let before = listing(folder);
    let output = cbwk(folder, args);
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{args:?}: {message}");
    assert_eq!(
        message.trim_end().lines().count(),
        1,
        "more than a line: {message}"
    );
    assert!(output.stdout.is_empty());
    assert_eq!(listing(folder), before, "{args:?} wrote something");
    message
}

pub fn listing(folder: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        names.push(entry.path().display().to_string());
        if entry.file_type().unwrap().is_dir() {
            names.extend(listing(&entry.path()));
        }
    }
    names.sort();
    names
}
