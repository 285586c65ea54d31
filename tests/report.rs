//! `report`: the page in headless Chromium, its numbers against the CSV files, damaged folders, size and time.

mod browser;
mod common;
#[path = "report/damaged.rs"]
mod damaged;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use browser::{Visit, chromium, visit};
use common::{cbwk, cbwk_ok, say};
use serde_json::Value;
use tempfile::{TempDir, tempdir};

/// A policy name that would break unescaped JSON, HTML, SVG or CSV.
const HOSTILE: &str = "</script><b>\"x\", 'y' & é語";

fn read(path: impl AsRef<Path>) -> String {
    fs::read_to_string(path).unwrap()
}

/// The paper's auction with four policies.
fn simulate_auction(folder: &Path, args: &str) {
    let policies = "--policy mimic-opt-dp --policy clairvoyant --policy myopic --policy random";
    let line = format!("simulate --quiet {policies} {args}");
    cbwk_ok(folder, &line.split(' ').collect::<Vec<_>>());
}

/// Two results folders: the paper's auction, and one with a hostile name and two steps of random budgets.
fn two_folders() -> (TempDir, PathBuf) {
    let folder = tempdir().unwrap();
    simulate_auction(folder.path(), "--out a --replications 4 --episodes 40");
    let study = format!(
        "[study]\nepisodes = 30\nhorizon = 7\nreplications = 3\n[budget]\nkind = \"cycle\"\nvalues = [1, 3]\n\
         [application]\nkind = \"pricing\"\nprices = [1, 2]\n[contexts]\nkind = \"box\"\nlow = [0.0]\nhigh = [1.0]\n\
         no_arrival = 0.2\n[conversion]\nkind = \"armed\"\nprobabilities = [0.8, 0.5]\n\
         [[policies]]\nkind = \"mimic-opt-dp\"\nname = {}\n[[policies]]\nkind = \"random\"\n",
        Value::from(HOSTILE)
    );
    fs::write(folder.path().join("b.toml"), study).unwrap();
    cbwk_ok(
        folder.path(),
        &["simulate", "b.toml", "--out", "b", "--quiet"],
    );
    let said = cbwk_ok(folder.path(), &["report", "a", "b", "--out", "c/page.html"]);
    assert!(said.starts_with("report in c/page.html\n"), "{said}");
    let page = folder.path().join("c/page.html");
    (folder, page)
}

/// The lines of a CSV file that belong to a policy, by column.
fn lines_of(file: &Path, policy: &str) -> Vec<csv::StringRecord> {
    let mut reader = csv::Reader::from_path(file).unwrap();
    let records = reader.records().map(Result::unwrap);
    records.filter(|record| &record[0] == policy).collect()
}

/// Whether the page shows a number, rounded.
fn shows(text: &str, value: f64) -> bool {
    let decimals = text.split('.').nth(1).map_or(0, str::len) as i32;
    let shown: f64 = text.parse().unwrap_or(f64::NAN);
    (shown - value).abs() <= 0.5001 * 10f64.powi(-decimals)
}

#[test]
fn the_page_works_in_a_browser_and_shows_the_numbers_of_the_files() {
    let Some(chromium) = chromium() else { return };
    let (folder, page) = two_folders();
    let Visit { findings, console } =
        visit(&chromium, &page, 1280, include_str!("browser/use_page.js"));
    assert!(console.is_empty(), "{console:?}");
    let found = |key: &str| &findings[key];
    assert_eq!(found("errors"), &Value::from(Vec::<Value>::new()));
    assert_eq!(found("requests"), &Value::from(Vec::<Value>::new()));
    for key in [
        "hides_a_policy",
        "shows_it_again",
        "log_axis",
        "linear_again",
        "dark_theme",
        "light_theme",
        "escape_hides_values",
        "pointer_reads_values",
        "all_controls_take_focus",
        "share_of_offers",
        "drawn_for_paper",
    ] {
        assert_eq!(found(key), &Value::from(true), "{key} in {findings:#}");
    }

    // The final table, best policy first, against summary.csv.
    let rows = found("final").as_array().unwrap();
    assert_eq!(rows.len(), 6);
    let mut means = Vec::new();
    for row in rows {
        let cell = |i: usize| row[i].as_str().unwrap();
        let (label, policy) = (cell(0), cell(1));
        let lines = lines_of(&folder.path().join(label).join("summary.csv"), policy);
        let last = lines
            .last()
            .unwrap_or_else(|| panic!("no policy {policy:?}"));
        let (mean, error): (f64, f64) = (last[2].parse().unwrap(), last[3].parse().unwrap());
        let (shown, band) = cell(2).split_once(" ± ").unwrap();
        assert!(shows(shown, mean), "{row} {mean}");
        assert!(shows(band, 3.0 * error), "{row} {error}");
        means.push((label.to_string(), mean));
    }
    // Regrets of the two instances are not ranked together.
    assert!(
        means.is_sorted_by(|x, y| x.0 < y.0 || x.0 == y.0 && x.1 <= y.1),
        "{means:?}"
    );

    // Values read with the keyboard: the last episode of the longer run, the first step, a cell of the heat map.
    let text = |key: &str| found(key).as_str().unwrap().to_string();
    let last = lines_of(&folder.path().join("a/summary.csv"), "myopic");
    let said = text("end_of_regret");
    assert!(said.starts_with("episode 40: "), "{said}");
    let value = said
        .split("myopic ")
        .nth(1)
        .and_then(|s| s.split(' ').next());
    assert!(
        shows(value.unwrap(), last[39][2].parse().unwrap()),
        "{said}"
    );
    assert!(!said.contains(HOSTILE), "{said}");
    let steps = lines_of(&folder.path().join("b/steps.csv"), HOSTILE);
    let said = text("second_step");
    let value = said
        .split(&format!("{HOSTILE} "))
        .nth(1)
        .and_then(|s| s.split(' ').next());
    assert!(said.starts_with("step 2: "), "{said}");
    assert!(
        shows(value.unwrap(), steps[1][2].parse().unwrap()),
        "{said}"
    );
    // Different instances have separate axes, and in print all maps of each.
    assert_eq!(
        found("largest_ticks")["budget"],
        serde_json::json!([25, 8]),
        "{findings:#}"
    );
    assert_eq!(
        found("printed"),
        &serde_json::json!([
            { "run": "a", "maps": ["optimal policy, clairvoyant", "mimic-opt-dp", "myopic"], "scale": true },
            { "run": "b", "maps": [format!("optimal policy, {HOSTILE}")], "scale": true },
        ])
    );
    let cells = lines_of(&folder.path().join("a/actions.csv"), "mimic-opt-dp");
    let cell = cells.iter().find(|c| &c[1] == "2" && &c[2] == "4").unwrap();
    let number = |i: usize| cell[i].parse::<f64>().unwrap();
    let said = text("heat_cell");
    let expected = [number(3) / number(4), number(5) / number(6)];
    let numbers = ["learnt ", "optimal "].map(|word| said.split(word).nth(1).unwrap());
    let numbers = numbers.map(|s| {
        s.trim_end_matches('.')
            .split(',')
            .next()
            .unwrap()
            .to_string()
    });
    assert!(said.starts_with("Step 2, 4 left: "), "{said}");
    for (shown, value) in numbers.iter().zip(expected) {
        assert!(shows(shown, value), "{said} {value}");
    }
}

/// At phone and desktop widths nothing overflows the page, and no text its plot.
#[test]
fn nothing_is_clipped_at_any_width() {
    let Some(chromium) = chromium() else { return };
    let (folder, page) = two_folders();
    // Two folders of one instance: folder names come before those of policies.
    let again = "--out simulated/afternoon --replications 4 --episodes 40 --seed 2";
    simulate_auction(folder.path(), again);
    let alike = ["report", "a", "simulated/afternoon", "--out", "alike.html"];
    cbwk_ok(folder.path(), &alike);
    let pages = [page, folder.path().join("alike.html")];
    for (page, width) in pages.iter().flat_map(|p| [(p, 390), (p, 1280)]) {
        let script = include_str!("browser/measure_page.js");
        let Visit { findings, console } = visit(&chromium, page, width, script);
        assert!(console.is_empty(), "{console:?}");
        assert_eq!(findings["width"], width);
        assert_eq!(findings["clipped"], Value::from(Vec::<Value>::new()));
        assert!(findings["texts"].as_u64().unwrap() > 40, "{findings:#}");
        assert!(findings["words"].as_u64().unwrap() > 20, "{findings:#}");
        assert!(
            findings["control_found"] == true,
            "the check itself finds nothing"
        );
    }
}

/// Control: errors and requests are detected.
#[test]
fn a_broken_page_is_noticed() {
    let Some(chromium) = chromium() else { return };
    let (folder, page) = two_folders();
    let broken = folder.path().join("broken.html");
    let text = read(&page).replace(
        "<main id=\"main\">",
        "<main id=\"main\"><img src=\"https://192.0.2.1/x.png\"><script>missing();</script>",
    );
    fs::write(&broken, text).unwrap();
    let Visit { findings, console } = visit(&chromium, &broken, 1280, "");
    let errors = findings["errors"].to_string();
    assert!(errors.contains("missing is not defined"), "{errors}");
    assert!(errors.contains("192.0.2.1"), "{errors}");
    assert!(
        console
            .iter()
            .any(|line| line.contains("missing is not defined")),
        "{console:?}"
    );
}

/// A folder without its largest file beside a complete one, and a single episode: everything available is shown.
#[test]
fn incomplete_folders_and_single_episodes_are_shown() {
    let Some(chromium) = chromium() else { return };
    let folder = tempdir().unwrap();
    let path = folder.path();
    simulate_auction(path, "--out a --replications 2 --episodes 6");
    simulate_auction(path, "--out b --replications 2 --episodes 6 --seed 2");
    simulate_auction(path, "--out one --replications 2 --episodes 1");
    fs::remove_file(path.join("a/episodes.csv")).unwrap();
    cbwk_ok(path, &["report", "a", "b", "--out", "two.html"]);
    cbwk_ok(path, &["report", "one", "--out", "one.html"]);
    let script = "const count = (what) => document.querySelectorAll(what).length;\n\
        found.rows = count('#final tbody tr');\n\
        found.regret = count('#regret-chart path.line, #regret-chart circle.line');\n\
        found.rewards = count('#reward-chart path.line, #reward-chart circle.line');\n\
        found.dots = count('#regret-chart circle.line, #reward-chart circle.line');\n";
    // A line of one point is invisible: it is a dot.
    for (page, rows, rewards, dots) in [("two.html", 8, 5, 0), ("one.html", 4, 5, 9)] {
        let Visit { findings, console } = visit(&chromium, &path.join(page), 1280, script);
        assert!(console.is_empty(), "{console:?}");
        let count = |key: &str| findings[key].as_u64().unwrap();
        let counts = ["rows", "regret", "rewards", "dots"].map(count);
        assert_eq!(counts, [rows, rows, rewards, dots], "{page}: {findings:#}");
    }
}

#[test]
fn a_report_of_30_000_episodes_is_small_and_quick() {
    let folder = tempdir().unwrap();
    let mut args = vec!["simulate", "--out", "o", "--quiet"];
    for policy in ["mimic-opt-dp", "myopic", "random"] {
        args.extend(["--policy", policy]);
    }
    cbwk_ok(folder.path(), &args);
    assert_eq!(
        read(folder.path().join("o/episodes.csv")).lines().count(),
        30_001
    );
    // The best of three, because other tests run at the same time.
    let mut attempts = (0..3).map(|_| {
        let start = Instant::now();
        cbwk_ok(folder.path(), &["report", "o"]);
        start.elapsed().as_secs_f64()
    });
    let first = attempts.next().unwrap();
    let seconds = attempts.fold(first, f64::min);
    let page = read(folder.path().join("o/report.html"));
    say(&format!(
        "report of 50 x 200 x 3 episodes: {seconds:.2} s, {} bytes",
        page.len()
    ));
    assert!(seconds < 2.0, "{seconds} s");
    assert!(page.len() < 3_000_000, "{} bytes", page.len());
    // Nothing is fetched: the only URL is the namespace of SVG.
    assert_eq!(
        page.replace("http://www.w3.org/2000/svg", "")
            .matches("://")
            .count(),
        0
    );
    for name in ["regret", "regret-log", "reward", "budget", "offers"] {
        let svg = read(folder.path().join(format!("o/report-{name}.svg")));
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
        let png = fs::read(folder.path().join(format!("o/report-{name}.png"))).unwrap();
        assert!(
            png.starts_with(b"\x89PNG") && png.len() > 10_000,
            "{name} {}",
            png.len()
        );
    }
    // A second report is identical, and the results are unchanged.
    let before = fs::read(folder.path().join("o/report-offers.png")).unwrap();
    cbwk_ok(folder.path(), &["report", "o/"]);
    assert_eq!(
        before,
        fs::read(folder.path().join("o/report-offers.png")).unwrap()
    );
}
