//! `actions.csv`: the offers of a policy at every (step, budget), as lines and back.

use super::records::ActionRow;
use super::rows::Unaccepted;
use crate::experiment::{MeanOffer, OfferMap};

/// Adds the next line: the lines of a policy are a whole rectangle of steps and budgets.
pub(super) fn push_row(map: &mut OfferMap, row: &ActionRow) -> Result<(), Unaccepted> {
    if map.steps.last() != Some(&row.step) {
        let earlier = map.steps.last().copied().unwrap_or(0);
        if row.step <= earlier || cells(map) > map.learnt.len() {
            return Err(Unaccepted {
                column: "step",
                accepted: "steps in order, each with the same budgets",
            });
        }
        map.steps.push(row.step);
    }
    if map.steps.len() == 1 && map.budgets.last().is_none_or(|last| *last < row.budget) {
        map.budgets.push(row.budget);
    }
    let place = map.learnt.len() - (map.steps.len() - 1) * map.budgets.len();
    if map.budgets.get(place) != Some(&row.budget) {
        return Err(Unaccepted {
            column: "budget",
            accepted: "rising budgets, the same at every step",
        });
    }
    let learnt = (row.mean_action, row.offer_share);
    map.learnt.push(MeanOffer::from(learnt));
    let optimal = (row.optimal_mean_action, row.optimal_offer_share);
    map.optimal.push(MeanOffer::from(optimal));
    Ok(())
}

/// The lines of a policy.
pub(super) fn action_rows<'m>(
    policy: &'m str,
    map: &'m OfferMap,
) -> impl Iterator<Item = ActionRow> + 'm {
    let steps = map.steps.iter();
    let cells = steps.flat_map(|step| map.budgets.iter().map(move |b| (*step, *b)));
    let offers = map.learnt.iter().zip(&map.optimal);
    let rows = cells.zip(offers);
    rows.map(|((step, budget), (learnt, optimal))| ActionRow {
        policy: policy.into(),
        step,
        budget,
        mean_action: learnt.mean_action,
        offer_share: learnt.share,
        optimal_mean_action: optimal.mean_action,
        optimal_offer_share: optimal.share,
    })
}

/// Lines of a whole rectangle.
pub(super) fn cells(map: &OfferMap) -> usize {
    map.steps.len() * map.budgets.len()
}
