//! Reads the raw requests of a live learner with the task's encoding and opening hours.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::clock::Moment;
use super::raw::Raw;
use super::task_file::TaskFile;
use crate::error::Invalid;
use crate::learner::live::Intake;

impl Intake for TaskFile {
    fn features(&self, context: &Map<String, Value>) -> Result<(Vec<f64>, Vec<String>), Invalid> {
        let mut raw = BTreeMap::new();
        let mut clipped = Vec::new();
        for (name, value) in context {
            let mut value = cell(name, value)?;
            let column = self.encoding.columns.iter().find(|c| c.name() == name);
            clipped.extend(column.and_then(|column| column.clip(&mut value)));
            raw.insert(name.clone(), value);
        }
        let (features, mut notes) = self.encoding.encode(&raw)?;
        notes.append(&mut clipped);
        Ok((features, notes))
    }

    fn step(&self, time: &str) -> Result<usize, Invalid> {
        let wrong = |accepted: &str| Invalid::new("time", format!("`{time}`"), accepted);
        let no_times = || wrong("a step: the task was imported without times");
        let hours = self.clock.as_ref().ok_or_else(no_times)?;
        let second = Moment::second_of(time.trim());
        let second = second.ok_or_else(|| wrong("a time such as 2026-11-16 09:30"))?;
        let step = hours.step(second, self.task.horizon);
        step.ok_or_else(|| wrong(&format!("a time from {hours}")))
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
