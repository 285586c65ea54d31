//! Pictures: line charts as SVG, and the charts that the commands draw.

mod axis;
mod chart;
mod frame;
mod heat;
pub(super) mod ramp;
mod styles;
mod svg;

pub(super) use axis::Scale;
pub use chart::Chart;
pub(super) use chart::{AxisSpec, Point, Series};
pub(super) use frame::{COLOURS, DASHES, NAME_LENGTH};
pub(super) use heat::HeatMap;
use styles::OPT;
pub(super) use styles::{curve_styles, styles};
use svg::Svg;
pub(super) use svg::shorten;

use super::style::fixed;
use crate::results::{PolicyResults, Results};
use crate::statistics::MeanAndError;

/// The most points drawn per curve.
const POINTS: usize = 800;

/// Name of the vertical axis of a regret chart.
const REGRET: &str = "cumulative regret (mean, band of 3 standard errors)";

/// A policy of a run, with its label in the legend.
pub(super) type Labelled<'a> = (String, &'a Results, &'a PolicyResults);

/// The policies of a run, labelled by name.
pub(super) fn labelled(run: &Results) -> Vec<Labelled<'_>> {
    let policies = run.policies.iter();
    policies.map(|p| (p.name().into(), run, p)).collect()
}

/// `regret.svg`: mean cumulative regret per policy with its band.
pub fn regret(results: &Results) -> Chart {
    let (name, run) = (&results.study.name, &results.run);
    let title = format!(
        "{name}: T = {}, H = {}, {} replications",
        run.episodes, run.horizon, run.replications
    );
    regret_curves(&title, &labelled(results))
}

/// The chart with the policy names of the paper's figure.
pub fn with_paper_names(mut chart: Chart) -> Chart {
    let names = [
        ("mimic-opt-dp", "Mimic-Opt-DP"),
        ("square-cbwk", "SquareCBwK"),
        ("square-cbwk-tuned", "SquareCBwK, dual kept"),
        ("logistic-ucb1", "Logistic-UCB1"),
    ];
    for series in &mut chart.series {
        if let Some((_, name)) = names.iter().find(|(kind, _)| *kind == series.name) {
            series.name = (*name).into();
        }
    }
    chart
}

/// Mean cumulative regret with its band.
pub(super) fn regret_curves(title: &str, policies: &[Labelled]) -> Chart {
    let series = by_policy(policies, |_, policy| {
        let last = policy.cumulative.last().map_or(0.0, |p| p.mean);
        let note = format!("final {}", fixed(last, 1));
        (curve(&policy.cumulative), Some(note))
    });
    Chart {
        title: title.into(),
        x: AxisSpec::whole("episode"),
        y: AxisSpec::linear(REGRET),
        series,
    }
}

/// A series per policy in the policy's style; `curve` gives its points and note.
fn by_policy(
    policies: &[Labelled],
    curve: impl Fn(&Results, &PolicyResults) -> (Vec<Point>, Option<String>),
) -> Vec<Series> {
    let names: Vec<&str> = policies.iter().map(|(.., p)| p.name()).collect();
    let styled = policies.iter().zip(curve_styles(&names));
    let series = styled.map(|((label, run, policy), style)| {
        let (points, note) = curve(run, policy);
        Series {
            name: label.clone(),
            note,
            points,
            style: Some(style),
        }
    });
    series.collect()
}

/// Mean reward per episode in blocks of episodes, and opt.
pub(super) fn rewards(title: &str, policies: &[Labelled]) -> Chart {
    let points = |run: &Results, policy: &PolicyResults, value: fn(&RewardBlock) -> f64| {
        let blocks = reward_blocks(&policy.cumulative, &run.opt);
        let points = blocks.iter().map(|b| Point::new(b.episode, value(b)));
        points.collect::<Vec<_>>()
    };
    let mut series = by_policy(policies, |run, policy| {
        (points(run, policy, |block| block.reward), None)
    });
    let opt = policies.first();
    let opt = opt.map(|(_, run, policy)| points(run, policy, |block| block.opt));
    series.push(Series::new("opt", opt.unwrap_or_default()).with_style(OPT.0, OPT.1));
    Chart {
        title: title.into(),
        x: AxisSpec::whole("episode"),
        y: AxisSpec::linear("reward per episode (means of blocks of episodes)"),
        series,
    }
}

/// Means over a block of episodes.
pub(super) struct RewardBlock {
    /// The last episode.
    pub episode: f64,
    pub reward: f64,
    pub opt: f64,
}

/// At most 40 blocks; the last one takes the remainder. An episode's reward is opt_t minus the increase of the regret.
pub(super) fn reward_blocks(cumulative: &[MeanAndError], opt: &[f64]) -> Vec<RewardBlock> {
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

/// Budget left by step, the end of the episode last.
pub(super) fn budget_left(title: &str, policies: &[Labelled]) -> Chart {
    let series = by_policy(policies, |_, policy| {
        let points = (1..).zip(&policy.left).map(|(h, left)| {
            let lower = left.lower().max(0.0);
            Point::new(f64::from(h), left.mean).with_band(lower, left.upper())
        });
        let end = policy.left.last().map_or(0.0, |end| end.mean);
        (points.collect(), Some(format!("{end:.2} left at the end")))
    });
    Chart {
        title: title.into(),
        x: AxisSpec::whole("step (the last point is the end of the episode)"),
        y: AxisSpec::linear("budget left at the start of the step (units)"),
        series,
    }
}

/// Small charts in rows of three with one legend below.
pub(super) fn small_multiples(title: &str, charts: &[Chart]) -> String {
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
pub(super) fn legend_of(charts: &[Chart]) -> Vec<Series> {
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
    let mut svg = Svg::open(frame::WIDTH * charts.len() as f64, height, "");
    for (i, chart) in charts.iter().enumerate() {
        svg.embed(frame::WIDTH * i as f64, 0.0, &chart.svg());
    }
    svg.close()
}

/// A mean with its band as a point.
pub(super) fn banded(x: f64, value: &MeanAndError) -> Point {
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
