//! Wrong raw files, task folders and options: one line that names the file, the line or field, what was found and what is
//! accepted; exit code 2; nothing written.

mod common;

use std::fs;
use std::path::Path;

use common::{cbwk, cbwk_ok};
use tempfile::tempdir;

/// A good raw file: 40 days of five hours.
fn good() -> String {
    let mut raw = String::from("day,hour,when,age,price,bought,stock\n");
    for i in 0..200 {
        raw += &format!(
            "d{},{},2026-01-{:02} 1{}:30,{},{},{},5\n",
            i / 5,
            i % 5 + 1,
            i / 5 % 28 + 1,
            i % 5,
            20 + i * 7 % 31,
            1 + i % 3,
            i * 7 % 5 / 3
        );
    }
    raw
}

const IMPORT: [&str; 12] = [
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

/// The one line of a run that must be refused with exit code 2 and change nothing.
fn refused(folder: &Path, args: &[&str]) -> String {
    let before = listing(folder);
    let output = cbwk(folder, args);
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{args:?}: {message}");
    assert_eq!(
        message.trim_end().lines().count(),
        1,
        "more than a line: {message}"
    );
    assert!(output.stdout.is_empty());
    assert_eq!(listing(folder), before, "{args:?} changed something");
    message
}

/// All files with their contents.
fn listing(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(listing(&path));
        } else {
            found.push((path.display().to_string(), fs::read(&path).unwrap()));
        }
    }
    found.sort();
    found
}

#[test]
fn the_good_file_is_good() {
    let folder = tempdir().unwrap();
    fs::write(folder.path().join("raw.csv"), good()).unwrap();
    cbwk_ok(folder.path(), &IMPORT);
    cbwk_ok(folder.path(), &["fit", "t"]);
    cbwk_ok(folder.path(), &["plan", "t"]);
    cbwk_ok(
        folder.path(),
        &[
            "evaluate",
            "t",
            "--draws",
            "20",
            "--splits",
            "1",
            "--against",
            "fixed:2",
        ],
    );
}

#[test]
fn mistakes_in_a_raw_file() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    // (text of the good file, its replacement, the message)
    #[rustfmt::skip]
    let cases = [
        ("day,hour", "date,hour", "raw.csv:1: found no column `day` in `date,hour,when,age,price,bought,stock` (nearest: `date`)"),
        ("price,bought", "price,price", "raw.csv:1: found column `price` twice"),
        ("day,hour,when,age", "day,hour,age,age", "raw.csv:1: found column `age` twice; accepted: a name of its own for every column of features"),
        ("\nd0,1,", "\n,1,", "raw.csv:2: column `day`: found ``; accepted: an episode's name in every row"),
        ("\nd0,1,", "\nd0,0,", "raw.csv:2: column `hour`: found `0`; accepted: a step, a whole number from 1"),
        ("\nd0,1,", "\nd0,one,", "raw.csv:2: column `hour`: found `one`"),
        ("\nd0,1,", "\nd0,1.5,", "raw.csv:2: column `hour`: found `1.5`"),
        ("\nd0,1,", "\nd0,-1,", "raw.csv:2: column `hour`: found `-1`"),
        ("\nd0,1,", "\nd0,200000,", "raw.csv: found 200000 steps; accepted: from 1 to 100000"),
        (",20,1,0,5\n", ",20,free,0,5\n", "raw.csv:2: column `price`: found `free`; accepted: a number from 0, or nothing where nothing was offered"),
        (",20,1,0,5\n", ",20,-1,0,5\n", "raw.csv:2: column `price`: found `-1`; accepted: a number from 0"),
        (",20,1,0,5\n", ",20,inf,0,5\n", "raw.csv:2: column `price`: found `inf`"),
        (",20,1,0,5\n", ",20,1e300,0,5\n", "raw.csv:2: column `price`: found `1e300`"),
        (",20,1,0,5\n", ",20,1,2,5\n", "raw.csv:2: column `bought`: found `2`; accepted: 0 or 1, yes or no, true or false"),
        (",20,1,0,5\n", ",20,1,,5\n", "raw.csv:2: column `bought`: found ``; accepted: 0 or 1"),
        (",20,1,0,5\n", ",20,,1,5\n", "raw.csv:2: column `bought`: found `1`; accepted: 0 where nothing was offered"),
        (",20,1,0,5\n", ",20,1,0\n", "raw.csv:2: found 6 columns; accepted: 7"),
        (",20,1,0,5\n", ",young,1,0,5\n", "raw.csv:2: column `age`: found `young`; accepted: a number, as in the rest of the column"),
        (",20,1,0,5\n", ",20,maybe,0,5\nd0,1,,20,1,maybe,5\n", "(the first of 2 wrong rows; --drop-wrong leaves them out)"),
    ];
    for (find, replace, wanted) in cases {
        let raw = good();
        assert!(raw.contains(find), "{find:?} is not in the file");
        fs::write(folder.join("raw.csv"), raw.replacen(find, replace, 1)).unwrap();
        let message = refused(folder, &IMPORT);
        assert!(
            message.contains(wanted),
            "{message} where {wanted} was expected"
        );
    }
}

#[test]
fn files_that_are_not_raw_files() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    let message = refused(folder, &IMPORT);
    assert!(
        message.contains("raw.csv: cannot be read (No such file or directory"),
        "{message}"
    );
    let utf16: Vec<u8> = [0xff, 0xfe]
        .into_iter()
        .chain(good().encode_utf16().flat_map(u16::to_le_bytes))
        .collect();
    let not_utf8 = good()
        .replacen("d0,1", "d\u{1},1", 1)
        .into_bytes()
        .iter()
        .map(|b| if *b == 1 { 0xe9 } else { *b })
        .collect();
    let head = good().lines().next().unwrap().to_string() + "\n";
    let nobody = format!("{head}d0,1,,,,,\n");
    let no_offer = format!("{head}d0,1,,30,,0,5\nd1,1,,40,,0,5\n");
    let many = (0..101).fold(head.clone(), |raw, i| {
        raw + &format!("d{i},1,,30,{},0,5\n", 1.0 + f64::from(i) / 100.0)
    });
    for (raw, wanted) in [
        (
            Vec::new(),
            "raw.csv: found nothing; accepted: a CSV file with rows",
        ),
        (
            head.into_bytes(),
            "raw.csv: found no arrival; accepted: at least one row that can be used",
        ),
        (nobody.into_bytes(), "raw.csv: found no arrival"),
        (
            no_offer.into_bytes(),
            "raw.csv: column `price`: found no offer; accepted: at least one value above 0",
        ),
        (
            many.into_bytes(),
            "raw.csv: column `price`: found 101 different values; accepted: at most 100 (rounding to a unit merges them)",
        ),
        (utf16, "raw.csv: found UTF-16; accepted: UTF-8"),
        (
            vec![0, 1, 2, 3],
            "raw.csv: found binary data; accepted: a CSV file",
        ),
        (not_utf8, "raw.csv:2: found bytes that are not UTF-8"),
    ] {
        fs::write(folder.join("raw.csv"), raw).unwrap();
        let message = refused(folder, &IMPORT);
        assert!(
            message.contains(wanted),
            "{message} where {wanted} was expected"
        );
    }
}

#[test]
fn options_that_do_not_fit_the_file() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("raw.csv"), good()).unwrap();
    let with = |more: &[&str]| refused(folder, &[&IMPORT[..], more].concat());
    let time = |more: &[&str]| {
        let mut args = IMPORT.to_vec();
        args[6] = "--time";
        args[7] = "when";
        refused(folder, &[&args[..], more].concat())
    };
    #[rustfmt::skip]
    let cases = [
        (with(&["--steps", "4"]), "raw.csv:6: found step 5; accepted: a step from 1 to 4"),
        (with(&["--features", "age,height"]), "raw.csv:1: found no column `height`"),
        (with(&["--features", "age,bought"]), "raw.csv:1: column `bought`: found among the features; accepted: columns that describe a customer before the offer"),
        (with(&["--features", "age,age"]), "raw.csv:1: found column `age` twice"),
        (with(&["--features", "day"]), "raw.csv:1: column `day`: found among the features; accepted: columns that describe a customer before the offer"),
        (with(&["--categories", "zip"]), "raw.csv:1: found no column `zip`"),
        (with(&["--budget-column", "units"]), "raw.csv:1: found no column `units`"),
        (with(&["--budget-column", "age"]), "raw.csv:3: found a budget of 27 in an episode with 20"),
        (with(&["--budget-column", "when"]), "raw.csv:2: column `when`: found `2026-01-01 10:30`; accepted: a whole number from 0"),
        (with(&["--budget", "0"]), "0 is not in 1.."),
        (with(&["--budget", "5", "--budget-column", "stock"]), "cannot be used with"),
        (with(&["--probability", "age"]), "raw.csv:2: column `age`: found `20`; accepted: a probability above 0, up to 1"),
        (with(&["--kind", "auction"]), "raw.csv: found 3 columns that may describe an auction; accepted: one feature"),
        (with(&["--kind", "auction", "--features", "when"]), "raw.csv:2: column `when`: found `2026-01-01 10:30`; accepted: a number"),
        (with(&["--kind", "rental"]), "invalid value 'rental'"),
        (with(&["--kind", "procurement", "--round", "0.4"]), "raw.csv:2: column `price`: found `1`; accepted: a whole number from 0"),
        (with(&["--round", "0"]), "accepted: a positive number"),
        (time(&["--steps", "5", "--open", "11:00", "--close", "20:00"]), "raw.csv:2: found 10:30; accepted: times from 11:00 to 20:00"),
        (time(&["--steps", "5", "--open", "25:00", "--close", "20:00"]), "accepted: a time of day as HH:MM"),
        (time(&["--steps", "0"]), "0 is not in 1.."),
        (with(&["--quantity", "age", "--kind", "auction"]), "--quantity: found another kind of offers; accepted: prices or wages"),
        (with(&["--relative-to", "when"]), "raw.csv:2: column `when`: found `2026-01-01 10:30`; accepted: a price above 0"),
    ];
    for (message, wanted) in cases {
        assert!(
            message.contains(wanted),
            "{message} where {wanted} was expected"
        );
    }
    // Invalid hours, and an episode of several days.
    let mut args = IMPORT.to_vec();
    args[6] = "--time";
    let message = refused(folder, &[&args[..], &["--steps", "5"]].concat());
    assert!(
        message.contains(
            "raw.csv:2: column `hour`: found `1`; accepted: a time such as 2026-11-16 09:30"
        ),
        "{message}"
    );
    fs::write(
        folder.join("raw.csv"),
        good().replacen("2026-01-01 11:30", "2026-01-03 11:30", 1),
    )
    .unwrap();
    args[7] = "when";
    let message = refused(folder, &[&args[..], &["--steps", "5"]].concat());
    assert!(
        message.contains("raw.csv:3: found times a day or more apart"),
        "{message}"
    );
}

#[test]
fn mistakes_in_a_task_folder() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("raw.csv"), good()).unwrap();
    let message = refused(folder, &["fit", "t"]);
    assert!(message.contains("t/task.toml: cannot be read"), "{message}");
    cbwk_ok(folder, &IMPORT);
    let message = refused(folder, &["plan", "t"]);
    assert!(
        message
            .contains("t/model.json: found nothing; accepted: a folder whose log has been fitted"),
        "{message}"
    );
    let message = refused(folder, &IMPORT);
    assert!(
        message.contains("t: already holds results (task.toml)"),
        "{message}"
    );
    cbwk_ok(folder, &["fit", "t"]);
    #[rustfmt::skip]
    let cases = [
        ("task.toml", "horizon = 5", "horizon = 0", "t/task.toml: study.horizon: found 0"),
        ("task.toml", "horizon = 5", "horizont = 5", "t/task.toml:5: unknown field `horizont`"),
        ("task.toml", "kind = \"pricing\"", "kind = \"prising\"", "unknown variant `prising`"),
        ("task.toml", "prices = [1.0, 2.0, 3.0]", "prices = [1.0, 3.0, 2.0]", "t/task.toml: application: found another order; accepted: different actions in rising order"),
        ("task.toml", "prices = [1.0, 2.0, 3.0]", "prices = [1.0, 2.0]", "t/log.csv:4: column `action`: found `3`; accepted: one of 1, 2, or nothing"),
        ("task.toml", "column = \"age\"", "column = \"height\"", "t/log.csv:1: found no column `height`"),
        ("task.toml", "[action]\nmean", "[action]\nmode", "unknown field `mode`"),
        ("task.toml", "constant = true", "constant = tru", "t/task.toml:"),
        ("log.csv", "d0,1,", "d0,9,", "t/log.csv:2: column `step`: found `9`; accepted: a step from 1 to 5"),
        ("log.csv", "d0,1,1,", "d0,1,,", "t/log.csv:2: column `constant`: found ``; accepted: a number"),
        ("log.csv", ",1,0\n", ",1,yess\n", "t/log.csv:2: column `accepted`: found `yess`; accepted: 0 or 1"),
        ("log.csv", ",1,0\n", ",,1\n", "t/log.csv:2: column `accepted`: found `1`; accepted: 0 where nothing was offered"),
        ("log.csv", "episode,step", "episode,stap", "t/log.csv:1: found no column `step`"),
        ("log.csv", ",1,0\n", ",1,1\n", "t/log.csv: log: found another log; accepted: the log that the model was fitted to (fit again after a change)"),
        ("model.json", "\"kind\": \"", "\"kind\": \"un", "t/model.json:"),
        ("model.json", "\"lambda\": ", "\"lambda\": -", "t/log.csv: log: found another log"),
        ("model.json", "{", "[", "t/model.json:"),
    ];
    for (name, find, replace, wanted) in cases {
        let place = folder.join("t").join(name);
        let before = fs::read_to_string(&place).unwrap();
        assert!(before.contains(find), "{find:?} is not in {name}");
        fs::write(&place, before.replacen(find, replace, 1)).unwrap();
        let message = refused(folder, &["plan", "t"]);
        fs::write(&place, before).unwrap();
        assert!(
            message.contains(wanted),
            "{message} where {wanted} was expected"
        );
    }
    #[rustfmt::skip]
    let cases: [(&[&str], &str); 9] = [
        (&["plan", "t", "--budget", "0"], "0 is not in 1.."),
        (&["plan", "t", "--segments", "0"], "0 is not in 1.."),
        (&["evaluate", "t", "--against", "fixed:7"], "--against: found fixed:7; accepted: an offer that the log supports: 1, 2, 3"),
        (&["evaluate", "t", "--against", "fixed:x"], "accepted: plan, logged, or fixed:<price>"),
        (&["evaluate", "t", "--against", "plan"], "--against: found `plan` twice; accepted: two policies"),
        (&["evaluate", "t", "--policy", "logged"], "--against: found `logged` twice; accepted: two policies"),
        (&["evaluate", "t", "--draws", "3"], "3 is not in 20.."),
        (&["fit", "nowhere"], "nowhere/task.toml: cannot be read"),
        (&["presets", "--log", "loan-table"], "--log: found a preset whose rewards are a table"),
    ];
    for (args, wanted) in cases {
        let message = refused(folder, args);
        assert!(
            message.contains(wanted),
            "{message} where {wanted} was expected"
        );
    }
}

#[test]
fn mistakes_in_studies_that_use_a_log() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("raw.csv"), good()).unwrap();
    cbwk_ok(folder, &IMPORT);
    cbwk_ok(folder, &["fit", "t"]);
    let study = fs::read_to_string(folder.join("t/study.toml")).unwrap();
    #[rustfmt::skip]
    let cases = [
        ("path = \"log.csv\"", "path = \"lug.csv\"", "t/lug.csv: cannot be read"),
        ("horizon = 5", "horizon = 4", "t/log.csv:6: column `step`: found `5`; accepted: a step from 1 to 4"),
        ("kind = \"clairvoyant\"", "kind = \"tight-opt-dp\"\nname = \"warm\"\ninitial_log = \"lug.csv\"", "t/lug.csv: cannot be read"),
        ("kind = \"clairvoyant\"", "kind = \"clairvoyant\"\ninitial_log = \"log.csv\"", "found unknown key `initial_log`"),
        ("prices = [1.0, 2.0, 3.0]", "prices = [1.0, 2.0]", "value: found"),
        ("value = 2.0", "value = 7.0", "policies[3].value: found 7; accepted: one of 1, 2, 3"),
    ];
    for (find, replace, wanted) in cases {
        assert!(
            study.contains(find),
            "{find:?} is not in the study:\n{study}"
        );
        let mut changed = study.replacen(find, replace, 1);
        if replace.contains("[1.0, 2.0]") {
            changed = changed.replace("value = 2.0", "value = 3.0");
        }
        fs::write(folder.join("t/study.toml"), changed).unwrap();
        let message = refused(folder, &["simulate", "t/study.toml", "--out", "o"]);
        assert!(
            message.contains(wanted),
            "{message} where {wanted} was expected"
        );
    }
    let warm = study.replacen(
        "kind = \"clairvoyant\"",
        "kind = \"tight-opt-dp\"\nname = \"warm\"\ninitial_log = \"other.csv\"",
        1,
    );
    fs::write(folder.join("t/study.toml"), warm).unwrap();
    let log = fs::read_to_string(folder.join("t/log.csv")).unwrap();
    for (find, replace, wanted) in [
        (
            ",1,0\n",
            ",8,0\n",
            "t/other.csv:2: column `action`: found `8`; accepted: one of 1, 2, 3, or nothing",
        ),
        (
            "constant,age",
            "constant,height",
            "t/other.csv:1: found no column `age`",
        ),
    ] {
        fs::write(folder.join("t/other.csv"), log.replacen(find, replace, 1)).unwrap();
        let message = refused(folder, &["simulate", "t/study.toml", "--out", "o"]);
        assert!(
            message.contains(wanted),
            "{message} where {wanted} was expected"
        );
    }
}
