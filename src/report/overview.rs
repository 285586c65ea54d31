//! A sweep at a glance: one line per point and policy, and a picture of the final regrets.

use std::collections::HashMap;

use super::plot::{AxisSpec, Chart, Scale, Series, banded, small_multiples, styles};
use super::style::{Style, Table, counted, decimals, fixed};
use super::table::{ERRORS, RegretColumns, share};
use super::{distinct, extremes, warnings, write_picture};
use crate::error::{Invalid, OutputError};
use crate::results::{Overview, OverviewRow, ResultsFolder, Run, SweepIndex};

/// The swept axis is logarithmic if the largest value is this many times the smallest.
const LOG_RATIO: f64 = 50.0;

/// The numbers of `overview.csv` as a table, with all columns or some ([`Table::select`]), and the warnings of the runs.
pub fn table(
    sweep: &SweepIndex,
    runs: &[Run],
    style: Style,
    asked: &[String],
) -> Result<String, Invalid> {
    let overview = &sweep.overview(runs);
    let results = overview.rows.iter().map(|row| &row.result);
    let columns = RegretColumns::new(results.clone(), overview.reference());
    let mut header = vec!["policy".to_string()];
    header.extend(overview.keys.iter().cloned());
    header.extend(["mean reward", "opt", "of opt"].map(String::from));
    header.extend(columns.header());
    let mut table = Table::new(header);
    let reward_digits = decimals(results.filter_map(|r| r.opt.or(r.mean_reward)), 3);
    let number = |x: Option<f64>| fixed(x.unwrap_or(f64::NAN), reward_digits);
    for OverviewRow { values, result, .. } in &overview.rows {
        let mut cells = vec![result.policy.clone()];
        cells.extend(values.iter().map(|value| match value.as_str() {
            "" => "-".into(),
            value => value.to_string(),
        }));
        cells.extend([
            number(result.mean_reward),
            number(result.opt),
            share(result),
        ]);
        cells.extend(columns.cells(result));
        table.push(cells);
    }
    let headline = format!("{}: {}\n\n", sweep.title, setting(runs.iter()));
    let mut notes = format!("\n{ERRORS}\n");
    let points = sweep.points.iter().map(|point| point.label.as_str());
    for warning in warnings::of_points(points.zip(runs)) {
        notes += &format!("warning: {warning}\n");
    }
    let table = table.select(asked)?;
    Ok(style.prose(&headline) + &table.text(style) + &style.prose(&notes))
}

/// Sizes of the runs: one number if all are equal, else a range.
pub fn setting<'r>(runs: impl Iterator<Item = &'r Run> + Clone) -> String {
    let range = |value: fn(&Run) -> usize, noun: &str| {
        let low = runs.clone().map(value).min().unwrap_or_default();
        let high = runs.clone().map(value).max().unwrap_or_default();
        match low == high {
            true => counted(low, noun),
            false => format!("{low} to {}", counted(high, noun)),
        }
    };
    format!(
        "T = {}, H = {}, {}",
        range(|run| run.episodes, "episode"),
        range(|run| run.horizon, "step"),
        range(|run| run.replications, "replication")
    )
}

/// Colour and dash of every policy, the same in all charts of a sweep.
pub fn policy_styles(overview: &Overview) -> Vec<(&str, (usize, usize))> {
    let policies = distinct(overview.rows.iter().map(|row| row.result.policy.as_str()));
    let found = styles(policies.iter().copied());
    policies.into_iter().zip(found).collect()
}

/// Writes `overview.csv` and the picture of a sweep whose points have these runs.
pub fn write(sweep: &SweepIndex, runs: &[Run], folder: &ResultsFolder) -> Result<(), OutputError> {
    let overview = sweep.overview(runs);
    folder.write("overview.csv", &overview.text())?;
    write_picture(folder, "overview", &picture(&sweep.title, &overview))
}

/// The most charts in the picture; its title says if there are more.
const PANELS: usize = 24;

/// `overview.svg`: final regret along one swept key, a small chart for every combination of the other keys.
pub fn picture(title: &str, overview: &Overview) -> String {
    let mut charts = charts(title, overview);
    match charts.as_mut_slice() {
        [chart] => {
            chart.y = AxisSpec::linear("final regret (mean, band of 3 standard errors)");
            chart.svg()
        }
        charts if charts.len() <= PANELS => small_multiples(title, charts),
        charts => {
            let title = format!("{title} (the first {PANELS} of {})", charts.len());
            small_multiples(&title, &charts[..PANELS])
        }
    }
}

/// A chart for every combination of the keys that are not on the axis. A policy without such a key is in all charts; a
/// policy without the key of the axis is a level line.
pub fn charts(title: &str, overview: &Overview) -> Vec<Chart> {
    let along = axis_key(overview);
    let value = |row: &OverviewRow| row.values.get(along).cloned().unwrap_or_default();
    let places = distinct(overview.rows.iter().map(value).filter(|v| !v.is_empty()));
    let numbers: Option<Vec<f64>> = places.iter().map(|value| number(value)).collect();
    let ordinal = || (1..=places.len()).map(|place| place as f64).collect();
    let at: Vec<f64> = numbers.clone().unwrap_or_else(ordinal);
    let (low, high) = extremes(at.iter().copied());
    let key = overview.keys.get(along).cloned().unwrap_or_default();
    let x = x_axis(&key, numbers.as_deref(), &places);
    let styles = policy_styles(overview);
    let others = other_keys(overview, along);
    let mut charts: Vec<Chart> = Vec::new();
    for panel in panels(overview, &others) {
        let name = named_values(overview, &others, &panel);
        let mut chart = Chart {
            title: if name.is_empty() { title.into() } else { name },
            x: x.clone(),
            y: AxisSpec::linear("final regret"),
            series: Vec::new(),
        };
        let rows = overview.rows.iter();
        for row in rows.filter(|row| is_part(&values_of(row, &others), &panel)) {
            let Some(last) = row.result.regret() else {
                continue;
            };
            let points = match places.iter().position(|place| *place == value(row)) {
                Some(place) => vec![banded(at[place], &last)],
                None if low < high => vec![banded(low, &last), banded(high, &last)],
                None => vec![banded(if low.is_finite() { low } else { 1.0 }, &last)],
            };
            let policy = row.result.policy.as_str();
            match chart.series.iter_mut().find(|s| s.name == policy) {
                Some(series) => series.points.extend(points),
                None => {
                    let mut series = Series::new(policy, points);
                    series.style = styles.iter().find(|s| s.0 == policy).map(|s| s.1);
                    chart.series.push(series);
                }
            }
        }
        for series in &mut chart.series {
            series.points.sort_by(|a, b| a.x.total_cmp(&b.x));
        }
        charts.push(chart);
    }
    share_axis(&mut charts);
    charts
}

/// The keys that distinguish charts: all but the one on the axis and those that it determines.
fn other_keys(overview: &Overview, along: usize) -> Vec<usize> {
    let value = |row: &OverviewRow, key: usize| row.values.get(key).cloned().unwrap_or_default();
    let follows = |key: usize| {
        let mut known: HashMap<String, String> = HashMap::new();
        overview.rows.iter().all(|row| {
            let (first, other) = (value(row, along), value(row, key));
            *known.entry(first).or_insert_with(|| other.clone()) == other
        })
    };
    let others = (0..overview.keys.len()).filter(|key| *key != along);
    others.filter(|key| !follows(*key)).collect()
}

fn values_of<'r>(row: &'r OverviewRow, keys: &[usize]) -> Vec<&'r str> {
    let value = |key: &usize| row.values.get(*key).map_or("", String::as_str);
    keys.iter().map(value).collect()
}

/// Whether values agree with others wherever they are not empty.
fn is_part(values: &[&str], others: &[&str]) -> bool {
    let mut pairs = values.iter().zip(others);
    pairs.all(|(value, other)| value.is_empty() || value == other)
}

/// The combinations of values that no other combination includes.
fn panels<'r>(overview: &'r Overview, keys: &[usize]) -> Vec<Vec<&'r str>> {
    let all = distinct(overview.rows.iter().map(|row| values_of(row, keys)));
    let whole = |values: &&Vec<&str>| !all.iter().any(|o| o != *values && is_part(values, o));
    all.iter().filter(whole).cloned().collect()
}

/// Gives all charts the same vertical axis.
pub fn share_axis(charts: &mut [Chart]) {
    let ends = charts.iter().map(Chart::y_range);
    let whole = ends.reduce(|(low, high), (l, h)| (low.min(l), high.max(h)));
    for chart in charts {
        chart.y.covers = whole;
    }
}

/// The key on the axis: the numeric one with the most values, else the first.
fn axis_key(overview: &Overview) -> usize {
    let values = |key: usize| {
        let all = overview.rows.iter().filter_map(|row| row.values.get(key));
        distinct(all.filter(|value| !value.is_empty()))
    };
    let numeric = |key: &usize| values(*key).iter().all(|value| number(value).is_some());
    let keys = (0..overview.keys.len()).filter(numeric);
    // Ties go to the first.
    keys.rev().max_by_key(|key| values(*key).len()).unwrap_or(0)
}

/// A swept value as a finite number.
fn number(value: &str) -> Option<f64> {
    value.parse().ok().filter(|x: &f64| x.is_finite())
}

/// Ticks are the swept values: numbers in place, names side by side.
fn x_axis(key: &str, numbers: Option<&[f64]>, places: &[String]) -> AxisSpec {
    let Some(numbers) = numbers else {
        return AxisSpec {
            covers: Some((0.5, places.len() as f64 + 0.5)),
            ticks: (1..).map(f64::from).zip(places.iter().cloned()).collect(),
            ..AxisSpec::whole(key)
        };
    };
    let (low, high) = extremes(numbers.iter().copied());
    let log = low > 0.0 && high >= LOG_RATIO * low;
    let mut ticks: Vec<(f64, String)> = numbers.iter().copied().zip(places.to_vec()).collect();
    ticks.sort_by(|a, b| a.0.total_cmp(&b.0));
    AxisSpec {
        scale: if log { Scale::Log } else { Scale::Linear },
        ticks,
        ..AxisSpec::whole(key)
    }
}

/// Values with the last parts of their keys.
fn named_values(overview: &Overview, keys: &[usize], values: &[&str]) -> String {
    let named = keys
        .iter()
        .zip(values)
        .filter(|(_, value)| !value.is_empty());
    let named = named.map(|(key, value)| {
        let key = &overview.keys[*key];
        format!("{} = {value}", key.rsplit('.').next().unwrap_or(key))
    });
    named.collect::<Vec<_>>().join(", ")
}
