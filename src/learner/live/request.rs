//! Requests to a live learner, read from JSON, and refusals. A refusal of a wrong request names the field, what was found
//! and what is accepted.

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::error::Invalid;
use crate::learner::LearnerError;

/// Most bytes of a name (an id, an episode).
const NAME_BYTES: usize = 200;

/// Kinds of refusals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Code {
    /// The request itself is wrong.
    Invalid,
    /// It contradicts an earlier request.
    Conflict,
    /// It names an unknown id, episode or address.
    Unknown,
    /// It needs an open episode.
    Closed,
    /// The journal cannot be written or too many requests wait; the request may be repeated.
    Storage,
}

/// An error answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Refusal {
    /// Its kind.
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

    /// The answer in JSON.
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

/// A request.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    /// An episode begins.
    Begin {
        /// Its name.
        episode: String,
        /// Units to spend.
        budget: u32,
        /// Whether this ends an open episode.
        close: bool,
    },
    /// A customer arrives.
    Decide {
        /// The caller's id of the request.
        id: String,
        /// When.
        when: When,
        /// Raw columns.
        context: Map<String, Value>,
    },
    /// The outcome of an offer.
    Observe {
        /// The id of the decision.
        id: String,
        /// Whether the offer was accepted.
        accepted: bool,
    },
    /// An episode ends.
    End {
        /// Its name.
        episode: String,
    },
    /// The state of the learner.
    State,
    /// The numbers of the live page.
    View,
}

/// When a customer arrives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum When {
    /// At a step, from 1.
    Step(usize),
    /// At a time, which the task's clock turns into a step.
    Time(String),
}

impl Request {
    /// Reads a request whose `op` is in its body.
    pub fn parse(text: &[u8]) -> Result<Self, Refusal> {
        let mut body = object(text)?;
        let op = body.remove("op");
        let Some(Value::String(op)) = op else {
            return Err(wrong("op", op.as_ref(), OPS));
        };
        Self::of(&op, body)
    }

    /// Reads the body of a request.
    pub fn parse_op(op: &str, text: &[u8]) -> Result<Self, Refusal> {
        Self::of(op, object(text)?)
    }

    fn of(op: &str, mut body: Map<String, Value>) -> Result<Self, Refusal> {
        let request = match op {
            "begin" => Self::Begin {
                episode: name(&mut body, "episode")?,
                budget: budget(&mut body)?,
                close: flag(&mut body, "close", Some(false))?,
            },
            "decide" => Self::Decide {
                id: name(&mut body, "id")?,
                when: when(&mut body)?,
                context: match body.remove("context") {
                    None => Map::new(),
                    Some(Value::Object(columns)) => columns,
                    other => {
                        let accepted = "an object of columns, such as {\"age\":44}";
                        return Err(wrong("context", other.as_ref(), accepted));
                    }
                },
            },
            "observe" => Self::Observe {
                id: name(&mut body, "id")?,
                accepted: flag(&mut body, "accepted", None)?,
            },
            "end" => Self::End {
                episode: name(&mut body, "episode")?,
            },
            "state" => Self::State,
            other => return Err(wrong("op", Some(&Value::from(other)), OPS)),
        };
        match body.keys().next() {
            None => Ok(request),
            Some(key) => {
                let message = format!(
                    "{op}: found the member {}; accepted: no such member",
                    shown(&Value::from(key.as_str()))
                );
                Err(Refusal::invalid(message))
            }
        }
    }

    /// Whether it changes nothing.
    pub fn only_reads(&self) -> bool {
        matches!(self, Self::State | Self::View)
    }
}

const OPS: &str = "begin, decide, observe, end or state";

fn object(text: &[u8]) -> Result<Map<String, Value>, Refusal> {
    match serde_json::from_slice(text) {
        Ok(Value::Object(body)) => Ok(body),
        Ok(other) => Err(wrong("request", Some(&other), "a JSON object")),
        Err(error) => Err(Refusal::invalid(format!("request: no JSON ({error})"))),
    }
}

/// A value for messages, shortened.
fn shown(value: &Value) -> String {
    let text = match value {
        Value::Array(list) => return format!("a list of {}", list.len()),
        Value::Object(_) => return "an object".into(),
        other => other.to_string(),
    };
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

fn wrong(field: &str, found: Option<&Value>, accepted: &str) -> Refusal {
    let found = found.map_or("nothing".into(), shown);
    Refusal::invalid(format!("{field}: found {found}; accepted: {accepted}"))
}

fn name(body: &mut Map<String, Value>, key: &str) -> Result<String, Refusal> {
    match body.remove(key) {
        Some(Value::String(name))
            if (1..=NAME_BYTES).contains(&name.len()) && !name.contains(char::is_control) =>
        {
            Ok(name)
        }
        other => {
            let accepted = format!("a text of 1 to {NAME_BYTES} bytes without control characters");
            Err(wrong(key, other.as_ref(), &accepted))
        }
    }
}

fn flag(body: &mut Map<String, Value>, key: &str, default: Option<bool>) -> Result<bool, Refusal> {
    match (body.remove(key), default) {
        (Some(Value::Bool(flag)), _) => Ok(flag),
        (None, Some(default)) => Ok(default),
        (other, _) => Err(wrong(key, other.as_ref(), "true or false")),
    }
}

fn whole(found: Option<&Value>) -> Option<u64> {
    match found? {
        Value::Number(x) => x.as_u64(),
        _ => None,
    }
}

fn budget(body: &mut Map<String, Value>) -> Result<u32, Refusal> {
    let found = body.remove("budget");
    let units = whole(found.as_ref()).and_then(|x| u32::try_from(x).ok());
    units.ok_or_else(|| wrong("budget", found.as_ref(), "a whole number from 0"))
}

fn when(body: &mut Map<String, Value>) -> Result<When, Refusal> {
    match (body.remove("step"), body.remove("time")) {
        (found @ Some(_), None) => match whole(found.as_ref()) {
            Some(step) if step >= 1 => Ok(When::Step(step.min(1 << 40) as usize)),
            _ => Err(wrong("step", found.as_ref(), "a whole number from 1")),
        },
        (None, Some(Value::String(time))) if time.len() <= NAME_BYTES => Ok(When::Time(time)),
        (None, Some(Value::Number(time))) => Ok(When::Time(time.to_string())),
        (None, found @ Some(_)) => {
            let accepted = "a time such as \"2026-11-16 09:30\"";
            Err(wrong("time", found.as_ref(), accepted))
        }
        (Some(_), Some(_)) => Err(Refusal::invalid(
            "step: found beside time; accepted: one of the two",
        )),
        (None, None) => Err(wrong("step", None, "a whole number from 1, or a time")),
    }
}
