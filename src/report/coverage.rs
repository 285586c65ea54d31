//! What `calibrate` shows: coverage, width and error of an oracle's bounds as data grow.

use super::plot::{AxisName, Chart, Point, Series};
use super::table::align;
use crate::results::CoverageRow;

/// A table for people, of one oracle.
pub fn table(rows: &[CoverageRow]) -> String {
    let header = [
        "observations",
        "pairs covered",
        "all covered",
        "at all times",
        "mean width",
        "mean error",
        "factor",
    ];
    let rows = rows.iter().map(|row| {
        [
            row.observations.to_string(),
            format!("{:.2}%", 100.0 * row.pairs_covered),
            format!("{:.1}%", 100.0 * row.all_covered),
            format!("{:.1}%", 100.0 * row.always_covered),
            format!("{:.4}", row.width),
            format!("{:.4}", row.error),
            format!("{:.3}", row.factor),
        ]
    });
    let mut text = String::new();
    align(&mut text, &header.map(String::from), rows);
    text
}

/// The lines of each oracle, one oracle after another.
pub fn by_oracle(rows: &[CoverageRow]) -> impl Iterator<Item = &[CoverageRow]> {
    rows.chunk_by(|row, next| row.oracle == next.oracle)
}

/// `coverage.svg`: the share of data sets whose pairs are all covered, against the level asked for.
pub fn coverage_chart(title: &str, delta: f64, rows: &[CoverageRow]) -> Chart {
    let mut series: Vec<Series> = Vec::new();
    for (i, rows) in by_oracle(rows).enumerate() {
        let all = curve("all pairs", rows, |row| row.all_covered);
        let pair = curve("a pair", rows, |row| row.pairs_covered);
        series.extend([all.with_style(i, 0), pair.with_style(i, 1)]);
    }
    let oracles = series.len() / 2;
    let level = |row: &CoverageRow| Point::new(row.observations as f64, 1.0 - delta);
    let first = by_oracle(rows).next().unwrap_or(&[]);
    let level = Series::new("1 - delta", first.iter().map(level).collect());
    series.push(level.with_style(oracles, 2));
    Chart {
        title: title.into(),
        x: AxisName::log("observations"),
        y: AxisName::linear("share inside the bounds"),
        series,
    }
}

/// `width.svg`: mean width of the bounds and mean error of the estimates.
pub fn width_chart(title: &str, rows: &[CoverageRow]) -> Chart {
    let mut series = Vec::new();
    for (i, rows) in by_oracle(rows).enumerate() {
        let width = curve("width", rows, |row| row.width);
        let error = curve("error", rows, |row| row.error);
        series.extend([width.with_style(i, 0), error.with_style(i, 1)]);
    }
    Chart {
        title: title.into(),
        x: AxisName::log("observations"),
        y: AxisName::log("conversion probability"),
        series,
    }
}

fn curve(what: &str, rows: &[CoverageRow], of: fn(&CoverageRow) -> f64) -> Series {
    let oracle = rows.first().map_or("", |row| &row.oracle);
    let points = rows
        .iter()
        .map(|row| Point::new(row.observations as f64, of(row)));
    Series::new(format!("{oracle}: {what}"), points.collect())
}
