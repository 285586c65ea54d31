//! Oracles that change the bounds of another oracle and forward everything else to it.

use std::fmt::Debug;

use rand::rngs::ChaCha8Rng;

use super::{
    Belief, Beside, BoundFacts, Bounds, BulkBounds, Diagnosis, LabeledData, Oracle, Pairs,
    wrong_state,
};
use crate::dp::BoundParameters;
use crate::error::Invalid;
use crate::task::Context;

/// An oracle around an inner one. It plans with adjusted bounds; intervals and estimates remain those of the inner oracle.
pub trait Wrapper: Debug + Send + Sync + 'static {
    /// The inner oracle.
    fn inner(&self) -> &dyn Oracle;

    /// The inner oracle.
    fn inner_mut(&mut self) -> &mut dyn Oracle;

    /// Adjusts [`Belief::bounds`] of an action, counted from 0.
    fn adjust(&self, _action: usize, _belief: &mut Belief) {}

    /// Adjusts the bounds of all actions in one context.
    fn adjust_all(&self, _context: &Context, beliefs: &mut [Belief]) {
        for (action, belief) in beliefs.iter_mut().enumerate() {
            self.adjust(action, belief);
        }
    }

    /// The adjusted bounds of many pairs, which store lcb beside ucb. To override where there is a faster way.
    fn fill(&self, pairs: &Pairs, ucb: &mut [f64], lcb: &mut [f64])
    where
        Self: Sized,
    {
        pairs.one_by_one(self, ucb, lcb);
    }

    /// The parameters of all adjusted bounds, if there are any.
    fn parameters(&self) -> Option<BoundParameters>;

    /// Called after every fit of the inner oracle; after a restore with the number that [`Wrapper::saved`] returned.
    fn after_fit(&mut self, _data: &LabeledData, _saved: Option<f64>) {}

    /// A number that a restore needs, if any.
    fn saved(&self) -> Option<f64> {
        None
    }
}

impl<W: Wrapper> Oracle for W {
    fn fit(&mut self, data: &LabeledData, delta: f64) {
        self.inner_mut().fit(data, delta);
        self.after_fit(data, None);
    }

    fn bounds(&self, context: &Context, out: &mut [Bounds]) {
        let mut beliefs = vec![Belief::UNKNOWN; out.len()];
        self.beliefs(context, &mut beliefs);
        for (bounds, belief) in out.iter_mut().zip(beliefs) {
            *bounds = belief.bounds;
        }
    }

    fn interval(&self, context: &Context, out: &mut [Bounds]) {
        self.inner().interval(context, out);
    }

    fn estimate(&self, context: &Context, out: &mut [f64]) {
        self.inner().estimate(context, out);
    }

    fn beliefs(&self, context: &Context, out: &mut [Belief]) {
        self.inner().beliefs(context, out);
        self.adjust_all(context, out);
    }

    fn keep_observed(&mut self) {
        self.inner_mut().keep_observed();
    }

    fn facts(&self) -> BoundFacts {
        self.inner().facts()
    }

    fn bulk(&self) -> Option<&dyn BulkBounds> {
        Some(self)
    }

    fn look(&self, contexts: &mut dyn Iterator<Item = Context<'_>>) {
        self.inner().look(contexts);
    }

    fn watch(&mut self, context: &Context) {
        self.inner_mut().watch(context);
    }

    fn save(&self) -> Vec<f64> {
        let mut saved = self.inner().save();
        saved.extend(self.saved());
        saved
    }

    fn restore(&mut self, data: &LabeledData, delta: f64, saved: &[f64]) -> Result<(), Invalid> {
        let (own, inner) = match (self.saved(), saved.split_last()) {
            (None, _) => (None, saved),
            (Some(_), Some((own, inner))) => (Some(*own), inner),
            (Some(_), None) => return Err(wrong_state(saved)),
        };
        self.inner_mut().restore(data, delta, inner)?;
        self.after_fit(data, own);
        Ok(())
    }

    fn draw(&self, rng: &mut ChaCha8Rng) -> Option<Box<dyn Oracle>> {
        self.inner().draw(rng)
    }

    fn diagnosis(&self) -> Diagnosis {
        self.inner().diagnosis()
    }
}

impl<W: Wrapper> BulkBounds for W {
    fn fill(&self, pairs: &Pairs, ucb: &mut [f64], lcb: &mut [f64]) {
        match pairs.beside {
            Beside::Lcb => Wrapper::fill(self, pairs, ucb, lcb),
            Beside::Estimate => pairs.one_by_one(self, ucb, lcb),
        }
    }

    fn parameters(&self) -> Option<BoundParameters> {
        Wrapper::parameters(self)
    }
}
