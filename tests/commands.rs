//! The commands as a user runs them: what they print and what they write.

mod common;

use std::fs;
use std::path::Path;

use cbwk_gpu::results::RESULT_FILES;
use common::{cbwk, cbwk_ok};
use serde_json::Value;
use tempfile::tempdir;

fn read(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join(name)).unwrap()
}

/// Columns of a CSV by name.
fn column(text: &str, name: &str) -> Vec<String> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let index = reader
        .headers()
        .unwrap()
        .iter()
        .position(|h| h == name)
        .unwrap();
    reader
        .records()
        .map(|record| record.unwrap()[index].to_string())
        .collect()
}

#[test]
fn simulate_without_arguments_runs_the_papers_auction() {
    let folder = tempdir().unwrap();
    let table = cbwk_ok(
        folder.path(),
        &["simulate", "--replications", "4", "--episodes", "30"],
    );
    for word in [
        "paper-auction",
        "policy",
        "mean reward",
        "of opt",
        "final regret",
        "expected regret",
        "over clairvoyant",
        "slope +- 3 s.e.",
        "seconds",
    ] {
        assert!(table.contains(word), "{word} is missing from\n{table}");
    }
    for policy in [
        "mimic-opt-dp",
        "square-cbwk",
        "logistic-ucb1",
        "clairvoyant",
        "myopic",
        "random",
    ] {
        assert!(table.contains(policy));
    }
    for name in RESULT_FILES {
        assert!(
            folder
                .path()
                .join("results/paper-auction")
                .join(name)
                .is_file(),
            "{name}"
        );
    }
    // A second run finds a folder of its own.
    cbwk_ok(
        folder.path(),
        &[
            "simulate",
            "--replications",
            "2",
            "--episodes",
            "3",
            "--quiet",
        ],
    );
    assert!(
        folder
            .path()
            .join("results/paper-auction-2/run.json")
            .is_file()
    );
}

#[test]
fn the_files_hold_what_they_promise() {
    let folder = tempdir().unwrap();
    let args = [
        "simulate",
        "--preset",
        "paper-auction",
        "--out",
        "o",
        "--replications",
        "3",
        "--episodes",
        "20",
    ];
    cbwk_ok(folder.path(), &args);
    let out = folder.path().join("o");
    let episodes = read(&out, "episodes.csv");
    assert!(
        episodes.starts_with("policy,replication,episode,b_t,reward,opt,regret,cumulative_regret")
    );
    assert_eq!(episodes.lines().count(), 1 + 8 * 3 * 20);
    let number = |name: &str| -> Vec<f64> {
        column(&episodes, name)
            .iter()
            .map(|x| x.parse().unwrap())
            .collect()
    };
    let (reward, opt, regret) = (number("reward"), number("opt"), number("regret"));
    let cumulative = number("cumulative_regret");
    let mut sum = 0.0;
    for i in 0..regret.len() {
        sum = if i % 20 == 0 { 0.0 } else { sum } + (opt[i] - reward[i]);
        assert_eq!(regret[i], opt[i] - reward[i]);
        assert_eq!(cumulative[i], sum);
    }
    // The clairvoyant's expected regret is the rounding of the tie rule, the random policy's is not.
    let policies = column(&episodes, "policy");
    let expected = column(&episodes, "expected_regret");
    for (policy, expected) in policies.iter().zip(expected) {
        let expected: Option<f64> = expected.parse().ok();
        match (policy.as_str(), expected) {
            // These change within an episode: they have no plan to evaluate.
            ("square-cbwk" | "square-cbwk-tuned" | "logistic-ucb1", expected) => {
                assert_eq!(expected, None);
            }
            ("clairvoyant", Some(expected)) => assert!(expected.abs() < 1e-4),
            ("random", Some(x)) => assert!((x - 5.938).abs() < 0.01, "{x}"),
            (_, expected) => assert!(expected.unwrap() > -1e-9),
        }
    }

    let summary = read(&out, "summary.csv");
    assert!(summary.starts_with("policy,episode,mean,standard_error,lower,upper\n"));
    assert_eq!(summary.lines().count(), 1 + 8 * 20);
    let last_mean: f64 = column(&summary, "mean")[19].parse().unwrap();
    let finals = [19, 39, 59].map(|i| cumulative[i]);
    approx::assert_relative_eq!(last_mean, finals.iter().sum::<f64>() / 3.0, epsilon = 1e-12);

    let run: Value = serde_json::from_str(&read(&out, "run.json")).unwrap();
    assert_eq!(run["seed"], 1);
    assert_eq!(run["backend"], "cpu");
    assert_eq!(run["precision"], "f64");
    for phase in [
        "total",
        "optimum",
        "simulation",
        "fit",
        "bounds",
        "dp",
        "output",
    ] {
        assert!(run["seconds"][phase].is_f64(), "{phase}");
    }
    assert!((run["opt"]["5"].as_f64().unwrap() - 9.214368).abs() < 1e-6);
    assert!(run["fluid_bound"]["5"].as_f64().unwrap() > 10.0);

    let svg = read(&out, "regret.svg");
    for word in [
        "<svg",
        "episode",
        "cumulative regret",
        "mimic-opt-dp",
        "</svg>",
    ] {
        assert!(svg.contains(word), "{word}");
    }
}

#[test]
fn overrides_and_formats_work() {
    let folder = tempdir().unwrap();
    let args = [
        "simulate",
        "--episodes",
        "5",
        "--horizon",
        "6",
        "--budget",
        "3",
        "--replications",
        "2",
        "--seed",
        "9",
        "--delta",
        "0.2",
        "--policy",
        "fixed:2",
        "--policy",
        "mimic-opt-dp",
        "--backend",
        "cpu",
        "--precision",
        "f64",
        "--threads",
        "1",
        "--quiet",
        "--format",
        "json",
        "--out",
        "o",
    ];
    let run: Value = serde_json::from_str(&cbwk_ok(folder.path(), &args)).unwrap();
    assert_eq!(run["episodes"], 5);
    assert_eq!(run["horizon"], 6);
    assert_eq!(run["seed"], 9);
    assert_eq!(run["delta"], 0.2);
    assert_eq!(run["threads"], 1);
    assert_eq!(run["policies"][0]["name"], "fixed:2");
    assert_eq!(run["policies"][1]["name"], "mimic-opt-dp");
    assert!(run["opt"]["3"].is_f64());
    let toml = read(&folder.path().join("o"), "study.toml");
    assert!(toml.contains("episodes = 5") && toml.contains("value = 3"));
    // Expected rewards on a large support, where they are asked for: the paper's pricing, random policy.
    let args = [
        "simulate",
        "--preset",
        "paper-pricing",
        "--expected",
        "--policy",
        "random",
        "--episodes",
        "1",
        "--replications",
        "1",
        "--quiet",
        "--out",
        "e",
    ];
    cbwk_ok(folder.path(), &args);
    let episodes = read(&folder.path().join("e"), "episodes.csv");
    let expected: f64 = column(&episodes, "expected_regret")[0].parse().unwrap();
    // 1022.287 over 200 episodes in the NumPy implementation.
    assert!((expected - 5.111435).abs() < 1e-5, "{expected}");
}

#[test]
fn presets_are_listed_and_each_is_a_valid_study() {
    let folder = tempdir().unwrap();
    let list = cbwk_ok(folder.path(), &["presets"]);
    for preset in cbwk_gpu::config::PRESETS {
        assert!(list.contains(preset.name));
        assert!(preset.title().len() > 20);
        let text = cbwk_ok(folder.path(), &["presets", preset.name]);
        fs::write(folder.path().join("one.toml"), text).unwrap();
        let args = [
            "simulate",
            "one.toml",
            "--episodes",
            "4",
            "--replications",
            "2",
            "--quiet",
            "--out",
            preset.name,
        ];
        cbwk_ok(folder.path(), &args);
    }
}

/// A table's rows belong to the context values in the order of `types`, whatever the order in a file of contexts.
#[test]
fn types_order_the_rows_of_tables() {
    let folder = tempdir().unwrap();
    fs::write(
        folder.path().join("rows.csv"),
        "episode,step,type\n1,1,2\n1,2,1\n",
    )
    .unwrap();
    let study = |types: &str| {
        format!(
            "[study]\nhorizon = 2\n[budget]\nkind = \"constant\"\nvalue = 1\n[application]\nkind = \"table\"\n\
             rewards = [[1.0], [5.0]]\ncosts = [[1], [1]]\n[contexts]\nkind = \"file\"\npath = \"rows.csv\"\n{types}\n\
             [conversion]\nkind = \"armed\"\nprobabilities = [1.0]\n"
        )
    };
    fs::write(folder.path().join("t.toml"), study("types = [[1], [2]]")).unwrap();
    let json = cbwk_ok(folder.path(), &["solve", "t.toml", "--format", "json"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    // Type 2 comes first and is worth 5.
    assert_eq!(json["opt"]["1"], 5.0);
    fs::write(folder.path().join("t.toml"), study("")).unwrap();
    let output = cbwk(folder.path(), &["solve", "t.toml"]);
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(
        message.contains("contexts.types: found nothing"),
        "{message}"
    );
}

/// What is not a regular file is written to, not replaced.
#[cfg(unix)]
#[test]
fn links_are_followed_and_kept() {
    let folder = tempdir().unwrap();
    fs::write(folder.path().join("target.csv"), "old").unwrap();
    let link = folder.path().join("link.csv");
    std::os::unix::fs::symlink("target.csv", &link).unwrap();
    let args = ["solve", "--preset", "paper-auction", "--out", "link.csv"];
    cbwk_ok(folder.path(), &args);
    assert!(link.symlink_metadata().unwrap().is_symlink());
    assert!(read(folder.path(), "target.csv").starts_with("step,budget,value\n1,0,0\n"));
}

#[test]
fn budgets_that_cannot_be_spent_are_lowered_with_a_note() {
    let folder = tempdir().unwrap();
    let args = [
        "solve",
        "--preset",
        "paper-auction",
        "--budget",
        "1000",
        "--format",
        "json",
    ];
    let output = cbwk(folder.path(), &args);
    assert!(output.status.success());
    let note = String::from_utf8(output.stderr).unwrap();
    assert!(
        note.contains("budgets above 96 are lowered to 96"),
        "{note}"
    );
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(json["opt"]["96"].is_f64() && json["opt"]["97"].is_null());
}
