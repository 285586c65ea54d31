//! Wrong usage: every mistake is one message that names it, with exit code 2, and leaves nothing behind.

mod common;
#[path = "common/refusals.rs"]
mod refusals;

use std::fs;
use std::path::Path;

use common::cbwk;
use refusals::{GOOD, complaint, refused};
use tempfile::tempdir;

#[test]
fn mistakes_on_the_command_line() {
    let folder = tempdir().unwrap();
    fs::write(folder.path().join("study.toml"), GOOD).unwrap();
    let cases: [(&[&str], &str); 9] = [
        (&["simulate", "none.toml"], "none.toml: cannot be read"),
        (
            &["simulate", "--preset", "paper-auctoin"],
            "--preset: found `paper-auctoin`; accepted: the name of a preset (nearest: `paper-auction`)",
        ),
        (&["presets", "zzz"], "presets: found `zzz`"),
        (
            &["simulate", "--episodes", "0"],
            "--episodes: study.episodes: found 0",
        ),
        (
            &["simulate", "--delta", "2"],
            "--delta: study.delta: found 2",
        ),
        (
            &["simulate", "--policy", "mimic"],
            "--policy: policies[1].kind: found `mimic`; accepted: one of mimic-opt-dp",
        ),
        (
            &["simulate", "--policy", "fixed:9"],
            "--policy: policies[1].kind: found fixed:9",
        ),
        (
            &["simulate", "--policy", "fixed:x"],
            "--policy: policies[1].kind: found `fixed:x`",
        ),
        (
            &["solve", "study.toml", "--out", "no/such/folder/values.csv"],
            "no/such/folder/values.csv: cannot be written",
        ),
    ];
    for (args, expected) in cases {
        let message = refused(folder.path(), args);
        assert!(
            message.contains(expected),
            "expected {expected:?}, got {message:?}"
        );
    }
    for args in [
        &["simulate", "--seed", "9223372036854775808"][..],
        &["simulate", "--budget", "-1"],
        &["simulate", "--colour"],
        &["fly"],
        &["solve"],
        &["simulate", "--threads", "0"],
    ] {
        assert_eq!(cbwk(folder.path(), args).status.code(), Some(2), "{args:?}");
    }
    // Without a command the commands are listed.
    let help = cbwk(folder.path(), &[]);
    assert_eq!(help.status.code(), Some(2));
    let help = String::from_utf8(help.stderr).unwrap();
    assert!(
        help.contains("Usage: cbwk-gpu") && help.contains("\n  simulate "),
        "{help}"
    );
}

#[test]
fn results_are_not_overwritten_unasked() {
    let folder = tempdir().unwrap();
    fs::write(folder.path().join("study.toml"), GOOD).unwrap();
    let args = ["simulate", "study.toml", "--out", "o"];
    common::cbwk_ok(folder.path(), &args);
    let message = refused(folder.path(), &args);
    assert!(
        message.contains("o: already holds results (episodes.csv)"),
        "{message}"
    );
    common::cbwk_ok(
        folder.path(),
        &["simulate", "study.toml", "--out", "o", "--force"],
    );
    // What an early end has left is not overwritten either.
    fs::create_dir(folder.path().join("p")).unwrap();
    fs::write(folder.path().join("p/episodes.csv.partial"), "policy\n").unwrap();
    let message = refused(folder.path(), &["simulate", "study.toml", "--out", "p"]);
    assert!(
        message.contains("p: already holds results (episodes.csv.partial)"),
        "{message}"
    );
    // A file where the folder should be.
    let message = refused(
        folder.path(),
        &["simulate", "study.toml", "--out", "study.toml/o"],
    );
    assert!(message.contains("cannot be written"), "{message}");
}

/// What no machine can hold is refused before anything is written, with what it needs and what is free. Where the system
/// does not tell its memory, only the disk is checked.
#[test]
fn what_cannot_fit_is_refused_with_the_numbers() {
    let folder = tempdir().unwrap();
    let disk = "of disk space, of which ";
    let memory = "of memory, of which ";
    let kernel = common::cbwk_ok(folder.path(), &["presets", "smooth-pricing"]);
    let long = kernel.replace("episodes = 200", "episodes = 100_000_000");
    assert_ne!(long, kernel);
    fs::write(folder.path().join("long.toml"), long).unwrap();
    let many = ["--replications", "100000000", "--episodes", "1000000"];
    let simulate = ["simulate", "--out", "o", "--policy", "random"];
    let mut cases = vec![([&simulate[..], &many].concat(), disk)];
    if Path::new("/proc/meminfo").exists() {
        cases.push((vec!["simulate", "long.toml", "--out", "o"], memory));
        cases.push((vec!["calibrate", "long.toml", "--out", "o"], memory));
        let rows = ["--sample-sizes", "4294967295"];
        let solve = ["solve", "--preset", "rush-hour-pricing"];
        cases.push(([&solve[..], &rows].concat(), memory));
    }
    for (args, expected) in cases {
        let message = refused(folder.path(), &args);
        assert!(message.contains(expected), "{args:?}: {message}");
        assert!(
            message.contains(": needs about ") && message.contains(" are free; accepted: fewer ")
        );
    }
}

/// Messages blame what is wrong, on one line, in numbers that can be read.
#[test]
fn messages_blame_what_is_wrong() {
    let folder = tempdir().unwrap();
    fs::write(folder.path().join("study.toml"), GOOD).unwrap();
    fs::write(folder.path().join("empty.toml"), "").unwrap();
    let cases: [(&[&str], &str); 9] = [
        (
            &["simulate", "empty.toml", "--episodes", "3"],
            "error: empty.toml:1: study.horizon: found nothing; accepted: a whole number from 1\n",
        ),
        (
            &["reproduce", "--episodes", "3"],
            "error: invalid value '3' for '--episodes <T>': accepted: a whole number from 4\n",
        ),
        (
            &["presets", "paper-auctoin"],
            "error: presets: found `paper-auctoin`; accepted: the name of a preset (nearest: `paper-auction`)\n",
        ),
        (
            &["simulate", "--preset", "a\nb\u{7}"],
            "error: --preset: found `a\\nb\\u{7}`; accepted: the name of a preset",
        ),
        (
            &[
                "simulate",
                "study.toml",
                "--out",
                "o",
                "--backend",
                "cpu",
                "--adapter",
                "X",
            ],
            "error: --adapter: found `X` with --backend cpu; accepted: with --backend auto or gpu\n",
        ),
        (
            &[
                "simulate",
                "study.toml",
                "--out",
                "o",
                "--strategy",
                "dense",
                "--adapter",
                "X",
            ],
            "error: --adapter: found `X` with --strategy; accepted: with --backend auto or gpu\n",
        ),
        (
            &[
                "simulate",
                "--preset",
                "rush-hour-pricing",
                "--expected",
                "--out",
                "o",
            ],
            "error: --expected: study.expected: found true with a continuous context law; accepted: false, or",
        ),
        (
            &["report", "nowhere", "--out", "x.pdf"],
            "error: nowhere: cannot be read",
        ),
        (
            &["simulate", "--delta", "1e300", "--out", "o"],
            "error: --delta: study.delta: found 1e300; accepted: a number between 0 and 1\n",
        ),
    ];
    for (args, expected) in cases {
        let message = refused(folder.path(), args);
        assert!(
            message.starts_with(expected),
            "{message:?}, not {expected:?}"
        );
    }
    for (find, replace, expected) in [
        (
            "probabilities = [0.3, 0.6]",
            "probabilities = [0.3, 1e308]",
            "conversion.probabilities[2]: found 1e308; accepted: a probability",
        ),
        (
            "kind = \"constant\"",
            "kind = \"a\\nb\\u0007\"",
            "budget.kind: found `a\\nb\\u{7}`; accepted: one of",
        ),
        (
            "value = 3",
            "value = 3\n\"a\\nb\" = 1",
            "budget: found unknown key `a\\nb`; known keys",
        ),
    ] {
        let message = complaint(folder.path(), find, replace);
        assert!(message.contains(expected), "{message:?}, not {expected:?}");
    }
}
