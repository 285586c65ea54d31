//! The answers, made from the lines of the journal: a repeated request gets the answer of its line.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::record::{
    AdjustRecord, BeginRecord, CancelRecord, CorrectRecord, DecideRecord, EndRecord, ForgetRecord,
    ObserveRecord, RecordRecord,
};
use super::request::{Decide, Record, When};

/// A line that answers a request.
pub trait Answer: DeserializeOwned {
    /// The answer to the request.
    fn answer(&self) -> Value;
}

impl Answer for BeginRecord {
    fn answer(&self) -> Value {
        let mut answer = json!({
            "ok": true,
            "episode": self.episode,
            "budget": self.budget,
            "plan": self.plan,
            "expected": self.expected,
            "optimistic": self.optimistic,
        });
        if let Some(day) = self.pilot {
            answer["pilot"] = if day.ours { "learner" } else { "baseline" }.into();
        }
        if let Some(note) = &self.note {
            answer["note"] = note.as_str().into();
        }
        answer
    }
}

impl Answer for DecideRecord {
    fn answer(&self) -> Value {
        let mut answer = json!({
            "ok": true,
            "id": self.id,
            "episode": self.episode,
            "step": self.step,
            "action": self.action,
            "offer": self.offer,
            "budget": self.budget,
            "held": self.held,
            "lower": self.lower,
            "upper": self.upper,
            "planned": self.planned,
            "opportunity_cost": self.opportunity_cost,
            "probability": self.probability,
            "plan": self.plan,
        });
        if self.quantity > 1 {
            answer["quantity"] = self.quantity.into();
        }
        if self.fallback {
            answer["fallback"] = true.into();
        }
        noted(answer, &self.notes)
    }
}

impl DecideRecord {
    /// Whether a repeated request has the same content.
    pub fn is_of(&self, request: &Decide) -> bool {
        same_moment(self.step, self.time.as_deref(), request.when().ok())
            && same_columns(&self.context, &request.context)
            && (&self.offers, self.quantity) == (&request.offers, request.quantity)
    }
}

impl RecordRecord {
    /// Whether a repeated request has the same content.
    pub fn is_of(&self, request: &Record) -> bool {
        same_moment(self.step, self.time.as_deref(), request.when().ok())
            && same_columns(&self.context, &request.context)
            && self.offer == request.offer
            && (self.accepted, self.quantity) == (request.accepted, request.quantity)
    }
}

fn same_moment(step: usize, time: Option<&str>, when: Option<When>) -> bool {
    match when {
        Some(When::Step(asked)) => time.is_none() && step == asked,
        Some(When::Time(asked)) => time == Some(asked),
        None => false,
    }
}

/// 44 and 44.0 are the same number.
fn same_columns(known: &Map<String, Value>, asked: &Map<String, Value>) -> bool {
    let same = |(key, value): (&String, &Value)| match (value, known.get(key)) {
        (Value::Number(a), Some(Value::Number(b))) => a.as_f64() == b.as_f64(),
        (value, other) => Some(value) == other,
    };
    asked.len() == known.len() && asked.iter().all(same)
}

fn noted(mut answer: Value, notes: &[String]) -> Value {
    if !notes.is_empty() {
        answer["notes"] = json!(notes);
    }
    answer
}

/// An answer about a decision, with the units left or `late` if its episode has ended.
fn about(id: &str, episode: &str, budget: Option<u32>, oversold: bool) -> Value {
    let mut answer = json!({ "ok": true, "id": id, "episode": episode });
    match budget {
        Some(budget) => answer["budget"] = budget.into(),
        None => answer["late"] = true.into(),
    }
    if oversold {
        answer["oversold"] = true.into();
    }
    answer
}

impl Answer for ObserveRecord {
    fn answer(&self) -> Value {
        about(&self.id, &self.episode, self.budget, self.oversold)
    }
}

impl Answer for CancelRecord {
    fn answer(&self) -> Value {
        about(&self.id, &self.episode, self.budget, false)
    }
}

impl Answer for CorrectRecord {
    fn answer(&self) -> Value {
        about(&self.id, &self.episode, self.budget, self.oversold)
    }
}

impl Answer for RecordRecord {
    fn answer(&self) -> Value {
        let oversold = self.accepted && !self.booked;
        let mut answer = about(&self.id, &self.episode, Some(self.budget), oversold);
        answer["learnt"] = self.learnt.into();
        noted(answer, &self.notes)
    }
}

impl Answer for AdjustRecord {
    fn answer(&self) -> Value {
        let mut answer = about(&self.id, &self.episode, Some(self.budget), false);
        answer["held"] = self.held.into();
        noted(answer, &self.notes)
    }
}

impl Answer for ForgetRecord {
    fn answer(&self) -> Value {
        json!({ "ok": true, "id": self.id, "episode": self.episode, "forgotten": self.ids.len() })
    }
}

impl Answer for EndRecord {
    fn answer(&self) -> Value {
        json!({
            "ok": true,
            "episode": self.episode,
            "reward": self.reward,
            "spent": self.spent,
            "oversold": self.oversold,
            "observations": self.observations,
        })
    }
}
