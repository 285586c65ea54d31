//! The pages of a task folder in a browser: no error, no request, nothing clipped, and the numbers of the files.

mod browser;
mod common;

use std::fs;
use std::path::Path;

use browser::{chromium, visit};
use common::cbwk_ok;
use serde_json::json;
use tempfile::tempdir;

fn shop(folder: &Path) {
    let log = cbwk_ok(
        folder,
        &["presets", "--log", "rush-hour-pricing", "--episodes", "120"],
    );
    fs::write(folder.join("shop.csv"), log).unwrap();
    #[rustfmt::skip]
    cbwk_ok(folder, &[
        "import", "shop.csv", "--out", "s", "--episode", "day", "--step", "step", "--action", "offer", "--accepted", "accepted",
        "--budget-column", "stock",
    ]);
    cbwk_ok(folder, &["fit", "s"]);
    cbwk_ok(folder, &["plan", "s"]);
}

#[test]
fn the_pages_fit_every_screen() {
    let Some(chromium) = chromium() else {
        return;
    };
    let folder = tempdir().unwrap();
    shop(folder.path());
    for page in ["fit.html", "plan.html"] {
        let page = folder.path().join("s").join(page);
        for width in [390, 1280] {
            let script = include_str!("browser/measure_page.js");
            let found = visit(&chromium, &page, width, script);
            assert_eq!(found.findings["errors"], json!([]), "{:?}", found.console);
            assert_eq!(found.findings["requests"], json!([]));
            assert_eq!(
                found.findings["clipped"],
                json!([]),
                "{} at {width}",
                page.display()
            );
            assert_eq!(found.findings["control_found"], true);
            assert_eq!(found.console, Vec::<String>::new());
        }
    }
}

#[test]
fn the_page_of_a_plan_agrees_with_the_file() {
    let Some(chromium) = chromium() else {
        return;
    };
    let folder = tempdir().unwrap();
    shop(folder.path());
    let page = folder.path().join("s/plan.html");
    let found = visit(&chromium, &page, 1280, include_str!("browser/use_plan.js")).findings;
    assert_eq!(found["errors"], json!([]));
    assert_eq!(
        (&found["selects"], &found["themes"]),
        (&json!(4), &json!(true))
    );
    let plan = fs::read_to_string(folder.path().join("s/plan.csv")).unwrap();
    // step,budget,hunger,income,action,probability,lower,upper,opportunity_cost,value
    let row = |step: &str, budget: &str, segment: usize| -> Vec<String> {
        let rows = plan
            .lines()
            .map(|line| line.split(',').map(String::from).collect::<Vec<_>>());
        let rows = rows.filter(|row| row[0] == step && row[1] == budget);
        rows.collect::<Vec<_>>().swap_remove(segment)
    };
    let number = |text: &str| text.parse::<f64>().unwrap();
    let shown = |row: &[String]| {
        let share = |i: usize| format!("{:.1}%", 100.0 * number(&row[i]));
        let acceptance = format!("{} ({} to {})", share(5), share(6), share(7));
        json!([row[4], acceptance])
    };
    // Initially the middle customer, at the first step with all units.
    for (key, row) in [
        ("first", row("1", "8", 4)),
        ("last_step", row("24", "1", 4)),
        ("poorest", row("24", "1", 0)),
    ] {
        assert_eq!(json!([found[key][0], found[key][1]]), shown(&row), "{key}");
    }
    let value = format!("{:.2}", number(&row("1", "8", 4)[9]));
    assert_eq!(found["first"][3], json!(value));
    assert_eq!(found["last_step"][2], json!("0.000"));
    assert_eq!(
        (&found["keys"][0], &found["keys"][1]),
        (&json!("22"), &json!("2"))
    );
    let offer = &row("23", "2", 0)[4];
    assert_eq!(
        found["keys"][2],
        json!(format!("Step 23, 2 left: price {offer}."))
    );
    let pointed = (
        found["pointer"][0].as_u64().unwrap(),
        found["pointer"][1].as_u64().unwrap(),
    );
    assert!(
        (10..14).contains(&pointed.0) && (4..6).contains(&pointed.1),
        "{pointed:?}"
    );
}
