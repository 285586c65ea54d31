//! One log in many formats: all give the same task and the same log, or one line says why not.

mod common;
#[path = "common/shop.rs"]
mod shop;

use std::fs;
use std::path::Path;

use common::{cbwk, cbwk_ok, say};
use shop::read;
use tempfile::tempdir;

/// A sale: day of March 2026, minute of the day, age, town, price, whether it was bought.
type Sale = (u32, u32, u32, &'static str, f64, u32);

fn sales() -> Vec<Sale> {
    let towns = ["Basel", "Genève", "Zürich"];
    let sale = |i: u32| {
        let (day, minute) = (1 + i / 4, 9 * 60 + 100 * (i % 4) + i % 7);
        let price = [9.5, 12.0, 14.5][(i * 5 % 7 % 3) as usize];
        (
            day,
            minute,
            20 + i * 13 % 80,
            towns[(i * 3 % 5 % 3) as usize],
            price,
            i * 7 % 11 % 2,
        )
    };
    (0..80).map(sale).collect()
}

/// The format of the file.
struct Spelling {
    separator: &'static str,
    end: &'static str,
    header: &'static str,
    when: fn(&Sale) -> String,
    age: fn(u32) -> String,
    price: fn(f64) -> String,
    town: fn(&str) -> String,
    bought: fn(u32) -> String,
}

const PLAIN: Spelling = Spelling {
    separator: ",",
    end: "\n",
    header: "when,age,town,price,bought",
    when: |s| format!("2026-03-{:02} {}", s.0, clock(s)),
    age: |x| x.to_string(),
    price: |x| x.to_string(),
    town: str::to_string,
    bought: |x| x.to_string(),
};

fn clock(sale: &Sale) -> String {
    format!("{:02}:{:02}", sale.1 / 60, sale.1 % 60)
}

fn half_day(sale: &Sale) -> String {
    let (hour, half) = (sale.1 / 60, if sale.1 < 720 { "AM" } else { "PM" });
    format!("{}:{:02} {half}", (hour + 11) % 12 + 1, sale.1 % 60)
}

impl Spelling {
    fn text(&self) -> String {
        let mut text = self.header.replace(',', self.separator) + self.end;
        for sale in sales() {
            let cells = [
                (self.when)(&sale),
                (self.age)(sale.2),
                (self.town)(sale.3),
                (self.price)(sale.4),
                (self.bought)(sale.5),
            ];
            text += &(cells.join(self.separator) + self.end);
        }
        text
    }
}

const IMPORT: [&str; 15] = [
    "import",
    "raw.csv",
    "--out",
    "t",
    "--force",
    "--episode",
    "when",
    "--time",
    "when",
    "--steps",
    "16",
    "--action",
    "price",
    "--accepted",
    "bought",
];

fn imported(folder: &Path, content: &[u8]) -> (String, String) {
    fs::write(folder.join("raw.csv"), content).unwrap();
    let summary = cbwk_ok(folder, &IMPORT);
    (
        read(folder, "t/log.csv") + &read(folder, "t/task.toml"),
        summary,
    )
}

#[test]
fn one_log_in_many_formats() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    let (wanted, _) = imported(folder, PLAIN.text().as_bytes());
    let numbered = |text: String| {
        let lines = text.lines().enumerate();
        let line = |(i, line): (usize, &str)| match i {
            0 => format!(",{line}\n"),
            _ => format!("{i},{line}\n"),
        };
        lines.map(line).collect::<String>()
    };
    #[rustfmt::skip]
    let spellings = [
        ("semicolons and decimal commas", Spelling { separator: ";", price: |x| x.to_string().replace('.', ","), ..PLAIN }.text()),
        ("tabs", Spelling { separator: "\t", ..PLAIN }.text()),
        ("bars", Spelling { separator: "|", ..PLAIN }.text()),
        ("a byte order mark", format!("\u{feff}{}", PLAIN.text())),
        ("carriage returns", Spelling { end: "\r\n", ..PLAIN }.text()),
        ("old carriage returns", Spelling { end: "\r", ..PLAIN }.text()),
        ("quotes", Spelling { town: |t| format!("\"{t}\""), price: |x| format!("\"{x}\""), ..PLAIN }.text()),
        ("spaces", Spelling { separator: " , ", ..PLAIN }.text()),
        ("blank lines", PLAIN.text().replace('\n', "\n\n")),
        ("yes and no", Spelling { bought: |b| ["No", "YES"][b as usize].into(), ..PLAIN }.text()),
        ("0.0 and 1.0", Spelling { bought: |b| format!("{b}.0"), price: |x| format!("{x:.2}"), ..PLAIN }.text()),
        ("days first, with dots", Spelling { when: |s| format!("{:02}.03.2026 {}", s.0, clock(s)), ..PLAIN }.text()),
        ("days first, with slashes", Spelling { when: |s| format!("{}/3/2026 {}", s.0, clock(s)), ..PLAIN }.text()),
        ("months first, with slashes", Spelling { when: |s| format!("03/{:02}/2026 {}", s.0, clock(s)), ..PLAIN }.text()),
        ("months first, AM and PM", Spelling { when: |s| format!("3/{}/2026 {}", s.0, half_day(s)), ..PLAIN }.text()),
        ("ISO 8601 with a zone", Spelling { when: |s| format!("2026-03-{:02}T{}:00.125+02:00", s.0, clock(s)), ..PLAIN }.text()),
        // 2026-03-01 is day 20,513.
        ("seconds since 1970", Spelling { when: |s| (86_400 * (20_512 + s.0) + 60 * s.1).to_string(), ..PLAIN }.text()),
        ("an empty column at the end", Spelling { end: ",\n", ..PLAIN }.text()),
        ("empty cells at the end of rows", Spelling { end: ",\n", ..PLAIN }.text().replacen(",\n", "\n", 1)),
        ("row numbers without a name", numbered(PLAIN.text())),
    ];
    for (what, text) in &spellings {
        let (found, _) = imported(folder, text.as_bytes());
        assert!(
            found == wanted,
            "{what}:\n{text}\n{found}\nin place of\n{wanted}"
        );
    }
    say(&format!("{} spellings of one log", spellings.len()));
    // The summary lists what was left out.
    let (_, summary) = imported(folder, numbered(PLAIN.text()).as_bytes());
    assert!(
        summary.contains("left out\n  column `1`: it has no name"),
        "{summary}"
    );
}

/// Texts with line breaks, and columns of numbers and texts.
#[test]
fn texts_with_line_breaks_do_not_break_summaries() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    let text = Spelling {
        town: |t| format!("\"{t}\nCH\""),
        ..PLAIN
    }
    .text();
    let (_, summary) = imported(folder, text.as_bytes());
    assert!(
        summary.contains("features   4: constant, age, town=Genève\\nCH, town=Zürich\\nCH\n"),
        "{summary}"
    );
    let mixed = Spelling {
        age: |age| match age % 4 {
            0 => format!("about {age}"),
            _ => age.to_string(),
        },
        ..PLAIN
    };
    let (_, summary) = imported(folder, mixed.text().as_bytes());
    assert!(
        summary.contains("column `age`: 60 numbers and 20 texts such as `about 20`"),
        "{summary}"
    );
}

#[test]
fn unreadable_formats_are_refused_in_a_line() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    let latin: Vec<u8> = PLAIN.text().chars().map(|c| c as u32 as u8).collect();
    let unclear = |s: &Sale| format!("{}/3/2026 {}", s.0.min(12), clock(s));
    let both = |s: &Sale| match s.0 {
        20 => format!("3/20/2026 {}", clock(s)),
        day => format!("{day}/3/2026 {}", clock(s)),
    };
    #[rustfmt::skip]
    let cases = [
        (latin, "raw.csv:4: found bytes that are not UTF-8; accepted: UTF-8"),
        (Spelling { when: unclear, ..PLAIN }.text().into_bytes(), "raw.csv:2: column `when`: found `1/3/2026 09:00`, where day and month are ambiguous"),
        (Spelling { when: both, ..PLAIN }.text().into_bytes(), "raw.csv:78: column `when`: found `3/20/2026"),
        (Spelling { price: |x| format!("{x} apples"), ..PLAIN }.text().into_bytes(), "raw.csv:2: column `price`: found `"),
        (Spelling { price: |x| format!("\"{},000\"", x.round()), ..PLAIN }.text().into_bytes(), "raw.csv:2: column `price`: found `"),
        (format!("Sales of March\n{}", PLAIN.text()).into_bytes(), "raw.csv:1: found no column `when` in `Sales of March`"),
        (format!("{}Total,,,1000,\n", PLAIN.text()).into_bytes(), "raw.csv:82: column `when`: found `Total`"),
        (Spelling { header: "when,age,age,price,bought", ..PLAIN }.text().into_bytes(), "raw.csv:1: found column `age` twice"),
    ];
    for (content, wanted) in cases {
        fs::write(folder.join("raw.csv"), content).unwrap();
        let output = cbwk(folder, &IMPORT);
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(
            message.contains(wanted) && message.lines().count() == 1,
            "{message} where {wanted} was expected"
        );
    }
}

/// Thousands of columns: the header is longer than what is read to detect the separator.
#[test]
fn a_header_of_90_kb_is_read_whole() {
    let folder = tempdir().unwrap();
    let filler: Vec<String> = (0..9000).map(|i| format!("column{i:04}")).collect();
    let mut text = format!("day,step,age,{},price,bought\n", filler.join(","));
    let empty = ",".repeat(9000);
    for (i, sale) in (0..).zip(sales()) {
        text += &format!(
            "{},{},{}{empty},{},{}\n",
            sale.0,
            i % 4 + 1,
            sale.2,
            sale.4,
            sale.5
        );
    }
    fs::write(folder.path().join("wide.csv"), text).unwrap();
    let args = "import wide.csv --out wide --episode day --step step --action price --accepted bought --features age";
    let args: Vec<&str> = args.split(' ').collect();
    cbwk_ok(folder.path(), &args);
    assert_eq!(read(folder.path(), "wide/log.csv").lines().count(), 81);
}

/// A spreadsheet that opens plan.csv runs nothing that a customer wrote.
#[test]
fn formulas_are_texts_in_plan_csv() {
    let folder = tempdir().unwrap();
    let mut text = String::from("day,step,town,+temperature,price,bought\n");
    for (i, sale) in (0..).zip(sales()) {
        let town = ["=cmd|' /C calc'!A0", "@SUM(1)", "Zürich"][i % 3];
        text += &format!(
            "{},{},{town},{},{},{}\n",
            sale.0,
            i % 4 + 1,
            i as f64 / 8.0 - 5.0,
            sale.4,
            sale.5
        );
    }
    fs::write(folder.path().join("raw.csv"), text).unwrap();
    let args =
        "import raw.csv --out shop --episode day --step step --action price --accepted bought";
    let args: Vec<&str> = args.split(' ').collect();
    cbwk_ok(folder.path(), &args);
    cbwk_ok(folder.path(), &["fit", "shop"]);
    cbwk_ok(folder.path(), &["plan", "shop"]);
    let plan = read(folder.path(), "shop/plan.csv");
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .from_reader(plan.as_bytes());
    let cells: Vec<String> = reader
        .records()
        .flat_map(|r| r.unwrap().iter().map(String::from).collect::<Vec<_>>())
        .collect();
    let is_formula =
        |cell: &&String| cell.starts_with(['=', '+', '-', '@']) && cell.parse::<f64>().is_err();
    assert_eq!(cells.iter().find(is_formula), None);
    assert!(
        cells.iter().any(|cell| cell == "'=cmd|' /C calc'!A0")
            && cells.iter().any(|cell| cell == "'+temperature")
    );
    assert!(
        cells.iter().any(|cell| cell.starts_with('-')),
        "negative numbers stay numbers"
    );
}

/// Times of several zones are one log once the shop's zone is known, and refused until then.
#[test]
fn times_of_several_zones_are_converted_to_the_shops() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    let (plain, _) = imported(folder, PLAIN.text().as_bytes());
    let mixed = Spelling {
        when: |s| match s.0 % 3 {
            0 => format!("2026-03-{:02}T{}:00+01:00", s.0, clock(s)),
            1 => format!("2026-03-{:02}T{:02}:{:02}:00Z", s.0, s.1 / 60 - 1, s.1 % 60),
            _ => format!("2026-03-{:02} {}", s.0, clock(s)),
        },
        ..PLAIN
    };
    fs::write(folder.join("raw.csv"), mixed.text()).unwrap();
    let refused = cbwk(folder, &IMPORT);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("which have different zones"), "{said}");
    let summary = cbwk_ok(
        folder,
        &[&IMPORT[..], &["--zone", "Europe/Vienna"]].concat(),
    );
    assert!(
        summary.contains("times have no zone and are taken as local"),
        "{summary}"
    );
    let task = read(folder, "t/task.toml");
    assert!(task.contains("zone = \"Europe/Vienna\""), "{task}");
    let task = task.replace("zone = \"Europe/Vienna\"\n", "");
    assert_eq!(read(folder, "t/log.csv") + &task, plain);
    let wrong = cbwk(folder, &[&IMPORT[..], &["--zone", "Middle/Earth"]].concat());
    assert_eq!(wrong.status.code(), Some(2));
}
