//! The lines of a journal: what was decided and told, with all that another tool needs.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::policy::LastFit;

/// The version of these lines.
pub const FORMAT: u32 = 1;

/// What every line begins with.
#[derive(Debug, Serialize, Deserialize)]
pub struct Head<'a> {
    /// Number of the line, from 1.
    pub seq: u64,
    /// What happened.
    pub op: &'a str,
    /// When it was written, in milliseconds since 1970.
    pub recorded_ms: u64,
    /// Version of the program that wrote it.
    pub program: &'a str,
}

#[derive(Serialize)]
struct Line<'a, T> {
    #[serde(flatten)]
    head: Head<'a>,
    #[serde(flatten)]
    body: &'a T,
}

/// The text of a line, not yet with its checksum.
pub fn line<T: Serialize>(seq: u64, op: &str, recorded_ms: u64, body: &T) -> Vec<u8> {
    let head = Head {
        seq,
        op,
        recorded_ms,
        program: env!("CARGO_PKG_VERSION"),
    };
    serde_json::to_vec(&Line { head, body }).expect("records can be written")
}

/// The body of a line.
pub fn body<T: DeserializeOwned>(line: &[u8]) -> Result<T, String> {
    serde_json::from_slice(line).map_err(|error| error.to_string())
}

/// The first line: what the journal is about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Open {
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
pub struct Begin {
    /// Its name.
    pub episode: String,
    /// Its number, from 1.
    pub number: usize,
    /// Units at its start.
    pub budget: u32,
    /// The plan in force.
    pub plan: u64,
    /// What the plan hopes to earn.
    pub hoped: f64,
    /// What was noticed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A decision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Decide {
    /// The caller's id.
    pub id: String,
    /// The episode.
    pub episode: String,
    /// The step, from 1.
    pub step: usize,
    /// The time that the step follows from, where the caller gave one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// Raw columns as they were given.
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
    /// What its units are worth in the rest of the episode.
    pub opportunity_cost: f64,
    /// The plan it was made with.
    pub plan: u64,
    /// When its units are free again, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold_until_ms: Option<u64>,
    /// Missing values and unseen levels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// An outcome.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Observe {
    /// The id of the decision.
    pub id: String,
    /// Whether the offer was accepted.
    pub accepted: bool,
    /// Units left, where the decision's episode is open.
    pub budget: Option<u32>,
}

/// An offer whose time is up holds nothing any more.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Release {
    /// The id of the decision.
    pub id: String,
}

/// An episode ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct End {
    /// Its name.
    pub episode: String,
    /// What it earned.
    pub reward: f64,
    /// Units it spent.
    pub spent: u32,
    /// Observations in hand, all episodes together.
    pub observations: usize,
    /// Whether the next episode waits for a new plan.
    pub replanned: bool,
}

/// A plan was made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Its number, from 1.
    pub plan: u64,
    /// The fit that it was made from.
    pub fit: LastFit,
}
