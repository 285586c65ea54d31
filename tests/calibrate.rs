//! `cbwk-gpu calibrate`: what it prints and writes, and what it refuses.

mod common;

use common::{cbwk, cbwk_ok};

#[test]
fn calibrate_prints_a_table_and_writes_the_same_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let small = ["--repetitions", "12", "--observations", "400"];
    let shown = cbwk_ok(
        folder.path(),
        &[
            &["calibrate", "--preset", "linear-pricing", "--out", "cal"],
            &small[..],
        ]
        .concat(),
    );
    assert!(shown.contains("linear-pricing: 12 data sets") && shown.contains("glm"));
    let csv = std::fs::read_to_string(folder.path().join("cal/coverage.csv")).unwrap();
    let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(
        rows[0].join(","),
        "oracle,observations,pairs_covered,all_covered,width,error,factor"
    );
    let number = |row: &[&str], column: usize| row[column].parse::<f64>().unwrap();
    assert_eq!(rows[1][0], "glm");
    assert_eq!(rows.last().unwrap()[1], "400");
    for row in &rows[1..] {
        for column in [2, 3, 4, 5] {
            assert!((0.0..=1.0).contains(&number(row, column)), "{row:?}");
        }
        assert!(shown.contains(&format!("{:.4}", number(row, 4))), "{row:?}");
    }
    // Data help: bounds get narrower and estimates better.
    let (first, last) = (&rows[1], rows.last().unwrap());
    assert!(number(last, 4) < 0.5 * number(first, 4) && number(last, 5) < number(first, 5));
    for picture in ["coverage.svg", "width.svg"] {
        let svg = std::fs::read_to_string(folder.path().join("cal").join(picture)).unwrap();
        assert!(svg.starts_with("<svg") && svg.contains("observations"));
    }
    // A folder with results is left alone, and threads change nothing.
    let again = [
        &["calibrate", "--preset", "linear-pricing", "--out", "cal"],
        &small[..],
    ]
    .concat();
    assert_eq!(cbwk(folder.path(), &again).status.code(), Some(2));
    cbwk_ok(
        folder.path(),
        &[&again[..], &["--force", "--threads", "1"]].concat(),
    );
    let one = std::fs::read_to_string(folder.path().join("cal/coverage.csv")).unwrap();
    assert_eq!(csv, one);
}

#[test]
fn several_oracles_are_told_apart_and_those_alike_are_shown_once() {
    let folder = tempfile::tempdir().unwrap();
    let shown = cbwk_ok(
        folder.path(),
        &[
            "calibrate",
            "--preset",
            "paper-auction",
            "--format",
            "json",
            "--repetitions",
            "3",
        ],
    );
    let json: serde_json::Value = serde_json::from_str(&shown).unwrap();
    let names: Vec<&str> = json["coverage"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| line["oracle"].as_str().unwrap())
        .collect();
    assert!(names.iter().all(|name| *name == "armed"), "{names:?}");
}

#[test]
fn wrong_arguments_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let message = |args: &[&str]| {
        let output = cbwk(folder.path(), args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(message(&["calibrate", "--delta", "1.5"]).contains("between 0 and 1"));
    assert!(message(&["calibrate", "--repetitions", "0"]).contains("--repetitions"));
    assert!(message(&["calibrate", "--preset", "paper-auktion"]).contains("paper-auction"));
    assert!(message(&["calibrate", "missing.toml"]).contains("missing.toml"));
}
