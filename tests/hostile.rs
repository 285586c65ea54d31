//! What a hostile or unlucky user does to the command: closed pipes, full devices, files that never end, pipes in the place of
//! files, names that are no text, folders that cannot be written to. One line and an exit code, never a panic or a hang.
#![cfg(unix)]

mod common;

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use common::cbwk_ok;
use tempfile::tempdir;

const SMALL: [&str; 6] = ["--episodes", "2", "--replications", "2", "--quiet", "--out"];

fn command(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cbwk-gpu"));
    command.current_dir(folder).stdout(Stdio::piped());
    command.stderr(Stdio::piped()).stdin(Stdio::null());
    command
}

/// Waits for the end, which must come soon.
fn ended(mut command: Command) -> Output {
    let mut child = command.spawn().unwrap();
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > Duration::from_secs(60) {
            child.kill().unwrap();
            panic!("{command:?} does not end");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child.wait_with_output().unwrap()
}

/// Refused with one line that says this.
fn refused(command: Command, expected: &str) {
    let what = format!("{command:?}");
    let output = ended(command);
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{what}: {message}");
    assert_eq!(message.trim_end().lines().count(), 1, "{what}: {message}");
    assert!(message.contains(expected), "{what}: {message}");
}

#[test]
fn a_reader_that_goes_away_is_nobodys_fault() {
    let folder = tempdir().unwrap();
    let answers: [&[&str]; 6] = [
        &["presets"],
        &["presets", "paper-auction", "--log", "--episodes", "20000"],
        &["solve", "--preset", "paper-auction"],
        &[
            "simulate",
            "--policy",
            "random",
            "--episodes",
            "2",
            "--replications",
            "2",
            "--quiet",
            "--out",
            "o",
        ],
        &["simulate", "--help"],
        &["status", "o"],
    ];
    for args in answers {
        let mut child = command(folder.path()).args(args).spawn().unwrap();
        let mut out = child.stdout.take().unwrap();
        let _ = out.read(&mut [0]);
        drop(out);
        let output = child.wait_with_output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{args:?}: {message}");
        assert!(message.is_empty(), "{args:?}: {message}");
    }
}

/// A full disk under standard output is an error, under standard error it is none of our business.
#[cfg(target_os = "linux")]
#[test]
fn full_devices_end_in_exit_codes() {
    let folder = tempdir().unwrap();
    let full = || File::options().write(true).open("/dev/full").unwrap();
    for args in [
        &["presets"][..],
        &["presets", "paper-auction", "--log"],
        &["simulate", "--help"],
    ] {
        let mut command = command(folder.path());
        command.args(args).stdout(full());
        let output = ended(command);
        assert_eq!(output.status.code(), Some(1), "{args:?}");
    }
    for (args, code) in [(&["simulate", "nothing.toml"][..], 2), (&["nonsense"], 2)] {
        let mut command = command(folder.path());
        command.args(args).stderr(full());
        assert_eq!(ended(command).status.code(), Some(code), "{args:?}");
    }
    // Notes too.
    let mut command = command(folder.path());
    command.args([
        "solve",
        "--preset",
        "paper-auction",
        "--budget",
        "4294967295",
    ]);
    command.stderr(full());
    assert_eq!(ended(command).status.code(), Some(0));
}

#[test]
fn files_that_never_end_are_refused() {
    let folder = tempdir().unwrap();
    let text = cbwk_ok(folder.path(), &["presets", "paper-auction"]);
    let (before, after) = text.split_once("[contexts]").unwrap();
    let (_, after) = after.split_once("[conversion]").unwrap();
    let contexts = "[contexts]\nkind = \"file\"\npath = \"/dev/zero\"\n[conversion]";
    fs::write(
        folder.path().join("s.toml"),
        format!("{before}{contexts}{after}"),
    )
    .unwrap();
    let log = "[contexts]\nkind = \"log\"\npath = \"/dev/zero\"\n[conversion]";
    fs::write(
        folder.path().join("l.toml"),
        format!("{before}{log}{after}"),
    )
    .unwrap();
    let import = [
        "import",
        "/dev/zero",
        "--out",
        "t",
        "--episode",
        "a",
        "--step",
        "b",
        "--action",
        "c",
        "--accepted",
        "d",
    ];
    let cases: [&[&str]; 5] = [
        &["simulate", "/dev/zero"],
        &["solve", "s.toml"],
        &["solve", "l.toml"],
        &[
            "solve",
            "--preset",
            "paper-auction",
            "--contexts",
            "/dev/zero",
        ],
        &import,
    ];
    for args in cases {
        let mut command = command(folder.path());
        command.args(args);
        refused(command, "cannot be read (a device, not a file)");
    }
}

/// Shards whose records lead to a device.
#[test]
fn records_that_never_end_are_refused() {
    let folder = tempdir().unwrap();
    let small = [
        "--policy",
        "random",
        "--episodes",
        "2",
        "--replications",
        "2",
        "--quiet",
    ];
    for shard in ["1/2", "2/2"] {
        let cut = ["simulate", "--out", "s", "--shard", shard];
        cbwk_ok(folder.path(), &[&cut[..], &small].concat());
    }
    let records = folder.path().join("s/shard-1-of-2/records.jsonl");
    fs::remove_file(&records).unwrap();
    std::os::unix::fs::symlink("/dev/zero", &records).unwrap();
    for args in [&["merge", "s", "--out", "m"][..], &["verify", "s"]] {
        let mut command = command(folder.path());
        command.args(args);
        refused(command, "cannot be read (a device, not a file)");
    }
    let mut command = command(folder.path());
    command.args(["status", "s"]);
    let output = ended(command);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("a device, not a file"), "{text}");
}

/// Pipes where a run would write: opening one waits for a reader.
#[test]
fn pipes_in_the_results_folder_do_not_stop_a_run() {
    let folder = tempdir().unwrap();
    for (number, name) in [".lock", "study.toml.partial"].into_iter().enumerate() {
        let out = folder.path().join(number.to_string());
        fs::create_dir(&out).unwrap();
        let made = Command::new("mkfifo").arg(out.join(name)).status().unwrap();
        assert!(made.success());
        let mut command = command(folder.path());
        command.arg("simulate").args(SMALL).arg(&out);
        refused(command, "cannot be written (not a file)");
    }
}

#[test]
fn names_that_are_no_text_are_names() {
    let folder = tempdir().unwrap();
    let name = OsStr::from_bytes(b"\xff\xfe");
    let mut command = command(folder.path());
    command
        .args(["simulate", "--policy", "random"])
        .args(SMALL)
        .arg(name);
    let output = ended(command);
    let message = String::from_utf8_lossy(&output.stderr);
    // Some file systems want text; none wants a panic.
    match folder.path().join(name).join("run.json").exists() {
        true => assert_eq!(output.status.code(), Some(0), "{message}"),
        false => assert_eq!(output.status.code(), Some(2), "{message}"),
    }
}

#[test]
fn folders_that_cannot_be_written_to_are_named() {
    let folder = tempdir().unwrap();
    let locked = folder.path().join("locked");
    fs::create_dir(&locked).unwrap();
    fs::write(folder.path().join("file"), "").unwrap();
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o555)).unwrap();
    for out in ["locked", "locked/new", "file", "file/new"] {
        // Root may write anywhere.
        if out.starts_with("locked") && File::create(locked.join("probe")).is_ok() {
            fs::remove_file(locked.join("probe")).unwrap();
            continue;
        }
        let mut command = command(folder.path());
        command.arg("simulate").args(SMALL).arg(out);
        refused(command, &format!("{out}: cannot be written ("));
    }
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o755)).unwrap();
}
