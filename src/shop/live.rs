//! From a task folder to a live learner: its task, its log, its settings and its journal.

use std::sync::Arc;

use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;

use super::learner_file::LearnerFile;
use super::{LOG_FILE, TaskFolder};
use crate::config::initial_log_of;
use crate::dp::cpu::Cpu;
use crate::error::{InputError, Invalid, OutputError};
use crate::files::{sha256, sha256_of_file};
use crate::history::{PilotSummary, TaskFile};
use crate::learner::live::{
    Baseline, FORMAT, Live, LiveError, LiveSettings, LiveStart, MakeLearner, OpenRecord, Rails,
    Repaired, check_journal, repair,
};
use crate::learner::{Learner, LearnerError, LearnerSettings};
use crate::oracle::OracleConfig;
use crate::policy::WarmStart;
use crate::task::Task;

/// The journal of the live learner.
pub(super) const JOURNAL_FILE: &str = "journal.jsonl";

/// Its snapshot.
pub(super) const SNAPSHOT_FILE: &str = "journal.snapshot";

impl TaskFolder {
    /// The result of the folder's pilot so far.
    pub fn pilot(&self) -> Result<PilotSummary, InputError> {
        PilotSummary::read(&self.place(JOURNAL_FILE))
    }
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
    /// A file that cannot be written.
    #[error(transparent)]
    Output(#[from] OutputError),
}

impl TaskFolder {
    /// The live learner after all events of its journal, with notes for the user.
    pub fn live(&self, settings: LiveSettings) -> Result<(Live, Vec<String>), ServeError> {
        self.start(settings, |start| {
            Live::open(&self.place(JOURNAL_FILE), start())
        })
    }

    /// Checks the folder: its files, and its journal from the first line. Returns what was found in order. Changes
    /// nothing; the folder may be served.
    pub fn check_journal(&self) -> Result<Vec<String>, ServeError> {
        let journal = self.place(JOURNAL_FILE);
        self.start(LiveSettings::default(), |start| match journal.exists() {
            true => check_journal(&journal, start),
            false => Ok(vec!["journal: none yet".into()]),
        })
    }

    /// Repairs the folder's journal. The folder must not be served.
    pub fn repair_journal(&self) -> Result<Repaired, ServeError> {
        let journal = self.place(JOURNAL_FILE);
        self.start(LiveSettings::default(), |start| repair(&journal, start))
    }

    /// Does something with what a live learner starts from. Every setting is checked before the journal is touched.
    fn start<T>(
        &self,
        settings: LiveSettings,
        work: impl FnOnce(&dyn Fn() -> LiveStart) -> Result<T, LiveError>,
    ) -> Result<T, ServeError> {
        let document = self.learner_document()?;
        let file = LearnerFile::read(&document, self.journal_settings().as_ref())?;
        let refused = |invalid: Invalid| document.locate(&invalid);
        let oracle = file.oracle.check("oracle", &self.task).map_err(refused)?;
        let log_place = self.place(LOG_FILE);
        let (log, log_sum) = match log_place.exists() {
            false => (None, None),
            true => {
                let log = initial_log_of(&self.log()?);
                let log = log.check(LOG_FILE, &self.task).map_err(refused)?;
                let sum = sha256_of_file(&log_place);
                let sum = sum.map_err(|error| InputError::unreadable(&log_place, &error))?;
                (Some(log), Some(sum))
            }
        };
        let rows = log.as_ref().map_or(0, |log: &WarmStart| log.contexts.len());
        let learner = LearnerSettings {
            learning: file.learning,
            delta: file.delta,
            seed: file.seed,
            initial_rows: rows,
        };
        make(&self.task, &oracle, learner).map_err(|error| match error {
            LearnerError::Invalid(invalid) => refused(invalid),
            other => InputError::in_file(document.file(), other.to_string()),
        })?;
        let baseline = settings.pilot.map(|pilot| pilot.baseline);
        let fixed = match baseline {
            Some(Baseline::Fixed(value)) => Some(value),
            _ => settings.fixed,
        };
        if let Some(fixed) = fixed
            && self.task.application().action_at(fixed).is_none()
        {
            let list = self.task.application().action_values();
            let message = format!("found fixed:{fixed}; accepted: one of {list:?}");
            let option = if baseline.is_some() {
                "baseline"
            } else {
                "policy"
            };
            return Err(InputError::option(option, message).into());
        }
        let task_of_learner = Arc::clone(&self.task);
        let fresh: MakeLearner = Arc::new(move || make(&task_of_learner, &oracle, learner));
        let start = || LiveStart {
            learner: Arc::clone(&fresh),
            log: log.clone(),
            open: OpenRecord {
                format: FORMAT,
                task: self.task_sum(),
                log: log_sum.clone(),
                learner: file.resolved.clone(),
            },
            intake: Box::new(self.file.clone()),
            settings: LiveSettings {
                seed: file.seed,
                rails: self.file.rails,
                ..settings
            },
        };
        Ok(work(&start)?)
    }
}

impl TaskFolder {
    /// The checksum of the task, which a journal names. Guard rails may change at any time.
    fn task_sum(&self) -> String {
        Self::sum_of(&self.file)
    }

    /// Likewise of another task file.
    pub(super) fn sum_of(file: &TaskFile) -> String {
        let file = TaskFile {
            rails: Rails::default(),
            ..file.clone()
        };
        sha256(&serde_json::to_vec(&file).expect("a task file can be written"))
    }
}

fn make(
    task: &Arc<Task>,
    oracle: &OracleConfig,
    settings: LearnerSettings,
) -> Result<Learner, LearnerError> {
    let facts = oracle.facts();
    let rows = settings.initial_rows;
    let config = settings.learning.check("learner", facts, rows)?;
    let stream = ChaCha8Rng::seed_from_u64(settings.seed);
    let oracle = oracle.build(task, 1, stream, None, config.sides())?;
    let backend = Box::new(Cpu::default());
    Learner::new(Task::clone(task), oracle, settings, backend)
}
