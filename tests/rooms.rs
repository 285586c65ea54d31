//! Which module may use which, and which crates only one module may use. Run with `--nocapture` to see the plan.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// What each module may use. All may use `error`, `files` and `statistics`, which use nothing.
const MAY_USE: &[(&str, &[&str])] = &[
    ("error", &[]),
    ("files", &[]),
    ("statistics", &[]),
    ("guide", &[]),
    ("task", &[]),
    ("dp", &["task"]),
    ("oracle", &["task", "dp"]),
    ("fluid", &["task", "dp", "oracle"]),
    ("policy", &["task", "dp", "oracle", "fluid"]),
    ("learner", &["task", "dp", "oracle", "policy"]),
    ("world", &["task", "dp", "oracle", "fluid"]),
    (
        "experiment",
        &["task", "dp", "oracle", "fluid", "policy", "world"],
    ),
    ("results", &["task", "dp", "experiment", "world"]),
    (
        "history",
        &["task", "dp", "oracle", "policy", "learner", "results"],
    ),
    ("report", &["results", "history"]),
    ("serve", &["learner"]),
    (
        "config",
        &[
            "task",
            "dp",
            "oracle",
            "policy",
            "world",
            "experiment",
            "history",
            "results",
        ],
    ),
    (
        "shop",
        &[
            "task", "dp", "oracle", "policy", "learner", "world", "history", "results", "config",
        ],
    ),
    (
        "runs",
        &["dp", "policy", "experiment", "results", "report", "config"],
    ),
];

/// Crates and the only places that may name them.
const BELONGS_TO: &[(&str, &[&str])] = &[
    ("wgpu::", &["dp/gpu/"]),
    ("axum::", &["serve/"]),
    ("jiff::", &["history/"]),
    ("prometheus_client::", &["serve/"]),
    ("rustix::", &["cli/"]),
    ("tokio::", &["serve/"]),
    ("clap::", &["cli/"]),
    ("clap_complete::", &["cli/"]),
    ("clap_mangen::", &["cli/"]),
    ("anyhow::", &["cli/"]),
    ("indicatif::", &["cli/"]),
    ("toml::", &["config/", "shop/", "results/study_toml.rs"]),
    ("parquet::", &["results/episodes/"]),
    ("println!", &["cli/"]),
];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

/// The code of a file without its comments and its own tests.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let text = text.split("#[cfg(test)]").next().unwrap_or("").to_string();
    let lines = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    lines.collect::<Vec<_>>().join("\n")
}

/// Rooms named after `crate::`, in groups too (`crate::{dp, task}` does not occur: one line per room).
fn rooms_used(code: &str) -> BTreeSet<String> {
    let names = code.split("crate::").skip(1);
    let name = |rest: &str| {
        rest.chars()
            .take_while(|c| c.is_alphanumeric() || *c == '_')
            .collect()
    };
    names.map(name).collect()
}

fn all_sources() -> Vec<(String, PathBuf)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    let name = |path: &PathBuf| {
        path.strip_prefix(&root)
            .unwrap()
            .to_string_lossy()
            .replace('\\', "/")
    };
    files.into_iter().map(|path| (name(&path), path)).collect()
}

#[test]
#[expect(clippy::print_stderr, reason = "the plan is there to be read")]
fn each_room_uses_only_the_rooms_below_it() {
    let mut plan: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut wrong = Vec::new();
    for (name, path) in all_sources() {
        let room = name
            .split('/')
            .next()
            .unwrap()
            .trim_end_matches(".rs")
            .to_string();
        if ["cli", "main", "lib"].contains(&room.as_str()) {
            continue;
        }
        let Some((_, allowed)) = MAY_USE.iter().find(|(r, _)| *r == room) else {
            wrong.push(format!("{name}: a room without a place in the plan"));
            continue;
        };
        for used in rooms_used(&code(&path)) {
            if used != room
                && !["error", "files", "statistics"].contains(&used.as_str())
                && !allowed.contains(&used.as_str())
            {
                wrong.push(format!("{name} uses {used}"));
            }
            if used != room {
                plan.entry(room.clone()).or_default().insert(used);
            }
        }
    }
    for (room, used) in &plan {
        let used: Vec<&str> = used.iter().map(String::as_str).collect();
        eprintln!("{room:<12} -> {}", used.join(", "));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // The scan sees what is there: these are known to be used.
    assert!(plan["policy"].contains("oracle") && plan["experiment"].contains("world"));
}

/// Whether code names a crate: the word by itself, not as the end of a longer name.
fn names(code: &str, word: &str) -> bool {
    let longer = |before: &str| before.ends_with(|c: char| c.is_alphanumeric() || c == '_');
    let mut places = code.match_indices(word);
    places.any(|(place, _)| !longer(&code[..place]))
}

#[test]
fn crates_stay_in_their_rooms() {
    let files = all_sources();
    for (word, homes) in BELONGS_TO {
        let mut at_home = 0;
        for (name, path) in &files {
            if !names(&code(path), word) {
                continue;
            }
            assert!(
                homes.iter().any(|home| name.starts_with(home)),
                "{name} names {word}, which belongs to {homes:?}"
            );
            at_home += 1;
        }
        assert!(
            at_home > 0 || *word == "println!",
            "{word} is not to be found in {homes:?}"
        );
    }
}

/// The binary alone knows the command line; the library must not name it.
#[test]
fn the_library_does_not_know_the_command_line() {
    for (name, path) in all_sources() {
        if !name.starts_with("cli/") && name != "main.rs" {
            let code = code(&path);
            for option in ["--strategy", "--backend", "--precision", "--force", "--out"] {
                assert!(!code.contains(option), "{name} names the option {option}");
            }
        }
    }
}
