//! What `calibrate` shows: coverage, width and error of an oracle's bounds as data grow.

use std::fmt::Write;

use super::csv::quoted;
use super::plot::{AxisName, Chart, Point, Series};
use super::table::align;
use crate::experiment::Coverage;

/// `coverage.csv`: one line per oracle and number of observations.
pub fn csv(oracles: &[(String, Vec<Coverage>)]) -> String {
    let mut text =
        String::from("oracle,observations,pairs_covered,all_covered,width,error,factor\n");
    for (name, rows) in oracles {
        for c in rows {
            let name = quoted(name);
            writeln!(
                text,
                "{name},{},{},{},{},{},{}",
                c.observations, c.pairs, c.all, c.width, c.error, c.factor
            )
            .expect("writing to a string");
        }
    }
    text
}

/// A table for people.
pub fn table(rows: &[Coverage]) -> String {
    let header = [
        "observations",
        "pairs covered",
        "all covered",
        "mean width",
        "mean error",
        "factor",
    ];
    let rows = rows.iter().map(|c| {
        [
            c.observations.to_string(),
            format!("{:.2}%", 100.0 * c.pairs),
            format!("{:.1}%", 100.0 * c.all),
            format!("{:.4}", c.width),
            format!("{:.4}", c.error),
            format!("{:.3}", c.factor),
        ]
    });
    let mut text = String::new();
    align(&mut text, &header.map(String::from), rows);
    text
}

/// `coverage.svg`: the share of data sets whose pairs are all covered, against the level asked for.
pub fn coverage_chart(title: &str, delta: f64, oracles: &[(String, Vec<Coverage>)]) -> Chart {
    let mut series: Vec<Series> = Vec::new();
    for (i, (name, rows)) in oracles.iter().enumerate() {
        let all = curve(format!("{name}: all pairs"), rows, |c| c.all);
        let pair = curve(format!("{name}: a pair"), rows, |c| c.pairs);
        series.extend([all.with_style(i, 0), pair.with_style(i, 1)]);
    }
    let level = |c: &Coverage| Point::new(c.observations as f64, 1.0 - delta);
    let rows = oracles.first().map_or(&[][..], |(_, rows)| rows);
    let level = Series::new("1 - delta", rows.iter().map(level).collect());
    series.push(level.with_style(oracles.len(), 2));
    Chart {
        title: title.into(),
        x: AxisName::log("observations"),
        y: AxisName::linear("share inside the bounds"),
        series,
    }
}

/// `width.svg`: mean width of the bounds and mean error of the estimates.
pub fn width_chart(title: &str, oracles: &[(String, Vec<Coverage>)]) -> Chart {
    let mut series = Vec::new();
    for (i, (name, rows)) in oracles.iter().enumerate() {
        let width = curve(format!("{name}: width"), rows, |c| c.width);
        let error = curve(format!("{name}: error"), rows, |c| c.error);
        series.extend([width.with_style(i, 0), error.with_style(i, 1)]);
    }
    Chart {
        title: title.into(),
        x: AxisName::log("observations"),
        y: AxisName::log("conversion probability"),
        series,
    }
}

fn curve(name: String, rows: &[Coverage], of: fn(&Coverage) -> f64) -> Series {
    let points = rows
        .iter()
        .map(|c| Point::new(c.observations as f64, of(c)));
    Series::new(name, points.collect())
}
