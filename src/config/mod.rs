//! Study files: TOML becomes a checked study; the presets that come with the program, and sweeps.

mod data_files;
mod document;
mod fitted_study;
mod live;
mod live_learning;
mod paper;
mod presets;
mod read;
mod section;
mod sweep;
mod task_folder;

use std::path::Path;
use std::sync::Arc;

use crate::error::{InputError, Invalid};
use crate::results::EpisodesFormat;
use crate::task::{ContextRows, Task};
use crate::world::World;
use read::context_rows::FeatureNames;
use section::Section;

pub use crate::experiment::{NamedPolicy, Study};
pub use data_files::DataFile;
pub use document::Document;
pub use live::{JOURNAL_FILE, LEARNER_FILE, ServeError};
pub use live_learning::LiveLearning;
pub use paper::{COMPARED, IMPROVED, Panel};
pub use presets::{PRESETS, Preset, nearest_preset, preset};
pub use sweep::{Sweep, SweepPoint};
pub use task_folder::{LOG_FILE, MODEL_FILE, TASK_FILE, TaskFolder};

/// The most episodes or replications a study may have.
const COUNT_LIMIT: u64 = 100_000_000;

/// A study file that was read and checked.
#[derive(Debug, Clone)]
pub struct StudyFile {
    /// What to run.
    pub study: Study,
    /// How the lines of episodes are written.
    pub episodes_format: EpisodesFormat,
    /// The file with every default filled in and the names of the data's copies; it reproduces the run.
    resolved: toml::Table,
    data: Vec<DataFile>,
}

/// The settings of `[study]`.
struct Settings {
    name: String,
    horizon: usize,
    episodes: usize,
    replications: usize,
    seed: u64,
    delta: f64,
    optimum_rows: usize,
    expected: bool,
    trace: bool,
    episodes_format: EpisodesFormat,
    reference: Option<String>,
}

impl StudyFile {
    /// Reads and checks a whole study. A sweep is left aside: [`Document::sweep`] has its points.
    pub fn from_document(document: &Document) -> Result<Self, InputError> {
        Self::read(document, None)
    }

    /// The study of a sweep's point, checked with all its policies and left with those that the point is for. They keep
    /// the random streams that they have in the whole study.
    pub fn of_point(point: &SweepPoint) -> Result<Self, InputError> {
        Self::read(&point.document, Some(&point.policies))
    }

    fn read(document: &Document, only: Option<&[usize]>) -> Result<Self, InputError> {
        let mut root = Section::root(document);
        let settings = settings(&mut root)?;
        let mut names = FeatureNames::default();
        let spec = read::world(&mut root, settings.horizon, &mut names)?;
        let policies = read::policies(&mut root, &spec, &mut names)?;
        root.ignore("sweep");
        let mut resolved = root.finish()?;
        let episodes_format = settings.episodes_format;
        let check = || -> Result<Study, Invalid> {
            if !episodes_format.is_available() {
                let accepted = "csv, as this program was built without the feature parquet";
                return Err(Invalid::new("study.episodes_format", "parquet", accepted));
            }
            let world = spec.check()?;
            let study = Study {
                name: settings.name,
                policies: check_policies(policies, world.task())?,
                world: Arc::new(world),
                episodes: settings.episodes,
                replications: settings.replications,
                seed: settings.seed,
                delta: settings.delta,
                optimum_rows: settings.optimum_rows,
                expected: settings.expected,
                trace: settings.trace,
                reference: settings.reference,
            };
            study.check()?;
            Ok(study)
        };
        let mut study = check().map_err(|invalid| document.locate(&invalid))?;
        if let Some(places) = only {
            keep_policies(&mut study, &mut resolved, places);
        }
        Ok(Self {
            study,
            episodes_format,
            data: data_files::relocate(&mut resolved),
            resolved,
        })
    }

    /// The files that the study reads, and what the resolved study calls them.
    pub fn data(&self) -> &[DataFile] {
        &self.data
    }

    /// Comments on parameters of oracles that nobody set and that follow from the study.
    fn derived(&self) -> impl Iterator<Item = String> {
        let Study {
            world, episodes, ..
        } = &self.study;
        self.study.policies.iter().filter_map(|policy| {
            let oracle = policy.maker.oracle()?;
            let derived = oracle.derived(world.task(), *episodes);
            let values = derived
                .iter()
                .map(|(key, value)| format!("{key} = {value:?}"));
            let values: Vec<String> = values.collect();
            let (name, kind) = (&policy.name, oracle.kind());
            let line = format!(
                "# {name}: {} of {kind} from the study.\n",
                values.join(", ")
            );
            (!values.is_empty()).then_some(line)
        })
    }

    /// The first key in which this study differs from another: its path, what it is here, and what it is there.
    pub fn difference(&self, other: &Self) -> Option<(String, String, String)> {
        let here = toml::Value::Table(self.resolved.clone());
        let there = toml::Value::Table(other.resolved.clone());
        difference(String::new(), Some(&here), Some(&there))
    }

    /// The resolved study as a file.
    pub fn resolved_text(&self) -> String {
        let body = toml::to_string(&self.resolved).expect("a table of values can be written");
        let derived: String = self.derived().collect();
        format!("# Resolved study: every setting as it was used.\n{derived}\n{body}")
    }
}

/// The first place in which two values differ.
fn difference(
    path: String,
    here: Option<&toml::Value>,
    there: Option<&toml::Value>,
) -> Option<(String, String, String)> {
    use toml::Value::{Array, Table};
    match (here, there) {
        (Some(Table(a)), Some(Table(b))) => {
            let others = b.keys().filter(|key| !a.contains_key(*key));
            let mut keys = a.keys().chain(others);
            keys.find_map(|key| {
                let path = match path.is_empty() {
                    true => key.clone(),
                    false => format!("{path}.{key}"),
                };
                difference(path, a.get(key), b.get(key))
            })
        }
        (Some(Array(a)), Some(Array(b))) if path == "policies" => {
            let mut places = 0..a.len().max(b.len());
            places.find_map(|i| {
                let path = format!("{path}[{}]", i + 1);
                difference(path, a.get(i), b.get(i))
            })
        }
        (Some(a), Some(b)) if a == b => None,
        (None, None) => None,
        (a, b) => {
            let shown = |value: Option<&toml::Value>| match value {
                Some(Table(_)) => "a table".to_string(),
                Some(value) => value.to_string(),
                None => "nothing".into(),
            };
            Some((path, shown(a), shown(b)))
        }
    }
}

impl Study {
    /// The study of a document, as [`StudyFile::from_document`] reads it.
    pub fn from_document(document: &Document) -> Result<Self, InputError> {
        StudyFile::from_document(document).map(|file| file.study)
    }
}

/// The world of a study file with the settings that an estimate of opt needs.
#[derive(Debug)]
pub struct Instance {
    /// The world.
    pub world: Arc<World>,
    /// Seed of all random streams.
    pub seed: u64,
    /// Rows from which the optimum of a continuous law is estimated.
    pub optimum_rows: usize,
    names: FeatureNames,
}

impl Instance {
    /// Reads and checks only the world of a study file: what concerns learning is ignored.
    pub fn from_document(document: &Document) -> Result<Self, InputError> {
        let mut root = Section::root(document);
        let settings = settings(&mut root)?;
        let mut names = FeatureNames::default();
        let spec = read::world(&mut root, settings.horizon, &mut names)?;
        root.sections("policies")?;
        root.ignore("sweep");
        root.finish()?;
        let world = spec.check().map_err(|invalid| document.locate(&invalid))?;
        Ok(Self {
            world: Arc::new(world),
            seed: settings.seed,
            optimum_rows: settings.optimum_rows,
            names,
        })
    }

    /// Reads context rows from a file and checks that they can be contexts of this world.
    pub fn read_rows(&self, file: &Path) -> Result<ContextRows, InputError> {
        let horizon = self.world.task().horizon();
        let rows = read::context_rows::read(file, horizon, &mut self.names.clone())?;
        let checked = self.world.check_rows(&rows);
        checked.map_err(|invalid| InputError::File {
            file: file.to_path_buf(),
            message: invalid.to_string(),
        })?;
        Ok(rows)
    }
}

fn settings(root: &mut Section) -> Result<Settings, InputError> {
    let mut s = root.section("study")?;
    let default_name = s.document().name();
    let settings = Settings {
        name: s.text_or("name", &default_name)?,
        horizon: read::horizon(&mut s)?,
        episodes: s.whole_or("episodes", 1..=COUNT_LIMIT, 200)? as usize,
        replications: s.whole_or("replications", 1..=COUNT_LIMIT, 50)? as usize,
        seed: s.whole_or("seed", 0..=i64::MAX as u64, 1)?,
        delta: s.number_or("delta", 0.1)?,
        optimum_rows: s.whole_or("optimum_rows", 2..=COUNT_LIMIT, 20_000)? as usize,
        expected: s.flag_or("expected", false)?,
        trace: s.flag_or("trace", false)?,
        episodes_format: EpisodesFormat::of_word(s.word_or(
            "episodes_format",
            &EpisodesFormat::WORDS,
            EpisodesFormat::WORDS[0],
        )?),
        reference: s.optional_text("reference")?,
    };
    let resolved = s.finish()?;
    root.resolve("study", resolved);
    Ok(settings)
}

fn check_policies(
    policies: Vec<read::NamedSpec>,
    task: &Task,
) -> Result<Vec<NamedPolicy>, Invalid> {
    let policies = policies.into_iter().enumerate();
    policies
        .map(|(i, policy)| {
            let maker = policy.spec.check(&format!("policies[{}]", i + 1), task)?;
            Ok(NamedPolicy::new(policy.name, maker))
        })
        .collect()
}

/// Removes the policies at other places.
fn keep_policies(study: &mut Study, resolved: &mut toml::Table, places: &[usize]) {
    let keep = |place: usize| places.contains(&place);
    let mut place = 0..;
    study.policies.retain(|_| place.next().is_some_and(keep));
    let there = |name: &String| study.policies.iter().any(|policy| policy.name == *name);
    if !study.reference.as_ref().is_none_or(there) {
        // Differences are paired within a study.
        study.reference = None;
        if let Some(toml::Value::Table(settings)) = resolved.get_mut("study") {
            settings.remove("reference");
        }
    }
    let Some(toml::Value::Array(tables)) = resolved.get_mut("policies") else {
        return;
    };
    let mut place = 0..;
    tables.retain(|_| place.next().is_some_and(keep));
}
