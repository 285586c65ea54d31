//! What the baselines that refit within an episode have in common: an oracle and the data of all offers so far.

use std::sync::Arc;

use crate::error::Invalid;
use crate::oracle::{LabeledData, Oracle};
use crate::policy::SavedOracle;
use crate::task::{Context, Task};

/// An oracle with the data of all offers so far, fitted at a constant delta.
#[derive(Debug)]
pub(super) struct Learnt {
    task: Arc<Task>,
    oracle: Box<dyn Oracle>,
    delta: f64,
    data: LabeledData,
    fitted: Option<usize>,
    growth: f64,
}

/// A lazy refit waits until the data have grown by this share.
const LAZY_GROWTH: f64 = 0.02;

impl Learnt {
    /// Without data.
    pub fn new(task: &Arc<Task>, oracle: Box<dyn Oracle>, delta: f64) -> Self {
        Self {
            data: LabeledData::new(task.dimension()),
            task: Arc::clone(task),
            oracle,
            delta,
            fitted: None,
            growth: 0.0,
        }
    }

    /// The same, refitted only when the data have grown by 2%: up to 50 outcomes after every one, later less often.
    pub fn lazy(self) -> Self {
        Self {
            growth: LAZY_GROWTH,
            ..self
        }
    }

    /// The fitted oracle.
    pub fn oracle(&self) -> &dyn Oracle {
        self.oracle.as_ref()
    }

    /// A context whose bounds will be asked for again.
    pub fn watch(&mut self, context: &Context) {
        self.oracle.watch(context);
    }

    /// Adds an outcome; the null action teaches nothing.
    pub fn observe(&mut self, context: &Context, action: usize, converted: bool) {
        if action > 0 {
            self.data.push(context, action, converted);
        }
    }

    /// Refits if there are enough new data; returns whether it did.
    pub fn refit(&mut self) -> bool {
        let (known, all) = (self.fitted.unwrap_or(0) as f64, self.data.len() as f64);
        let is_due = match self.fitted {
            None => true,
            Some(_) => all > known && all >= (1.0 + self.growth) * known,
        };
        if is_due {
            self.oracle.fit(&self.data, self.delta);
            self.fitted = Some(self.data.len());
        }
        is_due
    }

    /// The state, for a restart.
    pub fn save(&self) -> SavedOracle {
        SavedOracle::of(&self.data, self.fitted, self.oracle())
    }

    /// Restores a state; the oracle must be unfitted.
    pub fn restore(&mut self, saved: SavedOracle) -> Result<(), Invalid> {
        (self.data, self.fitted) = saved.restore(&self.task, self.oracle.as_mut(), self.delta)?;
        Ok(())
    }
}
