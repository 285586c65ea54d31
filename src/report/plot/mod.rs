//! Pictures: line charts as SVG, and the charts that the commands draw.

mod axis;
mod chart;
mod frame;
mod heat;
pub mod ramp;

pub use axis::Scale;
pub use chart::{AxisName, Chart, Point, Series};
pub use heat::{HeatMap, mean_offer};

pub(crate) use frame::{COLOURS, DASHES, NAME_LENGTH, shorten};

use crate::results::Results;
use crate::statistics::MeanAndError;

/// Points drawn per curve at the most.
const POINTS: usize = 800;

/// What the vertical axis of a regret chart is called.
const REGRET: &str = "cumulative regret (mean, band of 3 standard errors)";

/// `regret.svg`: mean cumulative regret per policy with its band.
pub fn regret(results: &Results) -> Chart {
    let (name, run) = (&results.study.name, &results.run);
    let title = format!(
        "{name}: T = {}, H = {}, {} replications",
        run.episodes, run.horizon, run.replications
    );
    let policies = results.policies.iter();
    regret_curves(&title, policies.map(|p| (p.name(), &p.cumulative[..])))
}

/// Mean cumulative regret with its band, by name.
pub fn regret_curves<'a>(
    title: &str,
    policies: impl Iterator<Item = (impl Into<String>, &'a [MeanAndError])>,
) -> Chart {
    let series = policies.map(|(name, cumulative)| {
        let last = cumulative.last().map_or(0.0, |p| p.mean);
        Series::new(name, curve(cumulative)).with_note(format!("final {last:.1}"))
    });
    Chart {
        title: title.into(),
        x: AxisName::linear("episode"),
        y: AxisName::linear(REGRET),
        series: series.collect(),
    }
}

/// Budget left by step, the end of the episode last.
pub fn budget_left(title: &str, policies: &[(String, &[MeanAndError])]) -> Chart {
    let series = policies.iter().map(|(name, left)| {
        let points = (1..).zip(*left).map(|(h, left)| {
            // Nobody can have less than nothing left.
            let lower = left.lower().max(0.0);
            Point::new(f64::from(h), left.mean).with_band(lower, left.upper())
        });
        let end = left.last().map_or(0.0, |end| end.mean);
        Series::new(name, points.collect()).with_note(format!("{end:.2} left at the end"))
    });
    Chart {
        title: title.into(),
        x: AxisName {
            from_zero: false,
            ..AxisName::linear("step (the last point is the end of the episode)")
        },
        y: AxisName::linear("budget left at the start of the step (units)"),
        series: series.collect(),
    }
}

/// Charts in a row, as one picture.
pub fn side_by_side(charts: &[Chart]) -> String {
    let mut svg = String::new();
    let parts: Vec<String> = charts.iter().map(Chart::svg).collect();
    let height = charts.iter().map(frame::height).fold(0.0, f64::max);
    let width = frame::WIDTH * charts.len() as f64;
    frame::put(
        &mut svg,
        format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\">"
        ),
    );
    for (i, part) in parts.iter().enumerate() {
        let left = frame::WIDTH * i as f64;
        frame::put(
            &mut svg,
            format_args!("<g transform=\"translate({left} 0)\">\n{part}</g>"),
        );
    }
    svg.push_str("</svg>\n");
    svg
}

/// A mean with its band as a point.
pub fn banded(x: f64, value: &MeanAndError) -> Point {
    Point::new(x, value.mean).with_band(value.lower(), value.upper())
}

/// A curve over episodes 1, 2, ..., thinned to what an eye can tell apart.
fn curve(values: &[MeanAndError]) -> Vec<Point> {
    let stride = values.len().div_ceil(POINTS).max(1);
    let last = values.len().saturating_sub(1);
    values
        .iter()
        .enumerate()
        .filter(|(t, _)| t % stride == 0 || *t == last)
        .map(|(t, value)| banded((t + 1) as f64, value))
        .collect()
}
