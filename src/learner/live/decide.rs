//! An offer for a customer: what the caller, the guard rails and the learner want.

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use serde_json::json;

use super::answer::Answer;
use super::events::{repeated, used};
use super::record::DecideRecord;
use super::{Baseline, Decide, Live, LiveSettings, Quote, Rails, Refusal, Reply, When};
use crate::learner::{Learner, LearnerError};
use crate::policy::Terms;

impl Live {
    pub(super) fn decide(&mut self, request: &Decide) -> Reply {
        let id = &request.id;
        if let Some(decision) = self.book.decisions.get(id.as_str()).copied() {
            if decision.outside {
                return Err(used(id));
            }
            let record: DecideRecord = self.recorded(decision.place)?;
            return match record.is_of(request) {
                true => Ok(repeated(&record)),
                false => Err(used(id)),
            };
        }
        self.check_new(id)?;
        let episode = self.open_name()?;
        let (step, time, zone) = self.moment(request.when()?)?;
        let (features, mut notes) = self.intake.features(&request.context)?;
        notes.extend(zone);
        let terms = Terms {
            actions: self.allowed(request.offers.as_deref(), &mut notes)?,
            quantity: request.quantity,
        };
        let (settings, line) = (self.settings, self.book.lines + 1);
        let (mut feasible, mut probability, mut is_fallback) = (Vec::new(), 1.0, false);
        let fallback = self.fallback();
        let (fixed, is_baseline) = self.fixed()?;
        let mut ours = None;
        let learner = self.learner.as_mut().ok_or(LearnerError::NoEpisode)?;
        let budget = learner.budget().unwrap_or(0);
        let offer = learner.decide_with(step, &features, &terms, |best, possible| {
            feasible = possible.to_vec();
            ours = Some(best).filter(|best| *best > 0);
            let fallback = fallback.filter(|action| !is_baseline && possible.contains(action));
            if let Some(action) = fallback {
                is_fallback = true;
                return action;
            }
            let best = fixed.map_or(best, |action| match possible.contains(&action) {
                true => action,
                false => 0,
            });
            if is_baseline {
                return best;
            }
            let action;
            (action, probability) = explore(settings, line, best, possible);
            action
        })?;
        let hold = self.settings.hold_ms.filter(|_| offer.action > 0);
        let decide = DecideRecord {
            id: id.clone(),
            episode,
            step,
            time,
            context: request.context.clone(),
            budget,
            held: learner.held(),
            feasible,
            action: offer.action,
            offer: offer.value,
            probability,
            lower: offer.lower,
            upper: offer.upper,
            planned: Some(offer.planned),
            opportunity_cost: offer.opportunity_cost,
            plan: self.book.plans,
            hold_until_ms: hold.map(|ms| self.now_ms + ms),
            offers: request.offers.clone(),
            quantity: request.quantity,
            shadow: ours
                .filter(|_| is_baseline)
                .map(|action| value_of(learner, action)),
            fallback: is_fallback,
            notes,
        };
        let place = self.write("decide", &decide);
        self.book.decide(&decide, offer.number, place);
        self.left_open = false;
        Ok(decide.answer())
    }

    /// What would be offered to a customer now, without exploring.
    pub(super) fn quote(&mut self, request: &Quote) -> Reply {
        let episode = self.open_name()?;
        let (step, _, zone) = self.moment(request.when()?)?;
        let (features, mut notes) = self.intake.features(&request.context)?;
        notes.extend(zone);
        let terms = Terms {
            actions: self.allowed(request.offers.as_deref(), &mut notes)?,
            quantity: request.quantity,
        };
        let learner = self.learner.as_mut().ok_or(LearnerError::NoEpisode)?;
        let offer = learner.preview(step, &features, &terms)?;
        Ok(json!({
            "ok": true,
            "episode": episode,
            "step": step,
            "offer": offer.value,
            "lower": offer.lower,
            "upper": offer.upper,
            "planned": offer.planned,
            "opportunity_cost": offer.opportunity_cost,
            "notes": notes,
        }))
    }

    /// The step of a moment, its time if that was given, and a note on the time's zone.
    pub(super) fn moment(
        &self,
        when: When<'_>,
    ) -> Result<(usize, Option<String>, Option<String>), Refusal> {
        Ok(match when {
            When::Step(step) => (step, None, None),
            When::Time(time) => {
                let (step, note) = self.intake.step(time)?;
                (step, Some(time.to_string()), note)
            }
        })
    }

    /// The actions that the caller and the guard rails allow; `None` means all.
    fn allowed(
        &self,
        offers: Option<&[f64]>,
        notes: &mut Vec<String>,
    ) -> Result<Option<Vec<usize>>, Refusal> {
        let rails = self.settings.rails;
        let learner = self.learner.as_ref().ok_or(LearnerError::NoEpisode)?;
        let values = learner.task().application().action_values();
        if let Some(unknown) = offers.and_then(|o| o.iter().find(|o| !values.contains(o))) {
            let message = format!("offers: found {unknown}; accepted: some of {values:?}");
            return Err(Refusal::invalid(message));
        }
        if offers.is_none() && rails == Rails::default() {
            return Ok(None);
        }
        let last = self.book.last_offer;
        let asked = |value: &f64| offers.is_none_or(|offers| offers.contains(value));
        let actions = (1..).zip(values);
        let allowed = actions.filter(|(_, v)| asked(v) && rails.allow(**v, last));
        let allowed: Vec<usize> = allowed.map(|(action, _)| action).collect();
        if allowed.is_empty() {
            notes.push("the guard rails allow none of the offers".into());
        }
        Ok(Some(allowed))
    }

    /// The action of the offer that is always made, 0 if it is not in the list, and whether today is the baseline's.
    fn fixed(&self) -> Result<(Option<usize>, bool), Refusal> {
        let drawn = self.book.open_episode().and_then(|open| open.pilot);
        let day = drawn.filter(|day| !day.ours);
        let value = match day.map(|day| day.baseline) {
            Some(Baseline::Fixed(value)) => Some(value),
            Some(Baseline::Record) => {
                let message =
                    "today is a day of the baseline: make your own offer, and tell it with record";
                return Err(Refusal::conflict(message));
            }
            None => self.settings.fixed,
        };
        let learner = self.learner.as_ref().ok_or(LearnerError::NoEpisode)?;
        let action = |value| learner.task().application().action_at(value).unwrap_or(0);
        Ok((value.map(action), day.is_some()))
    }

    /// The fallback offer's action, as long as there is no plan.
    fn fallback(&self) -> Option<usize> {
        let value = self
            .settings
            .rails
            .fallback
            .filter(|_| self.book.plans == 0)?;
        let task = self.learner.as_ref()?.task();
        task.application().action_at(value)
    }
}

fn value_of(learner: &Learner, action: usize) -> f64 {
    learner.task().application().action_value(action)
}

/// The action for a decision, and its probability, which is recorded so that other policies can be evaluated later: a share
/// of the decisions is drawn uniformly from the feasible offers. The draw depends on the seed and the line number alone, so
/// a restart changes nothing.
fn explore(settings: LiveSettings, line: u64, best: usize, feasible: &[usize]) -> (usize, f64) {
    let share = settings.explore;
    if share <= 0.0 || feasible.is_empty() {
        return (best, 1.0);
    }
    let mut rng = ChaCha8Rng::seed_from_u64(settings.seed);
    rng.set_stream(line);
    let action = match rng.random_bool(share) {
        true => feasible[rng.random_range(0..feasible.len())],
        false => best,
    };
    let uniform = match feasible.contains(&action) {
        true => share / feasible.len() as f64,
        false => 0.0,
    };
    let kept = if action == best { 1.0 - share } else { 0.0 };
    (action, uniform + kept)
}
