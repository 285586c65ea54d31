//! What the runs of a sweep warn of: each warning once, with the points that have it.

use crate::results::Run;

/// One line for each policy and kind of warning; its numbers are those of the first point.
pub fn of_points<'r>(points: impl Iterator<Item = (&'r str, &'r Run)>) -> Vec<String> {
    let mut known: Vec<(&str, &str, &str, usize)> = Vec::new();
    for (point, run) in points {
        for policy in &run.policies {
            for warning in &policy.warnings {
                let alike = |k: &&mut (&str, &str, &str, usize)| {
                    k.0 == policy.name && kind(k.2) == kind(warning)
                };
                match known.iter_mut().find(alike) {
                    Some(found) => found.3 += 1,
                    None => known.push((&policy.name, point, warning, 0)),
                }
            }
        }
    }
    let line = |(policy, point, warning, others): (&str, &str, &str, usize)| match others {
        0 => format!("{policy} at {point}: {warning}"),
        1 => format!("{policy} at {point} and another point: {warning}"),
        others => format!("{policy} at {point} and {others} other points: {warning}"),
    };
    known.into_iter().map(line).collect()
}

/// A warning without its numbers.
fn kind(warning: &str) -> &str {
    warning.split(':').next().unwrap_or(warning)
}
