//! Studies: presets, files and dictionaries, with the changes of a call.

use std::path::{Path, PathBuf};

use cbwk_gpu::config::{Document, PRESETS, StudyFile, nearest_preset, preset};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::errors::{of_input, refused};
use crate::tables;

/// A study that can be changed and run.
#[pyclass(frozen, module = "cbwk._native")]
#[derive(Debug, Clone)]
pub struct StudySource {
    label: PathBuf,
    text: String,
    /// Whether it comes from a dictionary: then messages name fields, not lines.
    stated: bool,
}

/// Changes to a study.
#[derive(Debug, Clone, Default)]
pub struct Changes {
    /// Another number of replications.
    pub replications: Option<u64>,
    /// Another seed.
    pub seed: Option<u64>,
    /// Policies to keep, or to add with their defaults.
    pub chosen: Vec<String>,
    /// Policies to add, as in a study file.
    pub added: Vec<toml::Table>,
}

impl Changes {
    /// The changes of a call; `added` are dictionaries.
    pub fn new(
        replications: Option<u64>,
        seed: Option<u64>,
        chosen: Vec<String>,
        added: &Bound<PyList>,
    ) -> PyResult<Self> {
        let added = added.iter().map(|p| tables::table("policies", &p));
        Ok(Self {
            replications,
            seed,
            chosen,
            added: added.collect::<PyResult<_>>()?,
        })
    }
}

impl StudySource {
    /// The document with changes.
    pub fn document(&self, changes: &Changes) -> PyResult<Document> {
        let document = match self.stated {
            true => {
                let table = self.text.parse().expect("made from a table");
                Ok(Document::from_table(&self.label.to_string_lossy(), &table))
            }
            false => Document::parse(&self.label, &self.text),
        };
        let mut document = document.map_err(of_input)?;
        let wholes = [
            ("replications", changes.replications),
            ("seed", changes.seed),
        ];
        for (key, value) in wholes {
            if let Some(value) = value {
                document.set_whole("study", key, value, key);
            }
        }
        if !changes.chosen.is_empty() {
            document.choose_policies(&changes.chosen, "policies");
        }
        for policy in &changes.added {
            document.add_policy(policy, "policies");
        }
        Ok(document)
    }

    /// The checked study.
    pub fn check(&self, changes: &Changes) -> PyResult<StudyFile> {
        let document = self.document(changes)?;
        if document.sweep().map_err(of_input)?.is_some() {
            let accepted = "one study; run a sweep on the command line, or point by point";
            return Err(refused("study", "a sweep", accepted));
        }
        StudyFile::from_document(&document).map_err(of_input)
    }
}

#[pymethods]
impl StudySource {
    /// One of the presets.
    #[staticmethod]
    fn preset(name: &str) -> PyResult<Self> {
        let found = preset(name).ok_or_else(|| {
            let near = nearest_preset(name);
            let hint = near.map_or(String::new(), |near| format!(" (nearest: `{near}`)"));
            let found = format!("`{name}`");
            refused("preset", found, format!("the name of a preset{hint}"))
        })?;
        Ok(Self {
            label: PathBuf::from(format!("preset {name}")),
            text: found.text.into(),
            stated: false,
        })
    }

    /// The names of all presets.
    #[staticmethod]
    fn presets() -> Vec<(&'static str, &'static str)> {
        PRESETS.iter().map(|p| (p.name, p.title())).collect()
    }

    /// A study file.
    #[staticmethod]
    fn file(path: PathBuf) -> PyResult<Self> {
        let text = std::fs::read_to_string(&path);
        let unreadable = |error| of_input(cbwk_gpu::error::InputError::unreadable(&path, &error));
        let source = Self {
            text: text.map_err(unreadable)?,
            label: path,
            stated: false,
        };
        source.document(&Changes::default())?;
        Ok(source)
    }

    /// A dictionary with the sections of a study file.
    #[staticmethod]
    fn table(dict: &Bound<PyAny>) -> PyResult<Self> {
        let table = tables::table("study", dict)?;
        let text = toml::to_string(&table);
        Ok(Self {
            label: PathBuf::from("study"),
            text: text.map_err(|error| refused("study", error, "values of a study file"))?,
            stated: true,
        })
    }

    /// The study as texts, for another process. Paths become absolute.
    fn state(&self) -> PyResult<(PathBuf, String, bool)> {
        let named = self.label.parent().is_some_and(|p| p != Path::new(""));
        let label = match self.label.is_file() || named {
            true => std::path::absolute(&self.label)?,
            false => self.label.clone(),
        };
        Ok((label, self.text.clone(), self.stated))
    }

    /// A study from the result of [`StudySource::state`].
    #[staticmethod]
    fn of_state(label: PathBuf, text: String, stated: bool) -> PyResult<Self> {
        if stated && text.parse::<toml::Table>().is_err() {
            return Err(refused("state", "damaged text", "a state of a study"));
        }
        Ok(Self {
            label,
            text,
            stated,
        })
    }

    /// The study with every default filled in, as a study file.
    fn resolved(&self) -> PyResult<String> {
        Ok(self.check(&Changes::default())?.resolved_text())
    }

    /// The main settings.
    fn facts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let study = self.check(&Changes::default())?.study;
        let task = study.world.task();
        let facts = PyDict::new(py);
        facts.set_item("name", &study.name)?;
        facts.set_item("episodes", study.episodes)?;
        facts.set_item("horizon", task.horizon())?;
        facts.set_item("replications", study.replications)?;
        facts.set_item("seed", study.seed)?;
        facts.set_item("delta", study.delta)?;
        facts.set_item("budget", task.budget_max())?;
        let names: Vec<&String> = study.policies.iter().map(|p| &p.name).collect();
        facts.set_item("policies", names)?;
        Ok(facts)
    }
}
