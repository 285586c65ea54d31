//! Conversions and context laws written in Python, vectorised over contexts.

use std::sync::Arc;

use cbwk_gpu::world::{OwnConversion, OwnLaw};
use numpy::PyArray1;
use pyo3::prelude::*;

use super::{Mistake, arrays_of};
use crate::arrays::{Numbers, shape_text};
use crate::errors::refused;

/// A function of the caller.
#[derive(Debug)]
pub struct Code {
    entry: Py<PyAny>,
    mistake: Mistake,
}

impl Code {
    /// A conversion.
    pub fn conversion(entry: Py<PyAny>, mistake: Mistake) -> Arc<dyn OwnConversion> {
        Arc::new(Self { entry, mistake })
    }

    /// A context law.
    pub fn law(entry: Py<PyAny>, mistake: Mistake) -> Arc<dyn OwnLaw> {
        Arc::new(Self { entry, mistake })
    }

    /// What a call returns; after an exception, which is kept, `otherwise`.
    fn ask<T>(&self, otherwise: T, call: impl FnOnce(Python, &Bound<PyAny>) -> PyResult<T>) -> T {
        if self.mistake.is_there() {
            return otherwise;
        }
        Python::attach(|py| call(py, self.entry.bind(py))).unwrap_or_else(|error| {
            self.mistake.put(error);
            otherwise
        })
    }
}

/// The numbers of an answer of this shape.
fn numbers<'py>(
    name: &'static str,
    answer: &Bound<'py, PyAny>,
    shape: [usize; 2],
) -> PyResult<Numbers<'py>> {
    let numbers = Numbers::of(name, answer)?;
    match numbers.shape() == shape {
        true => Ok(numbers),
        false => Err(refused(
            name,
            shape_text(numbers.shape()),
            shape_text(&shape),
        )),
    }
}

fn from_one(steps: &[usize]) -> Vec<i64> {
    steps.iter().map(|step| *step as i64 + 1).collect()
}

impl OwnConversion for Code {
    fn rho(&self, features: &[f64], steps: &[usize], values: &[f64]) -> Vec<f64> {
        let shape = [steps.len(), values.len()];
        self.ask(vec![0.0; shape[0] * shape[1]], |py, entry| {
            let dimension = features.len() / shape[0];
            let (contexts, steps) = arrays_of(py, dimension, features.to_vec(), from_one(steps))?;
            let values = PyArray1::from_slice(py, values);
            let answer = entry.call_method1("conversion", (contexts, steps, values))?;
            let rho = numbers("conversion", &answer, shape)?;
            rho.check("a probability from 0 to 1", |x| (0.0..=1.0).contains(&x))?;
            Ok(rho.values()?.to_vec())
        })
    }
}

impl OwnLaw for Code {
    fn draw(&self, seed: u64, steps: &[usize], range: (&[f64], &[f64]), features: &mut [f64]) {
        if steps.is_empty() {
            return;
        }
        let shape = [steps.len(), features.len() / steps.len()];
        let drawn = self.ask(None, |py, entry| {
            let steps = PyArray1::from_vec(py, from_one(steps));
            let answer = entry.call_method1("contexts", (seed, steps))?;
            let drawn = numbers("contexts", &answer, shape)?.values()?.to_vec();
            let (low, high) = range;
            let fits = |i: usize| (low[i % shape[1]]..=high[i % shape[1]]).contains(&drawn[i]);
            if let Some(i) = (0..drawn.len()).find(|&i| !fits(i)) {
                let field = format!("contexts[{}, {}]", i / shape[1], i % shape[1]);
                let (low, high) = (low[i % shape[1]], high[i % shape[1]]);
                let accepted = format!("a number from {low} to {high}, the corners of the law");
                return Err(refused(&field, drawn[i], accepted));
            }
            Ok(Some(drawn))
        });
        if let Some(drawn) = drawn {
            features.copy_from_slice(&drawn);
        }
    }
}
