//! Policies at rest, between two episodes: data, contexts, what oracles carry beyond them, random streams, and the plan in
//! force. The same bits come back.

use rand::rngs::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::MimicOptDp;
use crate::dp::ValueTable;
use crate::error::Invalid;
use crate::oracle::{LabeledData, Oracle};
use crate::task::{EpisodeContexts, Task};

/// What [`super::Policy::save`] keeps of the policies of this program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum SavedPolicy {
    /// Nothing: the policy is what it was made as.
    Unchanged,
    /// A place in its random stream.
    Stream(u64),
    /// Algorithm 1.
    Learner(SavedLearner),
    /// The myopic learner: the episode, and its fit.
    Myopic(usize, SavedOracle),
    /// SquareCBwK.
    SquareCbwk {
        /// Place in its random stream.
        stream: u64,
        /// The first dual weight.
        w: f64,
        /// Its fit.
        fit: SavedOracle,
    },
    /// Logistic-UCB1.
    LogisticUcb1 {
        /// Place in its random stream.
        stream: u64,
        /// All arrivals so far.
        contexts: EpisodeContexts,
        /// Its fit.
        fit: SavedOracle,
    },
}

impl SavedPolicy {
    /// The error of a state that a policy cannot take up.
    pub(super) fn refused() -> Invalid {
        let accepted = "a state saved by the same policy";
        Invalid::new("state", "another policy's", accepted)
    }
}

/// Labeled data, and the fit of an oracle to the first so many of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SavedOracle {
    data: LabeledData,
    fitted: Option<usize>,
    oracle: Vec<f64>,
}

impl SavedOracle {
    /// As they are.
    pub(super) fn of(data: &LabeledData, fitted: Option<usize>, oracle: &dyn Oracle) -> Self {
        Self {
            data: data.clone(),
            fitted,
            oracle: oracle.save(),
        }
    }

    /// Fits an oracle without data as it was; returns the data and how many of them were fitted.
    pub(super) fn restore(
        self,
        task: &Task,
        oracle: &mut dyn Oracle,
        delta: f64,
    ) -> Result<(LabeledData, Option<usize>), Invalid> {
        self.data.check(task)?;
        if let Some(fitted) = self.fitted {
            if fitted > self.data.len() {
                return Err(SavedPolicy::refused());
            }
            oracle.restore(&self.data.first(fitted), delta, &self.oracle)?;
        }
        Ok((self.data, self.fitted))
    }
}

/// How far a random stream has come, in words of 32 bits.
pub(super) fn place(stream: &ChaCha8Rng) -> u64 {
    stream.get_word_pos() as u64
}

/// What [`MimicOptDp::save`] keeps. The same bits come back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SavedLearner {
    episode: usize,
    rows: Vec<EpisodeContexts>,
    data: LabeledData,
    fit: LastFit,
    u_hat: Vec<f64>,
}

/// A fit, as it can be made again from the same data to the bit.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LastFit {
    /// Observations that it was made from; those that came later do not matter.
    pub observations: usize,
    /// The episode that it was made for; 0 where there was none.
    pub episode: usize,
    /// What the oracle carries from fit to fit.
    pub oracle: Vec<f64>,
}

impl MimicOptDp {
    /// All that a restart needs.
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
            u_hat: steps.flat_map(|h| self.u_hat.row(h).to_vec()).collect(),
        }
    }

    /// The fit in force.
    pub fn last_fit(&self) -> LastFit {
        LastFit {
            observations: self.fitted,
            episode: self.fitted_for,
            oracle: self.oracle.save(),
        }
    }

    /// Takes up what was saved, without its fit where another follows; the learner must be as new.
    pub fn restore(&mut self, saved: SavedLearner, with_fit: bool) -> Result<(), Invalid> {
        let task = self.task.clone();
        saved
            .rows
            .iter()
            .try_for_each(|row| task.check_contexts(row))?;
        saved.data.check(&task)?;
        let (horizon, budget_max) = (task.horizon(), task.budget_max());
        self.u_hat = ValueTable::from_values(horizon, budget_max, saved.u_hat)
            .ok_or_else(|| wrong("a table of another size, or no numbers in it"))?;
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

    /// Notes that there was a fit which another one follows.
    pub fn skip_fit(&mut self, fit: &LastFit) {
        self.fitted = fit.observations;
        self.fitted_for = fit.episode;
    }

    /// Makes an earlier fit again; the oracle must not have been fitted yet.
    pub fn fit_again(&mut self, fit: &LastFit) -> Result<(), Invalid> {
        if fit.observations > self.d_t.len() {
            return Err(wrong("more data fitted than there are"));
        }
        let delta = self.delta_of(fit.episode);
        let data = self.d_t.first(fit.observations);
        self.oracle.restore(&data, delta, &fit.oracle)?;
        self.skip_fit(fit);
        Ok(())
    }
}

fn wrong(what: &str) -> Invalid {
    let accepted = "a state saved by a learner for the same task";
    Invalid::new("state", what, accepted)
}
