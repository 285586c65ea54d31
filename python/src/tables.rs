//! Python dictionaries as the tables of study files.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyString};
use toml::{Table, Value};

use crate::arrays::described;
use crate::errors::refused;

/// The deepest nesting of tables.
const DEPTH: usize = 32;

/// A dictionary with text keys; messages name it `field`.
pub fn table(field: &str, dict: &Bound<PyAny>) -> PyResult<Table> {
    match value(field, dict, 0)? {
        Some(Value::Table(table)) => Ok(table),
        _ => Err(refused(field, described(dict), "a dictionary")),
    }
}

/// A value; `None` leaves the key out.
fn value(field: &str, object: &Bound<PyAny>, depth: usize) -> PyResult<Option<Value>> {
    if depth > DEPTH {
        return Err(refused(field, "tables nested too deeply", "a study"));
    }
    let wrong = || {
        refused(
            field,
            described(object),
            "a number, text, flag, list or dictionary",
        )
    };
    if object.is_none() {
        return Ok(None);
    }
    if let Ok(flag) = object.cast::<PyBool>() {
        return Ok(Some(Value::Boolean(flag.is_true())));
    }
    if let Ok(text) = object.cast::<PyString>() {
        return Ok(Some(Value::String(
            text.to_str().map_err(|_| wrong())?.into(),
        )));
    }
    if object.is_instance_of::<PyInt>() {
        return Ok(Some(Value::Integer(object.extract().map_err(|_| wrong())?)));
    }
    if object.is_instance_of::<PyFloat>() {
        return Ok(Some(Value::Float(object.extract().map_err(|_| wrong())?)));
    }
    if let Ok(dict) = object.cast::<PyDict>() {
        let mut table = Table::new();
        for (key, item) in dict.iter() {
            let Ok(key) = key.extract::<String>() else {
                return Err(refused(field, described(&key), "keys that are texts"));
            };
            let inner = match field {
                "study" if depth == 0 => key.clone(),
                _ => format!("{field}.{key}"),
            };
            if let Some(value) = value(&inner, &item, depth + 1)? {
                table.insert(key, value);
            }
        }
        return Ok(Some(Value::Table(table)));
    }
    // NumPy arrays and scalars; then paths and sequences.
    if let Ok(list) = object.call_method0("tolist") {
        return value(field, &list, depth + 1);
    }
    if let Ok(path) = object.call_method0("__fspath__") {
        return value(field, &path, depth + 1);
    }
    let items = object.try_iter().map_err(|_| wrong())?;
    let mut list = Vec::new();
    for (i, item) in items.enumerate() {
        let inner = format!("{field}[{}]", i + 1);
        list.extend(value(&inner, &item?, depth + 1)?);
    }
    Ok(Some(Value::Array(list)))
}
