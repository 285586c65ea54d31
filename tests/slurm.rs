//! A study on a real Slurm of two nodes: an array of 8 shards of which one task is killed and queued again and one node is lost;
//! merged, its bytes are those of a local run. Run with `--nocapture` to see the transcript.

#![cfg(target_os = "linux")]

mod common;
#[path = "common/durable.rs"]
#[allow(dead_code, reason = "each test file uses a part")]
mod durable_study;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use common::{cbwk_ok, say};
use durable_study::{STUDY, contents, differences};
use tempfile::tempdir;

/// The cluster, stopped when it goes out of scope.
struct Cluster(PathBuf);

impl Cluster {
    /// Starts it, or says why not.
    fn start(folder: &Path) -> Result<Self, String> {
        let found = |program: &str| {
            let places = ["/usr/sbin", "/usr/bin", "/sbin", "/bin", "/usr/local/bin"];
            places
                .iter()
                .any(|place| Path::new(place).join(program).exists())
        };
        for program in ["slurmctld", "slurmd", "sbatch", "munged", "runuser"] {
            if !found(program) {
                return Err(format!(
                    "{program} is not installed (packages slurm-wlm, munge)"
                ));
            }
        }
        let id = Command::new("id")
            .arg("-u")
            .output()
            .map_err(|e| e.to_string())?;
        if id.stdout != b"0\n" {
            return Err("daemons of a cluster need root".into());
        }
        let cluster = Self(folder.to_path_buf());
        let started = cluster.script("start");
        match started.status.success() {
            true => Ok(cluster),
            false => Err(format!(
                "it does not start: {}",
                String::from_utf8_lossy(&started.stderr)
            )),
        }
    }

    fn script(&self, command: &str) -> std::process::Output {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/slurm/cluster.sh");
        Command::new("bash")
            .arg(script)
            .arg(command)
            .arg(&self.0)
            .output()
            .unwrap()
    }

    /// What a command of Slurm prints.
    fn ask(&self, program: &str, args: &[&str], folder: &Path) -> String {
        let output = Command::new(program)
            .args(args)
            .current_dir(folder)
            .env("SLURM_CONF", self.0.join("slurm.conf"))
            .env("CBWK_GPU", env!("CARGO_BIN_EXE_cbwk-gpu"))
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout).trim().to_string();
        let error = String::from_utf8_lossy(&output.stderr);
        say(&format!("$ {program} {}\n{text}{error}", args.join(" ")));
        text
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.script("stop");
    }
}

/// Waits for something to be true.
fn wait(what: &str, seconds: u64, mut is: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is() {
        assert!(
            start.elapsed() < Duration::from_secs(seconds),
            "{what} within {seconds} s"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn an_array_that_loses_a_task_and_a_node_merges_to_the_bytes_of_a_local_run() {
    // Compute nodes run as root from any folder, so it must be one that they see.
    let folder = tempdir().unwrap();
    let cluster = match Cluster::start(&folder.path().join("slurm")) {
        Ok(cluster) => cluster,
        Err(reason) => {
            say(&format!("skipped: no Slurm here: {reason}"));
            return;
        }
    };
    let study = STUDY
        .replace("episodes = 24", "episodes = 2000")
        .replace("replications = 12", "replications = 16");
    let (local, remote) = (folder.path().join("local"), folder.path().join("remote"));
    for place in [&local, &remote] {
        fs::create_dir(place).unwrap();
        fs::write(place.join("s.toml"), &study).unwrap();
    }
    let args = ["simulate", "s.toml", "--out", "o", "--quiet"];
    cbwk_ok(&local, &args);
    let expected = contents(&local.join("o"));

    let array = [
        "cluster", "slurm", "s.toml", "--shards", "8", "--out", "o", "--time", "10", "--memory",
        "0",
    ];
    fs::write(remote.join("s.sbatch"), cbwk_ok(&remote, &array)).unwrap();
    let job = cluster.ask("sbatch", &["--parsable", "s.sbatch"], &remote);
    // The first two tasks are held where they are, so that both are at work when they are hit.
    let held = [1, 2].map(|shard| {
        let place = remote.join(format!("o/shard-{shard}-of-8"));
        let mut found = None;
        wait("the first two tasks", 60, || {
            found = process_of(&place);
            found.is_some()
        });
        let id = found.unwrap_or_default();
        signal("STOP", &id);
        id
    });
    cluster.ask("squeue", &["--array", "-o", "%i %T %N %r"], &remote);

    // One task is killed and queued again.
    cluster.ask("scontrol", &["requeue", &format!("{job}_1")], &remote);
    // One node is lost: its daemon, the step on it, its shell and the program end at once.
    let task = format!("{job}_2");
    let node = cluster.ask("squeue", &["-h", "-j", &task, "-o", "%N"], &remote);
    let daemon = fs::read_to_string(folder.path().join(format!("slurm/{node}.pid"))).unwrap();
    let shell = parent(&held[1]);
    let step = parent(&shell);
    say(&format!(
        "node {node} is lost: slurmd {}, step {step}, shell {shell}, program {}",
        daemon.trim(),
        held[1]
    ));
    for id in [daemon.trim(), &step, &shell, &held[1]] {
        signal("KILL", id);
    }

    wait("the merge", 240, || remote.join("o/run.json").is_file());
    cluster.ask("squeue", &["-o", "%i %T %N %r"], &remote);
    let restarts = cluster.ask(
        "scontrol",
        &["show", "job", &format!("{job}_1"), "-o"],
        &remote,
    );
    let restarted = restarts
        .split_whitespace()
        .find(|word| word.starts_with("Restarts="));
    let found = contents(&remote.join("o"));
    let found = found
        .into_iter()
        .filter(|(name, _)| !name.starts_with("slurm-"))
        .collect();
    assert_eq!(differences(&found, &expected), [""; 0]);
    say(&format!(
        "8 shards on 2 nodes, task 1 queued again ({restarted:?}), node {node} lost: {} merged files equal the local run",
        expected.len()
    ));
}

fn signal(name: &str, id: &str) {
    let _ = Command::new("kill")
        .args([&format!("-{name}"), id])
        .status();
}

/// The parent of a process.
fn parent(id: &str) -> String {
    let text = fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("PPid:"));
    line.unwrap().trim().to_string()
}

/// The process of the program that has a folder's lock open.
fn process_of(folder: &Path) -> Option<String> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let mut ids = processes.map(|entry| entry.file_name().to_string_lossy().into_owned());
    ids.find(|id| {
        let open = fs::read_dir(format!("/proc/{id}/fd")).into_iter().flatten();
        let mut open = open
            .flatten()
            .filter_map(|file| fs::read_link(file.path()).ok());
        open.any(|path| path == folder.join(".lock"))
    })
}
