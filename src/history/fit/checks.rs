//! Checks of a fit: reliability, shares by action, thin actions, monotonicity, and whether offers depend on the features.

use nalgebra::DVector;

use super::compare::{Comparison, Folds};
use super::data::OfferData;
use super::file::{ActionFit, Monotonicity, ReliabilityBin};
use super::intervals::wilson;
use super::model::Model;
use super::support::OfferRegression;
use crate::history::log::LabeledLog;

/// Groups of the reliability table.
const GROUPS: usize = 10;

/// An action offered less often than this is thin.
pub const THIN_OFFERS: u64 = 30;

/// An action offered in a smaller share of arrivals than this is thin.
pub const THIN_SHARE: f64 = 0.02;

/// Held-out probabilities in ten groups of increasing probability, against the shares accepted.
pub fn reliability(data: &OfferData, comparison: &Comparison) -> Vec<ReliabilityBin> {
    let held_out = &comparison.choice().held_out;
    let mut order: Vec<usize> = (0..held_out.len()).collect();
    order.sort_by(|a, b| held_out[*a].total_cmp(&held_out[*b]));
    let size = order.len().div_ceil(GROUPS).max(1);
    let bin = |group: &[usize]| {
        let n = group.len() as f64;
        let predicted: f64 = group.iter().map(|&k| held_out[k]).sum();
        let accepted: f64 = group
            .iter()
            .map(|&k| data.labels[comparison.offers[k]])
            .sum();
        let (lower, upper) = wilson(accepted, n);
        ReliabilityBin {
            predicted: predicted / n,
            observed: accepted / n,
            lower,
            upper,
            offers: group.len() as u64,
        }
    };
    order.chunks(size).map(bin).collect()
}

/// Offers by action: share accepted, held-out probability, and whether the action is thin. Shares are those of the compared
/// offers, the only ones with held-out probabilities.
pub fn actions(
    data: &OfferData,
    comparison: &Comparison,
    values: &[f64],
    arrivals: usize,
) -> Vec<ActionFit> {
    let mut predicted = vec![0.0; values.len()];
    let mut is_compared = vec![0.0; data.len()];
    for (&i, p) in comparison.offers.iter().zip(&comparison.choice().held_out) {
        predicted[data.actions[i] as usize - 1] += p;
        is_compared[i] = 1.0;
    }
    let counts = data.counts(None);
    let compared = data.counts(Some(&is_compared));
    let of_action = |(a, &value): (usize, &f64)| {
        let (offers, accepted) = counts[a];
        let (seen, yes) = compared[a];
        let (lower, upper) = wilson(yes, seen);
        let share = offers / arrivals.max(1) as f64;
        ActionFit {
            value,
            offers: offers as u64,
            accepted: accepted as u64,
            observed: yes / seen.max(1.0),
            lower,
            upper,
            predicted: predicted[a] / seen.max(1.0),
            thin: (offers as u64) < THIN_OFFERS || share < THIN_SHARE,
        }
    };
    values.iter().enumerate().map(of_action).collect()
}

/// Whether acceptance is monotone in the action's value as expected: by its mean over all arrivals, and the share of
/// arrivals for whom it is not.
pub fn monotonicity(model: &Model, log: &LabeledLog, values: &[f64], rises: bool) -> Monotonicity {
    let n = log.arrivals().len();
    let stride = n.div_ceil(20_000).max(1);
    let mut means = vec![0.0; values.len()];
    let (mut wrong, mut looked_at) = (0.0, 0.0_f64);
    for i in (0..n).step_by(stride) {
        let rho: Vec<f64> = (1..=values.len())
            .map(|a| model.rho(log.theta(i), a))
            .collect();
        for (mean, rho) in means.iter_mut().zip(&rho) {
            *mean += rho;
        }
        let falls_back = |pair: &[f64]| match rises {
            true => pair[1] < pair[0] - 1e-9,
            false => pair[1] > pair[0] + 1e-9,
        };
        wrong += f64::from(u8::from(rho.windows(2).any(falls_back)));
        looked_at += 1.0;
    }
    means
        .iter_mut()
        .for_each(|mean| *mean /= looked_at.max(1.0));
    let steps = means.windows(2).zip(values.windows(2));
    let wrong_step = |(mean, value): (&[f64], &[f64])| {
        let back = if rises {
            mean[1] < mean[0]
        } else {
            mean[1] > mean[0]
        };
        (back && (mean[1] - mean[0]).abs() > 1e-9).then(|| (value[0], value[1]))
    };
    Monotonicity {
        expected: if rises { "rising" } else { "falling" }.into(),
        wrong_steps: steps.filter_map(wrong_step).collect(),
        wrong_share: wrong / looked_at.max(1.0),
        means,
    }
}

/// The share of the variance of offers that features and step explain on held-out episodes: 0 if offers do not depend on
/// them, 1 if offers are a function of them.
pub fn offers_explained(data: &OfferData, folds: &Folds) -> f64 {
    let first = usize::from(data.has_constant);
    let width = data.dimension - first + 3;
    let steps = data.steps.iter().copied().max().unwrap_or(0).max(1);
    let row = |i: usize| {
        let time = f64::from(data.steps[i]) / f64::from(steps) - 0.5;
        let mut row = vec![1.0, time, time * time];
        row.extend_from_slice(&data.theta(i)[first..]);
        row
    };
    let all: Vec<usize> = (0..data.len()).collect();
    OfferRegression::fit(data, folds, &all, width, |i| DVector::from_vec(row(i))).explained
}

#[cfg(test)]
mod tests {
    use super::super::compare::Candidate;
    use super::super::design::ModelKind;
    use super::super::file::CandidateFit;
    use super::*;

    /// Of 400 offers every second one is compared; half of those were accepted, and none of the others. The model is judged
    /// by the compared offers alone.
    #[test]
    fn shares_are_those_of_the_offers_that_were_compared() {
        let n = 400;
        let data = OfferData {
            dimension: 0,
            has_constant: false,
            thetas: vec![],
            actions: vec![1; n],
            labels: (0..n).map(|i| f64::from(u8::from(i % 4 == 0))).collect(),
            episodes: (0..n as u32).collect(),
            steps: vec![0; n],
            arrivals: (0..n as u32).collect(),
            scaled: vec![0.0],
            episode_count: n,
        };
        let fit = CandidateFit {
            kind: ModelKind::Rates,
            title: String::new(),
            parameters: 1,
            lambda: 0.0,
            log_loss: 0.0,
            standard_error: 0.0,
            behind: 0.0,
            behind_error: 0.0,
            brier: 0.0,
            chosen: true,
        };
        let candidate = Candidate {
            fit,
            by_fold: vec![],
            held_out: vec![0.5; n / 2],
        };
        let comparison = Comparison {
            candidates: vec![candidate],
            best: 0,
            chosen: 0,
            offers: (0..n).step_by(2).collect(),
            base_log_loss: 0.0,
            base_brier: 0.0,
        };
        let found = actions(&data, &comparison, &[3.0], n)[0];
        assert_eq!((found.offers, found.accepted), (400, 100));
        assert_eq!((found.observed, found.predicted), (0.5, 0.5));
        assert!((found.lower..found.upper).contains(&found.predicted));
    }
}
