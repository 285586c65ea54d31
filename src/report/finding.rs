//! What came out, in one sentence that follows from the numbers.

use super::style::{fixed, with_band};
use super::table::share;
use crate::results::PointResult;
use crate::statistics::MeanAndError;

/// The policy of lowest regret among those that do not know the truth, and how far it is from what it is compared with.
pub fn finding(results: impl Iterator<Item = PointResult>) -> String {
    let results: Vec<PointResult> = results.collect();
    let knows = |result: &PointResult| {
        let name = result.policy.rsplit('/').next().unwrap_or_default();
        name == "clairvoyant" || name == "fluid"
    };
    let mut ranked: Vec<(&PointResult, MeanAndError)> = results
        .iter()
        .filter(|result| !knows(result))
        .filter_map(|result| Some((result, result.regret()?)))
        .collect();
    ranked.sort_by(|a, b| a.1.mean.total_cmp(&b.1.mean));
    let Some(&(best, regret)) = ranked.first() else {
        return "There is nothing to compare.".into();
    };
    let mut text = format!(
        "{} earns {} of opt and ends with the lowest regret, {}",
        best.policy,
        share(best),
        band(regret)
    );
    if let Some((next, other)) = ranked.get(1) {
        let apart = if other.lower() > regret.upper() {
            "against"
        } else {
            "within the errors of"
        };
        text += &format!(", {apart} {} of {}", band(*other), next.policy);
    }
    let is_reference = best.policy.rsplit('/').next() == Some(&best.reference);
    if let Some(paired) = best.paired().filter(|_| !is_reference) {
        let side = if paired.mean < 0.0 { "below" } else { "above" };
        let size = MeanAndError {
            mean: paired.mean.abs(),
            ..paired
        };
        let size = band(size);
        text += &match paired.lower() > 0.0 || paired.upper() < 0.0 {
            true => format!("; that is {size} {side} {}", best.reference),
            false => format!("; {} is not told apart from it ({size})", best.reference),
        };
    }
    if best.share_of_opt.is_some_and(|share| share < 0.5) {
        text += &format!(", with {} of what could be earned lost", lost(best));
    }
    text + "."
}

/// A mean with its band, as pages write it.
pub(super) fn band(value: MeanAndError) -> String {
    with_band(Some(value), 1).replace("+-", "±")
}

fn lost(result: &PointResult) -> String {
    fixed(100.0 * (1.0 - result.share_of_opt.unwrap_or(f64::NAN)), 1) + "%"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(policy: &str, regret: f64, paired: f64) -> PointResult {
        PointResult {
            policy: policy.into(),
            final_regret: Some(regret),
            standard_error: Some(2.0),
            share_of_opt: Some(0.9),
            reference: "clairvoyant".into(),
            paired_difference: Some(paired),
            paired_standard_error: Some(1.0),
            ..PointResult::default()
        }
    }

    #[test]
    fn the_best_learner_in_a_sentence() {
        let all = [
            result("clairvoyant", -1.0, 0.0),
            result("a", 30.0, 31.0),
            result("b", 20.0, 21.0),
        ];
        assert_eq!(
            finding(all.into_iter()),
            "b earns 90.0% of opt and ends with the lowest regret, 20.0 ± 6.0, within the errors of 30.0 ± 6.0 of a; that \
             is 21.0 ± 3.0 above clairvoyant."
        );
        let level = finding([result("a", 3.0, 2.0)].into_iter());
        assert!(
            level.ends_with("; clairvoyant is not told apart from it (2.0 ± 3.0)."),
            "{level}"
        );
        assert_eq!(finding(std::iter::empty()), "There is nothing to compare.");
    }
}
