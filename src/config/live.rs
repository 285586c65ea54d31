//! From a task folder to a live learner: its task, its log, and `learner.toml` or what suits the log.

use std::path::Path;
use std::sync::Arc;

use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use serde_json::Value;

use super::read::learner;
use super::section::Section;
use super::{Document, LOG_FILE, MODEL_FILE, TaskFolder};
use crate::dp::cpu::Cpu;
use crate::error::{InputError, Invalid};
use crate::files::{sha256, sha256_of_file};
use crate::history::LabeledLog;
use crate::history::fit::{ModelFile, ModelKind};
use crate::learner::live::{FORMAT, Live, LiveError, LiveSettings, LiveStart, OpenRecord};
use crate::learner::{Learner, LearnerError, LearnerSettings};
use crate::oracle::{OracleConfig, OracleSpec};
use crate::policy::{InitialArrival, InitialLog, LearnerSpec, WarmStart};
use crate::task::Task;

/// The settings of the live learner, as in a policy of a study, with `delta` and `seed`.
pub const LEARNER_FILE: &str = "learner.toml";

/// The journal of the live learner.
pub const JOURNAL_FILE: &str = "journal.jsonl";

/// How a live learner learns, read and checked.
#[derive(Debug)]
pub(super) struct LiveLearner {
    /// Algorithm 1's own settings.
    pub learning: LearnerSpec,
    /// The oracle.
    pub oracle: OracleSpec,
    /// Confidence.
    pub delta: f64,
    /// Seed of all draws.
    pub seed: u64,
}

/// Why a folder cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// A file of the folder.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The journal or the learner.
    #[error(transparent)]
    Live(#[from] LiveError),
}

impl TaskFolder {
    /// The live learner of the folder, as its journal tells, with notes for the user.
    pub fn live(&self, settings: LiveSettings) -> Result<(Live, Vec<String>), ServeError> {
        let document = self.learner_document()?;
        let (live, resolved) = read_learner(&document)?;
        let refused = |invalid: Invalid| document.locate(&invalid);
        let oracle = live.oracle.check("oracle", &self.task).map_err(refused)?;
        let log_place = self.place(LOG_FILE);
        let (log, log_sum) = match log_place.exists() {
            false => (None, None),
            true => {
                let log = initial_log_of(&self.log()?);
                let log = log.check(LOG_FILE, &self.task).map_err(refused)?;
                let sum = sha256_of_file(&log_place);
                (
                    Some(log),
                    Some(sum.map_err(|e| InputError::unreadable(&log_place, &e))?),
                )
            }
        };
        let rows = log.as_ref().map_or(0, |log: &WarmStart| log.contexts.len());
        let learner = LearnerSettings {
            learning: live.learning,
            delta: live.delta,
            seed: live.seed,
            initial_rows: rows,
        };
        // Every setting is checked before the journal is touched.
        make(&self.task, &oracle, learner).map_err(|error| match error {
            LearnerError::Invalid(invalid) => refused(invalid),
            other => InputError::File {
                file: document.file().to_path_buf(),
                message: other.to_string(),
            },
        })?;
        let task = serde_json::to_vec(&self.file).expect("a task file can be written");
        let start = LiveStart {
            learner: &|| make(&self.task, &oracle, learner),
            log,
            open: OpenRecord {
                format: FORMAT,
                task: sha256(&task),
                log: log_sum,
                learner: resolved,
            },
            intake: Box::new(self.file.clone()),
            settings: LiveSettings {
                seed: live.seed,
                ..settings
            },
        };
        Ok(Live::open(&self.place(JOURNAL_FILE), start)?)
    }

    /// `learner.toml`; without one, what the journal began with; without that, what suits the fitted model or the columns.
    fn learner_document(&self) -> Result<Document, InputError> {
        let place = self.place(LEARNER_FILE);
        if place.exists() {
            return Document::read(&place);
        }
        let text = match journal_settings(&self.place(JOURNAL_FILE)) {
            Some(text) => text,
            None => self.default_learner(),
        };
        Document::parse(&place, &text)
    }

    fn default_learner(&self) -> String {
        let model = std::fs::read_to_string(self.place(MODEL_FILE)).ok();
        let model = model.and_then(|text| serde_json::from_str::<ModelFile>(&text).ok());
        let oracle = match model {
            Some(model) if model.model.kind == ModelKind::Rates => ARMED.to_string(),
            Some(model) => logistic(model.norm_bound),
            None if self.file.encoding.columns.is_empty() => ARMED.to_string(),
            None => logistic(10.0),
        };
        format!("kind = \"tight-opt-dp\"\noracle = {oracle}\n")
    }
}

const ARMED: &str = "{ kind = \"armed\", bounds = \"beta-binomial\" }";

fn logistic(norm_bound: f64) -> String {
    format!("{{ kind = \"logistic\", bounds = \"mixture\", norm_bound = {norm_bound:?} }}")
}

/// The settings in a journal's first line, as TOML.
fn journal_settings(journal: &Path) -> Option<String> {
    use std::io::BufRead;
    let file = std::fs::File::open(journal).ok()?;
    let mut line = Vec::new();
    std::io::BufReader::new(file)
        .read_until(b'\n', &mut line)
        .ok()?;
    let open: OpenRecord = serde_json::from_slice(&line).ok()?;
    toml::to_string(&open.learner).ok()
}

fn read_learner(document: &Document) -> Result<(LiveLearner, Value), InputError> {
    let mut root = Section::root(document);
    let live = learner(&mut root)?;
    let resolved = root.finish()?;
    let resolved = serde_json::to_value(&resolved).expect("tables can be written");
    Ok((live, resolved))
}

fn make(
    task: &Arc<Task>,
    oracle: &OracleConfig,
    settings: LearnerSettings,
) -> Result<Learner, LearnerError> {
    let facts = oracle.facts();
    let rows = settings.initial_rows;
    let config = settings.learning.check("learner", task, facts, rows)?;
    let stream = ChaCha8Rng::seed_from_u64(settings.seed);
    let oracle = oracle.build(task, 1, stream, None, config.sides())?;
    Learner::new(
        Task::clone(task),
        oracle,
        settings,
        Box::new(Cpu::default()),
    )
}

/// A log as a learner starts from it.
pub(super) fn initial_log_of(log: &LabeledLog) -> InitialLog {
    let arrival = |i: usize| InitialArrival {
        step: log.arrivals()[i].step as usize,
        features: log.theta(i).to_vec(),
        action: log.arrivals()[i].action as usize,
        accepted: log.arrivals()[i].accepted,
    };
    let episodes = log.episodes().iter();
    InitialLog {
        episodes: episodes
            .map(|e| e.arrivals.clone().map(arrival).collect())
            .collect(),
    }
}
