//! Interrupted studies resume to the bytes of an uninterrupted run (times aside); damage is refused or harmless. Run with `--nocapture` to see the counts.

#![cfg(unix)]

mod common;
#[path = "durable/damage.rs"]
mod damage;
#[path = "common/durable.rs"]
#[allow(dead_code, reason = "each test file uses a part")]
mod durable_study;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use common::{cbwk, cbwk_ok, rng, say};
use durable_study::{STUDY, contents, differences, end_by, kill_after, quick_folder, start};
use rand::RngExt;
use tempfile::{TempDir, tempdir};

const RUN: [&str; 6] = ["simulate", "s.toml", "--out", "o", "--quiet", "--threads"];

fn with_study(text: &str) -> TempDir {
    let folder = quick_folder();
    fs::write(folder.path().join("s.toml"), text).unwrap();
    folder
}

/// What a run that is not interrupted leaves.
fn uninterrupted(text: &str) -> BTreeMap<String, Vec<u8>> {
    let folder = with_study(text);
    cbwk_ok(folder.path(), &[&RUN[..], &["1"]].concat());
    contents(&folder.path().join("o"))
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(fs::copy(entry.path(), target).unwrap()),
        }
    }
}

/// A folder as a kill leaves it, with finished replications and a saved wave.
fn half_done() -> TempDir {
    let folder = with_study(STUDY);
    let args = [&RUN[..], &["1", "--save-episodes", "5"]].concat();
    for attempt in 0..200 {
        let _ = fs::remove_dir_all(folder.path().join("o"));
        let child = start(folder.path(), &args);
        let began = Instant::now();
        let lines = || {
            fs::read(folder.path().join("o/records.jsonl"))
                .map_or(0, |b| b.iter().filter(|b| **b == b'\n').count())
        };
        while lines() < 20 && began.elapsed() < Duration::from_secs(60) {
            std::thread::sleep(Duration::from_millis(1));
        }
        // Machines differ in what they still get done.
        let hit = kill_after(child, Duration::from_millis(attempt % 30));
        if hit && folder.path().join("o/wave.json").exists() && lines() >= 20 {
            return folder;
        }
    }
    panic!("no run could be killed half-way");
}

#[test]
fn killed_at_random_moments_a_study_resumes_to_the_same_bytes() {
    let expected = uninterrupted(STUDY);
    let save = ["1", "--save-episodes", "2"];
    let args = [&RUN[..], &save].concat();
    let resume = [&args[..], &["--resume"]].concat();
    let time = || {
        let folder = with_study(STUDY);
        let began = Instant::now();
        cbwk_ok(folder.path(), &args);
        began.elapsed()
    };
    // The shortest of a few: on a busy machine some take longer.
    let whole = time().min(time()).min(time());
    let mut rng = rng(1);
    let (mut killed, mut kills, mut on_the_way) = (0, 0, 0);
    for _ in 0..50 {
        let folder = with_study(STUDY);
        let out = folder.path().join("o");
        // Half of them are killed a second time after they were resumed.
        for round in 0..2 {
            let moment = whole.mul_f64(rng.random_range(0.02..1.0));
            let args = if round == 0 { &args } else { &resume };
            let hit = kill_after(start(folder.path(), args), moment);
            kills += usize::from(hit);
            killed += usize::from(hit && round == 0);
            if rng.random_bool(0.5) {
                break;
            }
        }
        on_the_way += usize::from(out.join("wave.json").exists());
        cbwk_ok(folder.path(), &resume);
        let found = contents(&out);
        assert_eq!(differences(&found, &expected), [""; 0]);
    }
    say(&format!(
        "{kills} kills of 50 studies ({killed} in their first run, {on_the_way} left a saved wave): 50 ended with the same bytes"
    ));
    assert!(killed >= 25 && on_the_way > 0, "{killed} and {on_the_way}");
}

/// Another study, version, precision, backend or strategy is refused, with its key.
#[test]
fn only_the_same_study_can_be_resumed() {
    let half = half_done();
    let resume = [&RUN[..], &["1", "--resume"]].concat();
    for (more, key) in [
        (&["--seed", "6"][..], "study.seed: found 6; accepted: 5"),
        (&["--delta", "0.2"], "study.delta: found 0.2; accepted: 0.1"),
        (&["--policy", "random"], "policies[1].kind"),
        (
            &["--precision", "f32"],
            "precision: found f32; accepted: f64",
        ),
        (
            &["--strategy", "dense"],
            "strategy: found dense; accepted: auto",
        ),
        (&["--shard", "1/1"], ""),
    ] {
        let output = cbwk(half.path(), &[&resume[..], more].concat());
        let message = String::from_utf8(output.stderr).unwrap();
        if key.is_empty() {
            // A shard has a folder of its own.
            assert!(output.status.success(), "{message}");
            continue;
        }
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(
            message.contains(key) && message.lines().count() == 1,
            "{message}"
        );
    }
    let records = half.path().join("o/records.jsonl");
    let text = fs::read_to_string(&records).unwrap();
    let (_, rest) = text.split_once('\n').unwrap();
    let json = text.lines().next().unwrap().split_once(' ').unwrap().1;
    let json = json.replace("\"version\":\"", "\"version\":\"9.");
    let checksum = &cbwk_gpu::files::sha256(json.as_bytes())[..16];
    fs::write(&records, format!("{checksum} {json}\n{rest}")).unwrap();
    let output = cbwk(half.path(), &resume);
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.contains("version: found 0."), "{message}");
}

/// SIGINT and SIGTERM only set a flag: the step is finished, the state saved, and the message says how to resume.
#[test]
fn a_signal_saves_the_state_and_says_how_to_resume() {
    let long = STUDY.replace("episodes = 24", "episodes = 400");
    let expected = uninterrupted(&long);
    let mut saved = 0;
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let folder = with_study(&long);
        let child = start(folder.path(), &[&RUN[..5], &["--threads=1"]].concat());
        while !folder.path().join("o/records.jsonl").exists() {
            std::thread::sleep(Duration::from_millis(2));
        }
        std::thread::sleep(Duration::from_millis(100));
        let output = end_by(child, signal);
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{message}");
        let how = "; resume with: cbwk-gpu simulate s.toml --out o --quiet --threads=1 --resume\n";
        assert!(message.ends_with(how), "{message}");
        assert!(folder.path().join("o/wave.json").is_file(), "{message}");
        saved += 1;
        // The study is in the folder.
        cbwk_ok(
            folder.path(),
            &["simulate", "--out", "o", "--resume", "--quiet"],
        );
        let mut found = contents(&folder.path().join("o"));
        let mut expected = expected.clone();
        for contents in [&mut found, &mut expected] {
            let run = String::from_utf8(contents["run.json"].clone()).unwrap();
            let run = run.replace("--threads=1", "--threads 1");
            contents.insert("run.json".into(), run.into_bytes());
        }
        assert_eq!(differences(&found, &expected), [""; 0]);
    }
    say(&format!(
        "{saved} signals: state saved, exit 130 and 143, resumed to the same bytes"
    ));
}

/// Two processes never write to one folder.
#[test]
fn a_second_process_is_refused_by_the_lock() {
    let long = STUDY.replace("episodes = 24", "episodes = 4000");
    let folder = with_study(&long);
    let mut answered = 0;
    for shard in [&[][..], &["--shard", "1/2"]] {
        let args = [&RUN[..], &["1"], shard].concat();
        let mut first = start(folder.path(), &args);
        let place = if shard.is_empty() {
            "o"
        } else {
            "o/shard-1-of-2"
        };
        while !folder.path().join(place).join("records.jsonl").exists() {
            std::thread::sleep(Duration::from_millis(2));
        }
        for more in [&["--resume"][..], &["--force"], &[]] {
            let output = cbwk(folder.path(), &[&args[..], more].concat());
            let message = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(2), "{message}");
            assert!(
                message.contains("another run is writing to this folder"),
                "{message}"
            );
            answered += 1;
        }
        if !shard.is_empty() {
            let message =
                String::from_utf8(cbwk(folder.path(), &["merge", "o", "--force"]).stderr).unwrap();
            assert!(message.contains("shard-1-of-2: still running"), "{message}");
            answered += 1;
        }
        first.kill().unwrap();
        first.wait().unwrap();
    }
    say(&format!("{answered} second processes answered by the lock"));
}

/// A disk that fills up, at every size: a small tmpfs where one can be mounted, else a limit on the size of files.
#[test]
fn a_full_disk_loses_nothing() {
    let expected = uninterrupted(STUDY);
    let args = [&RUN[..], &["1", "--save-episodes", "3"]].concat();
    let resume = [&args[..], &["--resume"]].concat();
    let disk = tempdir().unwrap();
    let mount = |size: &str| {
        let done = Command::new("mount")
            .args(["-t", "tmpfs", "-o", size, "none"])
            .arg(disk.path())
            .output();
        done.is_ok_and(|done| done.status.success())
    };
    let unmount = || drop(Command::new("umount").arg(disk.path()).output());
    let mounted = mount("size=40k");
    if mounted {
        unmount();
    }
    let (mut full, mut sizes) = (0, 0);
    for kilobytes in [24, 60, 100, 150, 200, 260, 330] {
        sizes += 1;
        let folder = with_study(STUDY);
        let failed = if mounted {
            assert!(mount(&format!("size={kilobytes}k")));
            std::os::unix::fs::symlink(disk.path(), folder.path().join("o")).unwrap();
            !cbwk(folder.path(), &args).status.success()
        } else {
            let program = env!("CARGO_BIN_EXE_cbwk-gpu");
            let script = format!(
                "trap '' XFSZ; ulimit -f {kilobytes}; exec {program} {}",
                args.join(" ")
            );
            let ended = Command::new("bash")
                .args(["-c", &script])
                .current_dir(folder.path())
                .output();
            !ended.unwrap().status.success()
        };
        full += usize::from(failed);
        if mounted {
            // Room is made.
            let grown = Command::new("mount")
                .args(["-o", "remount,size=20m"])
                .arg(disk.path())
                .status();
            assert!(grown.unwrap().success());
        }
        let output = cbwk(folder.path(), &resume);
        let found = contents(&folder.path().join("o"));
        if mounted {
            unmount();
        }
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        assert_eq!(differences(&found, &expected), [""; 0], "{kilobytes} KiB");
    }
    let how = if mounted {
        "tmpfs"
    } else {
        "limit on file sizes (no tmpfs can be mounted here)"
    };
    say(&format!(
        "{full} of {sizes} disks were full ({how}): all resumed to the same bytes"
    ));
    assert!(full >= 3, "{full}");
}
