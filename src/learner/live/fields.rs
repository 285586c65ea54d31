//! What the members of requests accept, each with its words.

use serde::Deserializer;
use serde_json::{Map, Value};

use super::members::accept;

/// Most bytes of a name (an id, an episode).
const NAME_BYTES: usize = 200;

/// Most ids that one request may name.
const NAMES: usize = 1000;

fn named(value: Value) -> Option<String> {
    match value {
        Value::String(name)
            if (1..=NAME_BYTES).contains(&name.len()) && !name.contains(char::is_control) =>
        {
            Some(name)
        }
        _ => None,
    }
}

pub(super) fn name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let accepted = format!("a text of 1 to {NAME_BYTES} bytes");
    accept(deserializer, &accepted, named)
}

pub(super) fn names<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let accepted = format!("a list of 1 to {NAMES} ids");
    accept(deserializer, &accepted, |value| match value {
        Value::Array(list) if (1..=NAMES).contains(&list.len()) => {
            list.into_iter().map(named).collect()
        }
        _ => None,
    })
}

pub(super) fn reason<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<String>, D::Error> {
    let accepted = format!("a text of 1 to {NAME_BYTES} bytes");
    accept(deserializer, &accepted, |value| named(value).map(Some))
}

pub(super) fn one() -> u32 {
    1
}

pub(super) fn quantity<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    accept(deserializer, "a whole number from 1", |value| {
        u32::try_from(value.as_u64()?).ok().filter(|n| *n >= 1)
    })
}

pub(super) fn change<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
    let accepted = "a whole number other than 0; negative ones are taken away";
    accept(deserializer, accepted, |value| {
        value.as_i64().filter(|units| *units != 0)
    })
}

pub(super) fn offer<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let accepted = "a number above 0: a price, wage or bid";
    accept(deserializer, accepted, positive)
}

pub(super) fn offers<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Vec<f64>>, D::Error> {
    let accepted = "a list of prices, wages or bids";
    accept(deserializer, accepted, |value| match value {
        Value::Array(list) if !list.is_empty() => {
            let offers = list.into_iter().map(positive);
            Some(Some(offers.collect::<Option<_>>()?))
        }
        _ => None,
    })
}

fn positive(value: Value) -> Option<f64> {
    value.as_f64().filter(|x| *x > 0.0 && x.is_finite())
}

pub(super) fn flag<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    accept(deserializer, "true or false", |value| value.as_bool())
}

pub(super) fn units<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    accept(deserializer, "a whole number from 0", |value| {
        u32::try_from(value.as_u64()?).ok()
    })
}

pub(super) fn step<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<usize>, D::Error> {
    accept(deserializer, "a whole number from 1", |value| {
        let step = value.as_u64().filter(|step| *step >= 1)?;
        Some(Some(step.min(1 << 40) as usize))
    })
}

pub(super) fn time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let accepted = "a time such as \"2026-11-16 09:30\"";
    accept(deserializer, accepted, |value| match value {
        Value::String(time) if time.len() <= NAME_BYTES => Some(Some(time)),
        Value::Number(time) => Some(Some(time.to_string())),
        _ => None,
    })
}

pub(super) fn columns<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Map<String, Value>, D::Error> {
    let accepted = "an object of columns, such as {\"age\":44}";
    accept(deserializer, accepted, |value| match value {
        Value::Object(columns) => Some(columns),
        _ => None,
    })
}
