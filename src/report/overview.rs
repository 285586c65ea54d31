//! A sweep at a glance: one line per point and policy, and a picture of the final regrets.

use super::plot::{AxisName, Chart, Scale, Series, banded};
use super::table::{align, regret_cells};
use crate::results::{Overview, OverviewRow};

/// From this ratio of largest to smallest value on, the swept axis is logarithmic.
const LOG_RATIO: f64 = 50.0;

/// `overview.csv` for people.
pub fn table(headline: &str, overview: &Overview) -> String {
    let mut header: Vec<String> = vec!["policy".into()];
    header.extend(overview.keys.iter().cloned());
    let columns = [
        "of opt",
        "final regret",
        "+- 3 s.e.",
        "slope (s.e.)",
        "expected regret",
    ];
    header.extend(columns.map(String::from));
    let rows = overview.rows.iter().map(|row| {
        let mut cells = vec![row.result.policy.clone()];
        cells.extend(row.values.iter().cloned());
        cells.extend(regret_cells(&row.result));
        let expected = row.result.expected_regret.map(|x| format!("{x:.1}"));
        cells.push(expected.unwrap_or("-".into()));
        cells
    });
    let mut text = format!("{headline}\n\n");
    align(&mut text, &header, rows);
    text
}

/// `overview.svg`: final regret against the first key; a line per policy and combination of the other keys.
pub fn chart(title: &str, overview: &Overview) -> Chart {
    let first = |row: &OverviewRow| row.values.first().cloned().unwrap_or_default();
    let mut places: Vec<String> = Vec::new();
    for value in overview.rows.iter().map(first) {
        place_of(&mut places, value);
    }
    let numbers = overview.rows.iter().map(|row| number(&first(row)));
    let numbers: Option<Vec<f64>> = numbers.collect();
    let x_of = |row: &OverviewRow| -> f64 {
        let value = first(row);
        let place = places.iter().position(|p| *p == value);
        match &numbers {
            Some(_) => number(&value).unwrap_or(f64::NAN),
            None => place.map_or(f64::NAN, |place| (place + 1) as f64),
        }
    };
    let mut policies: Vec<&String> = Vec::new();
    let mut others: Vec<String> = Vec::new();
    let mut series: Vec<((usize, usize), Series)> = Vec::new();
    for row in &overview.rows {
        let policy = &row.result.policy;
        let other = other_values(overview, row);
        let place = place_of(&mut others, other.clone());
        let colour = place_of(&mut policies, policy);
        // Dashes tell the other keys apart; without any, they tell the policies apart in print.
        let dash = if other.is_empty() { colour } else { place };
        let Some(last) = row.result.regret() else {
            continue;
        };
        let point = banded(x_of(row), &last);
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
    for (_, series) in &mut series {
        series.points.sort_by(|a, b| a.x.total_cmp(&b.x));
    }
    let key = overview.keys.first().cloned().unwrap_or_default();
    Chart {
        title: title.into(),
        x: x_axis(&key, numbers.as_deref()),
        y: AxisName::linear("final regret (mean, band of 3 standard errors)"),
        series: series.into_iter().map(|(_, series)| series).collect(),
    }
}

/// A swept value as a number, where it is one.
fn number(value: &str) -> Option<f64> {
    value.parse().ok().filter(|x: &f64| x.is_finite())
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
fn other_values(overview: &Overview, row: &OverviewRow) -> String {
    let keys = overview.keys.iter().zip(&row.values).skip(1);
    let parts: Vec<String> = keys
        .map(|(key, value)| {
            let key = key.rsplit('.').next().unwrap_or(key);
            format!("{key} = {value}")
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
