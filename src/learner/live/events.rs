//! What happens besides offers and their outcomes: sales made without the learner, cancellations, corrections, deliveries,
//! and outcomes to be forgotten. Each event is checked, applied and written; a replay applies it only.

use super::answer::Answer;
use super::book::Decision;
use super::record::{AdjustRecord, CancelRecord, CorrectRecord, ForgetRecord, RecordRecord};
use super::request::{Adjust, Cancel, Forget, Observe, Record};
use super::{Live, Refusal, Reply};
use crate::learner::{Learner, LearnerError, OutsideSale, Settled};

impl Live {
    pub(super) fn record(&mut self, request: &Record) -> Reply {
        if let Some(decision) = self.book.decisions.get(request.id.as_str()).copied() {
            let record = match decision.outside {
                true => Some(self.recorded::<RecordRecord>(decision.place)?),
                false => None,
            };
            return match record.filter(|record| record.is_of(request)) {
                Some(record) => Ok(repeated(&record)),
                None => Err(used(&request.id)),
            };
        }
        self.check_new(&request.id)?;
        let episode = self.open_name()?;
        let (step, time, zone) = self.moment(request.when()?)?;
        let (features, mut notes) = self.intake.features(&request.context)?;
        notes.extend(zone);
        let learner = self.learner.as_mut().ok_or(LearnerError::NoEpisode)?;
        let task = learner.task().clone();
        if step > task.horizon() {
            let message = format!(
                "step: found {step}; accepted: a step from 1 to {}",
                task.horizon()
            );
            return Err(Refusal::invalid(message));
        }
        let context = task.context(step - 1, &features);
        let sale = task.application().sale_at(&context, request.offer);
        let Some((reward, units)) = sale else {
            let message = format!(
                "offer: found {}; accepted: an offer of this task, such as {}",
                request.offer,
                task.application().action_value(1)
            );
            return Err(Refusal::invalid(message));
        };
        let action = task.application().action_at(request.offer);
        if action.is_none() {
            notes.push(format!(
                "{} is not in the list of offers: it is booked, and not learnt from",
                request.offer
            ));
        }
        let mut record = RecordRecord {
            id: request.id.clone(),
            episode,
            step,
            time,
            context: request.context.clone(),
            offer: request.offer,
            accepted: request.accepted,
            quantity: request.quantity,
            learnt: action.is_some(),
            units: units.saturating_mul(request.quantity),
            reward: reward * f64::from(request.quantity),
            booked: false,
            budget: 0,
            notes,
        };
        let settled = self.apply_record(&record, &features)?;
        record.booked = settled.booked;
        record.budget = self.learner.as_ref().and_then(Learner::budget).unwrap_or(0);
        let place = self.write("record", &record);
        self.book_record(&record, settled, place);
        Ok(record.answer())
    }

    pub(super) fn book_record(&mut self, record: &RecordRecord, settled: Settled, place: u64) {
        self.book.record(record, settled, place);
        let (offer, quantity) = (record.offer, record.quantity);
        let words = match (record.accepted, settled.booked) {
            (true, true) => format!("{quantity} sold at {offer} without the learner"),
            (true, false) => {
                format!("{quantity} sold at {offer} without the learner, with too few units left")
            }
            (false, _) => format!("{offer} offered without the learner, and refused"),
        };
        self.book.tell(self.now_ms, words);
    }

    pub(super) fn apply_record(
        &mut self,
        record: &RecordRecord,
        features: &[f64],
    ) -> Result<Settled, LearnerError> {
        let learner = self.learner.as_mut().ok_or(LearnerError::NoEpisode)?;
        let action = learner.task().application().action_at(record.offer);
        let sale = OutsideSale {
            action: action.filter(|_| record.learnt),
            units: record.units,
            reward: record.reward,
            accepted: record.accepted,
        };
        learner.record(record.step, features, &sale)
    }

    pub(super) fn cancel(&mut self, request: &Cancel) -> Reply {
        let id = &request.id;
        let decision = self.decision(id)?;
        if decision.cancelled {
            let record: CancelRecord = self.recorded(decision.cancel)?;
            return match record.forget == request.forget {
                true => Ok(repeated(&record)),
                false => Err(Refusal::conflict(format!(
                    "`{id}` was cancelled with forget = {}",
                    record.forget
                ))),
            };
        }
        match decision.accepted {
            Some(true) => {}
            Some(false) => {
                let message = format!("`{id}` was not accepted: there is nothing to give back");
                return Err(Refusal::conflict(message));
            }
            None => return Err(no_outcome(id)),
        }
        self.wait_for_planner();
        let (units, reward) = self.sale(&decision)?;
        let mut record = CancelRecord {
            id: id.clone(),
            episode: self.name_of(&decision),
            forget: request.forget,
            booked: decision.booked,
            units,
            reward,
            budget: None,
        };
        let place = self.journal.end();
        self.apply_cancel(&record, place)?;
        record.budget = self.budget_in(&decision);
        self.write("cancel", &record);
        Ok(record.answer())
    }

    pub(super) fn apply_cancel(
        &mut self,
        record: &CancelRecord,
        place: u64,
    ) -> Result<(), Refusal> {
        let mut decision = self.decision(&record.id)?;
        self.take_back_sale(&mut decision, record.units, record.reward, true);
        (decision.cancelled, decision.cancel) = (true, place);
        if record.forget {
            self.forget_row(&mut decision);
        }
        self.book.episodes[decision.episode as usize].cancelled += 1;
        let words = format!(
            "{} given back: {}, {}",
            record.id,
            counted(record.units.into()),
            record.reward
        );
        self.book.tell(self.now_ms, words);
        self.book
            .decisions
            .insert(record.id.as_str().into(), decision);
        Ok(())
    }

    pub(super) fn correct(&mut self, request: &Observe) -> Reply {
        let (id, accepted) = (&request.id, request.accepted);
        let decision = self.decision(id)?;
        let Some(known) = decision.accepted else {
            return Err(no_outcome(id));
        };
        if known == accepted {
            if decision.correct > 0 {
                let record: CorrectRecord = self.recorded(decision.correct)?;
                return Ok(repeated(&record));
            }
            let message = format!("the outcome of `{id}` was told as {known}");
            return Err(Refusal::conflict(message));
        }
        if !decision.outside && decision.offer == 0 {
            let message = format!("accepted: nothing was offered to `{id}`");
            return Err(Refusal::invalid(message));
        }
        self.wait_for_planner();
        let (units, reward) = self.sale(&decision)?;
        let mut record = CorrectRecord {
            id: id.clone(),
            episode: self.name_of(&decision),
            accepted,
            units,
            reward,
            budget: None,
            oversold: false,
        };
        let place = self.journal.end();
        record.oversold = self.apply_correct(&record, place)?;
        record.budget = self.budget_in(&decision);
        self.write("correct", &record);
        Ok(record.answer())
    }

    /// Returns whether an acceptance found no unit.
    pub(super) fn apply_correct(
        &mut self,
        record: &CorrectRecord,
        place: u64,
    ) -> Result<bool, Refusal> {
        let mut decision = self.decision(&record.id)?;
        let words = match record.accepted {
            true => format!("{} accepted after all", record.id),
            false => format!("{} not accepted after all", record.id),
        };
        self.book.tell(self.now_ms, words);
        let is_open = self.book.is_open(decision.episode);
        if !record.accepted {
            self.take_back_sale(&mut decision, record.units, record.reward, false);
        } else if let Some(learner) = self.learner.as_mut().filter(|_| is_open) {
            decision.booked = learner.sell(record.units, record.reward);
        }
        if let (Some(row), false) = (decision.row, decision.forgotten) {
            self.amend(row, Some(record.accepted));
        }
        let episode = &mut self.book.episodes[decision.episode as usize];
        match record.accepted {
            true => episode.accepted += 1,
            false => episode.accepted = episode.accepted.saturating_sub(1),
        }
        (decision.accepted, decision.cancelled) = (Some(record.accepted), false);
        decision.correct = place;
        self.book
            .decisions
            .insert(record.id.as_str().into(), decision);
        Ok(is_open && record.accepted && !decision.booked)
    }

    pub(super) fn adjust(&mut self, request: &Adjust) -> Reply {
        if let Some(place) = self.book.others.get(request.id.as_str()).copied() {
            let record = self.recorded::<AdjustRecord>(place).ok();
            let same = |r: &AdjustRecord| (r.units, &r.reason) == (request.units, &request.reason);
            return match record.filter(same) {
                Some(record) => Ok(repeated(&record)),
                None => Err(used(&request.id)),
            };
        }
        self.check_new(&request.id)?;
        let episode = self.open_name()?;
        let place = self.journal.end();
        self.apply_adjust(&request.id, request.units, request.reason.as_deref(), place)?;
        let learner = self.learner.as_ref().ok_or(LearnerError::NoEpisode)?;
        let planned = learner.policy().u_hat().budget_max();
        let (budget, held) = (learner.budget().unwrap_or(0), learner.held());
        let notes = (budget > planned).then(|| {
            format!("the plan knows up to {planned} units; offers are those for so many, and the next plan is made for {budget}")
        });
        let record = AdjustRecord {
            id: request.id.clone(),
            episode,
            units: request.units,
            reason: request.reason.clone(),
            budget,
            held,
            notes: notes.into_iter().collect(),
        };
        self.write("adjust", &record);
        Ok(record.answer())
    }

    pub(super) fn apply_adjust(
        &mut self,
        id: &str,
        units: i64,
        reason: Option<&str>,
        place: u64,
    ) -> Result<(), LearnerError> {
        let learner = self.learner.as_mut().ok_or(LearnerError::NoEpisode)?;
        learner.adjust(units)?;
        self.book.others.insert(id.into(), place);
        if let Some(episode) = self.book.episodes.last_mut() {
            episode.adjusted += units;
        }
        let change = if units > 0 { "brought" } else { "taken away" };
        let reason = reason.map_or(String::new(), |reason| format!(": {reason}"));
        let words = format!("{} {change}{reason}", counted(units.unsigned_abs()));
        self.book.tell(self.now_ms, words);
        Ok(())
    }

    pub(super) fn forget(&mut self, request: &Forget) -> Reply {
        if let Some(place) = self.book.others.get(request.id.as_str()).copied() {
            let record = self.recorded::<ForgetRecord>(place).ok();
            return match record.filter(|record| record.ids == request.ids) {
                Some(record) => Ok(repeated(&record)),
                None => Err(used(&request.id)),
            };
        }
        self.check_new(&request.id)?;
        for id in &request.ids {
            self.decision(id)?;
        }
        self.wait_for_planner();
        let record = ForgetRecord {
            id: request.id.clone(),
            episode: self.book.open_episode().map(|open| open.name.clone()),
            ids: request.ids.clone(),
        };
        let place = self.journal.end();
        self.apply_forget(&record, place)?;
        self.write("forget", &record);
        Ok(record.answer())
    }

    pub(super) fn apply_forget(
        &mut self,
        record: &ForgetRecord,
        place: u64,
    ) -> Result<(), Refusal> {
        for id in &record.ids {
            let mut decision = self.decision(id)?;
            self.forget_row(&mut decision);
            self.book.decisions.insert(id.as_str().into(), decision);
        }
        self.book.others.insert(record.id.as_str().into(), place);
        let words = format!("{} outcomes forgotten", record.ids.len());
        self.book.tell(self.now_ms, words);
        Ok(())
    }

    /// The outcome of a decision is no data any more, now or when it comes.
    fn forget_row(&mut self, decision: &mut Decision) {
        decision.forgotten = true;
        if let Some(row) = decision.row {
            self.amend(row, None);
        }
    }

    /// An outcome that comes after its decision was forgotten is taken out at once.
    pub(super) fn forget_late(&mut self, id: &str) {
        let decision = self.book.decisions.get(id).copied();
        if let Some(Decision {
            forgotten: true,
            row: Some(row),
            ..
        }) = decision
        {
            self.amend(row, None);
        }
    }

    fn amend(&mut self, row: u64, outcome: Option<bool>) {
        if let Some(learner) = &mut self.learner {
            learner.amend(row, outcome);
        }
    }

    /// Takes a booked sale back: units and reward while its episode is open, later only the reward, and that only if
    /// `after_end`.
    fn take_back_sale(
        &mut self,
        decision: &mut Decision,
        units: u32,
        reward: f64,
        after_end: bool,
    ) {
        let is_open = self.book.is_open(decision.episode);
        if !decision.booked || !(is_open || after_end) {
            return;
        }
        decision.booked = false;
        match &mut self.learner {
            Some(learner) if is_open => learner.take_back(units, reward),
            _ => self.book.episodes[decision.episode as usize].reward -= reward,
        }
    }
}

fn counted(units: u64) -> String {
    format!("{units} {}", if units == 1 { "unit" } else { "units" })
}

/// The answer of a repeated request.
pub(super) fn repeated(record: &impl Answer) -> serde_json::Value {
    let mut answer = record.answer();
    answer["repeated"] = true.into();
    answer
}

/// The refusal of an id that another request has.
pub(super) fn used(id: &str) -> Refusal {
    Refusal::conflict(format!("id `{id}` was used for another request"))
}

fn no_outcome(id: &str) -> Refusal {
    Refusal::conflict(format!("`{id}` has no outcome yet; observe it first"))
}
