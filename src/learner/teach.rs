//! Adding outside data to a learner, planning, saving and restoring.

use super::learner::{State, check_arrival};
use super::{Labeled, Learner, LearnerError, LearnerSettings, LearnerState};
use crate::dp::Backend;
use crate::error::Invalid;
use crate::oracle::Oracle;
use crate::policy::{self, LastFit, WarmStart};
use crate::task::{ContextRows, EpisodeContexts, Task};

impl Learner {
    /// Adds labeled rows from outside, such as a log. All are checked before any is added. [`Learner::replan`] uses them at
    /// once.
    pub fn extend<'r>(
        &mut self,
        rows: impl IntoIterator<Item = Labeled<'r>>,
    ) -> Result<usize, LearnerError> {
        let rows: Vec<Labeled> = rows.into_iter().collect();
        for row in &rows {
            check_arrival(&self.task, row.step, row.features)?;
            if !(1..=self.task.actions()).contains(&row.action) {
                let accepted = format!("an action from 1 to {}", self.task.actions());
                return Err(Invalid::new("action", row.action, accepted).into());
            }
        }
        for row in &rows {
            let context = self.task.context(row.step - 1, row.features);
            self.policy
                .add_observation(&context, row.action, row.accepted);
        }
        Ok(rows.len())
    }

    /// Adds rows of contexts without outcomes. [`Learner::replan`] uses them at once.
    pub fn extend_contexts(&mut self, rows: &ContextRows) -> Result<usize, LearnerError> {
        if rows.horizon() != self.task.horizon() {
            let accepted = format!("{} steps in each", self.task.horizon());
            let found = format!("{} steps in each", rows.horizon());
            return Err(Invalid::new("context rows", found, accepted).into());
        }
        self.task.check_rows(rows)?;
        self.expected = None;
        self.policy.add_rows(rows);
        Ok(rows.len())
    }

    /// Adds the contexts of whole episodes from outside, such as a log; a step may have several arrivals.
    /// [`Learner::replan`] uses them at once.
    pub fn extend_episodes(&mut self, episodes: &[EpisodeContexts]) -> Result<usize, LearnerError> {
        for episode in episodes {
            self.task.check_contexts(episode)?;
        }
        self.expected = None;
        for episode in episodes {
            self.policy.add_contexts(episode);
        }
        Ok(episodes.len())
    }

    /// Refits the oracle to all data and replans; allowed within an episode.
    pub fn replan(&mut self) -> Result<(), LearnerError> {
        self.expected = None;
        let next = self.state.episodes + usize::from(self.state.open.is_none());
        policy::advance(&mut [&mut self.policy], next.max(1), self.backend.as_mut())?;
        Ok(())
    }

    /// Repeats an earlier fit and its plan to the bit; the oracle must not have been fitted yet.
    pub fn plan_again(&mut self, fit: &LastFit) -> Result<(), LearnerError> {
        self.expected = None;
        self.policy.fit_again(fit)?;
        policy::plan(&mut [&mut self.policy], self.backend.as_mut())?;
        Ok(())
    }

    /// Skips a plan, because another follows.
    pub(super) fn skip_plan(&mut self, fit: &LastFit) {
        self.policy.skip_fit(fit);
    }

    /// Adds labeled rows that were checked for this task. [`Learner::replan`] uses them.
    pub fn add_log(&mut self, log: &WarmStart) {
        self.policy.add_log(log);
    }

    /// The state, for [`Learner::restore`].
    pub fn save(&self) -> LearnerState {
        LearnerState {
            episodes: self.state.episodes,
            offers: self.state.offers,
            open: self.state.open.clone(),
            waiting: self.state.waiting.values().cloned().collect(),
            edits: self.state.edits.clone(),
            removed: self.state.removed.clone(),
            policy: self.policy.save(),
        }
    }

    /// Restores a saved learner to the bit. Task, oracle and settings must be those it was made with; the oracle must be
    /// unfitted.
    pub fn restore(
        task: Task,
        oracle: Box<dyn Oracle>,
        settings: LearnerSettings,
        backend: Box<dyn Backend>,
        state: LearnerState,
    ) -> Result<Self, LearnerError> {
        let mut learner = Self::new(task, oracle, settings, backend)?;
        learner.load_state(state, true)?;
        Ok(learner)
    }

    /// Loads a state into a new learner. Without `with_fit`, [`Learner::plan_again`] must follow.
    pub(super) fn load_state(
        &mut self,
        state: LearnerState,
        with_fit: bool,
    ) -> Result<(), LearnerError> {
        state.check(&self.task)?;
        self.expected = None;
        self.policy.restore(state.policy, with_fit)?;
        let waiting = state.waiting.into_iter();
        self.state = State {
            episodes: state.episodes,
            offers: state.offers,
            open: state.open,
            waiting: waiting.map(|offer| (offer.number, offer)).collect(),
            edits: state.edits,
            removed: state.removed,
        };
        Ok(())
    }
}
