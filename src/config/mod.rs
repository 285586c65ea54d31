//! Study files: TOML becomes a checked study. Presets and sweeps.

mod data_files;
mod document;
mod own;
mod paper;
mod presets;
pub(crate) mod read;
mod section;
mod sweep;

use std::path::Path;
use std::sync::Arc;

use crate::error::{InputError, Invalid};
use crate::results::EpisodesFormat;
use crate::task::{ContextRows, HORIZON_LIMIT, Task};
use crate::world::World;
use read::context_rows::FeatureNames;

pub(crate) use document::toml_error;
pub(crate) use read::initial_log_of;
pub(crate) use section::Section;

pub use crate::experiment::{NamedPolicy, Study};
pub use data_files::DataFile;
pub use document::{Document, Wanted};
pub use own::{FindOwn, Found};
pub use paper::{COMPARED, PaperPanel};
pub use presets::{PRESETS, Preset, nearest_preset, preset};
pub use sweep::{Sweep, SweepPoint};

type Read<T> = Result<T, InputError>;

/// The most episodes or replications a study may have.
const COUNT_LIMIT: u64 = 100_000_000;

/// A study file that was read and checked.
#[derive(Debug, Clone)]
pub struct StudyFile {
    /// What to run.
    pub study: Study,
    /// The format of the episodes file.
    pub episodes_format: EpisodesFormat,
    /// The study with all defaults and the names of the data's copies; it reproduces the run.
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
    /// Reads and checks a whole study without its sweep; [`Document::sweep`] has the points of that.
    pub fn from_document(document: &Document) -> Read<Self> {
        Self::read(document, None)
    }

    /// The study of a point of a sweep. It is checked with all policies and keeps those of the point, with their random
    /// streams in the whole study.
    pub fn of_point(point: &SweepPoint) -> Read<Self> {
        Self::read(&point.document, Some(&point.policies))
    }

    fn read(document: &Document, only: Option<&[usize]>) -> Read<Self> {
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

    /// The data files of the study.
    pub fn data(&self) -> &[DataFile] {
        &self.data
    }

    /// Comments on parameters of oracles that are not set but follow from the study.
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

    /// The first key in which this study differs from an accepted one.
    #[doc(hidden)]
    pub fn difference(&self, accepted: &Self) -> Option<Invalid> {
        let found = toml::Value::Table(self.resolved.clone());
        let accepted = toml::Value::Table(accepted.resolved.clone());
        difference(String::new(), Some(&found), Some(&accepted))
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
    found: Option<&toml::Value>,
    accepted: Option<&toml::Value>,
) -> Option<Invalid> {
    use toml::Value::{Array, Table};
    match (found, accepted) {
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
        (a, b) if a == b => None,
        (a, b) => {
            let shown = |value: Option<&toml::Value>| match value {
                Some(Table(_)) => "a table".to_string(),
                Some(value) => value.to_string(),
                None => "nothing".into(),
            };
            Some(Invalid::new(path, shown(a), shown(b)))
        }
    }
}

impl Study {
    /// The study of a document, as [`StudyFile::from_document`] reads it.
    pub fn from_document(document: &Document) -> Read<Self> {
        StudyFile::from_document(document).map(|file| file.study)
    }
}

/// The world of a study file, with the settings for an estimate of opt.
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
    /// Reads and checks the world of a study file; policies and sweep are ignored.
    pub fn from_document(document: &Document) -> Read<Self> {
        let mut root = Section::root(document);
        let settings = settings(&mut root)?;
        let mut names = FeatureNames::default();
        let spec = read::world(&mut root, settings.horizon, &mut names)?;
        root.ignore("policies");
        root.ignore("sweep");
        root.finish()?;
        let check = || {
            let world = spec.check()?;
            world.own().try_for_each(|part| part.check(part.what))?;
            Ok(world)
        };
        let world = check().map_err(|invalid: Invalid| document.locate(&invalid))?;
        Ok(Self {
            world: Arc::new(world),
            seed: settings.seed,
            optimum_rows: settings.optimum_rows,
            names,
        })
    }

    /// Reads context rows from a file and checks that they can be contexts of this world.
    pub fn read_rows(&self, file: &Path) -> Read<ContextRows> {
        let horizon = self.world.task().horizon();
        let rows = read::context_rows::read(file, horizon, &mut self.names.clone())?;
        match self.world.check_rows(&rows) {
            Ok(()) => Ok(rows),
            Err(invalid) => Err(InputError::in_file(file, invalid.to_string())),
        }
    }
}

fn settings(root: &mut Section) -> Read<Settings> {
    root.table("study", |s| {
        let default_name = s.document().name();
        Ok(Settings {
            name: s.text_or("name", &default_name)?,
            horizon: s.whole("horizon", 1..=HORIZON_LIMIT as u64)? as usize,
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
        })
    })
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
