//! A shop of the program's own making, whose truth is known: raw rows of it, and its task folder.
#![allow(dead_code, reason = "each test file uses a part")]

use std::fs;
use std::path::Path;

use crate::common::cbwk_ok;

pub fn read(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join(name)).unwrap()
}

/// A column of a CSV.
pub fn column(text: &str, name: &str) -> Vec<String> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let place = reader.headers().unwrap().iter().position(|h| h == name);
    let place = place.unwrap_or_else(|| panic!("no column {name}"));
    let records = reader.records();
    records.map(|r| r.unwrap()[place].to_string()).collect()
}

pub const SHOP: [&str; 12] = [
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

pub fn imported_shop(folder: &Path, episodes: &str) {
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
