//! Useless logs, and answers that a log does not support.

mod common;
#[path = "common/shop.rs"]
mod shop;

use std::fs;

use common::{cbwk, cbwk_ok};
use shop::read;
use tempfile::tempdir;

/// Logs from which nothing can be learnt: noted on import, refused by fit.
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
    let (summary, code, _, text) = fit(log(300, &|_| 2, &|i| {
        usize::from((i * i * 31 + 17 * i) % 97 < 48)
    }));
    assert!(summary.contains("only one price was ever offered"));
    assert_eq!(code, Some(0));
    assert!(
        text.contains("warning: only one price was ever offered"),
        "{text}"
    );
    cbwk_ok(folder, &["plan", "t"]);
    let evaluate = ["evaluate", "t", "--draws", "20", "--splits", "1"];
    let answer = cbwk_ok(folder, &evaluate);
    let verdict = "%: within the error of modelled acceptance";
    assert!(answer.contains(verdict), "{answer}");
    // Everybody bought: so does the model, without a warning.
    let (_, code, _, text) = fit(log(300, &|i| 1 + i % 2, &|_| 1));
    assert_eq!(code, Some(0));
    assert!(text.contains("warning: every offer was accepted"), "{text}");
    let answer = cbwk_ok(folder, &evaluate);
    assert!(!answer.contains("do not support"), "{answer}");
}

/// Prices that depend on the customer's age, and a price that was hardly tried.
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
            "warning: offered too rarely to plan with (times), left out of plans: price 9 (5)"
        ),
        "{fit}"
    );
    assert!(
        fit.contains("warning: offers depend on the features"),
        "{fit}"
    );
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

/// If several customers arrive at one step, plans do not know of all of them; replay does, and says so.
#[test]
fn several_arrivals_in_a_step_are_replayed_and_warned_of() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    let mut raw = String::from("day,hour,age,price,bought\n");
    for i in 0..1200u32 {
        let (price, age) = (1 + i * 5 % 7 % 3, 20 + i * 13 % 41);
        let bought = u32::from(i * 37 % 101 < 80 - 15 * price);
        raw += &format!("{},{},{age},{price},{bought}\n", i / 12, i % 12 / 3 + 1);
    }
    fs::write(folder.join("raw.csv"), raw).unwrap();
    let import =
        "import raw.csv --out t --episode day --step hour --action price --accepted bought";
    cbwk_ok(folder, &import.split(' ').collect::<Vec<_>>());
    cbwk_ok(folder, &["fit", "t"]);
    let evaluate = "evaluate t --draws 20 --splits 1 --against logged";
    let answer = cbwk_ok(folder, &evaluate.split(' ').collect::<Vec<_>>());
    let warning = "warning: 4 steps have more than one arrival per episode, where plans expect one";
    assert_eq!(answer.matches(warning).count(), 1, "{answer}");
    assert!(!answer.contains("days differ"), "{answer}");
}
