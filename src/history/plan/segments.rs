//! Customer segments: a few typical raw contexts, for which a plan is shown.

use crate::history::encoding::Column;
use crate::history::fit::Fitted;
use crate::history::raw::Raw;
use crate::history::task_file::TaskFile;

/// The most arrivals that typical values are computed from.
const ARRIVALS: usize = 20_000;

/// Typical values of a column of numbers.
const NUMBERS: usize = 3;

/// A kind of customer.
#[derive(Debug, Clone, PartialEq)]
pub struct Segment<'t> {
    /// Raw values, in the order of the encoding's columns.
    pub values: Vec<Raw<'t>>,
    /// Their features.
    pub features: Vec<f64>,
}

/// The values of a column in segments.
struct Choices<'t> {
    /// The most typical value.
    typical: Raw<'t>,
    /// All values shown.
    values: Vec<Raw<'t>>,
}

/// At most `limit` segments. Columns that distinguish groups of days vary first, then the others in the order of their effect
/// on acceptance (or reward), while there is room; the rest have their typical value.
pub fn segments<'t>(task: &'t TaskFile, fitted: &Fitted, limit: usize) -> Vec<Segment<'t>> {
    let choices = choices(task, fitted);
    let typical: Vec<Raw> = choices.iter().map(|c| c.typical).collect();
    let of_groups = fitted.file.days.tree.columns();
    let effect = |column: usize| match of_groups.contains(&task.encoding.columns[column].name()) {
        true => f64::INFINITY,
        false => effect(task, fitted, &choices[column], column, &typical),
    };
    let effects: Vec<f64> = (0..choices.len()).map(effect).collect();
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
    let mut lists: Vec<Vec<Raw>> = vec![Vec::new()];
    for (column, varied) in choices.iter().zip(varied) {
        let values = match varied {
            true => &column.values[..],
            false => &[column.typical],
        };
        let extended = |list: &Vec<Raw<'t>>| {
            let list = list.clone();
            values
                .iter()
                .map(move |value| [&list[..], &[*value]].concat())
        };
        lists = lists.iter().flat_map(extended).collect();
    }
    let segments = lists.into_iter().map(|values| segment(task, values));
    segments.collect()
}

fn segment<'t>(task: &TaskFile, values: Vec<Raw<'t>>) -> Segment<'t> {
    let (encoding, mut features) = (&task.encoding, Vec::new());
    let encoded = encoding.encode_in_order(values.iter().copied(), &mut features, None);
    encoded.expect("typical values are numbers and levels of the encoding");
    Segment { values, features }
}

/// A number to two or three digits of the spread of its column: 0.98 and not 0.984449667282.
fn rounded(x: f64, spread: f64) -> f64 {
    let unit = (spread / 100.0).log10().floor() as i32;
    match unit {
        0.. => (x / 10f64.powi(unit)).round() * 10f64.powi(unit),
        // Via digits, because 98 * 0.01 != 0.98 in floating point.
        _ => format!("{x:.*}", unit.unsigned_abs() as usize)
            .parse()
            .unwrap_or(x),
    }
}

/// Typical values of every column, from the arrivals of the log.
fn choices<'t>(task: &'t TaskFile, fitted: &Fitted) -> Vec<Choices<'t>> {
    let log = &fitted.log;
    let stride = log.arrivals().len().div_ceil(ARRIVALS).max(1);
    let rows: Vec<Vec<Raw>> = (0..log.arrivals().len())
        .step_by(stride)
        .map(|i| task.encoding.decode(log.theta(i)))
        .collect();
    let limits_of = |name: &str| fitted.file.days.tree.limits(name);
    let columns = task.encoding.columns.iter().enumerate();
    let of_column = |(i, column): (usize, &'t Column)| match column {
        Column::Number { mean, .. } => {
            let numbers = rows.iter().filter_map(|row| match row[i] {
                Raw::Number(x) => Some(x),
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
                // Every group of days has a value of its own.
                for most in limits_of(column.name()) {
                    let place = numbers.partition_point(|x| *x <= most);
                    distinct.extend(place.checked_sub(1).map(|i| numbers[i]));
                    distinct.extend(numbers.get(place));
                }
                distinct.sort_by(f64::total_cmp);
                distinct.dedup();
                typical = readable(0.5);
            }
            Choices {
                typical: Raw::Number(typical),
                values: distinct.into_iter().map(Raw::Number).collect(),
            }
        }
        Column::Category { levels, .. } => {
            let values: Vec<Raw> = levels.iter().map(|level| Raw::level(level)).collect();
            let often = |value: &&Raw| rows.iter().filter(|row| row[i] == **value).count();
            let typical = values.iter().rev().max_by_key(often).copied();
            Choices {
                typical: typical.unwrap_or(Raw::Missing),
                values,
            }
        }
    };
    columns.map(of_column).collect()
}

/// How much acceptance varies with a column while the others are typical; in auctions the only column always counts.
fn effect(
    task: &TaskFile,
    fitted: &Fitted,
    choices: &Choices,
    column: usize,
    typical: &[Raw],
) -> f64 {
    if task.multiplies(column) || fitted.task.application().is_auction() {
        return f64::INFINITY;
    }
    let model = &fitted.fit.model;
    let with = |value: &Raw| {
        let mut values: Vec<Raw> = typical.to_vec();
        values[column] = *value;
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
