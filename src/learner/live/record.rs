//! The lines of a journal, and the answers made from them: a repeated request gets the answer of its line.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::request::When;
use crate::policy::LastFit;

/// The version of the format.
pub const FORMAT: u32 = 1;

/// The first members of every line.
#[derive(Debug, Serialize, Deserialize)]
pub struct Head<'a> {
    /// Number of the line, from 1.
    pub seq: u64,
    /// The kind of event.
    pub op: &'a str,
    /// When it was written, in milliseconds since 1970.
    pub recorded_ms: u64,
    /// Version of the program that wrote it.
    pub program: &'a str,
}

#[derive(Serialize)]
struct JournalLine<'a, T> {
    #[serde(flatten)]
    head: Head<'a>,
    #[serde(flatten)]
    body: &'a T,
}

/// The text of a line without its checksum.
pub fn line<T: Serialize>(seq: u64, op: &str, recorded_ms: u64, body: &T) -> Vec<u8> {
    let head = Head {
        seq,
        op,
        recorded_ms,
        program: env!("CARGO_PKG_VERSION"),
    };
    serde_json::to_vec(&JournalLine { head, body }).expect("records can be written")
}

/// The body of a line.
pub fn body<T: DeserializeOwned>(line: &[u8]) -> Result<T, String> {
    serde_json::from_slice(line).map_err(|error| error.to_string())
}

/// The first line: what the journal is about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OpenRecord {
    /// Version of the lines.
    pub format: u32,
    /// SHA-256 of the task.
    pub task: String,
    /// SHA-256 of the log that the learner starts from.
    pub log: Option<String>,
    /// How it learns.
    pub learner: Value,
}

/// An episode began.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BeginRecord {
    /// Its name.
    pub episode: String,
    /// Its number, from 1.
    pub number: usize,
    /// Units at its start.
    pub budget: u32,
    /// The plan in force.
    pub plan: u64,
    /// What the episode is expected to earn; `None` before any contexts are known, and in journals of version 0.1.
    #[serde(default)]
    pub expected: Option<f64>,
    /// The plan's own, optimistic value of the episode; `hoped` in version 0.1.
    #[serde(alias = "hoped")]
    pub optimistic: f64,
    /// A note for the caller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A decision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DecideRecord {
    /// The caller's id.
    pub id: String,
    /// The episode.
    pub episode: String,
    /// The step, from 1.
    pub step: usize,
    /// The time, if the caller gave one instead of a step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// Raw columns as given.
    pub context: Map<String, Value>,
    /// Units left before the decision, held ones included.
    pub budget: u32,
    /// Units held after it.
    pub held: u32,
    /// Actions that could be offered.
    pub feasible: Vec<usize>,
    /// The action; 0 is none.
    pub action: usize,
    /// Its price, wage or bid.
    pub offer: Option<f64>,
    /// The probability with which it was chosen.
    pub probability: f64,
    /// Lower bound of its acceptance.
    pub lower: f64,
    /// Upper bound of its acceptance.
    pub upper: f64,
    /// Value of its units in the rest of the episode.
    pub opportunity_cost: f64,
    /// The plan it was made with.
    pub plan: u64,
    /// When its units are released, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold_until_ms: Option<u64>,
    /// Missing values and unseen levels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// An outcome.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ObserveRecord {
    /// The id of the decision.
    pub id: String,
    /// Whether the offer was accepted.
    pub accepted: bool,
    /// Units left, if the decision's episode is open.
    pub budget: Option<u32>,
}

/// The hold of an offer expired.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReleaseRecord {
    /// The id of the decision.
    pub id: String,
}

/// An episode ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EndRecord {
    /// Its name.
    pub episode: String,
    /// Its reward.
    pub reward: f64,
    /// Units it spent.
    pub spent: u32,
    /// Observations of all episodes.
    pub observations: usize,
    /// Whether a new plan is due.
    pub replanned: bool,
}

/// A plan was made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlanRecord {
    /// Its number, from 1.
    pub plan: u64,
    /// The fit it was made from.
    pub fit: LastFit,
}

impl BeginRecord {
    /// The answer to the request.
    pub fn answer(&self) -> Value {
        let mut answer = json!({
            "ok": true,
            "episode": self.episode,
            "budget": self.budget,
            "plan": self.plan,
            "expected": self.expected,
            "optimistic": self.optimistic,
        });
        if let Some(note) = &self.note {
            answer["note"] = note.as_str().into();
        }
        answer
    }
}

impl DecideRecord {
    /// The answer to the request.
    pub fn answer(&self) -> Value {
        let mut answer = json!({
            "ok": true,
            "id": self.id,
            "step": self.step,
            "action": self.action,
            "offer": self.offer,
            "budget": self.budget,
            "held": self.held,
            "lower": self.lower,
            "upper": self.upper,
            "opportunity_cost": self.opportunity_cost,
            "probability": self.probability,
            "plan": self.plan,
        });
        if !self.notes.is_empty() {
            answer["notes"] = json!(self.notes);
        }
        answer
    }

    /// Whether a repeated request has the same content; 44 and 44.0 are the same number.
    pub fn is_of(&self, when: &When, context: &Map<String, Value>) -> bool {
        let same_time = match when {
            When::Step(step) => self.time.is_none() && self.step == *step,
            When::Time(time) => self.time.as_ref() == Some(time),
        };
        let same = |(key, value): (&String, &Value)| match (value, self.context.get(key)) {
            (Value::Number(a), Some(Value::Number(b))) => a.as_f64() == b.as_f64(),
            (value, other) => Some(value) == other,
        };
        same_time && context.len() == self.context.len() && context.iter().all(same)
    }
}

impl ObserveRecord {
    /// The answer to the request.
    pub fn answer(&self) -> Value {
        match self.budget {
            Some(budget) => json!({ "ok": true, "id": self.id, "budget": budget }),
            None => json!({ "ok": true, "id": self.id, "late": true }),
        }
    }
}

impl EndRecord {
    /// The answer to the request.
    pub fn answer(&self) -> Value {
        json!({
            "ok": true,
            "episode": self.episode,
            "reward": self.reward,
            "spent": self.spent,
            "observations": self.observations,
        })
    }
}
