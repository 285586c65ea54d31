//! Which strategy is likely the fastest. The constants are nanoseconds of one core, measured once (`cargo bench --
//! structured`) and fixed: the choice, and so the result's bits, must not depend on the machine or its threads.

use super::Strategy;
use super::induction::Setting;
use super::terms::padded;
use super::theta_index::ThetaIndex;
use crate::dp::{Precision, StepContexts};

/// One candidate of the dense solver in 64 bits, and one context more.
const CANDIDATE: f64 = 0.04;
const CONTEXT: f64 = 6.0;
/// One action of one context in its envelope, and one context more.
const ENVELOPE_ACTION: f64 = 5.0;
const ENVELOPE_CONTEXT: f64 = 20.0;
/// Finding the place of a corner: once, and per doubling of the places.
const SEARCH: f64 = 6.0;
const SEARCH_DOUBLING: f64 = 1.0;
/// Sorting a corner, per doubling of the corners.
const SORT_DOUBLING: f64 = 3.0;
/// One bid of one (step, budget) of an auction.
const BID: f64 = 15.0;
/// One budget of a step, besides.
const BUDGET: f64 = 10.0;

/// Candidates of a problem that is not worth the choice.
const SMALL: usize = 20_000;

/// A shortcut must be predicted to take no more than this share of the dense solver's time, so that what the model does
/// not know costs little.
const MARGIN: f64 = 0.8;

/// Whether a problem is so small that the dense solver is taken without a look at the others.
pub(super) fn is_small(setting: Setting) -> bool {
    let sample = setting.sample;
    let contexts: usize = (0..sample.horizon()).map(|h| sample.step(h).len()).sum();
    contexts * sample.actions() * (setting.budget_max as usize + 1) < SMALL
}

/// The strategy of least predicted time among those that suit the sample; `auction` is the index of an auction whose
/// bounds are free of contexts.
pub(super) fn fastest(
    setting: Setting,
    auction: Option<&ThetaIndex>,
    terms: Precision,
) -> Strategy {
    if is_small(setting) {
        return Strategy::Dense;
    }
    let dense = dense_nanoseconds(setting, terms);
    let mut best = (Strategy::Dense, MARGIN * dense);
    for strategy in Strategy::ALL {
        if !strategy.suits(setting.sample) {
            continue;
        }
        let predicted = match (strategy, auction) {
            (Strategy::Dense, _) | (Strategy::AuctionEnvelope, None) => continue,
            (Strategy::AuctionEnvelope, Some(index)) => auction_nanoseconds(setting, index),
            (Strategy::GapEnvelope, _) => gap_nanoseconds(setting),
            (Strategy::SharedEnvelope, _) => shared_nanoseconds(setting),
        };
        if predicted < best.1 {
            best = (strategy, predicted);
        }
    }
    best.0
}

/// Lines of an envelope: most lie below the others; how many remain grows slowly.
fn corners(setting: Setting) -> f64 {
    1.0 + (setting.sample.actions() as f64 + 1.0).log2()
}

fn search(places: usize) -> f64 {
    SEARCH + SEARCH_DOUBLING * (places as f64 + 1.0).log2()
}

/// The envelopes of all contexts.
fn envelopes(setting: Setting) -> f64 {
    let actions = setting.sample.actions() as f64;
    setting.sample.len() as f64 * (actions * ENVELOPE_ACTION + ENVELOPE_CONTEXT)
}

/// The reach and the contexts of every step.
fn steps<'a>(setting: Setting<'a>) -> impl Iterator<Item = (usize, StepContexts<'a>)> {
    let sample = setting.sample;
    (0..sample.horizon()).map(move |h| (setting.reach(h), sample.step(h)))
}

fn dense_nanoseconds(setting: Setting, terms: Precision) -> f64 {
    let actions = setting.sample.actions() as f64;
    steps(setting)
        .map(|(reach, list)| {
            let width = match terms {
                Precision::F64 => padded::<f64>(reach + 1) as f64,
                Precision::F32 => padded::<f32>(reach + 1) as f64 / 2.0,
            };
            list.len() as f64 * (actions * width * CANDIDATE + CONTEXT)
        })
        .sum()
}

fn auction_nanoseconds(setting: Setting, index: &ThetaIndex) -> f64 {
    let actions = setting.sample.actions() as f64;
    (0..setting.sample.horizon())
        .map(|h| {
            let thetas = index.step(setting.sample, h).len();
            let per_budget = BUDGET + actions * BID + corners(setting) * search(thetas);
            setting.reach(h) as f64 * per_budget
        })
        .sum()
}

fn gap_nanoseconds(setting: Setting) -> f64 {
    let steps = steps(setting).map(|(reach, list)| {
        let places = list.len() as f64 * corners(setting) * search(reach);
        places + reach as f64 * BUDGET
    });
    envelopes(setting) + steps.sum::<f64>()
}

fn shared_nanoseconds(setting: Setting) -> f64 {
    let all = |list: &StepContexts| list.len() as f64 * corners(setting);
    let lists = (0..setting.sample.lists()).map(|list| setting.sample.list(list));
    let sorting: f64 = lists
        .map(|list| all(&list) * SORT_DOUBLING * (all(&list) + 2.0).log2())
        .sum();
    let steps = steps(setting).map(|(reach, list)| reach as f64 * search(all(&list) as usize));
    envelopes(setting) + sorting + steps.sum::<f64>()
}
