//! `cbwk-gpu calibrate`: what it prints and writes, and what it refuses.

mod common;

use std::collections::BTreeSet;

use cbwk_gpu::results::{CoverageRow, CsvReader};
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
    let header = "oracle,observations,pairs_covered,all_covered,always_covered,width,error,factor";
    assert_eq!(csv.lines().next(), Some(header));
    let rows = CsvReader::open(&folder.path().join("cal/coverage.csv")).unwrap();
    let rows: Vec<CoverageRow> = rows.map(|line| line.unwrap().row).collect();
    let names: Vec<&str> = rows.iter().map(|row| row.oracle.as_str()).collect();
    assert_eq!(
        (names[0], names[15]),
        ("glm of tight-opt-dp", "glm of mimic-opt-dp")
    );
    for row in &rows {
        assert!((0.0..=1.0).contains(&row.error) && (0.0..=1.0).contains(&row.width));
        assert!(row.always_covered <= row.all_covered, "{row:?}");
        assert!(shown.contains(&format!("{:.4}", row.width)), "{row:?}");
    }
    // Data help: bounds get narrower and estimates better.
    for rows in rows.chunks(8) {
        let (first, last) = (&rows[0], &rows[7]);
        assert_eq!(last.observations, 400);
        assert!(last.width < 0.5 * first.width && last.error < first.error);
    }
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
    let different: BTreeSet<&str> = names.iter().copied().collect();
    // Policies with the same oracle share it, under the name of the first.
    let expected = ["armed of mimic-opt-dp", "armed of tight-opt-dp"];
    assert_eq!(different.into_iter().collect::<Vec<_>>(), expected);
    assert_eq!(
        names.iter().filter(|name| name.contains("mimic")).count(),
        8
    );
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
