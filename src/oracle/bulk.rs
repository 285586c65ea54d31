//! Bounds of many contexts at once, and their way into the coefficients of a plan.

use std::ops::Range;

use super::{Belief, Bounds, Oracle};
use crate::dp::{BoundParameters, BoundSource, Coefficients, ContextSample};

/// The optional part of an [`Oracle`]: bounds of many contexts at once.
pub trait BulkBounds {
    /// The bounds of all `pairs`, each at its [place](Pairs::place). `lcb` gets what [`Pairs::beside`] says.
    fn fill(&self, pairs: &Pairs, ucb: &mut [f64], lcb: &mut [f64]);

    /// The fitted parameters, if bounds are a simple function of them: a GPU then evaluates them itself.
    fn parameters(&self) -> Option<BoundParameters> {
        None
    }
}

/// Consecutive entries of a sample, each with some of the actions.
#[derive(Debug, Clone)]
pub struct Pairs<'s> {
    /// The sample.
    pub sample: &'s ContextSample,
    /// Entries of the sample.
    pub entries: Range<usize>,
    /// Non-null actions, from 0.
    pub actions: Range<usize>,
    /// Where bounds are stored.
    pub layout: Layout,
    /// What is stored beside ucb.
    pub beside: Beside,
}

/// What is stored beside ucb.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beside {
    /// lcb.
    Lcb,
    /// The estimate as [`Belief::estimate`] has it, clamped to at most ucb: all that coupled optimism with a tolerance needs.
    Estimate,
}

/// The order of stored bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// The actions of an entry together.
    ByEntry,
    /// The entries of an action together; those of the next action begin `apart` places later.
    ByAction {
        /// Distance between the first entries of two actions.
        apart: usize,
    },
}

impl<'s> Pairs<'s> {
    /// Entries with all actions, the actions of an entry together.
    pub fn by_entry(sample: &'s ContextSample, entries: Range<usize>) -> Self {
        Self {
            sample,
            entries,
            actions: 0..sample.actions(),
            layout: Layout::ByEntry,
            beside: Beside::Lcb,
        }
    }

    /// Where the bounds of a pair are stored; both numbers count from the start of their range.
    pub fn place(&self, entry: usize, action: usize) -> usize {
        match self.layout {
            Layout::ByEntry => entry * self.actions.len() + action,
            Layout::ByAction { apart } => action * apart + entry,
        }
    }

    /// Asks an oracle for one context after another.
    pub fn one_by_one(&self, oracle: &dyn Oracle, ucb: &mut [f64], lcb: &mut [f64]) {
        let mut bounds = vec![Bounds::UNKNOWN; self.sample.actions()];
        let mut beliefs = vec![Belief::UNKNOWN; self.sample.actions()];
        for (i, entry) in self.entries.clone().enumerate() {
            let context = self.sample.context(entry);
            match self.beside {
                Beside::Lcb => oracle.bounds(&context, &mut bounds),
                Beside::Estimate => {
                    oracle.beliefs(&context, &mut beliefs);
                    for (bounds, belief) in bounds.iter_mut().zip(&beliefs) {
                        (bounds.ucb, bounds.lcb) = (belief.bounds.ucb, belief.center());
                    }
                }
            }
            for (a, bounds) in bounds[self.actions.clone()].iter().enumerate() {
                let place = self.place(i, a);
                (ucb[place], lcb[place]) = (bounds.ucb, bounds.lcb);
            }
        }
    }
}

/// The bounds of all `pairs`, in bulk if the oracle can.
pub fn fill_bounds(oracle: &dyn Oracle, pairs: &Pairs, ucb: &mut [f64], lcb: &mut [f64]) {
    match oracle.bulk() {
        Some(bulk) => bulk.fill(pairs, ucb, lcb),
        None => {
            let entries = pairs.entries.clone();
            oracle.look(&mut entries.map(|entry| pairs.sample.context(entry)));
            pairs.one_by_one(oracle, ucb, lcb);
        }
    }
}

/// [`Belief::UNKNOWN`] everywhere.
pub(super) fn fill_unknown(pairs: &Pairs, ucb: &mut [f64], lcb: &mut [f64]) {
    ucb.fill(Bounds::UNKNOWN.ucb);
    lcb.fill(match pairs.beside {
        Beside::Lcb => Bounds::UNKNOWN.lcb,
        Beside::Estimate => Belief::UNKNOWN.estimate,
    });
}

/// Bounds become coefficients: ucb and lcb first; then the gain replaces ucb.
impl<T: Oracle> BoundSource for T {
    fn fill_entries(
        &self,
        sample: &ContextSample,
        entries: Range<usize>,
        gain: &mut [f64],
        lcb: &mut [f64],
    ) {
        fill_bounds(self, &Pairs::by_entry(sample, entries.clone()), gain, lcb);
        let actions = sample.actions();
        if entries.end <= sample.shared() {
            let rewards = &sample.rewards()[entries.start * actions..];
            for ((gain, lcb), reward) in gain.iter_mut().zip(lcb).zip(rewards) {
                (*gain, *lcb) = Coefficients::of(*gain, *lcb, *reward);
            }
            return;
        }
        let rows = gain
            .chunks_exact_mut(actions)
            .zip(lcb.chunks_exact_mut(actions));
        for (entry, (gain, lcb)) in entries.zip(rows) {
            for (a, (gain, lcb)) in gain.iter_mut().zip(lcb).enumerate() {
                (*gain, *lcb) = Coefficients::of(*gain, *lcb, sample.reward(entry, a + 1));
            }
        }
    }

    fn fill_by_action(
        &self,
        sample: &ContextSample,
        entries: Range<usize>,
        apart: usize,
        gain: &mut [f64],
        lcb: &mut [f64],
    ) {
        let mut pairs = Pairs::by_entry(sample, entries.clone());
        pairs.layout = Layout::ByAction { apart };
        fill_bounds(self, &pairs, gain, lcb);
        let is_auction = sample.bids().is_some();
        let rewards = sample.single_rewards().unwrap_or(&[]);
        let thetas = sample.features_of(entries.clone());
        let rows = gain.chunks_mut(apart).zip(lcb.chunks_mut(apart));
        for ((gain, lcb), &reward) in rows.zip(rewards) {
            let (gain, lcb) = (&mut gain[..entries.len()], &mut lcb[..entries.len()]);
            if is_auction {
                // An auction has one feature, theta.
                for ((gain, lcb), theta) in gain.iter_mut().zip(lcb).zip(thetas) {
                    (*gain, *lcb) = Coefficients::of(*gain, *lcb, theta + reward);
                }
            } else {
                gain.iter_mut().for_each(|gain| *gain *= reward);
            }
        }
    }

    fn parameters(&self) -> Option<BoundParameters> {
        self.bulk()?.parameters()
    }
}
