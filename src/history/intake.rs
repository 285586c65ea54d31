//! Raw requests of a live learner, read by the rules of the task: its encoding and its clock.

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
        for (name, value) in context {
            raw.insert(name.clone(), cell(name, value)?);
        }
        let encoded = self.encoding.encode(&raw)?;
        let notes = encoded.notes.iter().map(ToString::to_string);
        Ok((encoded.features, notes.collect()))
    }

    fn step(&self, time: &str) -> Result<usize, Invalid> {
        let Some(clock) = &self.clock else {
            let accepted = "a step: the task was imported without times";
            return Err(Invalid::new("time", format!("`{time}`"), accepted));
        };
        let wrong = |accepted: &str| Invalid::new("time", format!("`{time}`"), accepted);
        let second = Moment::second_of(time.trim());
        let second = second.ok_or_else(|| wrong("a time such as 2026-11-16 09:30"))?;
        let step = clock.step(second, self.task.horizon);
        step.ok_or_else(|| {
            let open = super::show_time(clock.open);
            wrong(&format!(
                "a time from {open} to {}",
                super::show_time(clock.close)
            ))
        })
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
