//! A folder in use: its journal counts as data, other prices and units, limits on offers, and customers like nobody before.

mod common;
#[path = "common/served.rs"]
#[allow(dead_code, reason = "one file for all tests of served folders")]
mod served;

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use common::{cbwk, cbwk_ok};
use rand::RngExt;
use serde_json::{Value, json};
use served::{Lines, journal, small_shop};
use tempfile::tempdir;

#[path = "common/shop.rs"]
mod own_shop;

/// Days of offers; returns the number of outcomes.
fn play(lines: &mut Lines, name: &str, days: usize, context: impl Fn(f64) -> Value) -> usize {
    let mut rng = common::rng(17);
    let mut outcomes = 0;
    for day in 1..=days {
        let episode = format!("{name} {day}");
        lines.ask(&json!({ "op": "begin", "episode": episode, "budget": 5 }).to_string());
        for step in 1..=8 {
            let (id, x) = (format!("{episode}-{step}"), rng.random::<f64>());
            let decide = json!({ "op": "decide", "id": id, "step": step, "context": context(x) });
            if let Some(price) = lines.ask(&decide.to_string())["offer"].as_f64() {
                let accepted = rng.random_bool(0.8 / price.max(1.0));
                let told = json!({ "op": "observe", "id": id, "accepted": accepted });
                lines.ask(&told.to_string());
                outcomes += 1;
            }
        }
        lines.ask(&json!({ "op": "end", "episode": episode }).to_string());
    }
    outcomes
}

fn model(folder: &Path) -> Value {
    serde_json::from_str(&own_shop::read(folder, "model.json")).unwrap()
}

/// Nothing of what was known before the start is lost: a fit reads the log and the journal.
#[test]
fn fits_read_the_log_and_the_journal_and_import_does_not_overwrite_it() {
    let folder = tempdir().unwrap();
    own_shop::imported_shop(folder.path(), "80");
    let home = folder.path().join("shop");
    cbwk_ok(folder.path(), &["fit", "shop"]);
    let before = model(&home)["log"].clone();
    let mut lines = Lines::start(&home, &["--sync", "none"]);
    let outcomes = play(
        &mut lines,
        "live",
        3,
        |x| json!({ "hunger": x, "income": 0.5 }),
    );
    lines.end();
    // The model of before still belongs to its data.
    cbwk_ok(folder.path(), &["plan", "shop"]);
    cbwk_ok(folder.path(), &["fit", "shop"]);
    let after = model(&home);
    let of = |counts: &Value, key: &str| counts[key].as_u64().unwrap();
    assert_eq!(of(&after["log"], "episodes"), of(&before, "episodes") + 3);
    assert_eq!(of(&after["log"], "arrivals"), of(&before, "arrivals") + 24);
    assert_eq!(
        of(&after["log"], "offers"),
        of(&before, "offers") + outcomes as u64
    );
    assert_eq!(
        after["journal_lines"].as_u64(),
        Some(journal(&home).len() as u64)
    );
    cbwk_ok(folder.path(), &["plan", "shop"]);

    // A new task would make the journal unreadable.
    let import = [
        &own_shop::SHOP[..],
        &["--budget-column", "stock", "--force"],
    ]
    .concat();
    let refused = cbwk(folder.path(), &import);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(
        said.contains("journal.jsonl: found a journal of live offers"),
        "{said}"
    );
    assert!(said.contains("cbwk-gpu reprice"), "{said}");
    Lines::start(&home, &[]).end();
}

/// The number of outcomes learnt from, which is not known while a plan is made.
fn observations(lines: &mut Lines) -> u64 {
    for _ in 0..1000 {
        if let Some(known) = lines.ask(r#"{"op":"state"}"#)["observations"].as_u64() {
            return known;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("the plan is not made");
}

#[test]
fn another_price_list_keeps_what_was_learnt() {
    let folder = tempdir().unwrap();
    let home = folder.path().join("shop");
    small_shop(&home);
    let mut lines = Lines::start(&home, &["--sync", "none"]);
    play(&mut lines, "old", 6, |x| json!({ "x": x, "y": 0.5 }));
    let known = observations(&mut lines);
    assert!(known > 10);
    lines.end();
    for (args, message) in [
        (
            &["--prices", "1,1"][..],
            "--prices: found no price, or one twice; accepted: different prices",
        ),
        (&["--prices=-1,2"], "accepted"),
    ] {
        let refused = cbwk(folder.path(), &[&["reprice", "shop"], args].concat());
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(2), "{said}");
        assert!(said.contains(message), "{said}");
    }
    let before = fs::read(home.join("journal.jsonl")).unwrap();
    let said = cbwk_ok(
        folder.path(),
        &["reprice", "shop", "--prices", "2,4", "--dry-run"],
    );
    assert!(
        said.contains("no longer offered: 1, 3; what was learnt there is kept"),
        "{said}"
    );
    assert!(
        said.contains("new: 4; the learner knows nothing about them yet"),
        "{said}"
    );
    assert_eq!(fs::read(home.join("journal.jsonl")).unwrap(), before);
    cbwk_ok(folder.path(), &["reprice", "shop", "--prices", "2,4"]);
    let mut lines = Lines::start(&home, &["--sync", "none"]);
    assert_eq!(observations(&mut lines), known);
    lines.ask(r#"{"op":"begin","episode":"new","budget":5}"#);
    let mut offers = vec![];
    for step in 1..=4 {
        let decide =
            json!({ "op": "decide", "id": format!("n{step}"), "step": step, "context": {} });
        offers.extend(lines.ask(&decide.to_string())["offer"].as_f64());
    }
    assert!(
        !offers.is_empty() && offers.iter().all(|o| [2.0, 4.0].contains(o)),
        "{offers:?}"
    );
    assert_eq!(
        lines.ask(r#"{"op":"decide","id":"p","step":5,"context":{},"offers":[3]}"#)["action"],
        0
    );
    lines.end();
    // An interrupted change: the event is written and the task is not. Doing it again completes it.
    let text = fs::read_to_string(home.join("task.toml")).unwrap();
    cbwk_ok(folder.path(), &["reprice", "shop", "--budget", "7"]);
    fs::write(home.join("task.toml"), text).unwrap();
    assert_eq!(
        cbwk(folder.path(), &["serve", "shop"]).status.code(),
        Some(2)
    );
    let lines = journal(&home).len();
    cbwk_ok(folder.path(), &["reprice", "shop", "--budget", "7"]);
    assert_eq!(journal(&home).len(), lines);
    Lines::start(&home, &[]).end();
}

/// Limits that a manager sets hold whatever the plan says; they may change between two starts.
#[test]
fn guard_rails_hold_and_wild_values_are_clipped() {
    let folder = tempdir().unwrap();
    small_shop(folder.path());
    let task = own_shop::read(folder.path(), "task.toml");
    let with = |rails: &str| {
        let text = task.replace("[action]", &format!("[rails]\n{rails}\n[action]"));
        fs::write(folder.path().join("task.toml"), text).unwrap();
    };
    for (rails, message) in [
        ("floor = 5.0", "rails: found limits that no offer meets"),
        (
            "fallback = 2.5",
            "rails.fallback: found 2.5; accepted: one of [1.0, 2.0, 3.0]",
        ),
        (
            "change = -1.0",
            "rails.change: found -1; accepted: a number above 0",
        ),
    ] {
        with(rails);
        let refused = cbwk(folder.path(), &["serve", "."]);
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(2), "{said}");
        assert!(said.contains(message), "{said}");
    }
    // Without a plan: the fallback offer. An optimist would ask for 3.
    with("ceiling = 2.0\nfallback = 1.0");
    let mut shop = Lines::start(folder.path(), &[]);
    shop.ask(r#"{"op":"begin","episode":"d","budget":5}"#);
    let first = shop.ask(r#"{"op":"decide","id":"a","step":1,"context":{"x":7,"y":0.5}}"#);
    assert_eq!(
        (&first["offer"], &first["fallback"]),
        (&json!(1.0), &json!(true))
    );
    assert_eq!(
        first["notes"][0],
        "column `x`: 7 is outside the log's 0 to 1 and counts as 1"
    );
    assert_eq!(journal(folder.path())[2]["context"]["x"], 7);
    let wild = shop.ask(r#"{"op":"decide","id":"w","step":1,"context":{"x":1e300}}"#);
    assert_eq!(wild["error"]["code"], "invalid");
    shop.end();
    with("ceiling = 2.0");
    let mut shop = Lines::start(folder.path(), &[]);
    let second = shop.ask(r#"{"op":"decide","id":"b","step":1,"context":{"x":1,"y":0.5}}"#);
    assert_eq!(second["offer"], 2.0);
    shop.end();
    // At most 1 from one offer to the next, although the optimist would ask for 3.
    with("change = 1.0");
    let mut shop = Lines::start(folder.path(), &[]);
    shop.ask(r#"{"op":"decide","id":"c","step":2,"context":{},"offers":[1]}"#);
    let third = shop.ask(r#"{"op":"decide","id":"d","step":2,"context":{}}"#);
    assert_eq!(third["offer"], 2.0);
    let none = shop.ask(r#"{"op":"quote","step":2,"context":{},"offers":[1]}"#);
    assert_eq!((&none["offer"], none["id"].is_null()), (&json!(1.0), true));
    shop.end();
    // The manager's own price, while the learner learns.
    with("");
    let refused = cbwk(folder.path(), &["serve", ".", "--policy", "fixed:2.5"]);
    assert_eq!(refused.status.code(), Some(2));
    let mut shop = Lines::start(folder.path(), &["--policy", "fixed:1"]);
    let fixed = shop.ask(r#"{"op":"decide","id":"e","step":3,"context":{}}"#);
    assert_eq!(
        (&fixed["offer"], &fixed["probability"]),
        (&json!(1.0), &json!(1.0))
    );
    shop.end();
}

/// Whole days are drawn; the others have the baseline's offers, and the learner's are logged beside them.
#[test]
fn a_pilot_draws_days_and_compares_them() {
    let folder = tempdir().unwrap();
    let home = folder.path().join("shop");
    small_shop(&home);
    let refused = cbwk(folder.path(), &["serve", "shop", "--pilot", "0.5"]);
    assert_eq!(refused.status.code(), Some(2));
    let refused = cbwk(
        folder.path(),
        &["serve", "shop", "--pilot", "0.5", "--baseline", "fixed:9"],
    );
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        said.contains("found fixed:9; accepted: one of [1.0, 2.0, 3.0]"),
        "{said}"
    );
    let args = ["--sync", "none", "--pilot", "0.5", "--baseline", "fixed:1"];
    let mut lines = Lines::start(&home, &args);
    play(&mut lines, "day", 60, |x| json!({ "x": x, "y": 0.5 }));
    lines.end();
    let lines = journal(&home);
    let days: HashMap<&str, bool> = lines
        .iter()
        .filter(|l| l["op"] == "begin")
        .map(|l| {
            (
                l["episode"].as_str().unwrap(),
                l["pilot"]["ours"].as_bool().unwrap(),
            )
        })
        .collect();
    let ours = days.values().filter(|ours| **ours).count();
    // 60 fair draws: beyond these ends with probability 1e-4.
    assert!((15..=45).contains(&ours), "{ours}");
    let mut shadows = 0;
    for line in lines.iter().filter(|line| line["op"] == "decide") {
        let is_ours = days[line["episode"].as_str().unwrap()];
        assert!(
            is_ours || line["offer"].is_null() || line["offer"] == 1.0,
            "{line}"
        );
        assert!(!is_ours || line["shadow"].is_null(), "{line}");
        shadows += usize::from(!line["shadow"].is_null());
    }
    assert!(shadows > 50, "{shadows}");
    // The same days are drawn again after a restart, and another shop draws the same by the same names.
    let said = cbwk_ok(folder.path(), &["pilot", "shop"]);
    assert!(
        said.contains(&format!("60 days of a pilot, {ours} of them the learner's")),
        "{said}"
    );
    assert!(said.contains("95% interval at all times"), "{said}");
    let json: Value = serde_json::from_str(&cbwk_ok(
        folder.path(),
        &["pilot", "shop", "--format", "json"],
    ))
    .unwrap();
    let end = |ours: bool| {
        let ends = lines
            .iter()
            .filter(|l| l["op"] == "end" && days[l["episode"].as_str().unwrap()] == ours);
        let rewards: Vec<f64> = ends.map(|l| l["reward"].as_f64().unwrap()).collect();
        rewards.iter().sum::<f64>() / rewards.len() as f64
    };
    assert!((json["reward_ours"].as_f64().unwrap() - end(true)).abs() < 1e-9);
    assert!((json["reward_baseline"].as_f64().unwrap() - end(false)).abs() < 1e-9);
    // The caller's own offers as the baseline; share 0 only logs.
    let mut shop = Lines::start(&home, &["--pilot", "0", "--baseline", "record"]);
    assert_eq!(
        shop.ask(r#"{"op":"begin","episode":"shadow","budget":5}"#)["pilot"],
        "baseline"
    );
    assert_eq!(
        shop.code(r#"{"op":"decide","id":"s","step":1,"context":{}}"#),
        "conflict"
    );
    shop.ask(r#"{"op":"record","id":"s","step":1,"context":{},"offer":2,"accepted":true}"#);
    assert_eq!(
        shop.ask(r#"{"op":"end","episode":"shadow"}"#)["reward"],
        2.0
    );
    shop.end();
}
