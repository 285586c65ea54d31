//! What a policy offers at every (step, budget), put together from the lines of `actions.csv`.

use super::records::ActionRow;
use super::rows::Unaccepted;

/// The mean offer at one (step, budget), over arriving contexts.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Offer {
    /// Mean action value (price, wage, bid, or number of the action), the null action counting 0.
    pub mean_action: f64,
    /// Share of arriving contexts that are offered anything.
    pub share: f64,
}

/// Offers over (step, budget), step by step.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OfferMap {
    /// Steps shown, from 1.
    pub steps: Vec<usize>,
    /// Budgets shown, from 1.
    pub budgets: Vec<u32>,
    /// The policy's last plan: `steps.len() * budgets.len()` offers.
    pub learnt: Vec<Offer>,
    /// The optimal policy on the same contexts.
    pub optimal: Vec<Offer>,
}

impl OfferMap {
    /// Adds the next line: the lines of a policy are a whole rectangle of steps and budgets.
    pub fn push(&mut self, row: &ActionRow) -> Result<(), Unaccepted> {
        if self.steps.last() != Some(&row.step) {
            let earlier = self.steps.last().copied().unwrap_or(0);
            if row.step <= earlier || self.missing() > 0 {
                return Err(Unaccepted {
                    column: "step",
                    accepted: "steps in order, each with the same budgets",
                });
            }
            self.steps.push(row.step);
        }
        if self.steps.len() == 1 && self.budgets.last().is_none_or(|last| *last < row.budget) {
            self.budgets.push(row.budget);
        }
        let place = self.learnt.len() - (self.steps.len() - 1) * self.budgets.len();
        if self.budgets.get(place) != Some(&row.budget) {
            return Err(Unaccepted {
                column: "budget",
                accepted: "rising budgets, the same at every step",
            });
        }
        self.learnt.push(Offer {
            mean_action: row.mean_action,
            share: row.offer_share,
        });
        self.optimal.push(Offer {
            mean_action: row.optimal_mean_action,
            share: row.optimal_offer_share,
        });
        Ok(())
    }

    /// The lines of a policy.
    pub fn rows<'m>(&'m self, policy: &'m str) -> impl Iterator<Item = ActionRow> + 'm {
        let steps = self.steps.iter();
        let cells = steps.flat_map(|step| self.budgets.iter().map(move |b| (*step, *b)));
        let offers = self.learnt.iter().zip(&self.optimal);
        cells
            .zip(offers)
            .map(|((step, budget), (learnt, optimal))| ActionRow {
                policy: policy.into(),
                step,
                budget,
                mean_action: learnt.mean_action,
                offer_share: learnt.share,
                optimal_mean_action: optimal.mean_action,
                optimal_offer_share: optimal.share,
            })
    }

    /// Lines that a whole rectangle should have.
    pub fn cells(&self) -> usize {
        self.steps.len() * self.budgets.len()
    }

    fn missing(&self) -> usize {
        self.cells() - self.learnt.len()
    }
}
