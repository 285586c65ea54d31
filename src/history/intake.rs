//! Reads the raw requests of a live learner with the task's encoding and opening hours.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::clock::Moment;
use super::encoding::Column;
use super::raw::Raw;
use super::task_file::TaskFile;
use crate::error::Invalid;
use crate::learner::live::Intake;

impl Intake for TaskFile {
    fn features(&self, context: &Map<String, Value>) -> Result<(Vec<f64>, Vec<String>), Invalid> {
        let mut raw = BTreeMap::new();
        let mut clipped = Vec::new();
        let multipliers = [&self.columns.quantity, &self.columns.relative_to];
        let multipliers = multipliers.map(Option::as_ref);
        for (name, value) in context {
            let mut value = cell(name, value)?;
            let column = self.encoding.columns.iter().find(|c| c.name() == name);
            // Units and prices of a customer are booked as they are.
            let column = column.filter(|_| !multipliers.contains(&Some(name)));
            clipped.extend(column.and_then(|column| column.clip(&mut value)));
            raw.insert(name.clone(), value);
        }
        let (features, mut notes) = self.encoding.encode(&raw)?;
        notes.append(&mut clipped);
        Ok((features, notes))
    }

    fn columns(&self) -> Vec<Value> {
        let columns = self.encoding.columns.iter();
        let column = columns.map(|column| match column {
            Column::Number { low, high, .. } => {
                json!({ "name": column.name(), "low": low, "high": high })
            }
            Column::Category { levels, .. } => json!({ "name": column.name(), "levels": levels }),
        });
        column.collect()
    }

    fn step(&self, time: &str) -> Result<(usize, Option<String>), Invalid> {
        let wrong = |accepted: &str| Invalid::new("time", format!("`{time}`"), accepted);
        let no_times = || wrong("a step: the task was imported without times");
        let hours = self.clock.as_ref().ok_or_else(no_times)?;
        let moment = Moment::of_day(time.trim());
        let moment = moment.ok_or_else(|| wrong("a time such as 2026-11-16 09:30"))?;
        let zone = self.columns.zone.as_ref();
        let local = zone.map_or(Some(moment), |zone| moment.local(zone));
        let local = local
            .ok_or_else(|| wrong("a time with its date, on which the zone's offset depends"))?;
        let step = hours.step(local.second, self.task.horizon);
        let step = step.ok_or_else(|| wrong(&format!("a time from {hours}")))?;
        let note = match (zone, moment.offset) {
            (Some(_), None) => Some("the time has no zone and is taken as local"),
            (None, Some(_)) => Some("the zone of the time is not looked at: the task has none"),
            _ => None,
        };
        Ok((step, note.map(String::from)))
    }
}

fn cell<'v>(name: &str, value: &'v Value) -> Result<Raw<'v>, Invalid> {
    let wrong = || {
        let (field, found) = (format!("column `{name}`"), shown(value));
        Invalid::new(field, found, "a number, a text, or null")
    };
    match value {
        Value::Null => Ok(Raw::Missing),
        Value::Number(x) => x.as_f64().map(Raw::Number).ok_or_else(wrong),
        Value::String(text) => Ok(Raw::cell(text)),
        _ => Err(wrong()),
    }
}

fn shown(value: &Value) -> &'static str {
    match value {
        Value::Bool(true) => "true",
        Value::Bool(false) => "false",
        Value::Array(_) => "a list",
        _ => "an object",
    }
}
