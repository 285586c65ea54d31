//! Own data as a user brings them: four commands from a raw file to offers and an uplift, and what each of them writes.

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use cbwk_gpu::config::TaskFolder;
use cbwk_gpu::history::Raw;
use common::{cbwk, cbwk_ok};
use serde_json::Value;
use tempfile::tempdir;

fn read(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join(name)).unwrap()
}

/// A column of a CSV.
fn column(text: &str, name: &str) -> Vec<String> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let place = reader.headers().unwrap().iter().position(|h| h == name);
    let place = place.unwrap_or_else(|| panic!("no column {name}"));
    let records = reader.records();
    records.map(|r| r.unwrap()[place].to_string()).collect()
}

const SHOP: [&str; 12] = [
    "import",
    "shop.csv",
    "--out",
    "shop",
    "--episode",
    "day",
    "--step",
    "step",
    "--action",
    "offer",
    "--accepted",
    "accepted",
];

fn imported_shop(folder: &Path, episodes: &str) {
    let log = cbwk_ok(
        folder,
        &[
            "presets",
            "--log",
            "rush-hour-pricing",
            "--episodes",
            episodes,
        ],
    );
    fs::write(folder.join("shop.csv"), log).unwrap();
    cbwk_ok(folder, &[&SHOP[..], &["--budget-column", "stock"]].concat());
}

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
    // The study of the fitted world runs, and its optimum is the plan's promise.
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
fn plans_say_what_they_are_made_of() {
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
    // The opportunity cost of a unit is what values say of the next step.
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
    // The learner's bounds are wider, and it hopes for more.
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
    assert!(
        hoped
            .iter()
            .zip(&value)
            .all(|(hoped, value)| hoped >= value)
    );
    assert!(column(&optimistic, "lower")[0].parse::<f64>().unwrap() < lower[0]);
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

/// A raw file with everything: semicolons, decimal commas, times, missing values, categories, columns of no use.
const RAW: &str = "id;when;age;sex;income;note;price;bought
1;2026-11-16 09:10;30;f;1,5;a, b;2,5;yes
2;2026-11-16 10:40;50;m;;c;4;no
3;2026-11-17 09:59;NA;m;2,5;d;4;yes
4;2026-11-17 11:30;40;f;3,5;e;;no
5;2026-11-17 11:59;40;f;0,5;f;2,5;no
";

#[test]
fn an_import_reads_files_as_people_have_them() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("raw.csv"), RAW).unwrap();
    let summary = cbwk_ok(
        folder,
        &[
            "import",
            "raw.csv",
            "--out",
            "t",
            "--episode",
            "when",
            "--time",
            "when",
            "--steps",
            "6",
            "--action",
            "price",
            "--accepted",
            "bought",
            "--features",
            "age,sex,income",
        ],
    );
    for words in [
        "rows       5 (separated by `;`)",
        "episodes   2 of 6 steps, 09:00 to 12:00",
        "offers     4, 2 accepted (50.0%); 1 arrivals without an offer",
        "up to 1 units (the most spent in any episode)",
        "1 arrivals (20.0%) share a step of their episode",
    ] {
        assert!(
            summary.contains(words),
            "{words} is missing from\n{summary}"
        );
    }
    let log = read(folder, "t/log.csv");
    let lines: Vec<&str> = log.lines().collect();
    assert_eq!(
        lines[0],
        "episode,step,constant,age,age_missing,sex=m,income,income_missing,action,accepted"
    );
    // Ages 30, 50, 40, 40: mean 40, deviation sqrt(50). Incomes 1.5, 2.5, 3.5, 0.5: mean 2, deviation sqrt(1.25).
    let line = |i: usize| -> Vec<&str> { lines[i].split(',').collect() };
    assert_eq!(line(1)[..3], ["2026-11-16", "1", "1"]);
    assert_eq!(line(1)[3].parse::<f64>().unwrap(), -10.0 / 50f64.sqrt());
    assert_eq!(line(2)[4..], ["0", "1", "0", "1", "4", "0"]);
    assert_eq!(line(3)[..6], ["2026-11-17", "2", "1", "0", "1", "1"]);
    assert_eq!(line(4)[8..], ["", "0"]);
    assert_eq!((line(4)[1], line(5)[1]), ("6", "6"));
    // The encoding of the folder says the same of the same customer.
    let task = TaskFolder::open(&folder.join("t")).unwrap();
    let raw = BTreeMap::from([
        ("age".to_string(), Raw::Number(30.0)),
        ("sex".to_string(), Raw::Text("f")),
        ("income".to_string(), Raw::Number(1.5)),
    ]);
    let encoded = task.file.encoding.encode(&raw).unwrap();
    assert_eq!(encoded.features, task.log().unwrap().theta(0));
    assert_eq!(task.file.clock.unwrap().step(10 * 3600, 6), Some(3));
}

#[test]
fn columns_of_no_use_are_left_out_and_wrong_rows_are_named() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    let mut raw = String::from("day,hour,customer,shop,opened,name,age,zip,price,bought\n");
    for i in 0..200 {
        let age = if i == 150 {
            "fourty".to_string()
        } else {
            (20 + i % 40).to_string()
        };
        raw += &format!(
            "{},{},{},here,2026-01-{:02} 08:00,n{i},{age},{},{},{}\n",
            i / 10,
            i % 10 + 1,
            7000 + i,
            i % 28 + 1,
            10115 + i % 4,
            1 + i % 2,
            i % 3 % 2
        );
    }
    fs::write(folder.join("raw.csv"), raw).unwrap();
    let import = [
        "import",
        "raw.csv",
        "--out",
        "t",
        "--episode",
        "day",
        "--step",
        "hour",
        "--action",
        "price",
        "--accepted",
        "bought",
    ];
    let refused = cbwk(folder, &import);
    assert_eq!(refused.status.code(), Some(2));
    let message = String::from_utf8(refused.stderr).unwrap();
    let wanted = "raw.csv:152: column `age`: found `fourty`; accepted: a number, as in the rest of the column (--drop-wrong leaves it out)";
    assert!(message.contains(wanted), "{message}");
    assert!(!folder.join("t").exists());
    let summary = cbwk_ok(
        folder,
        &[&import[..], &["--drop-wrong", "--categories", "zip"]].concat(),
    );
    for words in [
        "column `customer`: a number that counts up line by line",
        "column `shop`: the same in every row",
        "column `opened`: dates",
        "column `name`: 199 different texts",
        "1 wrong rows, the first of them:\n    line 152: column `age`",
        "features   5: constant, age, zip=10116, zip=10117, zip=10118",
    ] {
        assert!(
            summary.contains(words),
            "{words} is missing from
{summary}"
        );
    }
    assert!(
        read(folder, "t/task.toml")
            .contains("levels = [\"10115\", \"10116\", \"10117\", \"10118\"]")
    );
    // A folder with a task is not overwritten unasked.
    let again = cbwk(folder, &[&import[..], &["--drop-wrong"]].concat());
    assert_eq!(again.status.code(), Some(2));
    cbwk_ok(
        folder,
        &[&import[..], &["--drop-wrong", "--force"]].concat(),
    );
}

#[test]
fn files_without_a_header_have_numbered_columns() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("raw.csv"), "a\t1\t0.5\t2\t1\nb\t1\t0.7\t3\t0\n").unwrap();
    let summary = cbwk_ok(
        folder,
        &[
            "import",
            "raw.csv",
            "--out",
            "t",
            "--episode",
            "1",
            "--step",
            "2",
            "--action",
            "4",
            "--accepted",
            "5",
        ],
    );
    assert!(
        summary.contains("separated by tabs, no header: columns by number"),
        "{summary}"
    );
    assert!(
        read(folder, "t/log.csv").starts_with("episode,step,constant,3,action,accepted\na,1,1,")
    );
}

/// Logs that nothing can be learnt from: said when they come in, refused when they are fitted.
#[test]
fn useless_logs_are_refused_with_the_reason() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    let import = [
        "import",
        "raw.csv",
        "--out",
        "t",
        "--force",
        "--episode",
        "day",
        "--step",
        "hour",
        "--action",
        "price",
        "--accepted",
        "bought",
    ];
    let log = |rows: usize, price: &dyn Fn(usize) -> usize, bought: &dyn Fn(usize) -> usize| {
        let mut raw = String::from("day,hour,age,price,bought\n");
        for i in 0..rows {
            raw += &format!(
                "{},{},{},{},{}\n",
                i / 5,
                i % 5 + 1,
                20 + i % 7,
                price(i),
                bought(i)
            );
        }
        raw
    };
    let fit = |raw: String| {
        fs::write(folder.join("raw.csv"), raw).unwrap();
        let summary = cbwk_ok(folder, &import);
        let output = cbwk(folder, &["fit", "t"]);
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (
            summary,
            output.status.code(),
            text(output.stderr),
            text(output.stdout),
        )
    };
    // Nobody ever bought.
    let (summary, code, message, _) = fit(log(200, &|i| 1 + i % 3, &|_| 0));
    assert!(summary.contains("no offer was ever accepted"));
    assert_eq!(code, Some(2));
    assert!(
        message.contains("t/log.csv: log: found 200 offers, none of them accepted; accepted: some"),
        "{message}"
    );
    // Ten rows.
    let (_, code, message, _) = fit(log(10, &|i| 1 + i % 2, &|i| i % 3 % 2));
    assert_eq!(code, Some(2));
    assert!(
        message.contains("found no price that was offered 30 times and in 2% of arrivals"),
        "{message}"
    );
    cbwk_ok(folder, &["fit", "t", "--keep-thin"]);
    // One price: there is a model, and a plan that holds stock back, with a warning.
    let (summary, code, _, text) = fit(log(300, &|_| 2, &|i| i * 7 % 3 % 2));
    assert!(summary.contains("only one price was ever offered"));
    assert_eq!(code, Some(0));
    assert!(
        text.contains("warning: only one price was ever offered"),
        "{text}"
    );
    cbwk_ok(folder, &["plan", "t"]);
    cbwk_ok(folder, &["evaluate", "t", "--draws", "20", "--splits", "1"]);
}

/// Prices that follow the customer's age, and a price that was hardly tried.
#[test]
fn doubtful_offers_are_warned_of_and_unsupported_answers_refused() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    let mut raw = String::from("day,hour,age,price,bought\n");
    for i in 0..2000u32 {
        let age = 20 + i * 7 % 50;
        let price = match i % 400 {
            0 => 9,
            _ if age < 40 => 2 + i / 3 % 5 / 4,
            _ => 4 - i / 7 % 5 / 4,
        };
        let bought = u32::from(i * 37 % 101 < 70 - 10 * price.min(5));
        raw += &format!("{},{},{age},{price},{bought}\n", i / 8, i % 8 + 1);
    }
    fs::write(folder.join("raw.csv"), raw).unwrap();
    cbwk_ok(
        folder,
        &[
            "import",
            "raw.csv",
            "--out",
            "t",
            "--episode",
            "day",
            "--step",
            "hour",
            "--action",
            "price",
            "--accepted",
            "bought",
            "--budget",
            "3",
        ],
    );
    let fit = cbwk_ok(folder, &["fit", "t"]);
    assert!(
        fit.contains(
            "warning: offered too seldom to plan with (times), left out of plans: price 9 (5)"
        ),
        "{fit}"
    );
    assert!(fit.contains("warning: offers follow the features"), "{fit}");
    assert!(read(folder, "t/study.toml").contains("prices = [2.0, 3.0, 4.0]"));
    let refused = |against: &str| {
        let output = cbwk(
            folder,
            &[
                "evaluate",
                "t",
                "--draws",
                "20",
                "--splits",
                "1",
                "--against",
                against,
            ],
        );
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).unwrap()
    };
    let message = refused("fixed:9");
    assert!(
        message.contains(
            "--against: found fixed:9; accepted: an offer that the log supports: 2, 3, 4"
        ),
        "{message}"
    );
    let answer = cbwk_ok(
        folder,
        &[
            "evaluate",
            "t",
            "--draws",
            "20",
            "--splits",
            "1",
            "--against",
            "fixed:3",
        ],
    );
    assert!(answer.contains("doubly robust"), "{answer}");
}

#[test]
fn a_learner_starts_warm_from_a_log() {
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
