//! How raw files become task folders.

mod common;
#[path = "common/shop.rs"]
mod shop;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use cbwk_gpu::history::Raw;
use cbwk_gpu::shop::TaskFolder;
use common::{cbwk, cbwk_ok};
use shop::read;
use tempfile::{TempDir, tempdir};

/// A raw file with semicolons, decimal commas, times, missing values, categories, useless columns.
const RAW: &str = "id;when;age;sex;income;note;price;bought
1;2026-11-16 09:10;30;f;1,5;a, b;2,5;yes
2;2026-11-16 10:40;50;m;;c;4;no
3;2026-11-17 09:59;NA;m;2,5;d;4;yes
4;2026-11-17 11:30;40;f;3,5;e;;no
5;2026-11-17 11:59;40;f;0,5;f;2,5;no
";

#[test]
fn an_import_reads_many_formats() {
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
    // The encoding of the folder gives the same features.
    let task = TaskFolder::open(&folder.join("t")).unwrap();
    let raw = BTreeMap::from([
        ("age".to_string(), Raw::Number(30.0)),
        ("sex".to_string(), Raw::Text("f")),
        ("income".to_string(), Raw::Number(1.5)),
    ]);
    let (features, _) = task.file.encoding.encode(&raw).unwrap();
    assert_eq!(features, task.log().unwrap().theta(0));
    assert_eq!(task.file.clock.unwrap().step(10 * 3600, 6), Some(3));
}

#[test]
fn useless_columns_are_left_out_and_wrong_rows_are_named() {
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
        "column `customer`: a number that rises from row to row",
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
    // A folder with a task is not overwritten without --force.
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

/// A raw file in a folder of its own.
fn folder(raw: &str) -> TempDir {
    let folder = tempdir().unwrap();
    fs::write(folder.path().join("raw.csv"), raw).unwrap();
    folder
}

const IMPORT: [&str; 5] = ["import", "raw.csv", "--out", "t", "--force"];

fn imported(folder: &Path, options: &[&str]) -> String {
    cbwk_ok(folder, &[&IMPORT[..], options].concat())
}

fn refused(folder: &Path, options: &[&str]) -> String {
    let output = cbwk(folder, &[&IMPORT[..], options].concat());
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn a_night_belongs_to_its_evening() {
    let raw = "when,day,price,bought\n2026-11-16 23:30,16,4,1\n2026-11-17 00:30,17,5,0\n2026-11-17 02:00,17,4,1\n2026-11-17 18:00,17,5,1\n";
    let folder = folder(raw);
    let folder = folder.path();
    let options = [
        "--time",
        "when",
        "--steps",
        "8",
        "--open",
        "18:00",
        "--close",
        "02:00",
        "--action",
        "price",
        "--accepted",
        "bought",
    ];
    let by = |episode: &'static str| [&["--episode", episode], &options[..]].concat();
    let summary = imported(folder, &by("when"));
    assert!(
        summary.contains("episodes   2 of 8 steps, 18:00 to 02:00"),
        "{summary}"
    );
    let log = read(folder, "t/log.csv");
    let places: Vec<&str> = log.lines().skip(1).map(|line| &line[..12]).collect();
    assert_eq!(
        places,
        [
            "2026-11-16,6",
            "2026-11-16,7",
            "2026-11-16,8",
            "2026-11-17,1"
        ]
    );
    // Calendar days would mix two evenings.
    let message = refused(folder, &by("day"));
    assert!(
        message.contains("raw.csv:5: found times of two evenings in one episode"),
        "{message}"
    );
}

#[test]
fn days_before_the_end_are_steps() {
    let raw = "night,ahead,price,bought\n1,5,80,0\n1,0,90,1\n2,3,80,1\n2,2,90,0\n";
    let folder = folder(raw);
    let folder = folder.path();
    let options = [
        "--episode",
        "night",
        "--lead",
        "ahead",
        "--action",
        "price",
        "--accepted",
        "bought",
    ];
    imported(folder, &options);
    let log = read(folder, "t/log.csv");
    let steps: Vec<&str> = log
        .lines()
        .skip(1)
        .map(|line| line.split(',').nth(1).unwrap())
        .collect();
    assert_eq!(steps, ["1", "6", "3", "4"]);
    let task = TaskFolder::open(&folder.join("t")).unwrap();
    assert_eq!(
        task.file.step_labels()[..2],
        ["5 days before", "4 days before"]
    );
    assert_eq!(task.file.step_labels()[4], "1 day before");
    let message = refused(folder, &[&options[..], &["--steps", "4"]].concat());
    assert!(
        message.contains("raw.csv:2: found 5 days before; accepted: from 0 to 3"),
        "{message}"
    );
}

#[test]
fn steps_are_as_fine_as_customers_need() {
    let mut raw = String::from("when,price,bought\n");
    for day in 1..=20 {
        for i in 0..18 {
            raw += &format!(
                "2026-11-{day:02} {:02}:{:02},{},{}\n",
                9 + i / 6,
                i % 6 * 10,
                4 + i % 2,
                i % 3 % 2
            );
        }
    }
    let folder = folder(&raw);
    let folder = folder.path();
    let options = [
        "--episode",
        "when",
        "--time",
        "when",
        "--action",
        "price",
        "--accepted",
        "bought",
    ];
    let summary = imported(folder, &options);
    assert!(
        summary.contains("episodes   20 of 18 steps, 09:00 to 12:00"),
        "{summary}"
    );
    assert!(
        summary.contains(
            "note: 18 steps of 10 min, with 0.0% of arrivals at a step that already has one"
        ),
        "{summary}"
    );
    let summary = imported(folder, &[&options[..], &["--steps", "6"]].concat());
    assert!(summary.contains("share a step of their episode with an earlier one; plans expect one arrival per step: 18 steps of 10 min"), "{summary}");
    let mut many = String::from("when,price,bought\n");
    for i in 0..6 {
        many += &format!("2026-11-16 09:{:02},{},1\n", i % 2, 4 + i % 2);
    }
    fs::write(folder.join("raw.csv"), many).unwrap();
    let summary = imported(folder, &options);
    assert!(
        summary.contains("60 steps of 1 min, with 66.7% of arrivals"),
        "{summary}"
    );
    assert!(summary.contains("4 arrivals were moved"), "{summary}");
    let log = read(folder, "t/log.csv");
    let steps: Vec<&str> = log
        .lines()
        .skip(1)
        .map(|line| line.split(',').nth(1).unwrap())
        .collect();
    assert_eq!(steps, ["1", "2", "3", "4", "5", "6"]);
}

#[test]
fn everything_that_is_missing_or_wrong_is_named_once() {
    let folder = folder("day,hour,price,bought\n1,1,a,1\n1,2,b,0\n1,3,4,0\n1,4,c,0\n1,x,4,0\n");
    let folder = folder.path();
    let output = cbwk(folder, &["import", "raw.csv"]);
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    let wanted = "--out, --episode, --step, --time or --lead, --action, --accepted: found nothing";
    assert!(message.contains(wanted), "{message}");
    let options = [
        "--episode",
        "day",
        "--step",
        "hour",
        "--action",
        "price",
        "--accepted",
        "bought",
        "--drop-wrong",
    ];
    let summary = imported(folder, &options);
    let lines: Vec<&str> = summary
        .lines()
        .filter(|line| line.starts_with("    line"))
        .collect();
    assert_eq!(lines.len(), 2, "{summary}");
    assert!(
        lines[0].contains("line 2: column `price`")
            && lines[0].ends_with("(and 2 more of this kind)"),
        "{summary}"
    );
    assert!(lines[1].contains("line 6: column `hour`"), "{summary}");
}
