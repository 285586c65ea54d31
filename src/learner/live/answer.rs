//! What a live learner answers: JSON with `ok`, or a refusal with a code and a sentence.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::record::{Begin, Decide, End, Observe};
use super::request::When;
use crate::error::Invalid;
use crate::learner::LearnerError;

/// Kinds of refusals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Code {
    /// The request itself is wrong.
    Invalid,
    /// Another request stands against it.
    Conflict,
    /// It names something that nobody has heard of.
    Unknown,
    /// It needs an episode that is open.
    Closed,
    /// The journal cannot be written; the request may be repeated.
    Storage,
}

/// A request that was not granted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Refusal {
    /// What kind.
    pub code: Code,
    /// Why, in a sentence.
    pub message: String,
}

impl Refusal {
    /// A refusal.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }

    /// A wrong request.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(Code::Invalid, message)
    }

    /// The answer as it is sent.
    pub fn json(&self) -> Value {
        json!({ "ok": false, "error": self })
    }
}

impl From<Invalid> for Refusal {
    fn from(invalid: Invalid) -> Self {
        Self::invalid(invalid.to_string())
    }
}

impl From<LearnerError> for Refusal {
    fn from(error: LearnerError) -> Self {
        let code = match error {
            LearnerError::NoEpisode => Code::Closed,
            LearnerError::EpisodeOpen => Code::Conflict,
            LearnerError::NoOffer { .. } | LearnerError::Ambiguous { .. } => Code::Unknown,
            LearnerError::Invalid(_) | LearnerError::Backend(_) => Code::Invalid,
        };
        Self::new(code, error.to_string())
    }
}

/// An answer, or a refusal.
pub type Reply = Result<Value, Refusal>;

pub(super) fn begin_answer(record: &Begin) -> Value {
    let mut answer = json!({
        "ok": true,
        "episode": record.episode,
        "budget": record.budget,
        "plan": record.plan,
        "hoped": record.hoped,
    });
    if let Some(note) = &record.note {
        answer["note"] = note.as_str().into();
    }
    answer
}

pub(super) fn decide_answer(record: &Decide) -> Value {
    let mut answer = json!({
        "ok": true,
        "id": record.id,
        "step": record.step,
        "action": record.action,
        "offer": record.offer,
        "budget": record.budget,
        "held": record.held,
        "lower": record.lower,
        "upper": record.upper,
        "opportunity_cost": record.opportunity_cost,
        "probability": record.probability,
        "plan": record.plan,
    });
    if !record.notes.is_empty() {
        answer["notes"] = json!(record.notes);
    }
    answer
}

pub(super) fn observe_answer(record: &Observe) -> Value {
    match record.budget {
        Some(budget) => json!({ "ok": true, "id": record.id, "budget": budget }),
        None => json!({ "ok": true, "id": record.id, "late": true }),
    }
}

pub(super) fn end_answer(record: &End) -> Value {
    json!({
        "ok": true,
        "episode": record.episode,
        "reward": record.reward,
        "spent": record.spent,
        "observations": record.observations,
    })
}

/// Whether a request says what a recorded one said; 44 and 44.0 are the same number.
pub(super) fn same_request(record: &Decide, when: &When, context: &Map<String, Value>) -> bool {
    let same_time = match when {
        When::Step(step) => record.time.is_none() && record.step == *step,
        When::Time(time) => record.time.as_ref() == Some(time),
    };
    let same = |(key, value): (&String, &Value)| match (value, record.context.get(key)) {
        (Value::Number(a), Some(Value::Number(b))) => a.as_f64() == b.as_f64(),
        (value, other) => Some(value) == other,
    };
    same_time && context.len() == record.context.len() && context.iter().all(same)
}
