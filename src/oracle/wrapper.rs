//! Oracles that change the bounds of another oracle and forward everything else to it.

use std::fmt::Debug;

use rand::rngs::ChaCha8Rng;

use super::bulk::fill_unknown;
use super::{
    BoundFacts, Bounds, BulkBounds, Diagnosis, LabeledData, Oracle, Pairs, fill_bounds, wrong_state,
};
use crate::dp::BoundParameters;
use crate::error::Invalid;
use crate::task::Context;

/// An oracle around an inner one. It plans with adjusted bounds; intervals and estimates remain those of the inner oracle.
pub trait Wrapper: Debug + Send + Sync + 'static {
    /// Whether [`Wrapper::adjust`] needs point estimates.
    const USES_ESTIMATES: bool = false;

    /// The inner oracle.
    fn inner(&self) -> &dyn Oracle;

    /// The inner oracle.
    fn inner_mut(&mut self) -> &mut dyn Oracle;

    /// The oracle whose bounds are adjusted; `None` while nothing is known.
    fn source(&self) -> Option<&dyn Oracle> {
        Some(self.inner())
    }

    /// The adjusted bounds of a pair; `estimate` is NaN unless [`Wrapper::USES_ESTIMATES`].
    fn adjust(&self, _estimate: f64, bounds: Bounds) -> Bounds {
        bounds
    }

    /// The same for the parameters of all bounds; `None` if adjusted bounds are not a simple function of parameters.
    fn adjust_parameters(&self, parameters: BoundParameters) -> Option<BoundParameters> {
        Some(parameters)
    }

    /// Called after every fit of the inner oracle; after a restore with the number that [`Wrapper::saved`] returned.
    fn after_fit(&mut self, _data: &LabeledData, _delta: f64, _saved: Option<f64>) {}

    /// A number that a restore needs, if any.
    fn saved(&self) -> Option<f64> {
        None
    }
}

impl<W: Wrapper> Oracle for W {
    fn fit(&mut self, data: &LabeledData, delta: f64) {
        self.inner_mut().fit(data, delta);
        self.after_fit(data, delta, None);
    }

    fn bounds(&self, context: &Context, out: &mut [Bounds]) {
        let Some(source) = self.source() else {
            return out.fill(Bounds::UNKNOWN);
        };
        source.bounds(context, out);
        let estimates = W::USES_ESTIMATES.then(|| {
            let mut estimates = vec![0.5; out.len()];
            self.inner().estimate(context, &mut estimates);
            estimates
        });
        for (a, bounds) in out.iter_mut().enumerate() {
            let estimate = estimates.as_ref().map_or(f64::NAN, |all| all[a]);
            *bounds = self.adjust(estimate, *bounds);
        }
    }

    fn interval(&self, context: &Context, out: &mut [Bounds]) {
        self.inner().interval(context, out);
    }

    fn estimate(&self, context: &Context, out: &mut [f64]) {
        self.inner().estimate(context, out);
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
        self.after_fit(data, delta, own);
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
        let Some(source) = self.source() else {
            return fill_unknown(ucb, lcb);
        };
        if W::USES_ESTIMATES {
            // Estimates have no bulk version.
            return pairs.one_by_one(ucb, lcb, |context, row| self.bounds(context, row));
        }
        fill_bounds(source, pairs, ucb, lcb);
        for (ucb, lcb) in ucb.iter_mut().zip(lcb) {
            let bounds = Bounds {
                lcb: *lcb,
                ucb: *ucb,
            };
            let adjusted = self.adjust(f64::NAN, bounds);
            (*ucb, *lcb) = (adjusted.ucb, adjusted.lcb);
        }
    }

    fn parameters(&self) -> Option<BoundParameters> {
        self.adjust_parameters(self.source()?.bulk()?.parameters()?)
    }
}
