//! A learner's knowledge at rest: data, contexts, what the oracle carries beyond them, and the plan in force.

use serde::{Deserialize, Serialize};

use super::MimicOptDp;
use crate::dp::ValueTable;
use crate::error::Invalid;
use crate::oracle::LabeledData;
use crate::task::EpisodeContexts;

/// What [`MimicOptDp::save`] keeps. The same bits come back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SavedLearner {
    episode: usize,
    rows: Vec<EpisodeContexts>,
    data: LabeledData,
    /// Observations at the last fit, and the episode it was made for; 0 where there was none.
    fitted: usize,
    fitted_for: usize,
    oracle: Vec<f64>,
    u_hat: Vec<f64>,
}

impl MimicOptDp {
    /// All that a restart needs.
    pub fn save(&self) -> SavedLearner {
        let dimension = self.task.dimension();
        let row = |entries: &[crate::dp::RowEntry]| {
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
            fitted: self.fitted,
            fitted_for: self.fitted_for,
            oracle: self.oracle.save(),
            u_hat: steps.flat_map(|h| self.u_hat.row(h).to_vec()).collect(),
        }
    }

    /// Takes up what was saved; the learner must be as new.
    pub fn restore(&mut self, saved: SavedLearner) -> Result<(), Invalid> {
        let wrong = |what: &str| {
            let accepted = "a state saved by a learner for the same task";
            Invalid::new("state", what, accepted)
        };
        let task = self.task.clone();
        saved
            .rows
            .iter()
            .try_for_each(|row| task.check_contexts(row))?;
        saved.data.check(&task)?;
        if saved.fitted > saved.data.len() {
            return Err(wrong("more data fitted than there are"));
        }
        let (horizon, budget_max) = (task.horizon(), task.budget_max());
        self.u_hat = ValueTable::from_values(horizon, budget_max, saved.u_hat)
            .ok_or_else(|| wrong("a table of another size, or no numbers in it"))?;
        saved.rows.iter().for_each(|row| self.add_contexts(row));
        if saved.fitted_for > 0 {
            let delta = self.delta_of(saved.fitted_for);
            let data = saved.data.first(saved.fitted);
            self.oracle.restore(&data, delta, &saved.oracle)?;
        }
        self.episode = saved.episode;
        self.fitted = saved.fitted;
        self.fitted_for = saved.fitted_for;
        self.d_t = saved.data;
        Ok(())
    }
}
