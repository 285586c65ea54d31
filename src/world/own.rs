//! Parts of a world that are code of the user's own, written in another language. It is called with many contexts at once.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::task::{Context, Own};

/// Contexts whose probabilities are kept; beyond that all are computed anew.
const KEPT: usize = 1 << 17;

/// A conversion of the user's own.
pub trait OwnConversion: Send + Sync {
    /// rho of every (context, action), the actions of a context together. The features of the contexts follow one another;
    /// steps are 0-based; `values` are the action values.
    fn rho(&self, features: &[f64], steps: &[usize], values: &[f64]) -> Vec<f64>;
}

/// A context law of the user's own.
pub trait OwnLaw: Send + Sync {
    /// Draws a context for each of `steps` (0-based) into `features`, one after another, all within the corners `range`.
    /// The draws depend on `seed` and the steps alone.
    fn draw(&self, seed: u64, steps: &[usize], range: (&[f64], &[f64]), features: &mut [f64]);
}

/// An own conversion with the probabilities that it has told.
pub(super) struct OwnRho {
    pub own: Own<dyn OwnConversion>,
    pub by_step: bool,
    pub values: Vec<f64>,
    known: Mutex<HashMap<Key, Vec<f64>>>,
}

/// Step (if probabilities depend on it) and bits of the features.
type Key = (usize, Vec<u64>);

impl OwnRho {
    pub fn new(own: Own<dyn OwnConversion>, by_step: bool, values: &[f64]) -> Self {
        Self {
            own,
            by_step,
            values: values.to_vec(),
            known: Mutex::default(),
        }
    }

    /// rho(theta, a) of a non-null action.
    pub fn at(&self, context: &Context, action: usize) -> f64 {
        let key = self.key(context);
        if let Some(row) = self.open().get(&key) {
            return row[action - 1];
        }
        self.look(&mut std::iter::once(*context));
        self.open().get(&key).map_or(0.0, |row| row[action - 1])
    }

    /// Asks for the contexts that are not known, all at once.
    pub fn look(&self, contexts: &mut dyn Iterator<Item = Context<'_>>) {
        let Some(runs) = &self.own.runs else { return };
        let (mut keys, mut features, mut steps) = (Vec::new(), Vec::new(), Vec::new());
        {
            let known = self.open();
            let mut seen = HashSet::new();
            for context in contexts {
                let key = self.key(&context);
                if !known.contains_key(&key) && seen.insert(key.clone()) {
                    keys.push(key);
                    features.extend_from_slice(context.features);
                    steps.push(context.step);
                }
            }
        }
        if keys.is_empty() {
            return;
        }
        // Not under the lock: the code may take long, and may need this thread's other locks.
        let rho = runs.rho(&features, &steps, &self.values);
        let mut known = self.open();
        if known.len() + keys.len() > KEPT {
            known.clear();
        }
        let rows = rho.chunks_exact(self.values.len()).map(<[f64]>::to_vec);
        known.extend(keys.into_iter().zip(rows));
    }

    fn key(&self, context: &Context) -> Key {
        let step = if self.by_step { context.step } else { 0 };
        (step, context.features.iter().map(|x| x.to_bits()).collect())
    }

    fn open(&self) -> MutexGuard<'_, HashMap<Key, Vec<f64>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for OwnRho {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        self.own.fmt(f)
    }
}
