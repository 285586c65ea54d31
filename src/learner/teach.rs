//! What a learner is taught from elsewhere, how it plans, and how it is saved and restored.

use super::learner::{State, check_arrival};
use super::{Labeled, Learner, LearnerError, LearnerSettings, LearnerState};
use crate::dp::Backend;
use crate::error::Invalid;
use crate::oracle::Oracle;
use crate::policy::{self, LastFit, WarmStart};
use crate::task::{ContextRows, EpisodeContexts, Task};

impl Learner {
    /// Takes in labeled rows from elsewhere, such as a log; all are checked before the first counts. [`Learner::replan`]
    /// makes use of them at once.
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

    /// Takes in rows of contexts without outcomes. [`Learner::replan`] makes use of them at once.
    pub fn extend_contexts(&mut self, rows: &ContextRows) -> Result<usize, LearnerError> {
        if rows.horizon() != self.task.horizon() {
            let accepted = format!("{} steps in each", self.task.horizon());
            let found = format!("{} steps in each", rows.horizon());
            return Err(Invalid::new("context rows", found, accepted).into());
        }
        self.task.check_rows(rows)?;
        self.policy.add_rows(rows);
        Ok(rows.len())
    }

    /// Takes in the contexts of whole episodes from elsewhere, such as a log, where a step may have several arrivals.
    /// [`Learner::replan`] makes use of them at once.
    pub fn extend_episodes(&mut self, episodes: &[EpisodeContexts]) -> Result<usize, LearnerError> {
        for episode in episodes {
            self.task.check_contexts(episode)?;
        }
        for episode in episodes {
            self.policy.add_contexts(episode);
        }
        Ok(episodes.len())
    }

    /// Fits the oracle and plans anew from all that is known, also within an episode.
    pub fn replan(&mut self) -> Result<(), LearnerError> {
        let next = self.state.episodes + usize::from(self.state.open.is_none());
        policy::advance(&mut [&mut self.policy], next.max(1), self.backend.as_mut())?;
        Ok(())
    }

    /// Makes an earlier fit and its plan again, to the bit; the oracle must not have been fitted yet.
    pub fn plan_again(&mut self, fit: &LastFit) -> Result<(), LearnerError> {
        self.policy.fit_again(fit)?;
        policy::plan(&mut [&mut self.policy], self.backend.as_mut())?;
        Ok(())
    }

    /// Passes over a plan that another one follows.
    pub(super) fn skip_plan(&mut self, fit: &LastFit) {
        self.policy.skip_fit(fit);
    }

    /// Takes in labeled rows that were checked for this task. [`Learner::replan`] makes use of them.
    pub fn add_log(&mut self, log: &WarmStart) {
        self.policy.add_log(log);
    }

    /// All that a restart needs, for [`Learner::restore`].
    pub fn save(&self) -> LearnerState {
        LearnerState {
            episodes: self.state.episodes,
            offers: self.state.offers,
            open: self.state.open.clone(),
            waiting: self.state.waiting.values().cloned().collect(),
            policy: self.policy.save(),
        }
    }

    /// A learner as it was when it was saved, to the bit: task, oracle and settings must be those it was made with, the
    /// oracle without data.
    pub fn restore(
        task: Task,
        oracle: Box<dyn Oracle>,
        settings: LearnerSettings,
        backend: Box<dyn Backend>,
        state: LearnerState,
    ) -> Result<Self, LearnerError> {
        let mut learner = Self::new(task, oracle, settings, backend)?;
        learner.take_up(state, true)?;
        Ok(learner)
    }

    /// Takes up a state; the learner must be as new. Without its fit, [`Learner::plan_again`] must follow.
    pub(super) fn take_up(
        &mut self,
        state: LearnerState,
        with_fit: bool,
    ) -> Result<(), LearnerError> {
        state.check(&self.task)?;
        self.policy.restore(state.policy, with_fit)?;
        let waiting = state.waiting.into_iter();
        self.state = State {
            episodes: state.episodes,
            offers: state.offers,
            open: state.open,
            waiting: waiting.map(|offer| (offer.number, offer)).collect(),
        };
        Ok(())
    }
}
