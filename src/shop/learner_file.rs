//! `learner.toml`: the settings of a live learner, with the keys of a learner in a study file, `delta` and `seed`.

use serde_json::Value;

use super::{JOURNAL_FILE, MODEL_FILE, TaskFolder};
use crate::config::read::learner;
use crate::config::{Document, Section};
use crate::error::InputError;
use crate::files::read_json;
use crate::history::fit::{ModelFile, ModelKind};
use crate::learner::live::OpenRecord;
use crate::oracle::OracleSpec;
use crate::policy::{InitialRows, LearnerSpec, PolicySpec};
use crate::task::Task;
use crate::world::ConversionSpec;

/// The settings of the live learner.
const LEARNER_FILE: &str = "learner.toml";

/// The key of kappa.
const TOLERANCE: &str = "tolerance";

/// The settings of a learner and its oracle.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveLearning {
    /// Algorithm 1's own settings.
    pub learning: LearnerSpec,
    /// Its oracle.
    pub oracle: OracleSpec,
}

impl LiveLearning {
    /// Reads a learner without initial data and checks it for a task. The default oracle is `armed`.
    pub fn from_document(document: &Document, task: &Task) -> Result<Self, InputError> {
        let mut root = Section::root(document);
        let probabilities = Vec::new();
        let (learning, oracle) = learner(&mut root, &ConversionSpec::Armed { probabilities })?;
        root.finish()?;
        let policy = PolicySpec::Learner {
            settings: learning,
            initial: InitialRows::Drawn(0),
            log: None,
            oracle: oracle.clone(),
        };
        let checked = policy.check("policy", task);
        checked.map_err(|invalid| document.locate(&invalid))?;
        Ok(Self { learning, oracle })
    }
}

/// The content of the file.
#[derive(Debug)]
pub(super) struct LearnerFile {
    pub learning: LearnerSpec,
    pub oracle: OracleSpec,
    pub delta: f64,
    pub seed: u64,
    /// All settings, defaults included, as the journal records them.
    pub resolved: Value,
}

impl LearnerFile {
    /// Reads the file. A journal that began with `begun`, before there was a tolerance, continues without one.
    pub fn read(document: &Document, begun: Option<&Value>) -> Result<Self, InputError> {
        let mut root = Section::root(document);
        let from_before =
            begun.is_some_and(|begun| begun.get(TOLERANCE).is_none()) && !root.has(TOLERANCE);
        // The true model is unknown: the file must name an oracle, and its kernel too.
        let probabilities = Vec::new();
        let (mut learning, oracle) = learner(&mut root, &ConversionSpec::Table { probabilities })?;
        let delta = root.number_or("delta", 0.1)?;
        let seed = root.whole_or("seed", 0..=i64::MAX as u64, 1)?;
        let mut resolved = root.finish()?;
        if from_before && resolved.remove(TOLERANCE).is_some() {
            learning.tolerance = Some(0.0);
        }
        Ok(Self {
            learning,
            oracle,
            delta,
            seed,
            resolved: serde_json::to_value(resolved).expect("tables can be written"),
        })
    }
}

impl TaskFolder {
    /// `learner.toml`; else the settings that the journal began with; else a default for the fitted model or the columns.
    pub(super) fn learner_document(&self) -> Result<Document, InputError> {
        let place = self.place(LEARNER_FILE);
        if place.exists() {
            return Document::read(&place);
        }
        let begun = self.journal_settings();
        let text = begun.and_then(|settings| toml::to_string(&settings).ok());
        let text = text.unwrap_or_else(|| self.default_learner());
        Document::parse(&place, &text)
    }

    /// The settings in the journal's first line.
    pub(super) fn journal_settings(&self) -> Option<Value> {
        use std::io::BufRead;
        let file = std::fs::File::open(self.place(JOURNAL_FILE)).ok()?;
        let mut line = Vec::new();
        let mut file = std::io::BufReader::new(file);
        file.read_until(b'\n', &mut line).ok()?;
        let open: OpenRecord = serde_json::from_slice(&line).ok()?;
        Some(open.learner)
    }

    fn default_learner(&self) -> String {
        let model = read_json::<ModelFile>(&self.place(MODEL_FILE)).ok();
        let armed = match &model {
            Some(model) => model.model.kind == ModelKind::Rates,
            None => self.file.encoding.columns.is_empty(),
        };
        let norm_bound = model.map_or(10.0, |model| model.norm_bound);
        let oracle = match armed {
            true => r#"kind = "armed", bounds = "beta-binomial""#.to_string(),
            false => {
                format!(r#"kind = "logistic", bounds = "mixture", norm_bound = {norm_bound:?}"#)
            }
        };
        format!("kind = \"tight-opt-dp\"\noracle = {{ {oracle} }}\n")
    }
}
