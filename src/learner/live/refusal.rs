//! Why a request is refused, in words and as JSON.

use serde::Serialize;
use serde_json::{Value, json};

use crate::error::Invalid;
use crate::learner::LearnerError;

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

    /// A request that contradicts an earlier one.
    pub fn conflict(message: impl Into<String>) -> Self {
        Self::new(Code::Conflict, message)
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
