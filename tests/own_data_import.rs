//! How raw files become task folders.

mod common;
#[path = "common/shop.rs"]
mod shop;

use std::collections::BTreeMap;
use std::fs;

use cbwk_gpu::history::Raw;
use cbwk_gpu::shop::TaskFolder;
use common::{cbwk, cbwk_ok};
use shop::read;
use tempfile::tempdir;

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
