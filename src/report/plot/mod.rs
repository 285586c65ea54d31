//! Pictures: line charts as SVG, and the charts that the commands draw.

mod axis;
mod chart;
mod frame;
mod heat;
pub mod ramp;
mod styles;
mod svg;

pub use axis::Scale;
pub use chart::{AxisSpec, Chart, Point, Series};
pub use heat::{HeatMap, mean_offer};
pub use styles::{OPT, curve_styles, styles};

pub(crate) use frame::{COLOURS, DASHES, NAME_LENGTH};
use svg::Svg;
pub(crate) use svg::shorten;

use super::style::fixed;
use crate::results::Results;
use crate::statistics::MeanAndError;

/// The most points drawn per curve.
const POINTS: usize = 800;

/// Name of the vertical axis of a regret chart.
const REGRET: &str = "cumulative regret (mean, band of 3 standard errors)";

/// `regret.svg`: mean cumulative regret per policy with its band.
pub fn regret(results: &Results) -> Chart {
    let (name, run) = (&results.study.name, &results.run);
    let title = format!(
        "{name}: T = {}, H = {}, {} replications",
        run.episodes, run.horizon, run.replications
    );
    let policies = results.policies.iter();
    regret_curves(
        &title,
        policies.map(|p| (p.name(), p.name(), &p.cumulative[..])),
    )
}

/// The chart with the policy names of the paper's figure.
pub fn with_paper_names(mut chart: Chart) -> Chart {
    let names = [
        ("mimic-opt-dp", "Mimic-Opt-DP"),
        ("square-cbwk", "SquareCBwK"),
        ("logistic-ucb1", "Logistic-UCB1"),
    ];
    for series in &mut chart.series {
        if let Some((_, name)) = names.iter().find(|(kind, _)| *kind == series.name) {
            series.name = (*name).into();
        }
    }
    chart
}

/// Mean cumulative regret with its band. Each policy is given as label, name and curve.
pub fn regret_curves<'a>(
    title: &str,
    policies: impl Iterator<Item = (impl Into<String>, &'a str, &'a [MeanAndError])>,
) -> Chart {
    let (mut names, mut series) = (Vec::new(), Vec::new());
    for (label, policy, cumulative) in policies {
        let last = cumulative.last().map_or(0.0, |p| p.mean);
        let note = format!("final {}", fixed(last, 1));
        names.push(policy);
        series.push(Series::new(label, curve(cumulative)).with_note(note));
    }
    Chart {
        title: title.into(),
        x: AxisSpec::whole("episode"),
        y: AxisSpec::linear(REGRET),
        series: by_policy(series, &names),
    }
}

/// Colours and dashes by policy, in the order of `names`.
fn by_policy(series: Vec<Series>, names: &[&str]) -> Vec<Series> {
    let styled = series.into_iter().zip(curve_styles(names));
    styled
        .map(|(series, (colour, dash))| series.with_style(colour, dash))
        .collect()
}

/// Mean reward per episode in blocks of episodes, beside opt.
pub fn rewards<'a>(
    title: &str,
    policies: impl Iterator<Item = (String, &'a str, &'a [MeanAndError], &'a [f64])>,
) -> Chart {
    let (mut names, mut series, mut opt) = (Vec::new(), Vec::new(), Vec::new());
    for (label, policy, cumulative, optima) in policies {
        let blocks = reward_blocks(cumulative, optima);
        if opt.is_empty() {
            let points = blocks.iter().map(|b| Point::new(b.episode, b.opt));
            opt.extend(points);
        }
        names.push(policy);
        let points = blocks.iter().map(|b| Point::new(b.episode, b.reward));
        series.push(Series::new(label, points.collect()));
    }
    let mut series = by_policy(series, &names);
    series.push(Series::new("opt", opt).with_style(OPT.0, OPT.1));
    Chart {
        title: title.into(),
        x: AxisSpec::whole("episode"),
        y: AxisSpec::linear("reward per episode (means of blocks of episodes)"),
        series,
    }
}

/// Means over a block of episodes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RewardBlock {
    /// The last episode.
    pub episode: f64,
    /// Mean reward per episode, over replications.
    pub reward: f64,
    /// Mean of opt_t.
    pub opt: f64,
}

/// At most 40 blocks; the last one takes the remainder. An episode's reward is opt_t minus the increase of the regret.
pub fn reward_blocks(cumulative: &[MeanAndError], opt: &[f64]) -> Vec<RewardBlock> {
    let size = opt.len().div_ceil(40).max(1);
    let count = opt.len() / size;
    let block = |i: usize| {
        let first = i * size;
        let end = if i + 1 == count {
            opt.len()
        } else {
            first + size
        };
        let before = if first == 0 {
            0.0
        } else {
            cumulative[first - 1].mean
        };
        let (episodes, total) = ((end - first) as f64, opt[first..end].iter().sum::<f64>());
        let reward = total - (cumulative[end - 1].mean - before);
        // Rounding errors of the sums count as zero.
        let scale = total.abs().max(cumulative[end - 1].mean.abs());
        let is_rounding = reward.abs() <= 1e-12 * scale;
        RewardBlock {
            episode: end as f64,
            reward: if is_rounding { 0.0 } else { reward / episodes },
            opt: total / episodes,
        }
    };
    (0..count).map(block).collect()
}

/// Budget left by step, the end of the episode last. Each policy is given as label, name and budgets.
pub fn budget_left(title: &str, policies: &[(String, &str, &[MeanAndError])]) -> Chart {
    let series = policies.iter().map(|(label, _, left)| {
        let points = (1..).zip(*left).map(|(h, left)| {
            let lower = left.lower().max(0.0);
            Point::new(f64::from(h), left.mean).with_band(lower, left.upper())
        });
        let end = left.last().map_or(0.0, |end| end.mean);
        Series::new(label, points.collect()).with_note(format!("{end:.2} left at the end"))
    });
    let names: Vec<&str> = policies.iter().map(|(_, policy, _)| *policy).collect();
    Chart {
        title: title.into(),
        x: AxisSpec::whole("step (the last point is the end of the episode)"),
        y: AxisSpec::linear("budget left at the start of the step (units)"),
        series: by_policy(series.collect(), &names),
    }
}

/// Small charts in rows of three with one legend below.
pub fn small_multiples(title: &str, charts: &[Chart]) -> String {
    let columns = charts.len().clamp(1, 3);
    let (width, height) = frame::SMALL;
    let rows = charts.len().div_ceil(columns);
    let names = legend_of(charts);
    let per_row = (columns * 330 / 190).max(1);
    let legend = 24.0 * names.len().div_ceil(per_row) as f64;
    let mut svg = Svg::page(
        width * columns as f64,
        40.0 + height * rows as f64 + legend + 12.0,
        title,
    );
    svg.text(
        "x=\"16\" y=\"26\" font-size=\"16\" font-weight=\"bold\"",
        title,
    );
    for (i, chart) in charts.iter().enumerate() {
        let (x, y) = ((i % columns) as f64 * width, (i / columns) as f64 * height);
        svg.embed(x, 40.0 + y, &chart.small_svg());
    }
    for (i, series) in names.iter().enumerate() {
        let x = 16.0 + 190.0 * (i % per_row) as f64;
        let y = 52.0 + height * rows as f64 + 24.0 * (i / per_row) as f64;
        frame::legend_entry(&mut svg, series, i, (x + 36.0, y));
    }
    svg.close()
}

/// The first series of each name.
pub fn legend_of(charts: &[Chart]) -> Vec<Series> {
    let mut names: Vec<Series> = Vec::new();
    for series in charts.iter().flat_map(|chart| &chart.series) {
        if names.iter().all(|known| known.name != series.name) {
            names.push(series.clone());
        }
    }
    names
}

/// Charts in a row, as one picture.
pub fn side_by_side(charts: &[Chart]) -> String {
    let height = charts.iter().map(frame::height).fold(0.0, f64::max);
    let mut svg = Svg::bare(frame::WIDTH * charts.len() as f64, height);
    for (i, chart) in charts.iter().enumerate() {
        svg.embed(frame::WIDTH * i as f64, 0.0, &chart.svg());
    }
    svg.close()
}

/// A mean with its band as a point.
pub fn banded(x: f64, value: &MeanAndError) -> Point {
    Point::new(x, value.mean).with_band(value.lower(), value.upper())
}

/// A curve over episodes 1, 2, ..., thinned to at most [`POINTS`].
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
