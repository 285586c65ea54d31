//! `--trace` and `--episodes-format`: every step of a study, and episodes in another format, whole, cut and resumed.

mod common;

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use common::{cbwk, cbwk_ok};
use tempfile::tempdir;

const STUDY: &str = r#"[study]
episodes = 30
horizon = 4
replications = 6
[budget]
kind = "cycle"
values = [2, 3]
[application]
kind = "pricing"
prices = [1.5, 2]
[contexts]
kind = "finite"
values = [[2.0, 0.1], [3.5, 0.25]]
features = ["value", "action"]
no_arrival = 0.3
[conversion]
kind = "armed"
probabilities = [0.3, 0.6]
[[policies]]
kind = "mimic-opt-dp"
[[policies]]
kind = "random"
"#;

fn read(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn simulate(folder: &Path, more: &[&str]) -> String {
    fs::write(folder.join("s.toml"), STUDY).unwrap();
    cbwk_ok(folder, &[&["simulate", "s.toml", "--quiet"], more].concat())
}

/// Every step is there, and the sums over an episode are those of `episodes.csv`.
#[test]
fn a_trace_has_every_step_and_adds_up_to_the_episodes() {
    let folder = tempdir().unwrap();
    simulate(folder.path(), &["--out", "o", "--trace"]);
    let out = folder.path().join("o");
    let trace = read(&out, "trace.csv");
    let header = "policy,replication,episode,step,budget,context.value,context.action,action,offer,accepted,reward";
    assert_eq!(trace.lines().next(), Some(header));
    assert_eq!(trace.lines().count(), 1 + 2 * 6 * 30 * 4);
    let mut sums: HashMap<String, (f64, u32)> = HashMap::new();
    let (mut empty, mut offers) = (0, 0);
    for line in trace.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let sum = sums.entry(cells[..3].join(",")).or_default();
        if cells[5].is_empty() {
            assert!(cells[5..].iter().all(|cell| cell.is_empty()), "{line}");
            empty += 1;
            continue;
        }
        let number = |i: usize| cells[i].parse::<f64>().unwrap();
        if cells[7] != "0" {
            offers += 1;
            assert_eq!(cells[8], ["1.5", "2"][number(7) as usize - 1], "{line}");
        }
        if cells[9] == "1" {
            assert!(number(4) >= 1.0, "{line}");
            assert_eq!(cells[10], cells[8], "{line}");
            sum.1 += 1;
        } else {
            assert_eq!(cells[10], "0", "{line}");
        }
        sum.0 += number(10);
    }
    assert!(empty > 100 && offers > 100, "{empty} {offers}");
    let mut compared = 0;
    for line in read(&out, "episodes.csv").lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let (reward, spent) = sums[&cells[..3].join(",")];
        assert_eq!(cells[4].parse(), Ok(reward), "{line}");
        assert_eq!(cells[8].parse(), Ok(spent), "{line}");
        compared += 1;
    }
    assert_eq!(compared, 2 * 6 * 30);
    // The other files are those of a run without a trace, and the trace is among the checksums.
    simulate(folder.path(), &["--out", "p"]);
    for name in ["episodes.csv", "summary.csv", "actions.csv"] {
        assert_eq!(read(&out, name), read(&folder.path().join("p"), name));
    }
    assert!(!folder.path().join("p/trace.csv").exists());
    assert!(read(&out, "run.json").contains("\"trace.csv\": \""));
    cbwk_ok(folder.path(), &["verify", "o"]);
    // `--force` removes it.
    simulate(folder.path(), &["--out", "o", "--force"]);
    assert!(!out.join("trace.csv").exists());
}

/// Shards and merges give the same bytes; so do sweeps in which a policy runs once.
#[test]
fn traces_and_sweeps_are_the_same_in_shards() {
    let folder = tempdir().unwrap();
    let sweep = format!("{STUDY}[sweep]\npolicies.mimic-opt-dp.alpha = [0.5, 0.25]\n");
    fs::write(folder.path().join("s.toml"), sweep).unwrap();
    let run = |more: &[&str]| {
        let args = ["simulate", "s.toml", "--quiet", "--trace"];
        cbwk_ok(folder.path(), &[&args[..], more].concat())
    };
    run(&["--out", "whole"]);
    for shard in ["3/3", "1/3", "2/3"] {
        run(&["--out", "cut", "--shard", shard]);
    }
    cbwk_ok(folder.path(), &["merge", "cut", "--out", "merged"]);
    let (whole, merged) = (folder.path().join("whole"), folder.path().join("merged"));
    assert_eq!(read(&whole, "overview.csv"), read(&merged, "overview.csv"));
    let mut compared = 0;
    for point in ["alpha=0.5", "shared", "alpha=0.25"] {
        for name in ["trace.csv", "episodes.csv", "summary.csv", "study.toml"] {
            let name = format!("{point}/{name}");
            assert_eq!(read(&whole, &name), read(&merged, &name), "{name}");
            compared += 1;
        }
    }
    assert_eq!(compared, 12);
    cbwk_ok(folder.path(), &["verify", "merged"]);
}

/// A run with a trace that was stopped in the middle of a wave ends with the same bytes, and only as the same study.
#[cfg(unix)]
#[test]
fn traces_resume() {
    let folder = tempdir().unwrap();
    let long = [
        "--episodes",
        "800",
        "--replications",
        "2",
        "--trace",
        "--save-episodes",
        "20",
    ];
    let long = [&long[..], &["--policy", "mimic-opt-dp"]].concat();
    simulate(folder.path(), &[&long[..], &["--out", "whole"]].concat());
    let args = [&["simulate", "s.toml", "--quiet", "--out", "o"], &long[..]].concat();
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_cbwk-gpu"))
        .args(&args)
        .current_dir(folder.path())
        .spawn()
        .unwrap();
    let wave = folder.path().join("o/wave.json");
    while !wave.exists() && child.try_wait().unwrap().is_none() {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let refused = cbwk(
        folder.path(),
        &[
            "simulate",
            "s.toml",
            "--quiet",
            "--out",
            "o",
            "--resume",
            "--episodes",
            "800",
            "--replications",
            "2",
            "--policy",
            "mimic-opt-dp",
        ],
    );
    let message = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(2), "{message}");
    assert!(message.contains("study.trace: found false"), "{message}");
    cbwk_ok(folder.path(), &[&args[..], &["--resume"]].concat());
    let (whole, resumed) = (folder.path().join("whole"), folder.path().join("o"));
    assert!(read(&whole, "trace.csv") == read(&resumed, "trace.csv"));
    assert_eq!(read(&whole, "trace.csv").lines().count(), 1 + 2 * 800 * 4);
}

#[cfg(not(feature = "parquet"))]
#[test]
fn a_program_without_parquet_says_so() {
    let folder = tempdir().unwrap();
    fs::write(folder.path().join("s.toml"), STUDY).unwrap();
    let args = [
        "simulate",
        "s.toml",
        "--out",
        "o",
        "--episodes-format",
        "parquet",
    ];
    let refused = cbwk(folder.path(), &args);
    let message = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(2), "{message}");
    let expected = "error: --episodes-format: study.episodes_format: found parquet; accepted: csv, as this program was built \
                    without the feature parquet\n";
    assert_eq!(message, expected);
    assert!(!folder.path().join("o").exists());
}

/// The columns of `episodes.csv` with the same float64, in a smaller file; `verify` and `status` read it.
#[cfg(feature = "parquet")]
#[test]
fn parquet_has_the_columns_and_the_numbers_of_csv() {
    use cbwk_gpu::results::{EpisodesFormat, open_episodes};
    let folder = tempdir().unwrap();
    let many = [
        "--episodes",
        "3000",
        "--replications",
        "12",
        "--policy",
        "random",
        "--policy",
        "fixed:1",
    ];
    simulate(folder.path(), &[&many[..], &["--out", "c"]].concat());
    simulate(
        folder.path(),
        &[&many[..], &["--out", "p", "--episodes-format", "parquet"]].concat(),
    );
    let (csv, parquet) = (folder.path().join("c"), folder.path().join("p"));
    let lines = |folder: &Path, format| -> Vec<_> {
        let lines = open_episodes(folder, format).unwrap();
        lines.collect::<Result<_, _>>().unwrap()
    };
    let (a, b) = (
        lines(&csv, EpisodesFormat::Csv),
        lines(&parquet, EpisodesFormat::Parquet),
    );
    // More than one row group.
    assert_eq!(a.len(), 2 * 12 * 3000);
    assert!(a == b);
    assert!(!parquet.join("episodes.csv").exists());
    let size = |folder: &Path, name: &str| fs::metadata(folder.join(name)).unwrap().len();
    let (large, small) = (
        size(&csv, "episodes.csv"),
        size(&parquet, "episodes.parquet"),
    );
    eprintln!(
        "{} lines: {large} bytes of CSV, {small} of Parquet",
        a.len()
    );
    assert!(small < large / 2);
    for command in ["verify", "status"] {
        cbwk_ok(folder.path(), &[command, "p"]);
    }
    // Cut at every hundredth byte of its tail it is refused, never silently shorter.
    let bytes = fs::read(parquet.join("episodes.parquet")).unwrap();
    for end in (bytes.len() - 2000..bytes.len()).step_by(100) {
        fs::write(parquet.join("episodes.parquet"), &bytes[..end]).unwrap();
        assert!(open_episodes(&parquet, EpisodesFormat::Parquet).is_err());
    }
}
