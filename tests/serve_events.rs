//! What happens in a real day besides offers: deliveries, cancellations, corrections, sales made without the learner. The
//! books balance at any time, and every event is answered once and for all.

mod common;
#[path = "common/served.rs"]
#[allow(dead_code, reason = "one file for all tests of served folders")]
mod served;

use std::collections::HashMap;
use std::path::Path;

use cbwk_gpu::learner::live::{Live, LiveSettings, Request};
use cbwk_gpu::shop::TaskFolder;
use common::say;
use rand::RngExt;
use serde_json::{Value, json};
use served::{first_answer, journal, small_shop, task_folder};
use tempfile::tempdir;

fn open(folder: &Path) -> Live {
    let folder = TaskFolder::open(folder).unwrap();
    folder.live(LiveSettings::default()).unwrap().0
}

/// Asks, and checks that the same request gets the same answer again, and that the books balance.
fn ask(live: &mut Live, request: &Value) -> Value {
    let parsed = Request::parse(request.to_string().as_bytes()).unwrap();
    let answer = live.handle(&parsed, 1);
    let answer = answer.unwrap_or_else(|refusal| panic!("{refusal:?} for {request}"));
    let again = live.handle(&parsed, 2).unwrap();
    if request["op"] != "state" {
        assert_eq!(first_answer(again), answer);
    }
    balanced(live);
    answer
}

fn refused(live: &mut Live, request: &Value) -> String {
    let request = Request::parse(request.to_string().as_bytes());
    let refusal = request.and_then(|request| live.handle(&request, 1));
    let refusal = refusal.unwrap_err();
    balanced(live);
    format!(
        "{}: {}",
        refusal.json()["error"]["code"].as_str().unwrap(),
        refusal.message
    )
}

/// Units left and spent are those that were brought, and no more is held than is left.
fn balanced(live: &mut Live) {
    let state = live.handle(&Request::State, 1).unwrap();
    let open = &state["open"];
    if open.is_null() {
        return;
    }
    let of = |key: &str| {
        open[key]
            .as_i64()
            .unwrap_or_else(|| panic!("{key} in {state}"))
    };
    assert_eq!(
        of("budget") + of("spent"),
        of("begun") + of("adjusted"),
        "{state}"
    );
    assert!(
        of("spent") + of("held") <= of("begun") + of("adjusted"),
        "{state}"
    );
}

fn decide(id: &str, step: usize) -> Value {
    json!({ "op": "decide", "id": id, "step": step, "context": { "x": 0.5, "y": 0.5 } })
}

#[test]
fn every_event_changes_the_books_once() {
    let folder = tempdir().unwrap();
    small_shop(folder.path());
    let mut live = open(folder.path());
    let shop = &mut live;
    let deliver = json!({ "op": "adjust", "id": "d1", "units": 4, "reason": "delivery" });
    assert!(refused(shop, &deliver).starts_with("closed"));
    ask(
        shop,
        &json!({ "op": "begin", "episode": "mon", "budget": 3 }),
    );

    // Some offers, for several units at once.
    let mut two = decide("a", 1);
    (two["offers"], two["quantity"]) = (json!([1.0, 2.0]), json!(2));
    let a = ask(shop, &two);
    assert_eq!(
        (&a["offer"], &a["held"], &a["quantity"]),
        (&json!(2.0), &json!(2), &json!(2))
    );
    assert_eq!(a["episode"], "mon");
    assert!(refused(shop, &decide("a", 1)).starts_with("conflict: id `a`"));
    two["id"] = "b".into();
    assert_eq!(
        ask(shop, &two)["action"],
        0,
        "one unit is free, two are asked for"
    );
    (two["id"], two["offers"]) = ("z".into(), json!([1.5]));
    assert_eq!(
        refused(shop, &two),
        "invalid: offers: found 1.5; accepted: some of [1.0, 2.0, 3.0]"
    );

    // Deliveries; never below what is held.
    assert_eq!(ask(shop, &deliver)["budget"], 7);
    let note = "the plan knows up to 5 units; offers are those for so many, and the next plan is made for 7";
    assert_eq!(ask_again(shop, &deliver)["notes"][0], note);
    let broken = json!({ "op": "adjust", "id": "d2", "units": -6 });
    assert!(
        refused(shop, &broken).starts_with("invalid: units: found -6; accepted: units from -5")
    );
    let broken = json!({ "op": "adjust", "id": "d2", "units": -1 });
    assert_eq!(ask(shop, &broken)["budget"], 6);
    let other = json!({ "op": "adjust", "id": "d2", "units": -2 });
    assert_eq!(
        refused(shop, &other),
        "conflict: id `d2` was used for another request"
    );
    assert_eq!(
        refused(shop, &decide("d2", 1)),
        "conflict: id `d2` was used for another request"
    );

    // An outcome, its correction and back, and a cancellation.
    let observe = |accepted| json!({ "op": "observe", "id": "a", "accepted": accepted });
    let correct = |accepted| json!({ "op": "correct", "id": "a", "accepted": accepted });
    let cancel = json!({ "op": "cancel", "id": "a" });
    assert_eq!(
        refused(shop, &correct(false)),
        "conflict: `a` has no outcome yet; observe it first"
    );
    assert!(refused(shop, &cancel).starts_with("conflict: `a` has no outcome yet"));
    assert_eq!(ask(shop, &observe(true))["budget"], 4);
    assert_eq!(
        refused(shop, &correct(true)),
        "conflict: the outcome of `a` was told as true"
    );
    assert_eq!(ask(shop, &correct(false))["budget"], 6);
    assert!(refused(shop, &cancel).starts_with("conflict: `a` was not accepted"));
    assert_eq!(ask(shop, &correct(true))["budget"], 4);
    assert_eq!(ask(shop, &cancel)["budget"], 6);
    let forget = json!({ "op": "cancel", "id": "a", "forget": true });
    assert_eq!(
        refused(shop, &forget),
        "conflict: `a` was cancelled with forget = false"
    );

    // Sales made without us: at a price of the list, at another one, and without a unit left.
    let record = |id: &str, offer: f64, quantity: u32| {
        json!({ "op": "record", "id": id, "step": 2, "context": { "x": 0.1 }, "offer": offer,
                "accepted": true, "quantity": quantity })
    };
    let sold = ask(shop, &record("r1", 3.0, 1));
    assert_eq!(
        (&sold["budget"], &sold["learnt"]),
        (&json!(5), &json!(true))
    );
    let sold = ask(shop, &record("r2", 2.55, 2));
    assert_eq!(
        (&sold["budget"], &sold["learnt"]),
        (&json!(3), &json!(false))
    );
    assert!(
        sold["notes"][1]
            .as_str()
            .unwrap()
            .contains("2.55 is not in the list"),
        "{sold}"
    );
    let sold = ask(shop, &record("r3", 1.0, 4));
    assert_eq!(
        (&sold["budget"], &sold["oversold"]),
        (&json!(3), &json!(true))
    );
    assert!(
        refused(
            shop,
            &json!({ "op": "observe", "id": "r1", "accepted": true })
        )
        .starts_with("conflict")
    );
    assert_eq!(
        ask(shop, &json!({ "op": "cancel", "id": "r1" }))["budget"],
        4
    );

    // Data that are to be forgotten, before and after their outcome.
    ask(shop, &decide("c", 3));
    let ids = json!({ "op": "forget", "id": "f", "ids": ["c", "r2"] });
    assert_eq!(ask(shop, &ids)["forgotten"], 2);
    assert_eq!(
        refused(
            shop,
            &json!({ "op": "forget", "id": "g", "ids": ["c", "nobody"] })
        ),
        "unknown: no decision has the id `nobody`"
    );
    ask(
        shop,
        &json!({ "op": "observe", "id": "c", "accepted": false }),
    );

    let end = ask(shop, &json!({ "op": "end", "episode": "mon" }));
    assert_eq!(
        (end["reward"].as_f64(), end["spent"].as_u64()),
        (Some(5.1), Some(2))
    );
    assert_eq!(end["oversold"], 1);
    // After the end: a cancellation takes the reward back; a correction changes the data.
    assert_eq!(
        ask(shop, &json!({ "op": "cancel", "id": "r2", "forget": true }))["late"],
        true
    );
    assert_eq!(ask(shop, &correct(false))["late"], true);
    let view = shop.handle(&Request::View, 1).unwrap();
    assert_eq!(view["episodes"][0]["reward"], 0.0);
    // The next plan was made for the seven units that there were.
    ask(
        shop,
        &json!({ "op": "begin", "episode": "tue", "budget": 7 }),
    );
    assert!(
        refused(
            shop,
            &json!({ "op": "begin", "episode": "wed", "budget": 8 })
        )
        .starts_with("invalid")
    );

    shop.commit().unwrap();
    let state = shop.state_bytes().unwrap();
    drop(live);
    assert_eq!(open(folder.path()).state_bytes().unwrap(), state);
    assert!(
        journal(folder.path())
            .iter()
            .all(|line| line["op"] != "state")
    );
}

fn ask_again(live: &mut Live, request: &Value) -> Value {
    let request = Request::parse(request.to_string().as_bytes()).unwrap();
    first_answer(live.handle(&request, 1).unwrap())
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

/// A month of a small shop, with everything that happens in one, and a restart in the middle of each event. An independent
/// tally keeps the books.
#[test]
fn a_month_with_deliveries_cancellations_corrections_and_new_prices_balances() {
    let folder = tempdir().unwrap();
    let home = folder.path().join("shop");
    task_folder(
        &home,
        8,
        6,
        &[1.0, 2.0, 2.4],
        &["x", "y"],
        "kind = \"tight-opt-dp\"\noracle = { kind = \"logistic\" }\n",
    );
    let mut live = open(&home);
    let mut rng = common::rng(31);
    let mut table = vec![];
    let mut restarts = 0;
    for day in 1..=31 {
        if day == 15 {
            live.commit().unwrap();
            drop(live);
            let said = common::cbwk_ok(
                folder.path(),
                &["reprice", "shop", "--prices", "1,2,3", "--budget", "8"],
            );
            assert!(said.contains("no longer offered: 2.4"), "{said}");
            live = open(&home);
        }
        let name = format!("2026-10-{day:02}");
        ask(
            &mut live,
            &json!({ "op": "begin", "episode": name, "budget": 4 }),
        );
        // The tally of the day, kept apart: units brought and sold, cents earned.
        let (mut brought, mut sold, mut cents, mut events) = (4_i64, 0_i64, 0_i64, 0);
        let mut price_of = HashMap::new();
        let mut sales: Vec<(String, i64, i64)> = vec![];
        for step in 1..=8 {
            let id = format!("{day}-{step}");
            let (x, y): (f64, f64) = (rng.random(), rng.random());
            let mut request =
                json!({ "op": "decide", "id": id, "step": step, "context": { "x": x, "y": y } });
            if step % 4 == 0 {
                request["quantity"] = json!(2);
            }
            if step == 5 {
                request["offers"] = json!([1.0, 2.0]);
            }
            let quantity = if step % 4 == 0 { 2 } else { 1 };
            let answer = ask(&mut live, &request);
            if let Some(price) = answer["offer"].as_f64() {
                assert!(day < 15 || price != 2.4, "{answer}");
                assert!(day >= 15 || price != 3.0, "{answer}");
                let accepted = rng.random_bool((0.4 + 0.5 * x) / price.max(1.0));
                let told = json!({ "op": "observe", "id": id, "accepted": accepted });
                ask(&mut live, &told);
                let earned = (price * 100.0).round() as i64 * quantity;
                price_of.insert(id.clone(), (quantity, earned));
                if accepted {
                    sales.push((id.clone(), quantity, earned));
                }
            }
            let free = brought - sold - sales.iter().map(|s| s.1).sum::<i64>();
            let event = match (step, day % 3) {
                (2, 0) => {
                    brought += 3;
                    json!({ "op": "adjust", "id": format!("{day} van"), "units": 3, "reason": "delivery" })
                }
                (3, 1) if free > 0 => {
                    brought -= 1;
                    json!({ "op": "adjust", "id": format!("{day} broken"), "units": -1 })
                }
                (4, 2) => match sales.pop() {
                    Some((id, ..)) => json!({ "op": "cancel", "id": id, "forget": day % 2 == 0 }),
                    None => continue,
                },
                (6, _) => {
                    // A wrong entry, in either direction.
                    let id = format!("{day}-5");
                    let Some((quantity, earned)) = price_of.get(&id).copied() else {
                        continue;
                    };
                    let accepted = match sales.iter().position(|sale| sale.0 == id) {
                        Some(place) => {
                            sales.remove(place);
                            false
                        }
                        None if free >= quantity => {
                            sales.push((id.clone(), quantity, earned));
                            true
                        }
                        None => continue,
                    };
                    json!({ "op": "correct", "id": id, "accepted": accepted })
                }
                (7, _) => {
                    let accepted = free > 0;
                    if accepted {
                        sold += 1;
                        cents += 175;
                    }
                    json!({ "op": "record", "id": format!("{day} own"), "step": 7, "context": { "x": x },
                            "offer": 1.75, "accepted": accepted })
                }
                _ => continue,
            };
            ask(&mut live, &event);
            events += 1;
            // A restart in the middle of it: the same state, and the same answer.
            live.commit().unwrap();
            let state = live.state_bytes().unwrap();
            drop(live);
            live = open(&home);
            assert_eq!(live.state_bytes().unwrap(), state, "{event}");
            ask_again(&mut live, &event);
            restarts += 1;
        }
        sold += sales.iter().map(|sale| sale.1).sum::<i64>();
        cents += sales.iter().map(|sale| sale.2).sum::<i64>();
        let end = ask(&mut live, &json!({ "op": "end", "episode": name }));
        assert_eq!(end["spent"].as_i64(), Some(sold), "{end}");
        assert_eq!(
            (end["reward"].as_f64().unwrap() * 100.0).round() as i64,
            cents,
            "{end}"
        );
        assert_eq!(end["oversold"], 0);
        table.push(format!(
            "{name}: {brought} units brought, {sold} sold, earned {}.{:02}, {events} events",
            cents / 100,
            cents % 100
        ));
    }
    live.commit().unwrap();
    drop(live);
    say(&format!("{}\n{restarts} restarts", table.join("\n")));
    // What was sold and said is data for fits, beside nothing: there was no log.
    let journal = journal(&home);
    assert!(journal.iter().any(|line| line["op"] == "reprice"));
}
