//! Own data: four commands from a raw file to offers and an uplift, and the files of each.

mod common;
#[path = "common/shop.rs"]
mod shop;

use std::fs;

use common::cbwk_ok;
use serde_json::Value;
use shop::{column, imported_shop, read};
use tempfile::tempdir;

#[test]
fn four_commands_lead_from_a_raw_file_to_offers_and_an_uplift() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    imported_shop(folder, "150");
    let fit = cbwk_ok(folder, &["fit", "shop"]);
    assert!(fit.contains("* logistic in features and price"), "{fit}");
    let plan = cbwk_ok(folder, &["plan", "shop"]);
    assert!(
        plan.starts_with("an episode with 8 units is expected to earn 1"),
        "{plan}"
    );
    let evaluation = cbwk_ok(
        folder,
        &["evaluate", "shop", "--draws", "40", "--splits", "2"],
    );
    assert!(
        evaluation.contains("plan earns more than logged"),
        "{evaluation}"
    );
    for name in [
        "task.toml",
        "log.csv",
        "model.json",
        "study.toml",
        "fit.html",
        "plan.csv",
        "plan.html",
    ] {
        assert!(folder.join("shop").join(name).exists(), "{name}");
    }
    // The study of the fitted world runs, and its optimum is the plan's value.
    let solved = cbwk_ok(folder, &["solve", "shop/study.toml", "--format", "json"]);
    let solved: Value = serde_json::from_str(&solved).unwrap();
    let rows = read(folder, "shop/plan.csv");
    let header =
        "step,budget,hunger,income,action,probability,lower,upper,opportunity_cost,value\n";
    assert!(rows.starts_with(header));
    let values = column(&rows, "value");
    let last = (0..values.len())
        .rfind(|&i| column(&rows, "step")[i] == "1")
        .unwrap();
    let value: f64 = values[last].parse().unwrap();
    assert!((value - solved["opt"]["8"].as_f64().unwrap()).abs() < 1e-9);
    let table = cbwk_ok(
        folder,
        &[
            "simulate",
            "shop/study.toml",
            "--episodes",
            "5",
            "--replications",
            "2",
            "--out",
            "r",
        ],
    );
    assert!(
        table.contains("tight-opt-dp") && table.contains("always"),
        "{table}"
    );
}

#[test]
fn plans_are_consistent_with_their_values() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    imported_shop(folder, "150");
    cbwk_ok(folder, &["fit", "shop"]);
    cbwk_ok(
        folder,
        &[
            "plan",
            "shop",
            "--budget",
            "3",
            "--segments",
            "4",
            "--out",
            "p.csv",
        ],
    );
    let rows = read(folder, "p.csv");
    let number = |name: &str| -> Vec<f64> {
        column(&rows, name)
            .iter()
            .map(|x| x.parse().unwrap_or(f64::NAN))
            .collect()
    };
    let [step, budget] = ["step", "budget"].map(number);
    assert_eq!(
        (step.len(), budget.iter().copied().fold(0.0, f64::max)),
        (24 * 3 * 3, 3.0)
    );
    let [p, lower, upper] = ["probability", "lower", "upper"].map(number);
    assert!((0..p.len()).all(|i| lower[i] < p[i] && p[i] < upper[i] && upper[i] - lower[i] < 0.3));
    // The opportunity cost of a unit is a difference of values at the next step.
    let [cost, value] = ["opportunity_cost", "value"].map(number);
    let at = |h: f64, b: f64| match b {
        0.0 => 0.0,
        _ => {
            value[(0..step.len())
                .find(|&i| step[i] == h && budget[i] == b)
                .unwrap()]
        }
    };
    for i in (0..step.len()).filter(|&i| step[i] < 24.0) {
        let wanted = at(step[i] + 1.0, budget[i]) - at(step[i] + 1.0, budget[i] - 1.0);
        assert!((cost[i] - wanted).abs() < 1e-12);
    }
    assert!(
        (0..step.len())
            .filter(|&i| step[i] == 24.0)
            .all(|i| cost[i] == 0.0)
    );
    // The learner's bounds are wider. It keeps no bonus where all prices are known alike, so that its value of a day is the
    // same within a twentieth: it takes the contexts of each step as they were, where the plan pools steps with few.
    cbwk_ok(
        folder,
        &[
            "plan",
            "shop",
            "--budget",
            "3",
            "--segments",
            "4",
            "--out",
            "o.csv",
            "--optimistic",
        ],
    );
    let optimistic = read(folder, "o.csv");
    let hoped: Vec<f64> = column(&optimistic, "value")
        .iter()
        .map(|x| x.parse().unwrap())
        .collect();
    let start = (0..step.len()).find(|&i| (step[i], budget[i]) == (1.0, 3.0));
    let start = start.unwrap();
    let ratio = hoped[start] / value[start];
    assert!((0.95..1.05).contains(&ratio), "{ratio}");
    assert!(column(&optimistic, "lower")[0].parse::<f64>().unwrap() < lower[0]);
}

/// LaTeX output can be used unchanged: two tables, everything else a comment.
#[test]
fn a_fit_and_an_evaluation_as_markdown_and_latex() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    imported_shop(folder, "60");
    let evaluate = ["evaluate", "shop", "--draws", "20", "--splits", "1"];
    for (command, column) in [
        (&["fit", "shop"][..], "log loss"),
        (&evaluate, "doubly robust"),
    ] {
        let latex = cbwk_ok(folder, &[command, &["--format", "latex"]].concat());
        assert!(latex.contains("\n\n\\begin{tabular}"), "{latex}");
        let (mut tables, mut inside) = (0, false);
        for line in latex.lines() {
            inside |= line.starts_with("\\begin{tabular}");
            assert!(inside || line.is_empty() || line.starts_with('%'), "{line}");
            if line == "\\end{tabular}" {
                (tables, inside) = (tables + 1, false);
            }
        }
        assert!(tables == 2 && latex.contains(column), "{latex}");
        let markdown = cbwk_ok(folder, &[command, &["--format", "markdown"]].concat());
        assert_eq!(markdown.matches("| --- |").count(), 2, "{markdown}");
        assert!(markdown.contains(&format!("| {column}")), "{markdown}");
    }
}

#[test]
fn threads_do_not_change_the_answers() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    imported_shop(folder, "60");
    let mut found = Vec::new();
    for threads in ["1", "3"] {
        cbwk_ok(folder, &["fit", "shop", "--threads", threads]);
        cbwk_ok(folder, &["plan", "shop", "--threads", threads]);
        let asked = [
            "evaluate",
            "shop",
            "--draws",
            "20",
            "--against",
            "fixed:2",
            "--format",
            "json",
            "--threads",
            threads,
        ];
        let answer = cbwk_ok(folder, &asked);
        found.push((
            read(folder, "shop/model.json"),
            read(folder, "shop/plan.csv"),
            answer,
        ));
    }
    assert_eq!(found[0], found[1]);
    let answer: Value = serde_json::from_str(&found[0].2).unwrap();
    let [policy, against, difference] =
        ["policy", "against", "difference"].map(|key| answer[key]["reward"].as_f64().unwrap());
    assert!((policy - against - difference).abs() < 1e-9);
    assert_eq!(answer["against"]["policy"], "fixed:2");
}

#[test]
fn a_learner_starts_from_a_log() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    imported_shop(folder, "150");
    cbwk_ok(folder, &["fit", "shop"]);
    let study = read(folder, "shop/study.toml");
    let warm = study.replace(
        "kind = \"tight-opt-dp\"",
        "kind = \"tight-opt-dp\"\ninitial_log = \"log.csv\"",
    );
    fs::write(folder.join("shop/warm.toml"), warm).unwrap();
    let share = |file: &str| {
        let out = format!("{file}-results");
        cbwk_ok(
            folder,
            &[
                "simulate",
                file,
                "--episodes",
                "20",
                "--replications",
                "4",
                "--out",
                &out,
                "--policy",
                "tight-opt-dp",
            ],
        );
        let episodes = read(folder, &format!("{out}/episodes.csv"));
        let sum = |name: &str| {
            column(&episodes, name)
                .iter()
                .map(|x| x.parse::<f64>().unwrap())
                .sum::<f64>()
        };
        sum("reward") / sum("opt")
    };
    let (cold, warm) = (share("shop/study.toml"), share("shop/warm.toml"));
    assert!(
        warm > cold + 0.05 && warm > 0.87,
        "cold {cold}, warm {warm}"
    );
    // The resolved study names the log, and runs again to the same bytes.
    let first = read(folder, "shop/warm.toml-results/episodes.csv");
    cbwk_ok(
        folder,
        &[
            "simulate",
            "shop/warm.toml-results/study.toml",
            "--out",
            "again",
        ],
    );
    assert_eq!(read(folder, "again/episodes.csv"), first);
}

#[test]
fn a_fixed_offer_by_value_is_the_fixed_offer_by_number() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    let preset = cbwk_ok(folder, &["presets", "rush-hour-pricing"]);
    let policies = preset.find("[[policies]]").unwrap();
    let fixed = "[[policies]]\nkind = \"fixed:4\"\n\n[[policies]]\nkind = \"fixed\"\nvalue = 3.0\n";
    fs::write(
        folder.join("s.toml"),
        format!("{}{fixed}", &preset[..policies]),
    )
    .unwrap();
    cbwk_ok(
        folder,
        &[
            "simulate",
            "s.toml",
            "--episodes",
            "30",
            "--replications",
            "2",
            "--out",
            "o",
        ],
    );
    let episodes = read(folder, "o/episodes.csv");
    let (names, rewards) = (column(&episodes, "policy"), column(&episodes, "reward"));
    let of = |name: &str| -> Vec<&String> {
        rewards
            .iter()
            .zip(&names)
            .filter(|(_, n)| *n == name)
            .map(|(r, _)| r)
            .collect()
    };
    assert_eq!(of("fixed:4").len(), 60);
    assert_eq!(of("fixed:4"), of("fixed"));
}
