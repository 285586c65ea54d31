//! Tables and charts of `calibrate`: coverage, width and error of an oracle's bounds as data grow.

use super::plot::{AxisSpec, Chart, Point, Series};
use super::style::{Style, Table, fixed};
use crate::results::CoverageRow;

/// The table of one oracle.
pub fn table(rows: &[CoverageRow], style: Style) -> String {
    let mut table = Table::new([
        "observations",
        "pairs covered",
        "all covered",
        "at all times",
        "mean width",
        "mean error",
        "factor",
    ]);
    for row in rows {
        table.push([
            row.observations.to_string(),
            format!("{:.2}%", 100.0 * row.pairs_covered),
            format!("{:.1}%", 100.0 * row.all_covered),
            format!("{:.1}%", 100.0 * row.always_covered),
            fixed(row.width, 4),
            fixed(row.error, 4),
            fixed(row.factor, 3),
        ]);
    }
    table.text(style)
}

/// The rows of each oracle.
pub fn by_oracle(rows: &[CoverageRow]) -> impl Iterator<Item = &[CoverageRow]> {
    rows.chunk_by(|row, next| row.oracle == next.oracle)
}

/// `coverage.svg`: the share of data sets whose pairs are all covered and that of single pairs, beside the level 1 - delta.
pub fn coverage_chart(title: &str, delta: f64, rows: &[CoverageRow]) -> Chart {
    let curves: [Curve; 2] = [
        ("all pairs at once", |row| row.all_covered),
        ("a single pair", |row| row.pairs_covered),
    ];
    let mut series = by_curve(rows, curves);
    let level = |row: &CoverageRow| Point::new(row.observations as f64, 1.0 - delta);
    let first = by_oracle(rows).next().unwrap_or(&[]);
    let level = Series::new("1 - delta", first.iter().map(level).collect());
    let note = format!("{}, what is promised", 1.0 - delta);
    series.push(level.with_note(note).with_style(6, 2));
    Chart {
        title: title.into(),
        x: AxisSpec::log_whole("observations"),
        y: AxisSpec {
            from_zero: false,
            ..AxisSpec::linear("share inside the bounds")
        },
        series,
    }
}

/// `width.svg`: mean width of the bounds and mean error of the estimates.
pub fn width_chart(title: &str, rows: &[CoverageRow]) -> Chart {
    let curves: [Curve; 2] = [
        ("mean width of the bounds", |row| row.width),
        ("mean error of estimates", |row| row.error),
    ];
    Chart {
        title: title.into(),
        x: AxisSpec::log_whole("observations"),
        y: AxisSpec::log("conversion probability"),
        series: by_curve(rows, curves),
    }
}

/// The name and the values of a curve.
type Curve = (&'static str, fn(&CoverageRow) -> f64);

/// Two curves per oracle: a colour for the oracle, solid for the first and dashed for the second.
fn by_curve(rows: &[CoverageRow], curves: [Curve; 2]) -> Vec<Series> {
    let mut series = Vec::new();
    for (i, rows) in by_oracle(rows).enumerate() {
        for (dash, (what, value)) in curves.iter().enumerate() {
            let points = rows.iter();
            let points = points.map(|row| Point::new(row.observations as f64, value(row)));
            let name = rows.first().map_or("", |row| &row.oracle);
            // The bounds come first: long names are cut at the end.
            let name = match name.split_once(", ") {
                Some((oracle, bounds)) => {
                    format!("{} {oracle}", bounds.trim_end_matches(" bounds"))
                }
                None => name.to_string(),
            };
            let curve = Series::new(name, points.collect()).with_note(*what);
            series.push(curve.with_style(i % 6, dash));
        }
    }
    series
}
