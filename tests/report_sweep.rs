//! `report` on the folder of a sweep: small charts and a table, on any screen.

mod browser;
mod common;

use std::fs;

use browser::{chromium, visit};
use common::{cbwk, cbwk_ok};
use serde_json::Value;
use tempfile::tempdir;

const SWEEP: &str = "[study]\nname = \"two keys\"\nhorizon = 6\nepisodes = 20\nreplications = 3\n[budget]\nkind = \"constant\"\n\
    value = 2\n[application]\nkind = \"pricing\"\nprices = [1, 2]\n[contexts]\nkind = \"finite\"\nvalues = [[0.0], [1.0]]\n\
    [conversion]\nkind = \"armed\"\nprobabilities = [0.8, 0.5]\n[[policies]]\nkind = \"tight-opt-dp\"\n\
    [[policies]]\nkind = \"random\"\n[sweep]\nbudget.value = [1, 2, 4]\npolicies.tight-opt-dp.optimism = [\"separate\", \"coupled\"]\n";

#[test]
fn a_sweep_is_reported_on_one_page() {
    let folder = tempdir().unwrap();
    fs::write(folder.path().join("s.toml"), SWEEP).unwrap();
    cbwk_ok(
        folder.path(),
        &["simulate", "s.toml", "--out", "o", "--quiet"],
    );
    // One chart for each category, along the numbers.
    let svg = fs::read_to_string(folder.path().join("o/overview.svg")).unwrap();
    for word in ["optimism = separate", "optimism = coupled", "budget.value"] {
        assert!(svg.contains(word), "{word}");
    }
    // The swept values are the ticks.
    let tick = |value: &str| svg.matches(&format!("\"middle\">{value}</text>")).count();
    assert_eq!([1, 2, 3, 4].map(|v| tick(&v.to_string())), [2, 2, 0, 2]);
    assert!(folder.path().join("o/overview.png").is_file());
    let said = cbwk_ok(folder.path(), &["report", "o"]);
    assert!(said.starts_with("report in o/report.html"), "{said}");
    let page = folder.path().join("o/report.html");
    let text = fs::read_to_string(&page).unwrap();
    let start =
        "The points have different optima. tight-opt-dp's share of them, in percent, is lowest at ";
    assert!(text.contains(start), "{text}");
    // Warnings are under the table, and sizes of the runs under the title.
    assert!(text.contains("T = 20 episodes, H = 6 steps, 3 replications"));
    let Some(chromium) = chromium() else { return };
    for width in [1280, 390] {
        let script = include_str!("browser/measure_page.js");
        let script = format!(
            "found.rows = document.querySelectorAll('#final tbody tr').length;\n\
             found.charts = document.querySelectorAll('.multiples svg').length;\n{script}"
        );
        let visit = visit(&chromium, &page, width, &script);
        assert!(visit.console.is_empty(), "{:?}", visit.console);
        let found = visit.findings;
        assert_eq!(found["errors"], Value::from(Vec::<Value>::new()), "{found}");
        assert_eq!(
            found["clipped"],
            Value::from(Vec::<Value>::new()),
            "{found}"
        );
        assert_eq!(
            (&found["rows"], &found["charts"]),
            (&9.into(), &11.into()),
            "{found}"
        );
    }
    // A missing point is named.
    fs::remove_dir_all(folder.path().join("o/value=2,optimism=coupled")).unwrap();
    let gone = cbwk(folder.path(), &["report", "o"]);
    assert_eq!(gone.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&gone.stderr).contains("optimism=coupled"));
}
