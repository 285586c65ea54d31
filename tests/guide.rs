//! README and guide against the program: every command, option, key and file that they name exists.

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{cbwk, cbwk_ok, say};
use tempfile::tempdir;

/// README and the pages of the guide by name.
fn pages() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let guide = fs::read_dir(root.join("src/guide")).unwrap();
    let mut files: Vec<PathBuf> = guide.map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|ending| ending == "md"));
    files.push(root.join("README.md"));
    files.sort();
    let name = |file: &PathBuf| file.file_name().unwrap().to_string_lossy().into_owned();
    let read = |file: &PathBuf| (name(file), fs::read_to_string(file).unwrap());
    files.iter().map(read).collect()
}

fn page(name: &str) -> String {
    let found = pages().into_iter().find(|(n, _)| n == name);
    found.unwrap_or_else(|| panic!("no page {name}")).1
}

fn commands() -> BTreeSet<String> {
    let help = cbwk_ok(Path::new("."), &["--help"]);
    let lines = help.split("Commands:").nth(1).unwrap().lines().skip(1);
    let lines = lines.take_while(|line| !line.is_empty());
    let names = lines.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names = names.filter_map(|line| line.split_whitespace().next());
    names.map(String::from).collect()
}

/// Words of a text that look like options.
fn options(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !(c.is_ascii_lowercase() || c == '-'));
    words.filter(|word| word.starts_with("--") && word.len() > 3)
}

#[test]
fn every_command_and_option_that_is_named_exists() {
    let (commands, mut checked) = (commands(), 0);
    let missing = |line: &str| -> Option<String> {
        let rest = line.split("cbwk-gpu ").nth(1)?;
        let line = rest.split(['#', '`', '>']).next()?;
        let command = line.split_whitespace().next()?;
        let is_name = command.chars().all(|c| c.is_ascii_lowercase());
        if !is_name {
            return None;
        }
        if !commands.contains(command) {
            return Some(format!("command {command}"));
        }
        let mut help = cbwk_ok(Path::new("."), &[command, "--help"]);
        if command == "cluster" {
            help += &cbwk_ok(Path::new("."), &[command, "slurm", "--help"]);
        }
        let known: Vec<&str> = options(&help).collect();
        let unknown = options(line).find(|option| !known.contains(option))?;
        Some(format!("{command} {unknown}"))
    };
    for (name, text) in pages() {
        for line in text.lines().filter(|line| line.contains("cbwk-gpu ")) {
            assert_eq!(missing(line), None, "{name}: {line}");
            checked += 1;
        }
    }
    assert_eq!(
        missing("cbwk-gpu simulate --epsodes 3"),
        Some("simulate --epsodes".into())
    );
    assert_eq!(
        missing("cbwk-gpu simulat x"),
        Some("command simulat".into())
    );
    let listed = page("commands.md");
    for command in commands.iter().filter(|command| *command != "help") {
        assert!(
            listed.contains(&format!("`{command}")),
            "{command} is not in the guide"
        );
    }
    say(&format!(
        "{checked} lines with commands, {} commands",
        commands.len()
    ));
    assert!(checked > 25, "{checked}");
}

/// The study files of README and guide run; a misspelt key would not.
#[test]
fn the_study_files_of_the_documentation_run() {
    let folder = tempdir().unwrap();
    for name in ["README.md", "studies.md"] {
        let text = page(name);
        let study = text.split("```toml\n").nth(1).unwrap();
        let study = study.split("```").next().unwrap();
        fs::write(folder.path().join("study.toml"), study).unwrap();
        let line = "simulate study.toml --quiet --episodes 4 --replications 2 --out";
        let args: Vec<&str> = line.split(' ').chain([name]).collect();
        let table = cbwk_ok(folder.path(), &args);
        assert!(table.contains("points"), "{table}");
        let study = study.replace("horizon", "horizn");
        fs::write(folder.path().join("study.toml"), study).unwrap();
        let misspelt = cbwk(folder.path(), &["simulate", "study.toml", "--out", "x"]);
        assert_eq!(misspelt.status.code(), Some(2));
    }
}

/// Every file that the guide lists is written, with the columns that it lists.
#[test]
fn the_files_and_columns_of_the_guide_are_written() {
    let folder = tempdir().unwrap();
    let line = "simulate --quiet --episodes 4 --replications 2 --out r";
    cbwk_ok(folder.path(), &line.split(' ').collect::<Vec<_>>());
    let text = page("results.md");
    let mut checked = 0;
    for row in text.lines().filter(|line| line.starts_with("| `")) {
        let mut quoted = row.split('`').skip(1).step_by(2);
        let file = quoted.next().unwrap();
        if ["values.csv", "data/"].contains(&file) {
            continue;
        }
        let path = folder.path().join("r").join(file);
        assert!(path.is_file(), "{file} is not written");
        if let Some(columns) = quoted.next().filter(|c| c.starts_with("policy,")) {
            let written = fs::read_to_string(path).unwrap();
            assert_eq!(written.lines().next(), Some(columns), "{file}");
        }
        checked += 1;
    }
    say(&format!("{checked} files"));
    assert!(checked >= 8);
}

/// The README stays short and names only pictures that are there.
#[test]
fn the_readme_is_short_and_its_pictures_exist() {
    let text = page("README.md");
    assert!(text.len() < 14_000, "{}", text.len());
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let pictures: Vec<&str> = text.split("](.github/").skip(1).collect();
    for picture in &pictures {
        let file = root
            .join(".github")
            .join(picture.split(')').next().unwrap());
        assert!(file.is_file(), "{}", file.display());
    }
    assert!(pictures.len() >= 5);
}

/// A reader who types what the README says, in an empty folder, gets a shop that answers what the README asks it.
#[test]
fn the_shop_of_the_readme_answers_its_requests() {
    let text = page("README.md");
    let folder = tempdir().unwrap();
    let command = |start: &str| -> String {
        let line = text.lines().find(|line| line.trim().starts_with(start));
        let line = line.unwrap_or_else(|| panic!("no line {start}"));
        line.split('#').next().unwrap().trim().to_string()
    };
    let words = |line: &str| -> Vec<String> {
        let line = line.split('>').next().unwrap();
        line.split_whitespace().skip(1).map(String::from).collect()
    };
    for start in [
        "cbwk-gpu presets rush-hour-pricing --log",
        "cbwk-gpu import raw.csv",
        "cbwk-gpu fit shop",
    ] {
        let line = command(start);
        let words = words(&line);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let said = cbwk_ok(folder.path(), &words);
        if let Some((_, file)) = line.split_once('>') {
            fs::write(folder.path().join(file.trim()), said).unwrap();
        }
    }
    let requests = text.lines().filter(|line| line.starts_with("{\"op\":"));
    let requests: Vec<&str> = requests.collect();
    assert_eq!(requests.len(), 4);
    let input = folder.path().join("requests.jsonl");
    fs::write(&input, requests.join("\n") + "\n").unwrap();
    let served = Command::new(env!("CARGO_BIN_EXE_cbwk-gpu"))
        .current_dir(folder.path())
        .args(["serve", "shop"])
        .stdin(fs::File::open(&input).unwrap())
        .output()
        .unwrap();
    let answers = String::from_utf8(served.stdout).unwrap();
    assert_eq!(answers.lines().count(), 4, "{answers}");
    for answer in answers.lines() {
        assert!(answer.starts_with("{\"ok\":true"), "{answer}");
    }
}
