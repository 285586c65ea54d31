//! Saved policies, between two episodes: data, contexts, oracle state, random streams and the current plan. Restoring is
//! exact to the bit.

use std::sync::Arc;

use rand::rngs::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::MimicOptDp;
use crate::dp::ValueTable;
use crate::error::Invalid;
use crate::oracle::{LabeledData, Oracle};
use crate::task::{EpisodeContexts, Task};

/// The saved state of a built-in policy ([`super::Policy::save`]).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum SavedPolicy {
    /// No state: the policy never changes.
    Unchanged,
    /// A position in its random stream.
    Stream(u64),
    /// Algorithm 1.
    Learner(SavedLearner),
    /// The myopic learner: its episode and fit.
    Myopic(usize, SavedOracle),
    /// SquareCBwK.
    SquareCbwk {
        /// Position in its random stream.
        stream: u64,
        /// The first dual weight.
        w: f64,
        /// Its fit.
        fit: SavedOracle,
    },
    /// A policy that solves a linear program at every step.
    LinearProgram {
        /// Position in its random stream.
        stream: u64,
        /// All arrivals so far.
        contexts: EpisodeContexts,
        /// Its fit.
        fit: SavedOracle,
    },
    /// A policy that prices the budget: what the price carries, and its fit.
    Priced(f64, SavedOracle),
    /// PrimalDualBwK.
    PrimalDual {
        /// v of time and of the budget.
        weights: [f64; 2],
        /// All arrivals so far.
        contexts: EpisodeContexts,
        /// Its fit.
        fit: SavedOracle,
    },
    /// A plug-in plan with random offers: position in its random stream, and the learner.
    Exploring(u64, SavedLearner),
}

impl SavedPolicy {
    /// The error for a state that does not belong to the policy.
    pub(super) fn mismatch() -> Invalid {
        let accepted = "a state saved by the same policy";
        Invalid::new("state", "the state of another policy", accepted)
    }
}

/// Labeled data, and an oracle's fit to the first `fitted` of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SavedOracle {
    data: LabeledData,
    fitted: Option<usize>,
    oracle: Vec<f64>,
}

impl SavedOracle {
    /// The state of data and oracle.
    pub(super) fn of(data: &LabeledData, fitted: Option<usize>, oracle: &dyn Oracle) -> Self {
        Self {
            data: data.clone(),
            fitted,
            oracle: oracle.save(),
        }
    }

    /// Restores the fit of an unfitted oracle; returns the data and the number of fitted observations.
    pub(super) fn restore(
        self,
        task: &Task,
        oracle: &mut dyn Oracle,
        delta: f64,
    ) -> Result<(LabeledData, Option<usize>), Invalid> {
        self.data.check(task)?;
        if let Some(fitted) = self.fitted {
            if fitted > self.data.len() {
                return Err(SavedPolicy::mismatch());
            }
            oracle.restore(&self.data.first(fitted), delta, &self.oracle)?;
        }
        Ok((self.data, self.fitted))
    }
}

/// Position of a random stream, in words of 32 bits.
pub(super) fn position(stream: &ChaCha8Rng) -> u64 {
    stream.get_word_pos() as u64
}

/// The saved state of [`MimicOptDp`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SavedLearner {
    episode: usize,
    rows: Vec<EpisodeContexts>,
    data: LabeledData,
    fit: LastFit,
    /// The largest budget of the next plan.
    ceiling: u32,
    /// The largest budget of the table, and its values.
    width: u32,
    u_hat: Vec<f64>,
}

/// A fit that can be repeated to the bit from the same data.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LastFit {
    /// Number of observations it used; later ones do not matter.
    pub observations: usize,
    /// The decisions without an offer at the time.
    #[serde(default)]
    pub declined: usize,
    /// The episode it was made for; 0 without a fit.
    pub episode: usize,
    /// What the oracle carries from one fit to the next.
    pub oracle: Vec<f64>,
}

impl MimicOptDp {
    /// The state, for a restart.
    pub fn save(&self) -> SavedLearner {
        let dimension = self.task.dimension();
        let row = |entries: Vec<crate::dp::RowEntry>| {
            let mut row = EpisodeContexts::new(dimension);
            for entry in entries {
                let context = self.s_t.context(entry.entry as usize);
                row.arrive(entry.step as usize, |slot| {
                    slot.copy_from_slice(context.features);
                    context.point
                });
            }
            row
        };
        let steps = 0..=self.u_hat.horizon();
        SavedLearner {
            episode: self.episode,
            rows: self.s_t.rows().map(row).collect(),
            data: self.d_t.clone(),
            fit: self.last_fit(),
            ceiling: self.ceiling,
            width: self.u_hat.budget_max(),
            u_hat: steps.flat_map(|h| self.u_hat.row(h).to_vec()).collect(),
        }
    }

    /// The current fit.
    pub fn last_fit(&self) -> LastFit {
        LastFit {
            observations: self.fitted,
            declined: self.fitted_declined,
            episode: self.fitted_for,
            oracle: self.oracle.save(),
        }
    }

    /// Restores a state into a new learner. Without `with_fit` another fit must follow.
    pub fn restore(&mut self, saved: SavedLearner, with_fit: bool) -> Result<(), Invalid> {
        let task = self.task.clone();
        saved
            .rows
            .iter()
            .try_for_each(|row| task.check_contexts(row))?;
        saved.data.check(&task)?;
        let sizes = task.budget_max()..=task.ceiling_limit();
        let fits = sizes.contains(&saved.ceiling) && sizes.contains(&saved.width);
        let table = fits.then(|| ValueTable::from_values(task.horizon(), saved.width, saved.u_hat));
        self.u_hat = table
            .flatten()
            .map(Arc::new)
            .ok_or_else(|| wrong("a table of another size, or with non-finite values"))?;
        self.ceiling = saved.ceiling;
        saved.rows.iter().for_each(|row| self.add_contexts(row));
        self.episode = saved.episode;
        self.d_t = saved.data;
        match with_fit && saved.fit.episode > 0 {
            true => self.fit_again(&saved.fit),
            false => {
                self.skip_fit(&saved.fit);
                Ok(())
            }
        }
    }

    /// Records a fit without repeating it, because another follows.
    pub fn skip_fit(&mut self, fit: &LastFit) {
        self.fitted = fit.observations;
        self.fitted_declined = fit.declined;
        self.fitted_for = fit.episode;
    }

    /// Repeats an earlier fit; the oracle must not have been fitted yet.
    pub fn fit_again(&mut self, fit: &LastFit) -> Result<(), Invalid> {
        if fit.observations > self.d_t.len() {
            return Err(wrong("a fit to more data than it has"));
        }
        let delta = self.delta_of(fit.episode);
        let data = self.d_t.as_of(fit.observations, fit.declined);
        self.oracle.restore(&data, delta, &fit.oracle)?;
        self.skip_fit(fit);
        Ok(())
    }
}

fn wrong(what: &str) -> Invalid {
    let accepted = "a state saved by a learner for the same task";
    Invalid::new("state", what, accepted)
}
