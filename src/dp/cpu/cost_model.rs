//! Which strategy is likely the fastest. The constants are nanoseconds of one core, measured once (`cargo bench --
//! structured`) and fixed: the choice, and so the result's bits, must not depend on the machine or its threads.

use super::Strategy;
use super::induction::Setting;
use super::terms::padded;
use crate::dp::{Precision, SortedThetas, WeightedEntries};

/// One candidate of the dense solver in 64 bits, and one context more.
const CANDIDATE: f64 = 0.105;
const CONTEXT: f64 = 12.0;
/// One action of one context in its envelope, and one context more.
const ENVELOPE_ACTION: f64 = 5.0;
const ENVELOPE_CONTEXT: f64 = 20.0;
/// Finding the place of a corner: once, and per doubling of the places.
const SEARCH: f64 = 3.0;
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

/// The strategy of least predicted time among those that suit the sample; `auction` says whether bounds are free of
/// contexts.
pub(super) fn fastest(setting: Setting, auction: bool, terms: Precision) -> Strategy {
    let sample = setting.sample;
    let contexts: usize = (0..sample.horizon())
        .map(|h| sample.step(h).entries.len())
        .sum();
    if contexts * sample.actions() * (setting.budget_max as usize + 1) < SMALL {
        return Strategy::Dense;
    }
    let dense = nanoseconds(Strategy::Dense, setting, terms);
    let mut best = (Strategy::Dense, MARGIN * dense);
    for strategy in Strategy::ALL {
        let suits = strategy.suits(sample);
        if strategy == Strategy::Dense
            || !suits
            || strategy == Strategy::AuctionEnvelope && !auction
        {
            continue;
        }
        let predicted = nanoseconds(strategy, setting, terms);
        if predicted < best.1 {
            best = (strategy, predicted);
        }
    }
    best.0
}

/// Predicted time.
fn nanoseconds(strategy: Strategy, setting: Setting, terms: Precision) -> f64 {
    let sample = setting.sample;
    let actions = sample.actions() as f64;
    // Most lines of an envelope are below the others; how many remain grows slowly.
    let corners = 1.0 + (actions + 1.0).log2();
    let search = |places: usize| SEARCH + SEARCH_DOUBLING * (places as f64 + 1.0).log2();
    let envelopes = sample.len() as f64 * (actions * ENVELOPE_ACTION + ENVELOPE_CONTEXT);
    let steps = (0..sample.horizon()).map(|h| (setting.reach(h), sample.step(h)));
    match strategy {
        Strategy::Dense => steps
            .map(|(reach, list)| {
                let width = match terms {
                    Precision::F64 => padded::<f64>(reach + 1) as f64,
                    Precision::F32 => padded::<f32>(reach + 1) as f64 / 2.0,
                };
                list.entries.len() as f64 * (actions * width * CANDIDATE + CONTEXT)
            })
            .sum(),
        Strategy::AuctionEnvelope => steps
            .map(|(reach, list)| {
                let thetas = list.thetas.as_ref().map_or(0, SortedThetas::len);
                reach as f64 * (BUDGET + actions * BID + corners * search(thetas))
            })
            .sum(),
        Strategy::GapEnvelope => {
            let steps = steps.map(|(reach, list)| {
                let places = list.entries.len() as f64 * corners * search(reach);
                places + reach as f64 * BUDGET
            });
            envelopes + steps.sum::<f64>()
        }
        Strategy::SharedEnvelope => {
            let all = |list: &WeightedEntries| list.entries.len() as f64 * corners;
            let lists = sample.lists().iter();
            let sorting: f64 = lists
                .map(|list| all(list) * SORT_DOUBLING * (all(list) + 2.0).log2())
                .sum();
            let steps = steps.map(|(reach, list)| reach as f64 * search(all(list) as usize));
            envelopes + sorting + steps.sum::<f64>()
        }
    }
}
