//! Studies: presets, files and dictionaries, with the changes of a call.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cbwk_gpu::config::{Document, PRESETS, StudyFile, nearest_preset, preset};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use toml::Table;

use crate::changes::Changes;
use crate::errors::{of_input, refused, wrong};
use crate::own::{Finder, Mistake};
use crate::tables;

/// A study that can be changed and run.
#[pyclass(frozen, module = "cbwk._native")]
#[derive(Debug, Clone)]
pub struct StudySource {
    label: PathBuf,
    text: String,
    /// Whether it comes from a dictionary: then messages name fields, not lines.
    stated: bool,
    /// Objects that tables of own code refer to.
    objects: Arc<Vec<Py<PyAny>>>,
    /// The sweep of the study, in place of its file's.
    sweep: Option<Table>,
    /// The point of the sweep that is meant.
    point: Option<usize>,
}

/// A study as texts: label, content, whether it was stated as a dictionary, the sweep, and the point of it.
type State = (PathBuf, String, bool, Option<String>, Option<usize>);

/// Keys, values by key, and names of the points of a sweep.
type Points = (String, Vec<String>, Vec<Vec<String>>, Vec<String>);

impl StudySource {
    fn new(label: PathBuf, text: String, stated: bool, objects: Vec<Py<PyAny>>) -> Self {
        Self {
            label,
            text,
            stated,
            objects: Arc::new(objects),
            sweep: None,
            point: None,
        }
    }

    /// The document with changes, without its own code.
    fn document(&self, changes: &Changes) -> PyResult<Document> {
        let document = match self.stated {
            true => {
                let table = self.text.parse().expect("made from a table");
                Ok(Document::from_table(&self.label.to_string_lossy(), &table))
            }
            false => Document::parse(&self.label, &self.text),
        };
        let mut document = document.map_err(of_input)?;
        changes.apply(&mut document);
        if let Some(sweep) = &self.sweep {
            document.set_sweep(sweep, "sweep");
        }
        Ok(document)
    }

    /// The checked study. Own code stores its exceptions in `mistake`.
    pub fn check(&self, changes: &Changes, mistake: &Mistake) -> PyResult<StudyFile> {
        let file = self.read(changes, mistake, false)?;
        file.study.check_own().map_err(wrong)?;
        Ok(file)
    }

    /// The checked study, which may lack own code.
    pub fn look(&self) -> PyResult<StudyFile> {
        self.read(&Changes::default(), &Mistake::default(), true)
    }

    fn read(&self, changes: &Changes, mistake: &Mistake, lenient: bool) -> PyResult<StudyFile> {
        let mut document = self.document(changes)?;
        let objects = changes.objects.as_ref().unwrap_or(&self.objects);
        let finder = Finder::new(Arc::clone(objects), mistake.clone(), lenient);
        document.find_own(Arc::new(finder));
        let file = match (document.sweep().map_err(of_input)?, self.point) {
            (None, _) => StudyFile::from_document(&document),
            (Some(mut sweep), Some(point)) if point < sweep.points.len() => {
                StudyFile::of_point(&sweep.points.swap_remove(point))
            }
            // Of the whole sweep only what its points share is of interest.
            (Some(_), _) if lenient => StudyFile::from_document(&document),
            (Some(_), _) => {
                let accepted = "one study; study.sweep() runs the points of a sweep";
                return Err(refused("study", "a sweep", accepted));
            }
        };
        match mistake.take() {
            Some(error) => Err(error),
            None => file.map_err(of_input),
        }
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
        let label = PathBuf::from(format!("preset {name}"));
        Ok(Self::new(label, found.text.into(), false, Vec::new()))
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
        let text = text.map_err(unreadable)?;
        let source = Self::new(path, text, false, Vec::new());
        source.document(&Changes::default())?;
        Ok(source)
    }

    /// A dictionary with the sections of a study file; tables of own code refer to `objects`.
    #[staticmethod]
    fn table(dict: &Bound<PyAny>, objects: Vec<Py<PyAny>>) -> PyResult<Self> {
        let table = tables::table("study", dict)?;
        let text = toml::to_string(&table);
        let text = text.map_err(|error| refused("study", error, "values of a study file"))?;
        Ok(Self::new(PathBuf::from("study"), text, true, objects))
    }

    /// The study as texts, for another process. Paths become absolute.
    fn state(&self) -> PyResult<State> {
        let named = self.label.parent().is_some_and(|p| p != Path::new(""));
        let label = match self.label.is_file() || named {
            true => std::path::absolute(&self.label)?,
            false => self.label.clone(),
        };
        let sweep = self.sweep.as_ref().map(Table::to_string);
        Ok((label, self.text.clone(), self.stated, sweep, self.point))
    }

    /// A study from the result of [`StudySource::state`].
    #[staticmethod]
    fn of_state(state: State, objects: Vec<Py<PyAny>>) -> PyResult<Self> {
        let (label, text, stated, sweep, point) = state;
        let damaged = || refused("state", "damaged text", "a state of a study");
        if stated && text.parse::<Table>().is_err() {
            return Err(damaged());
        }
        let sweep = sweep.map(|text| text.parse().map_err(|_| damaged()));
        Ok(Self {
            sweep: sweep.transpose()?,
            point,
            ..Self::new(label, text, stated, objects)
        })
    }

    /// The study with a sweep: paths into the study, with a list of values for each. `None` is that of its file.
    fn swept(&self, sweep: Option<&Bound<PyAny>>) -> PyResult<Self> {
        let sweep = sweep.map(|dict| tables::table("sweep", dict)).transpose()?;
        Ok(Self {
            sweep: sweep.or_else(|| self.sweep.clone()),
            point: None,
            ..self.clone()
        })
    }

    /// Title, keys, values of each point, and names of the points, after changes.
    fn points(&self, changes: &Bound<PyDict>) -> PyResult<Points> {
        let document = self.document(&Changes::of_dict(changes)?)?;
        let Some(sweep) = document.sweep().map_err(of_input)? else {
            let accepted = "a dictionary of paths into the study, each with a list of values";
            return Err(refused("sweep", "nothing", accepted));
        };
        let title = format!("{}: {} points", document.name(), sweep.combinations);
        let values = sweep.points.iter().map(|point| point.values.clone());
        let labels = sweep.points.iter().map(|point| point.label.clone());
        Ok((title, sweep.keys, values.collect(), labels.collect()))
    }

    /// The study of a point of the sweep.
    fn at(&self, point: usize) -> Self {
        Self {
            point: Some(point),
            ..self.clone()
        }
    }

    /// The study with every default filled in, as a study file.
    fn resolved(&self) -> PyResult<String> {
        Ok(self.look()?.resolved_text())
    }

    /// The main settings.
    fn facts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let study = self.look()?.study;
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
