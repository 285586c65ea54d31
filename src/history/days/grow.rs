//! Grows the groups of days: a greedy regression tree on the columns of days. The targets are the optimal values of each
//! day's own arrivals, from the largest budget and from half of it.

use std::sync::Arc;

use super::{DayTree, Days, Part};
use crate::dp::cpu::Cpu;
use crate::history::encoding::Encoding;
use crate::history::fit::Fitted;
use crate::history::log_laws::LogLaws;
use crate::history::raw::Raw;
use crate::task::Task;

/// The least days of a group.
const LEAST_DAYS: usize = 10;

/// The most groups.
const MOST_GROUPS: usize = 8;

/// A split must have a larger F statistic. It is far above that of independent targets, because the fitted acceptance follows
/// columns without meaning by chance: 12 finds groups by such columns in 26 of 100 logs, 28 in 6.
const LEAST_F: f64 = 28.0;

/// A split must explain a larger share of the variance of all days.
const LEAST_SHARE: f64 = 0.01;

/// Days that are solved together.
const BATCH: usize = 500;

/// The groups of a fitted log's days by the values of `columns`; `task` is that of the planned actions.
pub fn grow(fitted: &Fitted, task: &Arc<Task>, encoding: &Encoding, columns: &[String]) -> DayTree {
    let log = &fitted.log;
    let whole = DayTree::Group {
        group: 0,
        days: log.episodes().len() as u64,
    };
    if columns.is_empty() {
        return whole;
    }
    let values = day_values(fitted, task);
    let episodes = log.episodes().iter().zip(values);
    // Days without arrivals have no columns.
    let days: Vec<DayRow> = episodes
        .filter_map(|(episode, targets)| {
            let theta = log.theta(episode.arrivals.clone().next()?);
            let value = |name: &String| encoding.value(name, theta).unwrap_or(Raw::Missing);
            let columns = columns.iter().map(value).collect();
            Some(DayRow { columns, targets })
        })
        .collect();
    let all: Vec<&DayRow> = days.iter().collect();
    let total = squares(&all);
    let mut leaves = vec![(best_split(&all, columns, total), all)];
    let mut splits = Vec::new();
    while leaves.len() < MOST_GROUPS {
        let gain = |split: &Option<Split>| split.as_ref().map_or(0.0, |split| split.gain);
        let best =
            (0..leaves.len()).max_by(|a, b| gain(&leaves[*a].0).total_cmp(&gain(&leaves[*b].0)));
        let Some(leaf) = best.filter(|leaf| leaves[*leaf].0.is_some()) else {
            break;
        };
        let (split, days) = leaves.remove(leaf);
        let split = split.expect("the best leaf has a split");
        let parts: (Vec<_>, Vec<_>) = days.into_iter().partition(|d| split.has(d));
        for (place, part) in [parts.0, parts.1].into_iter().enumerate() {
            leaves.insert(leaf + place, (best_split(&part, columns, total), part));
        }
        splits.push((leaf, split));
    }
    let sizes = leaves.iter().enumerate();
    let mut nodes: Vec<DayTree> = sizes
        .map(|(group, (_, days))| DayTree::Group {
            group,
            days: days.len() as u64,
        })
        .collect();
    // The last split joins two groups first.
    for (leaf, split) in splits.into_iter().rev() {
        let second = nodes.remove(leaf + 1);
        let first = std::mem::take(&mut nodes[leaf]);
        nodes[leaf] = DayTree::Split {
            column: columns[split.column].clone(),
            words: split.words,
            first: split.part,
            parts: Box::new([first, second]),
        };
    }
    nodes.remove(0)
}

/// The optimal values of each day's own arrivals, from the largest budget and from half of it; standardised.
fn day_values(fitted: &Fitted, task: &Arc<Task>) -> Vec<[f64; 2]> {
    let days = Days::new(fitted, task);
    let laws = LogLaws::new(fitted, Arc::clone(task), None);
    let budget = task.budget_max();
    let mut values = Vec::with_capacity(days.count());
    for first in (0..days.count()).step_by(BATCH) {
        let batch = first..(first + BATCH).min(days.count());
        let rows: Vec<Vec<u32>> = batch.map(|day| days.arrivals(day, 0)).collect();
        let samples: Vec<_> = rows.iter().filter(|row| !row.is_empty()).collect();
        let samples: Vec<_> = samples.into_iter().map(|row| laws.day(row)).collect();
        let tables = laws.tables(&samples, &fitted.fit.model, &mut Cpu::default());
        let mut tables = tables.expect("estimates are finite").into_iter();
        values.extend(rows.iter().map(|row| match row.is_empty() {
            true => [0.0; 2],
            false => {
                let table = tables.next().expect("one per day with arrivals");
                [budget, budget / 2].map(|b| table.start(b))
            }
        }));
    }
    for target in 0..2 {
        let n = values.len() as f64;
        let mean = values.iter().map(|v| v[target]).sum::<f64>() / n;
        let square: f64 = values.iter().map(|v| (v[target] - mean).powi(2)).sum();
        let deviation = (square / n).sqrt().max(f64::MIN_POSITIVE);
        values
            .iter_mut()
            .for_each(|v| v[target] = (v[target] - mean) / deviation);
    }
    values
}

/// A day: the values of its columns, and the targets.
#[derive(Debug)]
struct DayRow<'l> {
    columns: Vec<Raw<'l>>,
    targets: [f64; 2],
}

#[derive(Debug)]
struct Split {
    column: usize,
    part: Part,
    words: [String; 2],
    gain: f64,
}

impl Split {
    fn has(&self, day: &DayRow) -> bool {
        self.part.has(day.columns[self.column])
    }
}

/// Sum of squares about the mean, over both targets.
fn squares(days: &[&DayRow]) -> f64 {
    let n = days.len().max(1) as f64;
    let of_target = |target: usize| {
        let mean = days.iter().map(|d| d.targets[target]).sum::<f64>() / n;
        days.iter()
            .map(|d| (d.targets[target] - mean).powi(2))
            .sum::<f64>()
    };
    of_target(0) + of_target(1)
}

/// The split of some days that explains the most, if it explains enough.
fn best_split(days: &[&DayRow], columns: &[String], total: f64) -> Option<Split> {
    let within = squares(days);
    let n = days.len();
    let by_column =
        (0..columns.len()).filter_map(|column| split_by(days, column, &columns[column]));
    let best = by_column.max_by(|a, b| a.gain.total_cmp(&b.gain))?;
    let left = (within - best.gain).max(f64::MIN_POSITIVE);
    let f = best.gain / (left / (n - 2) as f64);
    (f > LEAST_F && best.gain > LEAST_SHARE * total).then_some(best)
}

/// The best split by one column. Numbers are split in their order, levels in the order of their means.
fn split_by(days: &[&DayRow], column: usize, name: &str) -> Option<Split> {
    if days.len() < 2 * LEAST_DAYS {
        return None;
    }
    // The distinct values: their days and the sums of targets.
    let mut values: Vec<(Raw, f64, [f64; 2])> = Vec::new();
    for day in days {
        let value = day.columns[column];
        let place = values.iter().position(|(known, ..)| *known == value);
        let place = place.unwrap_or_else(|| {
            values.push((value, 0.0, [0.0; 2]));
            values.len() - 1
        });
        values[place].1 += 1.0;
        (0..2).for_each(|t| values[place].2[t] += day.targets[t]);
    }
    let number = |value: &Raw| match value {
        Raw::Number(x) => *x,
        // Missing numbers come last: they are in no part up to a number.
        _ => f64::INFINITY,
    };
    let is_number = values
        .iter()
        .any(|(value, ..)| matches!(value, Raw::Number(_)));
    values.sort_by(|a, b| match is_number {
        true => number(&a.0).total_cmp(&number(&b.0)),
        false => {
            let mean = |v: &(Raw, f64, [f64; 2])| (v.2[0] + v.2[1]) / v.1;
            mean(a)
                .total_cmp(&mean(b))
                .then_with(|| a.0.to_string().cmp(&b.0.to_string()))
        }
    });
    let all: [f64; 2] = [0, 1].map(|t| values.iter().map(|v| v.2[t]).sum());
    let count = days.len() as f64;
    let (mut n, mut sums) = (0.0, [0.0; 2]);
    let mut best: Option<(usize, f64)> = None;
    for (i, (_, days, targets)) in values[..values.len() - 1].iter().enumerate() {
        n += days;
        (0..2).for_each(|t| sums[t] += targets[t]);
        if n < LEAST_DAYS as f64 || count - n < LEAST_DAYS as f64 {
            continue;
        }
        let between = |t: usize| {
            let rest = all[t] - sums[t];
            sums[t] * sums[t] / n + rest * rest / (count - n) - all[t] * all[t] / count
        };
        let gain = between(0) + between(1);
        if best.is_none_or(|(_, most)| gain > most) {
            best = Some((i, gain));
        }
    }
    let (last, gain) = best?;
    let (below, above) = values.split_at(last + 1);
    let levels = |part: &[(Raw, f64, [f64; 2])]| -> Vec<String> {
        part.iter().map(|(value, ..)| value.to_string()).collect()
    };
    let (part, words) = match is_number {
        true => {
            let most = number(&below[last].0);
            let of_number = |part: &[(Raw, f64, [f64; 2])], sign: &str| match part {
                [(value, ..)] if values.len() == 2 => {
                    format!("{name} {}", shown(&value.to_string()))
                }
                _ => format!("{name} {sign} {most}"),
            };
            (
                Part::UpTo(most),
                [of_number(below, "<="), of_number(above, ">")],
            )
        }
        false => {
            let words = [below, above].map(|part| in_words(name, &levels(part)));
            (Part::Levels(levels(below)), words)
        }
    };
    Some(Split {
        column,
        part,
        words,
        gain,
    })
}

/// `season spring or summer`.
fn in_words(name: &str, levels: &[String]) -> String {
    let levels: Vec<&str> = levels.iter().map(|level| shown(level)).collect();
    match levels.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{name} {} or {last}", rest.join(", ")),
        _ => format!("{name} {}", levels.concat()),
    }
}

fn shown(level: &str) -> &str {
    if level.is_empty() { "(missing)" } else { level }
}
