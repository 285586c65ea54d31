//! A learner that is served: it decides as in a simulation, and answers once and for all.

mod common;
#[path = "common/served.rs"]
#[allow(dead_code, reason = "one file for all tests of served folders")]
mod served;

use std::fs;

use cbwk_gpu::config::Study;
use cbwk_gpu::dp::cpu::Cpu;
use cbwk_gpu::experiment::{self, Purpose, Streams};
use cbwk_gpu::learner::live::Request;
use cbwk_gpu::task::EpisodeContexts;
use common::{cbwk, say};
use rand::RngExt;
use served::{Lines, first_answer, journal, small_shop, task_folder};
use tempfile::tempdir;

/// One replication of a study, driven through `serve`; returns the rewards of its episodes.
fn play(study: &Study, lines: &mut Lines, episodes: usize) -> Vec<f64> {
    let streams = Streams::new(study.seed);
    let mut contexts = streams.of(0, Purpose::Contexts);
    let mut luck = streams.of(0, Purpose::Acceptance);
    let task = study.world.task();
    let budget = task.budget_max();
    let mut rewards = Vec::new();
    let mut customer = 0;
    for t in 1..=episodes {
        lines.ask(&format!(
            r#"{{"op":"begin","episode":"day {t}","budget":{budget}}}"#
        ));
        let mut episode = EpisodeContexts::new(task.dimension());
        study.world.contexts().draw(&mut contexts, &mut episode);
        let uniforms: Vec<f64> = (0..task.horizon()).map(|_| luck.random()).collect();
        for context in episode.iter() {
            customer += 1;
            let (step, theta) = (context.step + 1, context.features);
            let request = format!(
                r#"{{"op":"decide","id":"c{customer}","step":{step},"context":{{"x":{:?},"y":{:?}}}}}"#,
                theta[0], theta[1]
            );
            let answer = lines.ask(&request);
            assert_eq!(answer["ok"], true, "{answer}");
            let action = answer["action"].as_u64().unwrap() as usize;
            if action > 0 {
                let here = task.context(context.step, theta);
                let accepted = uniforms[context.step] < study.world.rho(&here, action);
                let told = lines.ask(&format!(
                    r#"{{"op":"observe","id":"c{customer}","accepted":{accepted}}}"#
                ));
                assert_eq!(told["ok"], true, "{told}");
            }
        }
        let day = lines.ask(&format!(r#"{{"op":"end","episode":"day {t}"}}"#));
        rewards.push(day["reward"].as_f64().unwrap());
    }
    rewards
}

/// A year of 365 episodes through the service earns what `simulate` earns, to the bit.
#[test]
fn a_served_year_earns_what_simulate_earns() {
    for (oracle, episodes) in [
        ("{ kind = \"armed\" }", 365),
        ("{ kind = \"logistic\" }", 60),
    ] {
        let preset = cbwk_gpu::config::preset("paper-pricing").unwrap().text;
        let head = preset.split("[[policies]]").next().unwrap();
        let text = format!("{head}\n[[policies]]\nkind = \"tight-opt-dp\"\noracle = {oracle}\n");
        let mut document = cbwk_gpu::config::Document::parse("year.toml".as_ref(), &text).unwrap();
        document.set_whole("study", "replications", 1, "--replications");
        document.set_whole("study", "episodes", episodes as u64, "--episodes");
        let study = Study::from_document(&document).unwrap();
        let mut records = Vec::new();
        let outcome = experiment::run(&study, &mut Cpu::default(), &mut records).unwrap();
        let simulated: Vec<f64> = records[0].episodes.iter().map(|e| e.reward).collect();
        let budget = study.world.task().budget_max();
        let opt = episodes as f64 * outcome.optimum.table.start(budget);

        let folder = tempdir().unwrap();
        let task = study.world.task();
        let learner = format!(
            "kind = \"tight-opt-dp\"\ndelta = {:?}\noracle = {oracle}\n",
            study.delta
        );
        let prices = task.application().action_values();
        task_folder(
            folder.path(),
            task.horizon(),
            task.budget_max(),
            prices,
            &["x", "y"],
            &learner,
        );
        let mut lines = Lines::start(folder.path(), &["--sync", "none"]);
        let served = play(&study, &mut lines, episodes);
        lines.end();
        assert_eq!(served, simulated, "{oracle}");
        let regret = |rewards: &[f64]| opt - rewards.iter().sum::<f64>();
        assert_eq!(regret(&served), regret(&simulated));
        let lines = journal(folder.path()).len();
        say(&format!(
            "{oracle}: {episodes} episodes, {lines} lines of journal, regret {:.4} both ways",
            regret(&served)
        ));
    }
}

#[test]
fn repeated_requests_get_the_same_answer() {
    let folder = tempdir().unwrap();
    small_shop(folder.path());
    let mut shop = Lines::start(folder.path(), &[]);
    let decide = r#"{"op":"decide","id":"a","step":1,"context":{"x":0.5,"y":1}}"#;
    assert_eq!(shop.code(decide), "closed");
    assert_eq!(
        shop.code(r#"{"op":"begin","episode":"d","budget":6}"#),
        "invalid"
    );
    let begun = shop.ask(r#"{"op":"begin","episode":"d","budget":2}"#);
    assert_eq!(
        (begun["ok"].as_bool(), begun["budget"].as_u64()),
        (Some(true), Some(2))
    );
    assert_eq!(
        first_answer(shop.ask(r#"{"op":"begin","episode":"d","budget":2}"#)),
        begun
    );
    assert_eq!(
        shop.code(r#"{"op":"begin","episode":"d","budget":3}"#),
        "conflict"
    );
    assert_eq!(
        shop.code(r#"{"op":"begin","episode":"e","budget":2}"#),
        "conflict"
    );
    let first = shop.ask(decide);
    assert_eq!(
        (
            first["action"].as_u64(),
            first["offer"].as_f64(),
            first["held"].as_u64()
        ),
        (Some(3), Some(3.0), Some(1))
    );
    // Numbers may be spelt in two ways; other content under the same id is a conflict.
    let again = r#"{"op":"decide","id":"a","step":1,"context":{"y":1.0,"x":0.5}}"#;
    assert_eq!(first_answer(shop.ask(again)), first);
    for other in [
        r#"{"op":"decide","id":"a","step":2,"context":{"x":0.5,"y":1}}"#,
        r#"{"op":"decide","id":"a","step":1,"context":{"x":0.5}}"#,
        r#"{"op":"decide","id":"a","step":1,"context":{"x":0.5,"y":2}}"#,
    ] {
        assert_eq!(shop.code(other), "conflict");
    }
    // Both units are held: nothing is left for a third.
    assert_eq!(
        shop.ask(r#"{"op":"decide","id":"b","step":1,"context":{"x":null}}"#)["held"],
        2
    );
    let third = shop.ask(r#"{"op":"decide","id":"c","step":2,"context":{}}"#);
    assert_eq!(
        (third["action"].as_u64(), third["offer"].is_null()),
        (Some(0), true)
    );
    assert_eq!(third["notes"][0], "column `x` is missing");
    assert_eq!(
        shop.code(r#"{"op":"observe","id":"c","accepted":true}"#),
        "invalid"
    );
    assert_eq!(
        shop.ask(r#"{"op":"observe","id":"c","accepted":false}"#)["budget"],
        2
    );
    let told = shop.ask(r#"{"op":"observe","id":"a","accepted":true}"#);
    assert_eq!(told["budget"], 1);
    assert_eq!(
        first_answer(shop.ask(r#"{"op":"observe","id":"a","accepted":true}"#)),
        told
    );
    assert_eq!(
        shop.code(r#"{"op":"observe","id":"a","accepted":false}"#),
        "conflict"
    );
    assert_eq!(
        shop.code(r#"{"op":"observe","id":"z","accepted":false}"#),
        "unknown"
    );
    assert_eq!(shop.code(r#"{"op":"end","episode":"z"}"#), "unknown");
    for wrong in [
        "",
        "x",
        "[]",
        "{}",
        r#"{"op":"go"}"#,
        r#"{"op":"decide","id":"q","step":0}"#,
        r#"{"op":"decide","id":"q","step":9}"#,
        r#"{"op":"decide","id":"q","step":1.5}"#,
        r#"{"op":"decide","id":"q","time":"09:30"}"#,
        r#"{"op":"decide","id":"q","step":1,"context":{"z":1}}"#,
        r#"{"op":"decide","id":"q","step":1,"context":{"x":"tall"}}"#,
        r#"{"op":"decide","id":"q","step":1,"context":{"x":1e300}}"#,
        r#"{"op":"decide","id":"q","step":1,"context":{"x":1e999}}"#,
        r#"{"op":"decide","id":"q","step":1,"context":{"x":NaN}}"#,
        r#"{"op":"decide","id":"q","step":1,"contxt":{}}"#,
        r#"{"op":"decide","id":"","step":1}"#,
        r#"{"op":"decide","id":7,"step":1}"#,
        r#"{"op":"observe","id":"b","accepted":1}"#,
    ] {
        if !wrong.is_empty() {
            assert_eq!(shop.code(wrong), "invalid", "{wrong}");
        }
    }
    let end = shop.ask(r#"{"op":"end","episode":"d"}"#);
    assert_eq!(
        (end["reward"].as_f64(), end["spent"].as_u64()),
        (Some(3.0), Some(1))
    );
    // A late outcome is learnt from and moves no budget.
    let late = shop.ask(r#"{"op":"observe","id":"b","accepted":true}"#);
    assert_eq!(
        (late["ok"].as_bool(), late["late"].as_bool()),
        (Some(true), Some(true))
    );
    assert_eq!(
        shop.code(r#"{"op":"begin","episode":"d","budget":2}"#),
        "closed"
    );
    shop.end();

    // After a restart every answer is the same.
    let mut shop = Lines::start(folder.path(), &[]);
    assert_eq!(first_answer(shop.ask(decide)), first);
    assert_eq!(
        first_answer(shop.ask(r#"{"op":"observe","id":"a","accepted":true}"#)),
        told
    );
    assert_eq!(
        first_answer(shop.ask(r#"{"op":"observe","id":"b","accepted":true}"#)),
        late
    );
    assert_eq!(first_answer(shop.ask(r#"{"op":"end","episode":"d"}"#)), end);
    // A second process is refused.
    let second = cbwk(folder.path(), &["serve", "."]);
    assert_eq!(second.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&second.stderr).contains("another process"));
    // An episode left open ends with the next `begin`, if it had no request since the start.
    shop.ask(r#"{"op":"begin","episode":"e","budget":5}"#);
    drop(shop);
    let mut shop = Lines::start(folder.path(), &[]);
    let begun = shop.ask(r#"{"op":"begin","episode":"f","budget":5}"#);
    assert_eq!(begun["note"], "episode `e` was never ended; it ends here");
    assert_eq!(
        shop.code(r#"{"op":"begin","episode":"g","budget":5}"#),
        "conflict"
    );
    assert_eq!(shop.ask(r#"{"op":"state"}"#)["open"]["episode"], "f");
}

#[test]
fn units_are_held_for_the_stated_time() {
    let folder = tempdir().unwrap();
    small_shop(folder.path());
    let mut shop = Lines::start(folder.path(), &["--hold", "1"]);
    shop.ask(r#"{"op":"begin","episode":"d","budget":1}"#);
    shop.ask(r#"{"op":"decide","id":"a","step":1,"context":{"x":0,"y":0}}"#);
    assert_eq!(shop.ask(r#"{"op":"state"}"#)["open"]["held"], 1);
    std::thread::sleep(std::time::Duration::from_millis(1300));
    let next = shop.ask(r#"{"op":"decide","id":"b","step":2,"context":{"x":0,"y":0}}"#);
    assert_eq!(
        (next["budget"].as_u64(), next["held"].as_u64()),
        (Some(1), Some(1))
    );
    assert!(next["action"].as_u64().unwrap() > 0);
    // The outcome still counts; the only unit is held by the other offer, and stays.
    assert_eq!(
        shop.ask(r#"{"op":"observe","id":"a","accepted":true}"#)["budget"],
        1
    );
    assert_eq!(
        shop.ask(r#"{"op":"observe","id":"b","accepted":true}"#)["budget"],
        0
    );
    shop.end();
    let ops: Vec<String> = journal(folder.path())
        .iter()
        .map(|r| r["op"].as_str().unwrap().to_string())
        .collect();
    assert_eq!(
        ops,
        [
            "open", "begin", "decide", "release", "decide", "observe", "observe"
        ]
    );
}

#[test]
fn the_settings_of_a_learner_are_checked() {
    let folder = tempdir().unwrap();
    small_shop(folder.path());
    for (text, message) in [
        ("kind = \"tight-opt-dp\"\n", "oracle"),
        (
            "kind = \"tight-opt-d\"\noracle = { kind = \"armed\" }\n",
            "tight-opt-dp",
        ),
        (
            "kind = \"tight-opt-dp\"\ndelta = 2.0\noracle = { kind = \"armed\" }\n",
            "delta",
        ),
        (
            "kind = \"tight-opt-dp\"\noracle = { kind = \"known\" }\n",
            "known",
        ),
        (
            "kind = \"tight-opt-dp\"\nalpa = 0.5\noracle = { kind = \"armed\" }\n",
            "alpha",
        ),
    ] {
        fs::write(folder.path().join("learner.toml"), text).unwrap();
        let refused = cbwk(folder.path(), &["serve", "."]);
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(2), "{said}");
        assert!(
            said.contains("learner.toml") && said.contains(message),
            "{said}"
        );
        assert!(!folder.path().join("journal.jsonl").exists());
    }
}

/// Messages name the member, what was found and what is accepted.
#[test]
fn wrong_requests_are_refused_in_words() {
    for (text, message) in [
        (
            r#"{"op":"begin","budget":3}"#,
            "episode: found nothing; accepted: a text of 1 to 200 bytes",
        ),
        (
            r#"{"op":"begin","episode":"a"}"#,
            "budget: found nothing; accepted: a whole number from 0",
        ),
        (
            r#"{"op":"begin","episode":"a","budget":-1}"#,
            "budget: found -1; accepted: a whole number from 0",
        ),
        (
            r#"{"op":"begin","episode":"a","budget":1,"close":1}"#,
            "close: found 1; accepted: true or false",
        ),
        (
            r#"{"op":"decide","id":7,"step":1}"#,
            "id: found 7; accepted: a text of 1 to 200 bytes",
        ),
        (
            r#"{"op":"decide","id":null,"step":1}"#,
            "id: found null; accepted: a text of 1 to 200 bytes",
        ),
        (
            r#"{"op":"decide","id":"a","step":0}"#,
            "step: found 0; accepted: a whole number from 1",
        ),
        (
            r#"{"op":"decide","id":"a"}"#,
            "step: found nothing; accepted: a whole number from 1, or a time",
        ),
        (
            r#"{"op":"decide","id":"a","step":1,"time":"9:30"}"#,
            "step: found beside time; accepted: one of the two",
        ),
        (
            r#"{"op":"decide","id":"a","time":[9]}"#,
            "time: found a list of 1; accepted: a time such as \"2026-11-16 09:30\"",
        ),
        (
            r#"{"op":"decide","id":"a","step":1,"context":[]}"#,
            "context: found a list of 0; accepted: an object of columns, such as {\"age\":44}",
        ),
        (
            r#"{"op":"decide","id":"a","step":1,"contxt":{}}"#,
            "decide: found the member \"contxt\"; accepted: id, step, time, context, offers, quantity",
        ),
        (
            r#"{"op":"decide","id":"a","step":1,"quantity":0}"#,
            "quantity: found 0; accepted: a whole number from 1",
        ),
        (
            r#"{"op":"decide","id":"a","step":1,"offers":[2,"3"]}"#,
            "offers: found a list of 2; accepted: a list of prices, wages or bids",
        ),
        (
            r#"{"op":"adjust","id":"a","units":0}"#,
            "units: found 0; accepted: a whole number other than 0; negative ones are taken away",
        ),
        (
            r#"{"op":"forget","id":"a","ids":[]}"#,
            "ids: found a list of 0; accepted: a list of 1 to 1000 ids",
        ),
        (
            r#"{"op":"record","id":"a","step":1,"offer":2}"#,
            "accepted: found nothing; accepted: true or false",
        ),
        (
            r#"{"op":"state","x":1}"#,
            "state: found the member \"x\"; accepted: no member",
        ),
        (
            r#"{"op":"go"}"#,
            "op: found \"go\"; accepted: begin, decide, observe, record, cancel, correct, adjust, forget, quote, end or state",
        ),
        ("[]", "request: found a list of 0; accepted: a JSON object"),
    ] {
        let refusal = Request::parse(text.as_bytes()).unwrap_err();
        assert_eq!(refusal.message, message, "{text}");
    }
}
