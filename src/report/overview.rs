//! A sweep at a glance: one line per point and policy, and a picture of the final regrets.

use std::fmt::Write;

use super::csv::quoted;
use super::plot::{AxisName, Chart, Scale, Series, banded};
use super::table::{align, regret_cells};
use crate::config::{Sweep, SweepPoint};
use crate::experiment::RegretSummary;

/// From this ratio of largest to smallest value on, the swept axis is logarithmic.
const LOG_RATIO: f64 = 50.0;

/// The results of one point.
#[derive(Debug)]
pub struct PointResult<'a> {
    /// The point.
    pub point: &'a SweepPoint,
    /// Names of its policies.
    pub policies: Vec<String>,
    /// Their regrets.
    pub regrets: Vec<RegretSummary>,
}

/// `overview.csv`.
pub fn csv(sweep: &Sweep, results: &[PointResult]) -> String {
    let keys: Vec<String> = sweep.keys.iter().map(|key| quoted(key)).collect();
    let mut text = format!(
        "point,{},policy,final_regret,standard_error,expected_regret,share_of_opt,slope,slope_standard_error\n",
        keys.join(",")
    );
    for result in results {
        for (policy, regret) in result.policies.iter().zip(&result.regrets) {
            let values = result.point.values.iter().map(|v| quoted(&v.text));
            let values: Vec<String> = values.collect();
            let last = regret.cumulative.last();
            let number = |x: Option<f64>| {
                x.filter(|x| !x.is_nan())
                    .map_or(String::new(), |x| x.to_string())
            };
            writeln!(
                text,
                "{},{},{},{},{},{},{},{},{}",
                quoted(&result.point.label),
                values.join(","),
                quoted(policy),
                number(last.map(|x| x.mean)),
                number(last.map(|x| x.standard_error)),
                number(regret.expected.map(|x| x.mean)),
                number(Some(regret.share_of_opt)),
                number(regret.slope.map(|x| x.mean)),
                number(regret.slope.map(|x| x.standard_error)),
            )
            .expect("writing to a string");
        }
    }
    text
}

/// The same for people.
pub fn table(headline: &str, sweep: &Sweep, results: &[PointResult]) -> String {
    let mut header: Vec<String> = vec!["policy".into()];
    header.extend(sweep.keys.iter().cloned());
    let columns = [
        "of opt",
        "final regret",
        "+- 3 s.e.",
        "slope (s.e.)",
        "expected regret",
    ];
    header.extend(columns.map(String::from));
    let rows = results.iter().flat_map(|result| {
        result
            .policies
            .iter()
            .zip(&result.regrets)
            .map(|(policy, regret)| {
                let mut row = vec![policy.clone()];
                row.extend(result.point.values.iter().map(|v| v.text.clone()));
                row.extend(regret_cells(regret));
                let expected = regret.expected.map(|x| format!("{:.1}", x.mean));
                row.push(expected.unwrap_or("-".into()));
                row
            })
    });
    let mut text = format!("{headline}\n\n");
    align(&mut text, &header, rows);
    text
}

/// `overview.svg`: final regret against the first key; a line per policy and combination of the other keys.
pub fn chart(title: &str, sweep: &Sweep, results: &[PointResult]) -> Chart {
    let first = |result: &PointResult| result.point.values.first().cloned();
    let mut places: Vec<String> = Vec::new();
    for value in results.iter().filter_map(first) {
        if !places.contains(&value.text) {
            places.push(value.text);
        }
    }
    let numbers: Option<Vec<f64>> = results.iter().map(|r| first(r)?.number).collect();
    let x_of = |result: &PointResult| -> f64 {
        let value = first(result);
        let place = || {
            places
                .iter()
                .position(|p| Some(p) == value.as_ref().map(|v| &v.text))
        };
        match &numbers {
            Some(_) => value.as_ref().and_then(|v| v.number).unwrap_or(f64::NAN),
            None => place().map_or(f64::NAN, |place| (place + 1) as f64),
        }
    };
    let mut policies: Vec<&String> = Vec::new();
    let mut others: Vec<String> = Vec::new();
    let mut series: Vec<((usize, usize), Series)> = Vec::new();
    for result in results {
        let other = other_values(sweep, result.point);
        let place = place_of(&mut others, other.clone());
        for (policy, regret) in result.policies.iter().zip(&result.regrets) {
            let colour = place_of(&mut policies, policy);
            // Dashes tell the other keys apart; without any, they tell the policies apart in print.
            let dash = if other.is_empty() { colour } else { place };
            let Some(last) = regret.cumulative.last() else {
                continue;
            };
            let point = banded(x_of(result), last);
            match series
                .iter_mut()
                .find(|(style, _)| *style == (colour, dash))
            {
                Some((_, series)) => series.points.push(point),
                None => {
                    let mut new = Series::new(policy, vec![point]).with_style(colour, dash);
                    new.note = (!other.is_empty()).then(|| other.clone());
                    series.push(((colour, dash), new));
                }
            }
        }
    }
    for (_, series) in &mut series {
        series.points.sort_by(|a, b| a.x.total_cmp(&b.x));
    }
    let key = sweep.keys.first().cloned().unwrap_or_default();
    Chart {
        title: title.into(),
        x: x_axis(&key, numbers.as_deref()),
        y: AxisName::linear("final regret (mean, band of 3 standard errors)"),
        series: series.into_iter().map(|(_, series)| series).collect(),
    }
}

fn x_axis(key: &str, numbers: Option<&[f64]>) -> AxisName {
    let Some(numbers) = numbers else {
        return AxisName {
            from_zero: false,
            ..AxisName::linear(format!("{key} (number of the value in the sweep)"))
        };
    };
    let low = numbers.iter().copied().fold(f64::INFINITY, f64::min);
    let high = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let log = low > 0.0 && high >= LOG_RATIO * low;
    AxisName {
        name: key.into(),
        scale: if log { Scale::Log } else { Scale::Linear },
        from_zero: false,
    }
}

/// The values of all keys but the first, as the legend names them.
fn other_values(sweep: &Sweep, point: &SweepPoint) -> String {
    let keys = sweep.keys.iter().zip(&point.values).skip(1);
    let parts: Vec<String> = keys
        .map(|(key, value)| {
            let key = key.rsplit('.').next().unwrap_or(key);
            format!("{key} = {}", value.text)
        })
        .collect();
    parts.join(", ")
}

/// The place of a value in a list, at the end where it is new.
fn place_of<T: PartialEq>(list: &mut Vec<T>, value: T) -> usize {
    list.iter().position(|x| *x == value).unwrap_or_else(|| {
        list.push(value);
        list.len() - 1
    })
}
