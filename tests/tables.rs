//! Tables for papers, the reference of paired differences, completions, manual pages, colours, and driver messages.

mod common;

use std::fs;
use std::path::Path;
use std::process::Command;

use common::{cbwk, cbwk_ok};
use serde_json::Value;
use tempfile::tempdir;

fn words(line: &str) -> Vec<&str> {
    line.split(' ').collect()
}

const SMALL: &str = "simulate --quiet --episodes 6 --replications 3";

/// The paired difference computed from episodes.csv equals that in run.json and policies.csv.
#[test]
fn differences_are_paired_with_the_requested_policy() {
    let folder = tempdir().unwrap();
    let line = format!("{SMALL} --reference random --out r");
    let table = cbwk_ok(folder.path(), &words(&line));
    assert!(table.contains("over random"), "{table}");
    assert!(table.contains("3 standard errors"), "{table}");
    assert!(!table.contains("-0.0 "), "{table}");
    let mut finals = std::collections::BTreeMap::new();
    let mut reader = csv::Reader::from_path(folder.path().join("r/episodes.csv")).unwrap();
    for record in reader.records().map(Result::unwrap) {
        let regret: f64 = record[7].parse().unwrap();
        finals.insert((record[0].to_string(), record[1].to_string()), regret);
    }
    let of = |policy: &str| -> Vec<f64> {
        let values = finals.iter().filter(|((name, _), _)| name == policy);
        values.map(|(_, value)| *value).collect()
    };
    let run = fs::read_to_string(folder.path().join("r/run.json")).unwrap();
    let run: Value = serde_json::from_str(&run).unwrap();
    assert_eq!(run["reference"], "random");
    let study = fs::read_to_string(folder.path().join("r/study.toml")).unwrap();
    assert!(study.contains("reference = \"random\""), "{study}");
    let mut reader = csv::Reader::from_path(folder.path().join("r/policies.csv")).unwrap();
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    for (policy, row) in run["policies"].as_array().unwrap().iter().zip(&rows) {
        let name = policy["name"].as_str().unwrap();
        let pairs = of(name).into_iter().zip(of("random"));
        let mean = pairs.map(|(x, y)| x - y).sum::<f64>() / 3.0;
        let found = policy["paired_difference"].as_f64().unwrap();
        assert!((found - mean).abs() < 1e-9, "{name}: {found}, not {mean}");
        assert_eq!(&row[0], name);
        assert_eq!(row[11].parse::<f64>().unwrap(), found);
    }
    let wrong = cbwk(
        folder.path(),
        &words(&format!("{SMALL} --reference x --out s")),
    );
    assert_eq!(wrong.status.code(), Some(2));
    let message = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert!(
        message.contains("accepted: a policy of the study"),
        "{message}"
    );
}

/// A slope is printed only if the regret differs significantly from zero.
#[test]
fn noise_has_no_slope() {
    let folder = tempdir().unwrap();
    cbwk_ok(
        folder.path(),
        &words("simulate --quiet --episodes 60 --replications 8 --out r"),
    );
    let run = fs::read_to_string(folder.path().join("r/run.json")).unwrap();
    let run: Value = serde_json::from_str(&run).unwrap();
    let mut with = 0;
    for policy in run["policies"].as_array().unwrap() {
        let number = |key: &str| policy[key].as_f64().unwrap();
        let clear = number("final_regret") > 3.0 * number("standard_error");
        assert!(clear || policy["slope"].is_null(), "{policy}");
        with += usize::from(!policy["slope"].is_null());
    }
    let clairvoyant = &run["policies"][5];
    assert_eq!(clairvoyant["name"], "clairvoyant");
    assert!(clairvoyant["slope"].is_null() && with >= 3, "{clairvoyant}");
}

#[test]
fn tables_for_papers() {
    let folder = tempdir().unwrap();
    let latex = cbwk_ok(
        folder.path(),
        &words(&format!("{SMALL} --format latex --out a")),
    );
    assert!(latex.contains("\\begin{tabular}{lrrrrrrrrrr}"), "{latex}");
    assert!(
        latex.contains("$\\pm$ 3 s.e.") && latex.contains("\\% &"),
        "{latex}"
    );
    let outside = latex.split("\\begin{tabular}").next().unwrap();
    assert!(
        outside.lines().all(|line| line.starts_with('%')),
        "{outside}"
    );
    let markdown = cbwk_ok(
        folder.path(),
        &words(&format!("{SMALL} --format markdown --out b")),
    );
    assert!(markdown.contains("| mimic-opt-dp | "), "{markdown}");
    for line in [
        "solve --preset paper-auction --format latex",
        "calibrate --repetitions 2 --observations 20 --format markdown",
        "reproduce --quiet --episodes 5 --replications 2 --horizon 6 --budget 2 --format latex --out c",
    ] {
        let table = cbwk_ok(folder.path(), &words(line));
        let style = if line.contains("latex") {
            "\\toprule"
        } else {
            "| --- |"
        };
        assert!(table.contains(style), "{table}");
    }
    let study = fs::read_to_string(folder.path().join("c/pricing-K4/study.toml")).unwrap();
    assert!(
        study.contains("horizon = 6") && study.contains("value = 2"),
        "{study}"
    );
}

#[test]
fn completions_and_manual_pages_know_every_command() {
    let folder = tempdir().unwrap();
    for shell in ["bash", "zsh", "fish"] {
        let text = cbwk_ok(folder.path(), &["completions", shell]);
        for word in ["simulate", "reproduce", "replications"] {
            assert!(text.contains(word), "{shell}: {word}");
        }
    }
    cbwk_ok(folder.path(), &["man", "pages"]);
    let page = fs::read_to_string(folder.path().join("pages/cbwk-gpu-simulate.1")).unwrap();
    assert!(
        page.contains("replications") && page.starts_with(".ie"),
        "{page}"
    );
    // Every page that another one refers to exists.
    let pages = fs::read_dir(folder.path().join("pages")).unwrap();
    for page in pages.map(|page| fs::read_to_string(page.unwrap().path()).unwrap()) {
        for name in page.lines().filter_map(|line| line.strip_suffix("(1)")) {
            let name = name.replace('\\', "") + ".1";
            assert!(folder.path().join("pages").join(&name).is_file(), "{name}");
        }
    }
    let nested = folder.path().join("pages/cbwk-gpu-cluster-slurm.1");
    assert!(nested.is_file());
}

#[test]
fn colours_only_if_requested() {
    let error = |args: &[&str]| {
        let output = cbwk(Path::new("."), args);
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).unwrap()
    };
    let wrong = ["solve", "no-such-file.toml"];
    assert!(error(&wrong).starts_with("error: "));
    let always = error(&[&["--color", "always"], &wrong[..]].concat());
    assert!(
        always.starts_with("\u{1b}[1;31merror:\u{1b}[0m "),
        "{always:?}"
    );
    assert!(error(&["simulate", "--color=never", "--epsodes", "3"]).starts_with("error: "));
    let help = |color: &str| {
        let output = cbwk(Path::new("."), &["--color", color, "--help"]);
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(help("always").contains('\u{1b}') && !help("auto").contains('\u{1b}'));
}

/// Without XDG_RUNTIME_DIR some drivers write to standard error; this is suppressed.
#[cfg(all(unix, feature = "gpu"))]
#[test]
fn drivers_are_kept_quiet() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cbwk-gpu"));
    let output = command
        .arg("devices")
        .env_remove("XDG_RUNTIME_DIR")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        output.status.success() && !said.contains("XDG_RUNTIME_DIR"),
        "{said}"
    );
}
