//! What the book and the journal say about an id.

use super::book::Decision;
use super::events::used;
use super::record::{DecideRecord, RecordRecord};
use super::{Code, Live, Refusal};
use crate::learner::{Learner, LearnerError};
use crate::policy::Terms;

impl Live {
    /// Units and reward of a decision's acceptance.
    pub(super) fn sale(&mut self, decision: &Decision) -> Result<(u32, f64), Refusal> {
        if decision.outside {
            let record: RecordRecord = self.recorded(decision.place)?;
            return Ok((record.units, record.reward));
        }
        let decide: DecideRecord = self.recorded(decision.place)?;
        let (features, _) = self.intake.features(&decide.context)?;
        let learner = self.learner.as_ref().ok_or(LearnerError::NoEpisode)?;
        let task = learner.task();
        let terms = Terms {
            quantity: decide.quantity,
            ..Terms::default()
        };
        let action = decide.action_in(task);
        let context = task.context(decide.step - 1, &features);
        if action == 0 {
            return Ok((0, 0.0));
        }
        let (reward, units) = terms.made(task, &context, action);
        Ok((units, reward))
    }

    pub(super) fn decision(&self, id: &str) -> Result<Decision, Refusal> {
        self.book
            .decisions
            .get(id)
            .copied()
            .ok_or_else(|| Refusal::new(Code::Unknown, format!("no decision has the id `{id}`")))
    }

    /// Refuses an id that another event has.
    pub(super) fn check_new(&self, id: &str) -> Result<(), Refusal> {
        let known = self.book.decisions.contains_key(id) || self.book.others.contains_key(id);
        match known {
            true => Err(used(id)),
            false => Ok(()),
        }
    }

    pub(super) fn open_name(&self) -> Result<String, LearnerError> {
        let open = self.book.open_episode().ok_or(LearnerError::NoEpisode)?;
        Ok(open.name.clone())
    }

    pub(super) fn name_of(&self, decision: &Decision) -> String {
        self.book.episodes[decision.episode as usize].name.clone()
    }

    /// Units left in a decision's episode, if it is open.
    pub(super) fn budget_in(&self, decision: &Decision) -> Option<u32> {
        let is_open = self.book.is_open(decision.episode);
        let learner = self.learner.as_ref().filter(|_| is_open);
        learner.and_then(Learner::budget)
    }
}
