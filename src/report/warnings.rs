//! Warnings of the runs of a sweep: each kind once, with the number of points that have it.

use crate::results::Run;

/// One line per policy and kind of warning, with the text of the first point.
pub fn of_points<'r>(points: impl Iterator<Item = (&'r str, &'r Run)>) -> Vec<String> {
    grouped(points.flat_map(|(point, run)| {
        let policies = run.policies.iter();
        policies.flat_map(move |p| p.warnings.iter().map(move |w| [&p.name, point, w]))
    }))
}

/// Groups warnings of the form [policy, point, text].
fn grouped<'w>(warnings: impl Iterator<Item = [&'w str; 3]>) -> Vec<String> {
    let mut known: Vec<([&str; 3], usize)> = Vec::new();
    for warning @ [policy, _, text] in warnings {
        let alike = |k: &&mut ([&str; 3], usize)| k.0[0] == policy && kind(k.0[2]) == kind(text);
        match known.iter_mut().find(alike) {
            Some((_, others)) => *others += 1,
            None => known.push((warning, 0)),
        }
    }
    let line = |([policy, point, text], others): ([&str; 3], usize)| match others {
        0 => format!("{policy} at {point}: {text}"),
        1 => format!("{policy} at {point} and another point: {text}"),
        others => format!("{policy} at {point} and {others} other points: {text}"),
    };
    known.into_iter().map(line).collect()
}

/// A warning without its numbers.
fn kind(warning: &str) -> &str {
    warning.split(':').next().unwrap_or(warning)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_listed_once() {
        let warnings = [
            ["a", "x=1", "learnt nothing: width 1.00"],
            ["a", "x=2", "learnt nothing: width 0.95"],
            ["a", "x=2", "set by hand (kappa): no bound"],
            ["b", "x=2", "learnt nothing: width 0.99"],
            ["a", "x=3", "learnt nothing: width 0.93"],
            ["b", "x=3", "learnt nothing: width 0.99"],
        ];
        let expected = [
            "a at x=1 and 2 other points: learnt nothing: width 1.00",
            "a at x=2: set by hand (kappa): no bound",
            "b at x=2 and another point: learnt nothing: width 0.99",
        ];
        assert_eq!(grouped(warnings.into_iter()), expected);
    }
}
