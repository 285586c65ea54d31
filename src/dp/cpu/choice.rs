//! The strategies of the CPU, what each needs, and which one is likely the fastest. The constants are nanoseconds of one
//! core, measured once (`cargo bench -- structured`) and fixed: the choice, and so the result's bits, must not depend on the
//! machine or its threads.

use std::fmt;

use super::terms::padded;
use crate::dp::{BackendError, ContextSample, Precision, Problem, StepContexts};

/// A way to solve Optimistic-DP. All give the same values to rounding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Strategy {
    /// Every (step, budget, context, action); serves every problem.
    Dense,
    /// Auctions whose bounds do not depend on the context: envelopes in theta.
    AuctionEnvelope,
    /// Unit cost and contexts that serve several steps: one envelope in the gap for all of them.
    SharedEnvelope,
}

impl Strategy {
    /// All strategies.
    pub const ALL: [Self; 3] = [Self::Dense, Self::AuctionEnvelope, Self::SharedEnvelope];

    /// Its name for users and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dense => "dense",
            Self::AuctionEnvelope => "auction-envelope",
            Self::SharedEnvelope => "shared-envelope",
        }
    }

    /// The error for a problem that lacks what the strategy needs.
    pub fn refused(self) -> BackendError {
        BackendError::Structure {
            strategy: self.name(),
            needs: match self {
                Self::Dense => "nothing",
                Self::AuctionEnvelope => "an auction whose bounds do not depend on the context",
                Self::SharedEnvelope => {
                    "actions that all cost 1 and a list of contexts that serves several steps (a finite law, not rows)"
                }
            },
        }
    }

    /// Whether a sample of contexts allows it. [`Strategy::AuctionEnvelope`] also needs bounds free of contexts.
    pub fn suits(self, sample: &ContextSample) -> bool {
        match self {
            Self::Dense => true,
            Self::AuctionEnvelope => sample.bids().is_some(),
            Self::SharedEnvelope => sample.has_unit_cost() && sample.lists() < sample.horizon(),
        }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}

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
/// One more budget of a step.
const BUDGET: f64 = 10.0;

/// Problems with fewer candidates are not worth the choice.
const SMALL: usize = 20_000;

/// A shortcut must be predicted to take at most this share of the dense solver's time, so that an error of the model costs
/// little.
const MARGIN: f64 = 0.8;

/// The strategy of least predicted time; `context_free` says whether an auction's bounds are free of contexts.
pub(super) fn fastest(problem: &Problem, context_free: bool, terms: Precision) -> Strategy {
    let sample = problem.sample;
    let actions = sample.actions();
    let steps = || (0..sample.horizon()).map(|h| (problem.reach(h), sample.step(h)));
    let contexts: usize = steps().map(|(_, list)| list.len()).sum();
    if contexts * actions * (problem.budget_max as usize + 1) < SMALL {
        return Strategy::Dense;
    }
    let actions = actions as f64;
    // Most lines lie below the envelope; how many remain grows slowly.
    let corners = 1.0 + (actions + 1.0).log2();
    let search = |places: usize| SEARCH + SEARCH_DOUBLING * (places as f64 + 1.0).log2();
    let dense = |(reach, list): (usize, StepContexts)| {
        let width = match terms {
            Precision::F64 => padded::<f64>(reach + 1) as f64,
            Precision::F32 => padded::<f32>(reach + 1) as f64 / 2.0,
        };
        list.len() as f64 * (actions * width * CANDIDATE + CONTEXT)
    };
    let mut best = (Strategy::Dense, MARGIN * steps().map(dense).sum::<f64>());
    let mut offer = |strategy, nanoseconds| {
        if nanoseconds < best.1 {
            best = (strategy, nanoseconds);
        }
    };
    if let (true, Some(thetas)) = (context_free, sample.thetas()) {
        let steps = (0..sample.horizon()).map(|h| {
            let places = thetas[sample.list_of_step(h)].len();
            let per_budget = BUDGET + actions * BID + corners * search(places);
            problem.reach(h) as f64 * per_budget
        });
        offer(Strategy::AuctionEnvelope, steps.sum::<f64>());
    }
    if Strategy::SharedEnvelope.suits(sample) {
        let envelopes = sample.len() as f64 * (actions * ENVELOPE_ACTION + ENVELOPE_CONTEXT);
        let lists = (0..sample.lists()).map(|list| sample.list(list).len() as f64 * corners);
        let sorting = lists.map(|all| all * SORT_DOUBLING * (all + 2.0).log2());
        let searches = steps()
            .map(|(reach, list)| reach as f64 * search((list.len() as f64 * corners) as usize));
        let sum = envelopes + sorting.sum::<f64>() + searches.sum::<f64>();
        offer(Strategy::SharedEnvelope, sum);
    }
    best.0
}
