//! `cbwk-gpu solve`, used as a user would.

mod common;

use std::fs;

use common::cbwk_ok;
use serde_json::Value;
use tempfile::tempdir;

#[test]
fn solve_gives_the_known_values_and_the_whole_table() {
    let folder = tempdir().unwrap();
    let text = cbwk_ok(folder.path(), &["presets", "paper-pricing"]);
    fs::write(folder.path().join("pricing.toml"), text).unwrap();
    let table = cbwk_ok(
        folder.path(),
        &["solve", "pricing.toml", "--out", "values.csv"],
    );
    assert!(table.contains("14.481368") && table.contains("fluid bound"));
    let values = fs::read_to_string(folder.path().join("values.csv")).unwrap();
    assert_eq!(values.lines().count(), 1 + 24 * 6);
    assert!(
        values
            .lines()
            .nth(6)
            .unwrap()
            .starts_with("1,5,14.48136847894")
    );
    let json = cbwk_ok(
        folder.path(),
        &[
            "solve",
            "--preset",
            "paper-auction",
            "--budget",
            "8",
            "--format",
            "json",
        ],
    );
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["exact"], true);
    assert!((json["opt"]["4"].as_f64().unwrap() - 8.350458).abs() < 1e-6);
    assert!(json["opt"]["8"].as_f64().unwrap() > json["opt"]["5"].as_f64().unwrap());
}

/// A number in 32 bits is not called exact.
#[test]
fn only_64_bits_are_exact() {
    let folder = tempdir().unwrap();
    let solve = ["solve", "--preset", "paper-auction", "--precision"];
    let said = |more: &[&str]| cbwk_ok(folder.path(), &[&solve, more].concat());
    assert!(said(&["f64"]).contains("exact optimum of the finite context law, H"));
    let single = said(&["f32"]);
    assert!(
        !single.contains("exact") && single.contains("computed in 32 bits"),
        "{single}"
    );
    let json: Value = serde_json::from_str(&said(&["f32", "--format", "json"])).unwrap();
    assert_eq!(json["exact"], false);
}

/// 1,000 rows drawn from the paper's pricing law: the estimate covers the exact optimum within 4 of its standard errors
/// (plus the optimism of a sample this small, about 0.003).
#[test]
fn solve_estimates_the_optimum_from_rows() {
    let folder = tempdir().unwrap();
    let study = common::study("paper-pricing", |_| {});
    let rows = study.world.contexts().draw_rows(&mut common::rng(3), 1000);
    let mut text = String::from("episode,step,quality,income\n");
    for row in 0..rows.len() {
        for step in 0..24 {
            let features = rows.get(row, step).unwrap();
            text += &format!("{},{},{},{}\n", row + 1, step + 1, features[0], features[1]);
        }
    }
    fs::write(folder.path().join("rows.csv"), text).unwrap();
    let args = [
        "solve",
        "--preset",
        "paper-pricing",
        "--contexts",
        "rows.csv",
        "--format",
        "json",
    ];
    let json: Value = serde_json::from_str(&cbwk_ok(folder.path(), &args)).unwrap();
    assert_eq!(json["exact"], false);
    assert_eq!(json["opt_rows"], 1000);
    let known = [0.0, 3.929430, 7.559875, 10.589666, 12.863936, 14.481368];
    for (b, known) in known.iter().enumerate().skip(1) {
        let estimate = json["opt"][b.to_string()].as_f64().unwrap();
        let error = json["opt_standard_error"][b.to_string()].as_f64().unwrap();
        assert!(error > 0.0 && error < 0.02);
        assert!(
            (estimate - known).abs() < 4.0 * error + 0.003,
            "{b}: {estimate} +- {error}"
        );
    }
}
