//! Results folders: one run at a time, names that stay inside, what `--force` removes, folders that travel, and early ends.

mod common;

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::{cbwk, cbwk_ok};
use tempfile::tempdir;

const STUDY: &str = r#"[study]
episodes = 6
horizon = 2
replications = 2
[budget]
kind = "constant"
value = 2
[application]
kind = "pricing"
prices = [1, 2]
[contexts]
kind = "file"
path = "../raw/rows.csv"
[conversion]
kind = "armed"
probabilities = [0.8, 0.5]
[[policies]]
kind = "mimic-opt-dp"
initial_file = "../raw/more/rows.csv"
[[policies]]
kind = "random"
"#;

fn write(path: impl AsRef<Path>, text: &str) {
    fs::create_dir_all(path.as_ref().parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn read(path: impl AsRef<Path>) -> String {
    fs::read_to_string(path).unwrap()
}

/// A study whose two data files have the same name.
fn study_with_data(folder: &Path) {
    write(folder.join("studies/s.toml"), STUDY);
    let rows = "episode,step,x\n1,1,0\n1,2,1\n2,1,1\n2,2,\n";
    write(folder.join("raw/rows.csv"), rows);
    write(
        folder.join("raw/more/rows.csv"),
        "episode,step,x\n1,1,1\n1,2,0\n",
    );
}

fn refusal(folder: &Path, args: &[&str]) -> String {
    let output = cbwk(folder, args);
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{args:?}: {message}");
    assert_eq!(message.trim_end().lines().count(), 1, "{message}");
    message
}

/// A process that does not outlive its test.
struct Running(Option<Child>);

impl Running {
    fn child(&mut self) -> &mut Child {
        self.0.as_mut().unwrap()
    }

    /// Sends it a signal and waits for its end.
    #[cfg(unix)]
    fn ended_by(mut self, signal: &str) -> std::process::Output {
        let id = self.child().id().to_string();
        let sent = Command::new("kill").args(["-s", signal, &id]).status();
        assert!(sent.unwrap().success());
        self.0.take().unwrap().wait_with_output().unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A run that lasts long enough for a test, and has started to write.
fn long_run(folder: &Path, args: &[&str], file: &str) -> Running {
    let child = Command::new(env!("CARGO_BIN_EXE_cbwk-gpu"))
        .args(args)
        .current_dir(folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let child = Running(Some(child));
    let start = Instant::now();
    while !folder.join(file).exists() {
        assert!(
            start.elapsed() < Duration::from_secs(30),
            "{file} does not appear"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
    child
}

#[test]
fn a_second_run_does_not_get_the_folder_of_the_first() {
    let folder = tempdir().unwrap();
    let run = ["simulate", "--out", "o", "--quiet", "--policy", "random"];
    let long = [&run[..], &["--episodes", "200000", "--replications", "64"]].concat();
    let mut first = long_run(folder.path(), &long, "o/records.jsonl");
    for more in [&[][..], &["--force"]] {
        let message = refusal(folder.path(), &[&run[..], more].concat());
        let expected = "o: another run is writing to this folder";
        assert!(message.contains(expected), "{message}");
    }
    first.child().kill().unwrap();
    first.child().wait().unwrap();
    // The lock has gone with its owner.
    let message = refusal(folder.path(), &run);
    assert!(message.contains("o: already holds results"), "{message}");
    let short = ["--force", "--episodes", "3", "--replications", "2"];
    cbwk_ok(folder.path(), &[&run[..], &short].concat());
    assert_eq!(
        read(folder.path().join("o/episodes.csv")).lines().count(),
        7
    );
}

#[test]
fn names_stay_inside_the_results_folder() {
    let folder = tempdir().unwrap();
    let work = folder.path().join("a/b");
    fs::create_dir_all(&work).unwrap();
    let absolute = folder.path().join("evil").display().to_string();
    for name in ["../../x", &absolute, ".."] {
        let text = cbwk_ok(&work, &["presets", "paper-auction"]);
        let text = text.replace("[study]", &format!("[study]\nname = {name:?}"));
        fs::write(work.join("s.toml"), text).unwrap();
        let small = ["--episodes", "2", "--replications", "2", "--quiet"];
        let said = cbwk_ok(&work, &[&["simulate", "s.toml"], &small[..]].concat());
        assert!(said.contains("results in results/"), "{said}");
    }
    let inside: Vec<String> = fs::read_dir(work.join("results"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(inside.len(), 3, "{inside:?}");
    assert!(inside.contains(&"x".to_string()) && inside.contains(&"study".to_string()));
    assert!(!folder.path().join("x").exists() && !folder.path().join("evil").exists());
    // A file whose name has a line break gives a study a name without.
    fs::rename(work.join("s.toml"), work.join("two\nlines\u{7}.toml")).unwrap();
    let text = read(work.join("two\nlines\u{7}.toml"));
    let text: String = text
        .lines()
        .filter(|l| *l != "name = \"..\"")
        .map(|l| format!("{l}\n"))
        .collect();
    fs::write(work.join("two\nlines\u{7}.toml"), text).unwrap();
    let args = [
        "simulate",
        "two\nlines\u{7}.toml",
        "--episodes",
        "2",
        "--replications",
        "2",
    ];
    let said = cbwk_ok(&work, &args);
    assert!(said.starts_with("two-lines-: T = 2"), "{said}");
}

/// A folder with its data can be moved, and gives the same bytes again; data that have changed are noticed.
#[test]
fn results_folders_travel_with_their_data() {
    let folder = tempdir().unwrap();
    study_with_data(folder.path());
    let args = ["simulate", "studies/s.toml", "--out", "o", "--quiet"];
    cbwk_ok(folder.path(), &args);
    let study = read(folder.path().join("o/study.toml"));
    let root = folder.path().display().to_string();
    assert!(!study.contains(&root) && !study.contains("raw"), "{study}");
    for (key, name) in [("path", "rows.csv"), ("initial_file", "rows-2.csv")] {
        assert!(
            study.contains(&format!("{key} = \"data/{name}\"\n")),
            "{study}"
        );
        assert!(study.contains(&format!("{key}_sha256 = \"")), "{study}");
    }
    fs::create_dir(folder.path().join("far")).unwrap();
    fs::rename(folder.path().join("o"), folder.path().join("far/away")).unwrap();
    fs::remove_dir_all(folder.path().join("raw")).unwrap();
    let again = ["simulate", "far/away/study.toml", "--out", "p", "--quiet"];
    cbwk_ok(folder.path(), &again);
    for name in [
        "episodes.csv",
        "summary.csv",
        "study.toml",
        "data/rows.csv",
        "data/rows-2.csv",
    ] {
        let (old, new) = (folder.path().join("far/away"), folder.path().join("p"));
        assert_eq!(read(old.join(name)), read(new.join(name)), "{name}");
    }
    // Into the very folder that the study and its data are in.
    let over = [
        "simulate",
        "p/study.toml",
        "--out",
        "p",
        "--quiet",
        "--force",
    ];
    cbwk_ok(folder.path(), &over);
    assert_eq!(read(folder.path().join("p/study.toml")), study);
    let rows = folder.path().join("p/data/rows.csv");
    fs::write(&rows, read(&rows).replace("2,1,1", "2,1,0")).unwrap();
    let message = refusal(folder.path(), &["simulate", "p/study.toml", "--out", "q"]);
    assert!(
        message.contains("contexts.path_sha256: found `"),
        "{message}"
    );
    assert!(message.contains("that of p/data/rows.csv"), "{message}");
}

/// With `--force` nothing of an earlier run is left, and nothing else is touched.
#[test]
fn force_removes_what_an_earlier_run_wrote() {
    let folder = tempdir().unwrap();
    study_with_data(folder.path());
    let sweep = format!("{STUDY}[sweep]\nstudy.seed = [1, 2]\n");
    write(folder.path().join("studies/sweep.toml"), &sweep);
    let o = folder.path().join("o");
    let run = |study: &str, more: &[&str]| {
        let args = ["simulate", study, "--out", "o", "--quiet"];
        cbwk_ok(folder.path(), &[&args[..], more].concat());
    };
    run("studies/sweep.toml", &[]);
    write(o.join("seed=1/notes.txt"), "mine");
    write(o.join("data/mine.csv"), "mine");
    write(o.join("mine=too/notes.txt"), "mine");
    write(o.join("figures/regret.svg"), "mine");
    assert!(o.join("seed=2/data/rows.csv").is_file());
    run("studies/s.toml", &["--force"]);
    cbwk_ok(folder.path(), &["report", "o"]);
    assert!(o.join("report-regret.png").is_file() && o.join("report.html").is_file());
    assert!(!o.join("seed=2").exists() && !o.join("overview.csv").exists());
    assert!(o.join("data/rows-2.csv").is_file());
    // A study without data files: the copies go as well.
    let small = [
        "simulate", "--out", "o", "--quiet", "--force", "--policy", "random",
    ];
    let size = ["--episodes", "2", "--replications", "2"];
    cbwk_ok(folder.path(), &[&small[..], &size].concat());
    let mut found = Vec::new();
    list(&o, "", &mut found);
    found.sort();
    let expected = [
        ".lock",
        "actions.csv",
        "data/mine.csv",
        "episodes.csv",
        "figures/regret.svg",
        "mine=too/notes.txt",
        "policies.csv",
        "regret.png",
        "regret.svg",
        "run.json",
        "seed=1/notes.txt",
        "steps.csv",
        "study.toml",
        "summary.csv",
    ];
    assert_eq!(found, expected);
}

fn list(folder: &Path, within: &str, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{within}{}", entry.file_name().into_string().unwrap());
        match entry.file_type().unwrap().is_dir() {
            true => list(&entry.path(), &format!("{name}/"), found),
            false => found.push(name),
        }
    }
}

/// The folders of a sweep tell -1 from 1, and have the letters of their values.
#[test]
fn folders_of_a_sweep_keep_signs_and_letters() {
    let folder = tempdir().unwrap();
    let text = cbwk_ok(folder.path(), &["presets", "linear-pricing"]);
    let text = text.replace("replications = ", "replications = 2 #");
    let text = text.replace("episodes = ", "episodes = 2 #");
    let sweep = "[sweep]\nstudy.name = [\"größe\", \"語\"]\n";
    fs::write(folder.path().join("s.toml"), format!("{text}{sweep}")).unwrap();
    cbwk_ok(
        folder.path(),
        &["simulate", "s.toml", "--out", "o", "--quiet"],
    );
    for point in ["name=größe", "name=語"] {
        assert!(
            folder
                .path()
                .join("o")
                .join(point)
                .join("run.json")
                .is_file(),
            "{point}"
        );
    }
}

/// Ctrl-C and SIGTERM: the step is finished, the message says what is kept, the exit code is that of the signal.
#[cfg(unix)]
#[test]
fn an_end_that_was_asked_for_says_what_is_kept() {
    let folder = tempdir().unwrap();
    let long = [
        "--policy",
        "fixed:1",
        "--policy",
        "random",
        "--episodes",
        "3000",
    ];
    let many = ["--replications", "3000", "--threads", "1", "--quiet"];
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let args = [&["simulate", "--out", signal], &long[..], &many].concat();
        let records = format!("{signal}/records.jsonl");
        let child = long_run(folder.path(), &args, &records);
        // At least one wave, so that there is something to keep.
        let start = Instant::now();
        while fs::metadata(folder.path().join(&records)).unwrap().len() < 100_000 {
            assert!(
                start.elapsed() < Duration::from_secs(60),
                "no wave is finished"
            );
            std::thread::sleep(Duration::from_millis(5));
        }
        let output = child.ended_by(signal);
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{message}");
        assert!(
            message.starts_with(&format!("stopped by SIG{signal}: ")),
            "{message}"
        );
        let expected = format!("of 6000 replications are finished in {signal}, the state");
        assert!(message.contains(&expected), "{message}");
        assert!(message.ends_with(" --resume\n"), "{message}");
        let kept: usize = message.split(' ').nth(3).unwrap().parse().unwrap();
        let lines = read(folder.path().join(&records));
        let lines = lines.lines().filter(|line| line.contains("{\"record\":"));
        assert!(kept > 0 && lines.count() == kept, "{kept}");
    }
    // An unfinished run is not overwritten without --force, and the message says how to resume it.
    let small = ["--episodes", "2", "--replications", "2", "--quiet"];
    let start = [&["simulate", "--out", "INT"][..], &small].concat();
    let message = refusal(folder.path(), &start);
    assert!(message.contains("add --resume to resume it"), "{message}");
    cbwk_ok(folder.path(), &[&start[..], &["--force"]].concat());
}
