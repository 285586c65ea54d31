//! The examples run, and print the expected results.

use std::path::Path;
use std::process::Command;

/// Standard output of an example, which `cargo test` has built beside the program.
fn shown(example: &str) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_cbwk-gpu"));
    let path = program.with_file_name("examples").join(example);
    let output = Command::new(&path).output();
    let output = output.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert!(output.status.success(), "{example} failed");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_live_shop_learns() {
    let days = shown("live");
    let earned = |day: &str| -> f64 {
        let line = days.lines().find(|line| line.starts_with(day)).unwrap();
        let number = line.split(&[' ', ','][..]).nth(3).unwrap();
        number.parse().unwrap()
    };
    assert_eq!(days.lines().count(), 6);
    assert!(earned("day 300") > 0.0, "{days}");
}

#[test]
fn the_example_of_an_own_oracle_runs() {
    let table = shown("own_oracle");
    assert!(
        table.contains("armed ") && table.contains("wilson "),
        "{table}"
    );
}

#[test]
fn the_example_of_an_own_policy_runs() {
    let table = shown("own_policy");
    let share = |policy: &str| -> f64 {
        let line = table.lines().find(|line| line.starts_with(policy)).unwrap();
        let share = line.split_whitespace().nth(1).unwrap();
        share.trim_end_matches('%').parse().unwrap()
    };
    assert!(share("tight-opt-dp") > share("pacing"), "{table}");
    assert!(share("pacing") > share("myopic"), "{table}");
}
