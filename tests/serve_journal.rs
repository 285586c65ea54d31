//! The journal of a served learner: every prefix is one state, damage is named, and it becomes a log.

mod common;
#[path = "common/served.rs"]
#[allow(dead_code, reason = "one file for all tests of served folders")]
mod served;

use std::fs;
use std::path::Path;

use cbwk_gpu::learner::live::{Live, LiveSettings, Request};
use cbwk_gpu::shop::TaskFolder;
use common::{cbwk, cbwk_ok, say};
use rand::RngExt;
use served::{ARMED, Lines, journal, small_shop, task_folder};
use tempfile::tempdir;

fn settings() -> LiveSettings {
    LiveSettings::default()
}

fn open(folder: &Path) -> Live {
    TaskFolder::open(folder)
        .unwrap()
        .live(settings())
        .unwrap()
        .0
}

/// Some days of a shop, straight to the library.
fn some_days(live: &mut Live, days: usize) {
    let mut rng = common::rng(7);
    let ask = |live: &mut Live, text: String| {
        live.handle(&Request::parse(text.as_bytes()).unwrap(), 1)
            .unwrap()
    };
    for day in 0..days {
        ask(
            live,
            format!(r#"{{"op":"begin","episode":"{day}","budget":4}}"#),
        );
        for step in 1..=8 {
            let (x, y): (f64, f64) = (rng.random(), rng.random());
            let id = format!("{day}-{step}");
            let answer = ask(
                live,
                format!(
                    r#"{{"op":"decide","id":"{id}","step":{step},"context":{{"x":{x:?},"y":{y:?}}}}}"#
                ),
            );
            let action = answer["action"].as_f64().unwrap();
            if action > 0.0 && step % 3 > 0 {
                let accepted = rng.random_bool(0.6 / action);
                ask(
                    live,
                    format!(r#"{{"op":"observe","id":"{id}","accepted":{accepted}}}"#),
                );
                if step == 4 {
                    let corrected = !accepted;
                    ask(
                        live,
                        format!(r#"{{"op":"correct","id":"{id}","accepted":{corrected}}}"#),
                    );
                }
                if step == 5 && accepted {
                    let forget = day % 2 == 0;
                    ask(
                        live,
                        format!(r#"{{"op":"cancel","id":"{id}","forget":{forget}}}"#),
                    );
                }
            }
            let event = match step {
                2 => format!(r#"{{"op":"adjust","id":"{day} in","units":2,"reason":"delivery"}}"#),
                6 => format!(
                    r#"{{"op":"record","id":"{day} r","step":6,"context":{{"x":0.2}},"offer":{},"accepted":true}}"#,
                    [1.0, 2.5][day % 2]
                ),
                7 if day > 0 => format!(
                    r#"{{"op":"forget","id":"{day} f","ids":["{}-1","{day}-6"]}}"#,
                    day - 1
                ),
                8 => format!(
                    r#"{{"op":"decide","id":"{day} party","step":8,"context":{{}},"offers":[1,2],"quantity":2}}"#
                ),
                _ => continue,
            };
            ask(live, event);
        }
        ask(live, format!(r#"{{"op":"end","episode":"{day}"}}"#));
        if day > 0 {
            // Late.
            let id = format!("{}-3", day - 1);
            let told = live.handle(
                &Request::parse(
                    format!(r#"{{"op":"observe","id":"{id}","accepted":false}}"#).as_bytes(),
                )
                .unwrap(),
                1,
            );
            assert!(told.is_ok(), "{told:?}");
        }
    }
    live.commit().unwrap();
}

/// The state at every prefix of a journal: from the start, and from snapshots.
#[test]
fn every_prefix_gives_one_state_from_the_start_and_from_a_snapshot() {
    let mut checked = 0;
    for learner in [
        ARMED,
        "kind = \"tight-opt-dp\"\noracle = { kind = \"logistic\" }\n",
    ] {
        let folder = tempdir().unwrap();
        let home = folder.path().join("whole");
        task_folder(&home, 8, 5, &[1.0, 2.0, 3.0], &["x", "y"], learner);
        let mut live = open(&home);
        some_days(&mut live, 6);
        drop(live);
        let text = fs::read(home.join("journal.jsonl")).unwrap();
        let ends: Vec<usize> = (0..text.len())
            .filter(|i| text[*i] == b'\n')
            .map(|i| i + 1)
            .collect();
        let copy = folder.path().join("copy");
        let mut older: Option<Vec<u8>> = None;
        for (number, end) in ends.iter().enumerate() {
            let state = |snapshot: Option<&Vec<u8>>| {
                let _ = fs::remove_dir_all(&copy);
                task_folder(&copy, 8, 5, &[1.0, 2.0, 3.0], &["x", "y"], learner);
                fs::write(copy.join("journal.jsonl"), &text[..*end]).unwrap();
                if let Some(snapshot) = snapshot {
                    fs::write(copy.join("journal.snapshot"), snapshot).unwrap();
                }
                open(&copy)
            };
            let mut from_start = state(None);
            let expected = from_start.state_bytes().unwrap();
            from_start.write_snapshot();
            drop(from_start);
            let own = fs::read(copy.join("journal.snapshot")).unwrap();
            for snapshot in [Some(&own), older.as_ref()].into_iter().flatten() {
                assert_eq!(
                    state(Some(snapshot)).state_bytes().unwrap(),
                    expected,
                    "line {}",
                    number + 1
                );
                checked += 1;
            }
            // A snapshot of another journal, or a damaged one, is passed over.
            let mut damaged = own.clone();
            *damaged.last_mut().unwrap() ^= 1;
            assert_eq!(state(Some(&damaged)).state_bytes().unwrap(), expected);
            // Where a plan was due, opening wrote its line: such a snapshot is ahead of the prefix and belongs to the copy.
            if number % 11 == 5 {
                older = Some(own);
            }
        }
    }
    say(&format!(
        "{checked} states from snapshots equal those from the start"
    ));
}

#[test]
fn a_journal_cut_at_any_byte_of_its_last_two_lines_opens_with_what_is_whole() {
    let folder = tempdir().unwrap();
    let home = folder.path().join("whole");
    small_shop(&home);
    let mut live = open(&home);
    some_days(&mut live, 2);
    drop(live);
    let text = fs::read(home.join("journal.jsonl")).unwrap();
    let ends: Vec<usize> = (0..text.len())
        .filter(|i| text[*i] == b'\n')
        .map(|i| i + 1)
        .collect();
    let before = ends[ends.len() - 3];
    let copy = folder.path().join("copy");
    let cut = |length: usize| {
        let _ = fs::remove_dir_all(&copy);
        small_shop(&copy);
        fs::write(copy.join("journal.jsonl"), &text[..length]).unwrap();
        let (live, notes) = TaskFolder::open(&copy).unwrap().live(settings()).unwrap();
        (live.state_bytes().unwrap(), notes)
    };
    for length in before..=text.len() {
        let whole = *ends.iter().rfind(|end| **end <= length).unwrap();
        let (state, notes) = cut(length);
        assert_eq!(notes.len(), usize::from(length > whole), "{notes:?}");
        assert_eq!(state, cut(whole).0, "cut at byte {length}");
    }
    say(&format!("{} cuts", text.len() - before + 1));
    // Damage before the end is refused, and its line named.
    let mut flipped = 0;
    for byte in (0..ends[ends.len() - 1])
        .step_by(37)
        .filter(|b| text[*b] != b'\n')
    {
        let mut damaged = text.clone();
        damaged[byte] ^= 2;
        if damaged[byte] == b'\n' {
            continue;
        }
        let _ = fs::remove_dir_all(&copy);
        small_shop(&copy);
        fs::write(copy.join("journal.jsonl"), damaged).unwrap();
        let refused = TaskFolder::open(&copy)
            .unwrap()
            .live(settings())
            .unwrap_err()
            .to_string();
        let line = ends.iter().filter(|end| **end <= byte).count() + 1;
        assert!(
            refused.contains(&format!("journal.jsonl:{line}: the line is damaged")),
            "{refused}"
        );
        flipped += 1;
    }
    say(&format!("{flipped} damaged lines named"));
}

#[test]
fn the_journal_belongs_to_its_task_and_becomes_a_log() {
    let folder = tempdir().unwrap();
    let home = folder.path().join("shop");
    small_shop(&home);
    let mut lines = Lines::start(&home, &["--explore", "0.3", "--sync", "none"]);
    let mut rng = common::rng(3);
    for day in 0..60 {
        lines.ask(&format!(r#"{{"op":"begin","episode":"{day}","budget":5}}"#));
        for step in 1..=8 {
            let (x, y): (f64, f64) = (rng.random(), rng.random());
            let answer = lines.ask(&format!(r#"{{"op":"decide","id":"{day}-{step}","step":{step},"context":{{"x":{x:?},"y":{y:?}}}}}"#));
            if let Some(price) = answer["offer"].as_f64() {
                let accepted = rng.random_bool((0.2 + 0.6 * x) / price);
                lines.ask(&format!(
                    r#"{{"op":"observe","id":"{day}-{step}","accepted":{accepted}}}"#
                ));
            }
        }
        lines.ask(&format!(r#"{{"op":"end","episode":"{day}"}}"#));
    }
    lines.end();
    let records = journal(&home);
    let decisions: Vec<_> = records.iter().filter(|r| r["op"] == "decide").collect();
    for record in &decisions {
        for key in [
            "seq",
            "id",
            "episode",
            "step",
            "budget",
            "context",
            "feasible",
            "action",
            "probability",
            "lower",
            "upper",
            "plan",
            "program",
            "recorded_ms",
        ] {
            assert!(!record[key].is_null(), "{key} in {record}");
        }
        let p = record["probability"].as_f64().unwrap();
        assert!(p > 0.0 && p <= 1.0);
    }
    let explored = decisions
        .iter()
        .filter(|r| r["probability"].as_f64().unwrap() < 0.5)
        .count();
    // 0.3 * 2/3 of 480 with a choice are explored, 5 standard deviations are 44.
    assert!((40..=140).contains(&explored), "{explored}");

    let said = cbwk_ok(
        folder.path(),
        &["import", "shop/journal.jsonl", "--out", "log"],
    );
    assert!(said.starts_with("60 episodes, 480 arrivals, "), "{said}");
    cbwk_ok(folder.path(), &["fit", "log"]);
    cbwk_ok(folder.path(), &["plan", "log"]);
    cbwk_ok(
        folder.path(),
        &[
            "evaluate",
            "log",
            "--against",
            "fixed:2",
            "--draws",
            "20",
            "--quiet",
        ],
    );
    // The log is what a new learner can start from.
    let mut lines = Lines::start(&folder.path().join("log"), &[]);
    assert_eq!(lines.ask(r#"{"op":"state"}"#)["plan"], 1);
    lines.end();

    // With another task the journal is refused.
    let task = fs::read_to_string(home.join("task.toml")).unwrap();
    fs::write(
        home.join("task.toml"),
        task.replace("budget = 5", "budget = 6"),
    )
    .unwrap();
    let refused = cbwk(folder.path(), &["serve", "shop"]);
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        said.contains("journal.jsonl:1: the journal began with another task.toml"),
        "{said}"
    );
}
