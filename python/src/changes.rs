//! The changes that a call makes to a study.

use std::sync::Arc;

use cbwk_gpu::config::{Document, Wanted};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::arrays::whole;
use crate::errors::refused;
use crate::tables;

/// The whole numbers of `[study]` that a call may change.
const WHOLES: [(&str, u64, u64); 4] = [
    ("replications", 1, 100_000_000),
    ("seed", 0, i64::MAX as u64),
    ("episodes", 1, 100_000_000),
    ("horizon", 1, 100_000),
];

/// Changes to a study.
#[derive(Debug, Default)]
pub struct Changes {
    wholes: Vec<(&'static str, u64)>,
    delta: Option<f64>,
    budget: Option<u32>,
    reference: Option<String>,
    /// The policies to run, in place of those of the study.
    policies: Option<Vec<Wanted>>,
    /// Objects that tables of own code refer to, in place of those of the study.
    pub objects: Option<Arc<Vec<Py<PyAny>>>>,
}

impl Changes {
    /// Another seed.
    pub fn of_seed(seed: Option<u64>) -> Self {
        Self {
            wholes: seed.map(|seed| ("seed", seed)).into_iter().collect(),
            ..Self::default()
        }
    }

    /// The changes of a call; a value of `None` changes nothing.
    pub fn of_dict(dict: &Bound<PyDict>) -> PyResult<Self> {
        let get = |key: &str| -> PyResult<Option<Bound<PyAny>>> {
            Ok(dict.get_item(key)?.filter(|value| !value.is_none()))
        };
        let mut changes = Self::default();
        for (key, least, most) in WHOLES {
            if let Some(value) = get(key)? {
                changes
                    .wholes
                    .push((key, whole(key, &value, least..=most)?));
            }
        }
        if let Some(value) = get("delta")? {
            let delta = value.extract::<f64>();
            let accepted = "a number between 0 and 1";
            let delta = delta.map_err(|_| refused("delta", &value, accepted))?;
            changes.delta = Some(delta);
        }
        if let Some(value) = get("budget")? {
            changes.budget = Some(whole("budget", &value, 0..=u64::from(u32::MAX))? as u32);
        }
        if let Some(value) = get("reference")? {
            let reference = value.extract::<String>();
            let accepted = "the name of a policy";
            let reference = reference.map_err(|_| refused("reference", &value, accepted))?;
            changes.reference = Some(reference);
        }
        if let Some(value) = get("policies")? {
            let wanted = value.try_iter()?.map(|policy| {
                let policy = policy?;
                match policy.cast::<PyString>() {
                    Ok(name) => Ok(Wanted::Named(name.to_str()?.into())),
                    Err(_) => Ok(Wanted::Stated(tables::table("policies", &policy)?)),
                }
            });
            changes.policies = Some(wanted.collect::<PyResult<_>>()?);
        }
        if let Some(value) = get("objects")? {
            changes.objects = Some(Arc::new(value.extract()?));
        }
        Ok(changes)
    }

    /// Applies them.
    pub fn apply(&self, document: &mut Document) {
        for (key, value) in &self.wholes {
            document.set_whole("study", key, *value, key);
        }
        if let Some(delta) = self.delta {
            document.set_number("study", "delta", delta, "delta");
        }
        if let Some(budget) = self.budget {
            document.set_constant_budget(budget, "budget");
        }
        if let Some(reference) = &self.reference {
            document.set_text("study", "reference", reference, "reference");
        }
        if let Some(policies) = &self.policies {
            document.set_policies(policies, "policies");
        }
    }
}
