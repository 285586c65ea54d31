//! Studies in parts: merged shards are the files of a study that was not cut, byte for byte (times aside); what is missing,
//! duplicate, damaged or foreign is named. Run with `--nocapture` to see the counts.

mod common;
#[path = "common/durable.rs"]
#[allow(dead_code, reason = "each test file uses a part")]
mod durable_study;

use std::fs;
use std::path::Path;

use common::{cbwk, cbwk_ok, rng, say};
use durable_study::{STUDY, contents, differences, quick_folder};
use rand::seq::SliceRandom;

fn shard(folder: &Path, number: &str, more: &[&str]) {
    let args = [
        "simulate",
        "s.toml",
        "--out",
        "o",
        "--quiet",
        "--threads",
        "1",
    ];
    cbwk_ok(folder, &[&args[..], &["--shard", number], more].concat());
}

fn refused(folder: &Path, args: &[&str]) -> String {
    let output = cbwk(folder, args);
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert_eq!(message.lines().count(), 1, "{message}");
    message
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

#[test]
fn sixteen_shards_in_random_order_merge_to_the_bytes_of_a_whole_run() {
    let study = STUDY.replace("replications = 12", "replications = 37");
    let whole = quick_folder();
    fs::write(whole.path().join("s.toml"), &study).unwrap();
    let args = [
        "simulate",
        "s.toml",
        "--out",
        "o",
        "--quiet",
        "--threads",
        "1",
    ];
    cbwk_ok(whole.path(), &args);
    let expected = contents(&whole.path().join("o"));

    let folder = quick_folder();
    fs::write(folder.path().join("s.toml"), &study).unwrap();
    let mut order: Vec<usize> = (1..=16).collect();
    order.shuffle(&mut rng(2));
    let (last, first) = order.split_last().unwrap();
    for number in first {
        shard(folder.path(), &format!("{number}/16"), &[]);
    }
    // One is missing.
    let message = refused(folder.path(), &["merge", "o"]);
    assert!(
        message.contains(&format!("missing: shard {last} of 16")),
        "{message}"
    );
    assert!(!folder.path().join("o/episodes.csv").exists());
    let status = cbwk_ok(folder.path(), &["status", "o"]);
    assert!(
        status.contains(&format!("shard-{last}-of-16: missing\n")),
        "{status}"
    );
    // One of another seed in its place.
    shard(folder.path(), &format!("{last}/16"), &["--seed", "6"]);
    let message = refused(folder.path(), &["merge", "o"]);
    let expected_text =
        format!("shard-{last}-of-16: study.seed: found 6; accepted: 5, as in the other shards");
    assert!(message.contains(&expected_text), "{message}");
    // One twice: a copy of another in its place.
    let at = |number: usize| folder.path().join(format!("o/shard-{number}-of-16"));
    fs::remove_dir_all(at(*last)).unwrap();
    copy(&at(first[0]), &at(*last));
    let message = refused(folder.path(), &["merge", "o"]);
    let twice = format!(
        "shard-{last}-of-16: found shard {} of 16 a second time",
        first[0]
    );
    assert!(message.contains(&twice), "{message}");
    fs::remove_dir_all(at(*last)).unwrap();
    // The same shard again does not get its folder.
    let again = format!("{}/16", first[0]);
    let message = refused(folder.path(), &[&args[..], &["--shard", &again]].concat());
    assert!(
        message.contains("already holds results (records.jsonl)"),
        "{message}"
    );
    // One of another cut.
    shard(folder.path(), "1/3", &[]);
    let message = refused(folder.path(), &["merge", "o"]);
    assert!(
        message.contains("accepted: the shards of one cut"),
        "{message}"
    );
    fs::remove_dir_all(folder.path().join("o/shard-1-of-3")).unwrap();
    // At last all of them, one resumed when it is finished already.
    shard(folder.path(), &format!("{last}/16"), &[]);
    shard(folder.path(), &format!("{last}/16"), &["--resume"]);
    // One is damaged in the middle.
    let records = at(3).join("records.jsonl");
    let good = fs::read(&records).unwrap();
    let mut bad = good.clone();
    bad[400] ^= 1;
    fs::write(&records, &bad).unwrap();
    let message = refused(folder.path(), &["merge", "o"]);
    assert!(message.contains("shard-3-of-16"), "{message}");
    fs::write(&records, &good).unwrap();
    let status = cbwk_ok(folder.path(), &["status", "o"]);
    assert!(
        status.ends_with("296 of 296 replications finished\n"),
        "{status}"
    );
    cbwk_ok(folder.path(), &["verify", "o"]);
    cbwk_ok(folder.path(), &["merge", "o"]);
    let found = contents(&folder.path().join("o"));
    assert_eq!(differences(&found, &expected), [""; 0]);
    cbwk_ok(folder.path(), &["verify", "o"]);
    // A second merge does not overwrite the first unasked.
    let message = refused(folder.path(), &["merge", "o"]);
    assert!(message.contains("already holds results"), "{message}");
    say(&format!(
        "16 shards in random order: {} files equal; refused by name: 1 missing, 1 of another seed, 1 twice, 1 of another cut, 1 damaged, 1 run again",
        found.len()
    ));
}

#[test]
fn shards_of_a_sweep_merge_to_its_points_and_overview() {
    let study =
        format!("{STUDY}\n[sweep]\nbudget.values = [[3, 5], [4]]\nstudy.replications = [5, 6]\n");
    let study = study.replace("[study]\n", "[study]\noptimum_rows = 100\n");
    let args = [
        "simulate",
        "s.toml",
        "--out",
        "o",
        "--quiet",
        "--threads",
        "1",
        "--policy",
        "mimic-opt-dp",
        "--policy",
        "random",
    ];
    let whole = quick_folder();
    fs::write(whole.path().join("s.toml"), &study).unwrap();
    cbwk_ok(whole.path(), &args);
    let expected = contents(&whole.path().join("o"));
    let folder = quick_folder();
    fs::write(folder.path().join("s.toml"), &study).unwrap();
    for number in ["2/3", "3/3", "1/3"] {
        cbwk_ok(folder.path(), &[&args[..], &["--shard", number]].concat());
    }
    cbwk_ok(folder.path(), &["merge", "o"]);
    let found = contents(&folder.path().join("o"));
    assert_eq!(differences(&found, &expected), [""; 0]);
    cbwk_ok(folder.path(), &["verify", "o"]);
    say(&format!(
        "3 shards of a sweep of 4 points: {} files equal",
        found.len()
    ));
}

#[test]
fn a_script_for_slurm_names_its_limits() {
    let folder = quick_folder();
    fs::write(folder.path().join("s.toml"), STUDY).unwrap();
    let script = cbwk_ok(
        folder.path(),
        &[
            "cluster",
            "slurm",
            "s.toml",
            "--shards",
            "12",
            "--cpus",
            "2",
            "--max-tasks",
            "5",
        ],
    );
    for line in [
        "#SBATCH --array=1-5",
        "#SBATCH --cpus-per-task=2",
        "#SBATCH --requeue",
        "out=results/durable",
    ] {
        assert!(script.lines().any(|l| l == line), "{line} in\n{script}");
    }
    let message = refused(
        folder.path(),
        &["cluster", "slurm", "s.toml", "--shards", "13"],
    );
    assert!(
        message.contains("--shards: found 13; accepted: at most 12"),
        "{message}"
    );
    refused(
        folder.path(),
        &[
            "cluster",
            "slurm",
            "s.toml",
            "--shards",
            "2",
            "--time",
            "1 h; rm -r x",
        ],
    );
    // Within a task of a job array, the shard is that of the task.
    let message = refused(
        folder.path(),
        &["simulate", "s.toml", "--out", "o", "--shard", "slurm"],
    );
    assert!(
        message.contains("found no number in SLURM_ARRAY_TASK_ID"),
        "{message}"
    );
    for wrong in ["0/3", "4/3", "x", "1/0"] {
        let message = refused(
            folder.path(),
            &["simulate", "s.toml", "--out", "o", "--shard", wrong],
        );
        assert!(message.contains("--shard: found"), "{message}");
    }
}
