//! The lines of a journal.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::pilot::{Expected, PilotDay};
use crate::policy::LastFit;
use crate::task::Task;

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

/// The task changed: other prices or a larger budget.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RepriceRecord {
    /// SHA-256 of the new task.
    pub task: String,
    /// The prices that are offered from now on, if they change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prices: Option<Vec<f64>>,
    /// The largest starting budget, if it changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<u32>,
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
    /// The draw of a pilot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pilot: Option<PilotDay>,
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
    /// The acceptance probability that the plan uses; version 0.1 did not write it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planned: Option<f64>,
    /// Value of its units in the rest of the episode.
    pub opportunity_cost: f64,
    /// The plan it was made with.
    pub plan: u64,
    /// When its units are released, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold_until_ms: Option<u64>,
    /// The offers that the caller allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offers: Option<Vec<f64>>,
    /// How many the customer takes together.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub quantity: u32,
    /// What the learner would have offered on a day of the baseline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shadow: Option<f64>,
    /// Whether it is the fallback offer, because there was no plan.
    #[serde(default, skip_serializing_if = "is_false")]
    pub fallback: bool,
    /// Missing values, unseen levels and the like.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

fn one() -> u32 {
    1
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde calls it with a reference"
)]
fn is_one(n: &u32) -> bool {
    *n == 1
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde calls it with a reference"
)]
fn is_false(flag: &bool) -> bool {
    !flag
}

/// An offer that was made without the learner.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecordRecord {
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
    /// The price, wage or bid.
    pub offer: f64,
    /// Whether it was accepted.
    pub accepted: bool,
    /// How many the customer takes together.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub quantity: u32,
    /// Whether its outcome is learnt from: the offer is in the list.
    pub learnt: bool,
    /// Units of an acceptance.
    pub units: u32,
    /// Reward of an acceptance.
    pub reward: f64,
    /// Whether units and reward were booked.
    pub booked: bool,
    /// Units left after it.
    pub budget: u32,
    /// Notes for the caller.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// An accepted offer was given back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CancelRecord {
    /// The id of the decision.
    pub id: String,
    /// Its episode.
    pub episode: String,
    /// Whether its outcome is taken out of the data.
    pub forget: bool,
    /// Whether the reward stood in the books.
    pub booked: bool,
    /// Units that return if the episode is open.
    pub units: u32,
    /// The reward that is taken back.
    pub reward: f64,
    /// Units left after it, if the episode is open.
    pub budget: Option<u32>,
}

/// An outcome was another one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CorrectRecord {
    /// The id of the decision.
    pub id: String,
    /// Its episode.
    pub episode: String,
    /// Whether the offer was accepted after all.
    pub accepted: bool,
    /// Units of an acceptance.
    pub units: u32,
    /// Reward of an acceptance.
    pub reward: f64,
    /// Units left after it, if the episode is open.
    pub budget: Option<u32>,
    /// Whether an acceptance found no unit.
    #[serde(default, skip_serializing_if = "is_false")]
    pub oversold: bool,
}

/// Units were delivered or taken away.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AdjustRecord {
    /// The caller's id.
    pub id: String,
    /// The episode.
    pub episode: String,
    /// How many.
    pub units: i64,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Units left after it, held ones included.
    pub budget: u32,
    /// Units held.
    pub held: u32,
    /// Notes for the caller.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// Outcomes were taken out of the data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ForgetRecord {
    /// The caller's id.
    pub id: String,
    /// The open episode, if there is one.
    pub episode: Option<String>,
    /// The ids of the decisions.
    pub ids: Vec<String>,
}

/// An outcome.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ObserveRecord {
    /// The id of the decision.
    pub id: String,
    /// Its episode; empty in journals of version 0.1.
    #[serde(default)]
    pub episode: String,
    /// Whether the offer was accepted.
    pub accepted: bool,
    /// Units left, if the decision's episode is open.
    pub budget: Option<u32>,
    /// Whether an acceptance found no unit.
    #[serde(default, skip_serializing_if = "is_false")]
    pub oversold: bool,
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
    /// Acceptances that found no unit.
    #[serde(default)]
    pub oversold: u32,
    /// On a day of a pilot: what each side would have earned from its arrivals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<Expected>,
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

impl DecideRecord {
    /// Its action in the task's present list: a new price list may have other numbers.
    pub fn action_in(&self, task: &Task) -> usize {
        let listed = |offer| task.application().action_at(offer);
        self.offer.and_then(listed).unwrap_or(0)
    }
}
