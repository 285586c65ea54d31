//! What happens in a real day besides offers: deliveries, cancellations, corrections, sales made without the learner. The
//! books balance at any time, and every event is answered once and for all.

mod common;
#[path = "common/direct.rs"]
#[allow(dead_code, reason = "one file for all tests of served folders")]
mod direct;
#[path = "common/served.rs"]
#[allow(dead_code, reason = "one file for all tests of served folders")]
mod served;

use std::collections::HashMap;

use cbwk_gpu::learner::live::Request;
use common::{cbwk_ok, say};
use direct::{ask, ask_again, open, refused};
use rand::RngExt;
use serde_json::{Value, json};
use served::{journal, small_shop, task_folder};
use tempfile::tempdir;

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
            let said = cbwk_ok(
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
