//! Columns that describe a whole day, such as the weekday or the season.

use crate::error::Invalid;
use crate::history::encoding::{Column, Encoding};
use crate::history::log::LabeledLog;

/// A column of a day is constant in at least this share of the days with two or more arrivals.
const CONSTANT_IN: f64 = 0.99;

/// The columns that are constant within days and differ between days, in the order of the encoding. `more` are taken and
/// `less` are left out without a test.
pub fn day_columns(
    encoding: &Encoding,
    log: &LabeledLog,
    more: &[String],
    less: &[String],
) -> Result<Vec<String>, Invalid> {
    let names: Vec<&str> = encoding.columns.iter().map(Column::name).collect();
    if let Some(unknown) = more
        .iter()
        .chain(less)
        .find(|n| !names.contains(&n.as_str()))
    {
        let found = format!("column `{unknown}`");
        let accepted = match names.is_empty() {
            true => "none: the log has no columns of customers".to_string(),
            false => format!("one of the log's columns: {}", names.join(", ")),
        };
        return Err(Invalid::new("day", found, accepted));
    }
    let found = names.iter().zip(encoding.ranges()).filter(|(name, range)| {
        let listed = |list: &[String]| list.iter().any(|n| n == *name);
        !listed(less) && (listed(more) || describes_days(log, range))
    });
    Ok(found.map(|(name, _)| (*name).to_string()).collect())
}

fn describes_days(log: &LabeledLog, range: &std::ops::Range<usize>) -> bool {
    let value = |i: usize| &log.theta(i)[range.clone()];
    let (mut days, mut constant, mut differs) = (0.0, 0.0, false);
    let mut first: Option<&[f64]> = None;
    for episode in log.episodes() {
        let mut arrivals = episode.arrivals.clone();
        let Some(own) = arrivals.next().map(value) else {
            continue;
        };
        differs |= **first.get_or_insert(own) != *own;
        if episode.arrivals.len() > 1 {
            days += 1.0;
            constant += f64::from(u8::from(arrivals.all(|i| value(i) == own)));
        }
    }
    differs && days > 0.0 && constant >= CONSTANT_IN * days
}
