//! The main result of a study in one sentence.

use super::style::{decimals, fixed, with_band};
use super::table::share;
use crate::results::PointResult;
use crate::statistics::{BAND, MeanAndError};

/// A policy of a run and its results.
#[derive(Debug)]
pub struct Found<'a> {
    /// Its results.
    pub result: PointResult,
    /// The index of its run: policies of one run see the same contexts and random draws.
    pub run: usize,
    /// Whether it knows the true model; such a policy is not ranked.
    pub knows: bool,
    /// Whether others are compared with it.
    pub is_reference: bool,
    /// Its final regrets by replication; empty if unknown.
    pub finals: &'a [f64],
}

/// The policy of lowest regret among those that do not know the true model, compared with the next one and with the
/// reference.
pub fn finding<'a>(found: impl Iterator<Item = Found<'a>>) -> String {
    let mut ranked: Vec<(Found, MeanAndError)> = found
        .filter(|found| !found.knows)
        .filter_map(|found| found.result.regret().map(|regret| (found, regret)))
        .collect();
    ranked.sort_by(|a, b| a.1.mean.total_cmp(&b.1.mean));
    let Some((first, regret)) = ranked.first() else {
        return "There is nothing to compare.".into();
    };
    let best = &first.result;
    let earns = match best.share_of_opt {
        Some(_) => format!("earns {} of opt and ends", share(best)),
        None => "ends".into(),
    };
    let lowest = if ranked.len() > 1 { "the lowest" } else { "a" };
    let mut text = format!("{} {earns} with {lowest} regret", best.policy);
    let link = if ranked.len() > 1 { "," } else { " of" };
    text += &format!("{link} {}", band(*regret));
    if let Some((next, other)) = ranked.get(1) {
        text += &apart(first, *regret, next, *other);
    }
    // The comparison with the next one may be that with the reference.
    let said = first.is_reference || ranked.get(1).is_some_and(|(next, _)| next.is_reference);
    if let Some(paired) = best.paired().filter(|_| !said) {
        let side = if paired.mean < 0.0 { "below" } else { "above" };
        let size = MeanAndError {
            mean: paired.mean.abs(),
            ..paired
        };
        let (size, and) = (band(size), if ranked.len() > 1 { ", and" } else { "," });
        text += &match paired.lower() <= 0.0 && paired.upper() >= 0.0 {
            true => format!(
                "; {} does not differ significantly from it ({size})",
                best.reference
            ),
            false => format!("{and} {size} {side} that of {}", best.reference),
        };
    }
    if best.share_of_opt.is_some_and(|share| share < 0.5) {
        let lost = 100.0 * (1.0 - best.share_of_opt.unwrap_or(f64::NAN));
        text += &format!(", and loses {}% of opt", fixed(lost, 1));
    }
    if regret.standard_error.is_nan() {
        text += ". One replication gives no standard errors";
    }
    text + "."
}

/// The best against the next: by paired differences within a run, else by their bands.
fn apart(best: &Found, regret: MeanAndError, next: &Found, other: MeanAndError) -> String {
    let (name, its) = (&next.result.policy, band(other));
    let paired = paired_difference(next.finals, best.finals).filter(|_| best.run == next.run);
    if let Some(difference) = paired {
        let size = band(difference);
        return match difference.lower() > 0.0 {
            true => format!(", {size} below that of {name} ({its})"),
            false => format!(
                ", not significantly different from that of {name} ({its}, difference {size})"
            ),
        };
    }
    match other.lower() <= regret.upper() {
        true => format!(", within the errors of {its} of {name}"),
        false => format!(", against {its} of {name}"),
    }
}

/// The paired difference of final regrets, if they are known.
pub(super) fn paired_difference(high: &[f64], low: &[f64]) -> Option<MeanAndError> {
    let known = low.len() > 1 && low.len() == high.len();
    known.then(|| MeanAndError::of_differences(high, low))
}

/// A mean with its band, for pages.
pub(super) fn band(value: MeanAndError) -> String {
    let decimals = decimals([value.mean, BAND * value.standard_error], 1);
    with_band(Some(value), decimals).replace("+-", "±")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(policy: &str, regret: f64, paired: f64, finals: &'static [f64]) -> Found<'static> {
        let result = PointResult {
            policy: policy.into(),
            final_regret: Some(regret),
            standard_error: Some(2.0),
            share_of_opt: Some(0.9),
            reference: "clairvoyant".into(),
            paired_difference: Some(paired),
            paired_standard_error: Some(1.0),
            ..PointResult::default()
        };
        Found {
            result,
            run: 0,
            knows: policy == "clairvoyant",
            is_reference: policy == "clairvoyant",
            finals,
        }
    }

    #[test]
    fn the_best_learner_in_a_sentence() {
        let all = |run, finals| {
            let other = Found {
                run,
                ..found("a", 30.0, 31.0, finals)
            };
            let all = [
                found("clairvoyant", -1.0, 0.0, &[]),
                other,
                found("b", 20.0, 21.0, &[10.0, 20.0, 30.0]),
            ];
            finding(all.into_iter())
        };
        let start = "b earns 90.0% of opt and ends with the lowest regret, 20.0 ± 6.0, ";
        let end = ", and 21.0 ± 3.0 above that of clairvoyant.";
        // The bands overlap; paired differences may be significant.
        for (run, finals, expected) in [
            (
                0,
                &[19.0, 30.0, 41.0],
                "10.0 ± 1.7 below that of a (30.0 ± 6.0)",
            ),
            (
                0,
                &[41.0, 30.0, 19.0],
                "not significantly different from that of a (30.0 ± 6.0, difference 10.0 ± 36.4)",
            ),
            (
                1,
                &[19.0, 30.0, 41.0],
                "within the errors of 30.0 ± 6.0 of a",
            ),
        ] {
            assert_eq!(all(run, finals), format!("{start}{expected}{end}"));
        }
        let level = finding([found("a", 3.0, 2.0, &[])].into_iter());
        assert!(
            level.ends_with("; clairvoyant does not differ significantly from it (2.0 ± 3.0)."),
            "{level}"
        );
        assert_eq!(finding(std::iter::empty()), "There is nothing to compare.");
    }
}
