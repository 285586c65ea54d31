//! Checked arrays of real numbers; float64 arrays in C order are not copied.

use cbwk_gpu::error::shown;
use numpy::{PyArrayDyn, PyArrayMethods, PyReadonlyArrayDyn, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyDict};

use crate::errors::refused;

/// The most numbers an array may have.
const NUMBERS_LIMIT: usize = 1 << 27;

/// A checked array.
pub struct Numbers<'py> {
    name: &'static str,
    array: PyReadonlyArrayDyn<'py, f64>,
}

impl<'py> Numbers<'py> {
    /// An array of real numbers of any type and order.
    pub fn of(name: &'static str, object: &Bound<'py, PyAny>) -> PyResult<Self> {
        if let Ok(array) = object.cast::<PyArrayDyn<f64>>()
            && array.is_c_contiguous()
        {
            let array = array.try_readonly();
            let array = array.map_err(|_| {
                refused(name, "an array that is being written to", "one that is not")
            })?;
            return Ok(Self { name, array });
        }
        let py = object.py();
        let as_array = numpy_function(py, &AS_ARRAY, "asarray")?;
        let array = as_array.call1((object,)).map_err(|error| {
            let found = error.value(py).to_string();
            refused(name, found, "an array of numbers")
        })?;
        let dtype = array.getattr("dtype")?;
        let kind: String = dtype.getattr("kind")?.extract()?;
        if !["f", "i", "u"].contains(&kind.as_str()) {
            let found = format!("values of type {dtype}");
            return Err(refused(name, found, "an array of real numbers"));
        }
        let size: usize = array.getattr("size")?.extract()?;
        check_size(name, size)?;
        let contiguous = numpy_function(py, &CONTIGUOUS, "ascontiguousarray")?;
        let options = PyDict::new(py);
        options.set_item("dtype", "float64")?;
        let dimensions: usize = array.getattr("ndim")?.extract()?;
        let mut array = contiguous.call((array,), Some(&options))?;
        if dimensions == 0 {
            array = array.call_method1("reshape", ((),))?;
        }
        let array = array.cast_into::<PyArrayDyn<f64>>()?;
        let array = array.try_readonly();
        let array = array
            .map_err(|_| refused(name, "an array that is being written to", "one that is not"))?;
        Ok(Self { name, array })
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Its shape.
    pub fn shape(&self) -> &[usize] {
        self.array.shape()
    }

    /// All numbers, the last axis fastest.
    pub fn values(&self) -> PyResult<&[f64]> {
        check_size(self.name, self.array.len())?;
        let values = self.array.as_slice();
        values.map_err(|_| {
            refused(
                self.name,
                "an array that is not contiguous",
                "one in C order",
            )
        })
    }

    /// Refuses numbers that `accept` rejects, with their position.
    pub fn check(&self, accepted: &str, accept: impl Fn(f64) -> bool) -> PyResult<()> {
        let values = self.values()?;
        match values.iter().position(|x| !accept(*x)) {
            None => Ok(()),
            Some(place) => {
                let field = format!("{}{}", self.name, index(place, self.shape()));
                Err(refused(&field, shown(values[place]), accepted))
            }
        }
    }
}

fn check_size(name: &str, size: usize) -> PyResult<()> {
    if size <= NUMBERS_LIMIT {
        return Ok(());
    }
    let found = format!("{size} numbers");
    Err(refused(name, found, format!("at most {NUMBERS_LIMIT}")))
}

/// An index in Python notation.
fn index(place: usize, shape: &[usize]) -> String {
    let mut rest = place;
    let mut parts: Vec<String> = Vec::new();
    for size in shape.iter().rev() {
        parts.push((rest % size).to_string());
        rest /= size;
    }
    parts.reverse();
    match parts.is_empty() {
        true => String::new(),
        false => format!("[{}]", parts.join(", ")),
    }
}

/// A shape in Python notation.
pub fn shape_text(shape: &[usize]) -> String {
    match shape {
        [one] => format!("shape ({one},)"),
        _ => {
            let sizes: Vec<String> = shape.iter().map(usize::to_string).collect();
            format!("shape ({})", sizes.join(", "))
        }
    }
}

/// A whole number of any type.
pub fn whole(
    name: &str,
    object: &Bound<PyAny>,
    accepted: std::ops::RangeInclusive<u64>,
) -> PyResult<u64> {
    let number = match object.is_instance_of::<PyBool>() {
        true => None,
        false => object.call_method0("__index__").ok(),
    };
    let number = number.and_then(|x| x.extract::<u64>().ok());
    number.filter(|x| accepted.contains(x)).ok_or_else(|| {
        let (low, high) = (accepted.start(), accepted.end());
        let found = described(object);
        refused(name, found, format!("a whole number from {low} to {high}"))
    })
}

/// The representation of an argument, on one short line.
pub fn described(object: &Bound<PyAny>) -> String {
    const LONG: usize = 60;
    let text = object.repr().map_or("?".into(), |text| text.to_string());
    let line: String = text
        .chars()
        .filter(|c| !c.is_control())
        .take(LONG)
        .collect();
    match line.len() < text.len() {
        true => format!("{line}..."),
        false => line,
    }
}

static AS_ARRAY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
static CONTIGUOUS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

fn numpy_function<'py>(
    py: Python<'py>,
    slot: &'static PyOnceLock<Py<PyAny>>,
    name: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let find = || -> PyResult<Py<PyAny>> { Ok(py.import("numpy")?.getattr(name)?.unbind()) };
    Ok(slot.get_or_try_init(py, find)?.bind(py).clone())
}
