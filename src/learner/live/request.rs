//! Requests to a live learner: one struct per event, read from JSON.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Refusal;
use super::fields::{
    change, columns, flag, name, names, offer, offers, one, quantity, reason, step, time, units,
};
use super::members::{read, wrong};

/// Events that a caller may send, as `op` or as the last part of an address.
pub const EVENTS: &[&str] = &[
    "begin", "decide", "observe", "record", "cancel", "correct", "adjust", "forget", "quote", "end",
];

/// A request.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    /// An episode begins.
    Begin(Begin),
    /// A customer arrives.
    Decide(Decide),
    /// The outcome of an offer.
    Observe(Observe),
    /// An offer that was made without us.
    Record(Record),
    /// An accepted offer is given back.
    Cancel(Cancel),
    /// An outcome was another one.
    Correct(Observe),
    /// Units are delivered or taken away.
    Adjust(Adjust),
    /// Outcomes are taken out of the data.
    Forget(Forget),
    /// An episode ends.
    End(End),
    /// What would be offered to a customer now? Nothing is written.
    Quote(Quote),
    /// What is the state?
    State,
    /// The numbers of the page.
    View,
}

/// An episode begins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Begin {
    /// Its name.
    #[serde(deserialize_with = "name")]
    pub episode: String,
    /// Units to spend.
    #[serde(deserialize_with = "units")]
    pub budget: u32,
    /// Whether this ends an open episode.
    #[serde(default, deserialize_with = "flag")]
    pub close: bool,
}

/// A customer arrives. Either `step` or `time` says when.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Decide {
    /// The caller's id of the request.
    #[serde(deserialize_with = "name")]
    pub id: String,
    /// The step of the episode, from 1.
    #[serde(default, deserialize_with = "step")]
    pub step: Option<usize>,
    /// The time, such as "2026-11-16 09:30".
    #[serde(default, deserialize_with = "time")]
    pub time: Option<String>,
    /// Raw columns.
    #[serde(default, deserialize_with = "columns")]
    pub context: Map<String, Value>,
    /// Only these prices, wages or bids may be offered.
    #[serde(
        default,
        deserialize_with = "offers",
        skip_serializing_if = "Option::is_none"
    )]
    pub offers: Option<Vec<f64>>,
    /// How many the customer takes together: units and reward are multiplied by it.
    #[serde(default = "one", deserialize_with = "quantity")]
    pub quantity: u32,
}

/// What would be offered to a customer? The members are those of [`Decide`], without an id.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quote {
    /// The step of the episode, from 1.
    #[serde(default, deserialize_with = "step")]
    pub step: Option<usize>,
    /// The time, such as "2026-11-16 09:30".
    #[serde(default, deserialize_with = "time")]
    pub time: Option<String>,
    /// Raw columns.
    #[serde(default, deserialize_with = "columns")]
    pub context: Map<String, Value>,
    /// Only these prices, wages or bids may be offered.
    #[serde(
        default,
        deserialize_with = "offers",
        skip_serializing_if = "Option::is_none"
    )]
    pub offers: Option<Vec<f64>>,
    /// How many the customer takes together.
    #[serde(default = "one", deserialize_with = "quantity")]
    pub quantity: u32,
}

/// An offer that was made without us, with its outcome. Either `step` or `time` says when.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// The caller's id of it, as for a decision.
    #[serde(deserialize_with = "name")]
    pub id: String,
    /// The step of the episode, from 1.
    #[serde(default, deserialize_with = "step")]
    pub step: Option<usize>,
    /// The time, such as "2026-11-16 09:30".
    #[serde(default, deserialize_with = "time")]
    pub time: Option<String>,
    /// Raw columns.
    #[serde(default, deserialize_with = "columns")]
    pub context: Map<String, Value>,
    /// The price, wage or bid that was offered.
    #[serde(deserialize_with = "offer")]
    pub offer: f64,
    /// Whether it was accepted.
    #[serde(deserialize_with = "flag")]
    pub accepted: bool,
    /// How many the customer takes together.
    #[serde(default = "one", deserialize_with = "quantity")]
    pub quantity: u32,
}

/// An accepted offer is given back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cancel {
    /// The id of the decision.
    #[serde(deserialize_with = "name")]
    pub id: String,
    /// Whether its outcome is taken out of the data, too.
    #[serde(default, deserialize_with = "flag")]
    pub forget: bool,
}

/// Units are delivered to the open episode, or taken away.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Adjust {
    /// The caller's id of it.
    #[serde(deserialize_with = "name")]
    pub id: String,
    /// How many; negative ones are taken away.
    #[serde(deserialize_with = "change")]
    pub units: i64,
    /// Why.
    #[serde(
        default,
        deserialize_with = "reason",
        skip_serializing_if = "Option::is_none"
    )]
    pub reason: Option<String>,
}

/// Outcomes are taken out of the data; the books stay.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Forget {
    /// The caller's id of it.
    #[serde(deserialize_with = "name")]
    pub id: String,
    /// The ids of the decisions.
    #[serde(deserialize_with = "names")]
    pub ids: Vec<String>,
}

/// The outcome of an offer, or with `correct` another one than was observed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Observe {
    /// The id of the decision.
    #[serde(deserialize_with = "name")]
    pub id: String,
    /// Whether the offer was accepted.
    #[serde(deserialize_with = "flag")]
    pub accepted: bool,
}

/// An episode ends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct End {
    /// Its name.
    #[serde(deserialize_with = "name")]
    pub episode: String,
}

/// A request without members.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

/// When a customer arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When<'a> {
    /// At a step, from 1.
    Step(usize),
    /// At a time.
    Time(&'a str),
}

impl When<'_> {
    /// Exactly one of the two members must be given.
    fn of<'a>(step: Option<usize>, time: Option<&'a str>) -> Result<When<'a>, Refusal> {
        match (step, time) {
            (Some(step), None) => Ok(When::Step(step)),
            (None, Some(time)) => Ok(When::Time(time)),
            (Some(_), Some(_)) => Err(Refusal::invalid(
                "step: found beside time; accepted: one of the two",
            )),
            (None, None) => Err(wrong("step", None, "a whole number from 1, or a time")),
        }
    }
}

impl Decide {
    /// When the customer arrives.
    pub fn when(&self) -> Result<When<'_>, Refusal> {
        When::of(self.step, self.time.as_deref())
    }
}

impl Quote {
    /// When the customer would arrive.
    pub fn when(&self) -> Result<When<'_>, Refusal> {
        When::of(self.step, self.time.as_deref())
    }
}

impl Record {
    /// When the customer arrived.
    pub fn when(&self) -> Result<When<'_>, Refusal> {
        When::of(self.step, self.time.as_deref())
    }
}

impl Request {
    /// Reads a request whose member `op` names its kind.
    pub fn parse(text: &[u8]) -> Result<Self, Refusal> {
        let mut body = object(text)?;
        match body.remove("op") {
            Some(Value::String(op)) => Self::of(&op, body),
            other => Err(wrong("op", other.as_ref(), &ops())),
        }
    }

    /// Reads a request of a given kind.
    pub fn parse_op(op: &str, text: &[u8]) -> Result<Self, Refusal> {
        Self::of(op, object(text)?)
    }

    fn of(op: &str, body: Map<String, Value>) -> Result<Self, Refusal> {
        Ok(match op {
            "begin" => Self::Begin(read(op, body)?),
            "decide" => {
                let decide: Decide = read(op, body)?;
                decide.when()?;
                Self::Decide(decide)
            }
            "observe" => Self::Observe(read(op, body)?),
            "quote" => {
                let quote: Quote = read(op, body)?;
                quote.when()?;
                Self::Quote(quote)
            }
            "record" => {
                let record: Record = read(op, body)?;
                record.when()?;
                Self::Record(record)
            }
            "cancel" => Self::Cancel(read(op, body)?),
            "correct" => Self::Correct(read(op, body)?),
            "adjust" => Self::Adjust(read(op, body)?),
            "forget" => Self::Forget(read(op, body)?),
            "end" => Self::End(read(op, body)?),
            "state" => {
                read::<Nothing>(op, body)?;
                Self::State
            }
            other => return Err(wrong("op", Some(&Value::from(other)), &ops())),
        })
    }

    /// Whether it changes nothing.
    pub fn only_reads(&self) -> bool {
        matches!(self, Self::State | Self::View | Self::Quote(_))
    }
}

fn ops() -> String {
    format!("{} or state", EVENTS.join(", "))
}

fn object(text: &[u8]) -> Result<Map<String, Value>, Refusal> {
    match serde_json::from_slice(text) {
        Ok(Value::Object(body)) => Ok(body),
        Ok(other) => Err(wrong("request", Some(&other), "a JSON object")),
        Err(error) => Err(Refusal::invalid(format!("request: no JSON ({error})"))),
    }
}
