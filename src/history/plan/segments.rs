//! Customer segments: a few raw contexts that stand for all. A plan is shown for each of them; the page and the live
//! service know every other.

use crate::history::encoding::{Column, Value};
use crate::history::fit::{Fitted, Model};
use crate::history::task_file::TaskFile;

/// Arrivals that are looked at to find typical values.
const LOOKED_AT: usize = 20_000;

/// Values of a column of numbers that stand for all.
const NUMBERS: usize = 3;

/// A kind of customer.
#[derive(Debug, Clone, PartialEq)]
pub struct Segment {
    /// Raw values, in the order of the encoding's columns.
    pub values: Vec<Value>,
    /// Their features.
    pub features: Vec<f64>,
}

/// What a column may be in a segment.
#[derive(Debug, Clone, PartialEq)]
pub struct Choices {
    /// The most typical value.
    pub typical: Value,
    /// All values shown.
    pub values: Vec<Value>,
}

/// At most `limit` segments: columns take several values in the order of their effect on acceptance (or reward), as long
/// as there is room; the others stay at their typical value.
pub fn segments(task: &TaskFile, fitted: &Fitted, limit: usize) -> Vec<Segment> {
    let choices = choices(task, fitted);
    let typical: Vec<Value> = choices.iter().map(|c| c.typical.clone()).collect();
    let effects: Vec<f64> = (0..choices.len())
        .map(|column| effect(task, fitted, &choices[column], column, &typical))
        .collect();
    let mut order: Vec<usize> = (0..choices.len()).collect();
    order.sort_by(|a, b| effects[*b].total_cmp(&effects[*a]));
    let mut varied = vec![false; choices.len()];
    let mut count = 1;
    for column in order {
        let more = count * choices[column].values.len();
        if effects[column] > 0.0 && more <= limit {
            varied[column] = true;
            count = more;
        }
    }
    let mut lists: Vec<Vec<Value>> = vec![Vec::new()];
    for (column, varied) in choices.iter().zip(varied) {
        let values = match varied {
            true => &column.values[..],
            false => std::slice::from_ref(&column.typical),
        };
        lists = lists
            .into_iter()
            .flat_map(|list| {
                let extended = |value: &Value| [&list[..], std::slice::from_ref(value)].concat();
                values.iter().map(extended).collect::<Vec<_>>()
            })
            .collect();
    }
    lists
        .into_iter()
        .map(|values| segment(task, values))
        .collect()
}

fn segment(task: &TaskFile, values: Vec<Value>) -> Segment {
    let mut features = Vec::new();
    let encoded =
        task.encoding
            .encode_in_order(values.iter().map(Value::raw), &mut features, |_| {});
    encoded.expect("typical values are numbers and levels of the encoding");
    Segment { values, features }
}

/// A number to two or three digits of the spread of its column: 0.98 and not 0.984449667282.
fn rounded(x: f64, spread: f64) -> f64 {
    let unit = (spread / 100.0).log10().floor() as i32;
    match unit {
        0.. => (x / 10f64.powi(unit)).round() * 10f64.powi(unit),
        // By way of its digits: 98 x 0.01 is not 0.98.
        _ => format!("{x:.*}", unit.unsigned_abs() as usize)
            .parse()
            .unwrap_or(x),
    }
}

/// Typical values of every column, from the arrivals of the log.
pub fn choices(task: &TaskFile, fitted: &Fitted) -> Vec<Choices> {
    let log = &fitted.log;
    let stride = log.arrivals().len().div_ceil(LOOKED_AT).max(1);
    let rows: Vec<Vec<Value>> = (0..log.arrivals().len())
        .step_by(stride)
        .map(|i| task.encoding.decode(log.theta(i)))
        .collect();
    let columns = task.encoding.columns.iter().enumerate();
    let of_column = |(i, column): (usize, &Column)| match column {
        Column::Number { mean, .. } => {
            let numbers = rows.iter().filter_map(|row| match row[i] {
                Value::Number(x) => Some(x),
                _ => None,
            });
            let mut numbers: Vec<f64> = numbers.collect();
            numbers.sort_by(f64::total_cmp);
            let at = |share: f64| match numbers.is_empty() {
                true => *mean,
                false => numbers[((numbers.len() - 1) as f64 * share).round() as usize],
            };
            let mut typical = at(0.5);
            let mut distinct = numbers.clone();
            distinct.dedup();
            if distinct.len() > 2 * NUMBERS {
                let spread = numbers[numbers.len() - 1] - numbers[0];
                let readable = |share: f64| rounded(at(share), spread);
                distinct = (0..NUMBERS)
                    .map(|k| readable((k as f64 + 0.5) / NUMBERS as f64))
                    .collect();
                distinct.dedup();
                typical = readable(0.5);
            }
            Choices {
                typical: Value::Number(typical),
                values: distinct.into_iter().map(Value::Number).collect(),
            }
        }
        Column::Category { levels, .. } => {
            let value = |level: &String| match level.is_empty() {
                true => Value::Missing,
                false => Value::Text(level.clone()),
            };
            let values: Vec<Value> = levels.iter().map(value).collect();
            let often = |value: &&Value| rows.iter().filter(|row| row[i] == **value).count();
            Choices {
                typical: values
                    .iter()
                    .rev()
                    .max_by_key(often)
                    .cloned()
                    .unwrap_or(Value::Missing),
                values,
            }
        }
    };
    columns.map(of_column).collect()
}

/// How much acceptance, or the reward, changes with a column while others are typical.
fn effect(
    task: &TaskFile,
    fitted: &Fitted,
    choices: &Choices,
    column: usize,
    typical: &[Value],
) -> f64 {
    if fitted.task.application().is_auction() {
        return f64::INFINITY;
    }
    let model: &Model = &fitted.fit.model;
    let with = |value: &Value| {
        let mut values = typical.to_vec();
        values[column] = value.clone();
        segment(task, values).features
    };
    let contexts: Vec<Vec<f64>> = choices.values.iter().map(with).collect();
    let spread = |action: usize| {
        let rho = contexts.iter().map(|theta| model.rho(theta, action));
        let (low, high) = rho.fold((1.0, 0.0), |(l, h): (f64, f64), x| (l.min(x), h.max(x)));
        high - low
    };
    fitted.planned().into_iter().map(spread).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::rounded;

    #[test]
    fn typical_numbers_are_short() {
        assert_eq!(rounded(0.984_449_667_282, 2.0), 0.98);
        assert_eq!(rounded(48.0, 62.0), 48.0);
        assert_eq!(rounded(-1_234_567.8, 3e6), -1_230_000.0);
        assert_eq!(rounded(3.456e-7, 1e-6), 3.5e-7);
    }
}
