//! A task folder: `task.toml` and `log.csv`, and the files derived from them.

use std::fs;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::fitted_study::study_text;
use super::live::JOURNAL_FILE;
use crate::config::toml_error;
use crate::error::{InputError, Invalid, OutputError};
use crate::files::{read_json, read_text};
use crate::history::fit::{self, FitSettings, Fitted, ModelFile};
use crate::history::{
    FeatureColumns, Import, ImportError, JournalLog, JournalSummary, LabeledLog, LogForm, Summary,
    TaskFile,
};
use crate::results::write_whole;
use crate::task::Task;

/// The task.
const TASK_FILE: &str = "task.toml";

/// The labeled log.
pub(super) const LOG_FILE: &str = "log.csv";

/// The fitted model.
pub(super) const MODEL_FILE: &str = "model.json";

/// A study of a world fitted to the log.
const STUDY_FILE: &str = "study.toml";

const TASK_HEAD: &str = "# The task, and how raw columns become features. log.csv was made with this encoding: change one and the other\n# no longer fits.\n\n";

/// A folder that holds a task.
#[derive(Debug)]
pub struct TaskFolder {
    path: PathBuf,
    /// The task file.
    pub file: TaskFile,
    /// The task of all actions in it.
    pub task: Arc<Task>,
}

impl TaskFolder {
    /// Whether a path is a folder with a task.
    pub fn is_one(path: &Path) -> bool {
        path.join(TASK_FILE).is_file()
    }

    /// Opens a folder that an import has made.
    pub fn open(path: &Path) -> Result<Self, InputError> {
        let place = path.join(TASK_FILE);
        let file = parse(&place, &read_text(&place)?)?;
        let task = file.check();
        let task = task.map_err(|invalid| InputError::in_file(&place, invalid.to_string()))?;
        Ok(Self {
            path: path.to_path_buf(),
            file,
            task: Arc::new(task),
        })
    }

    /// Makes the folder from a raw file that has been surveyed. An existing task is kept unless `overwrite` is set.
    pub fn create(path: &Path, import: Import, overwrite: bool) -> Result<Summary, ImportError> {
        prepare(path, overwrite)?;
        let unwritable =
            |path: &Path, error| ImportError::Output(OutputError::unwritable(path, error));
        let log = path.join(LOG_FILE);
        let partial = path.join(format!("{LOG_FILE}.partial"));
        let file = fs::File::create(&partial).map_err(|error| unwritable(&partial, error))?;
        let written = import.write(&mut BufWriter::new(&file), &partial);
        let summary = written.and_then(|summary| {
            file.sync_all()
                .map_err(|error| unwritable(&partial, error))?;
            fs::rename(&partial, &log).map_err(|error| unwritable(&log, error))?;
            Ok(summary)
        });
        let summary = summary.inspect_err(|_| {
            let _ = fs::remove_file(&partial);
        })?;
        let text = text_of(import.task());
        write_whole(&path.join(TASK_FILE), text.as_bytes())?;
        Ok(summary)
    }

    /// Makes a folder from the journal of a live learner: the task of the journal's folder, and the journal as a log.
    pub fn of_journal(
        path: &Path,
        journal: &Path,
        overwrite: bool,
    ) -> Result<JournalSummary, ImportError> {
        let parent = journal.parent().filter(|path| !path.as_os_str().is_empty());
        let task = Self::open(parent.unwrap_or(Path::new(".")))?.file;
        let log = JournalLog::read(journal, &task, u64::MAX)?;
        if log.is_empty() {
            let message = "found no decision; accepted: at least one";
            return Err(InputError::in_file(journal, message).into());
        }
        prepare(path, overwrite)?;
        let (text, summary) = log.text(&task);
        write_whole(&path.join(LOG_FILE), text.as_bytes())?;
        write_whole(&path.join(TASK_FILE), text_of(&task).as_bytes())?;
        Ok(summary)
    }

    /// The labeled log.
    pub fn log(&self) -> Result<LabeledLog, InputError> {
        LabeledLog::read(&self.place(LOG_FILE), &self.form())
    }

    fn form(&self) -> LogForm<'_> {
        LogForm {
            horizon: self.task.horizon(),
            features: FeatureColumns::Named(self.file.encoding.names()),
            actions: Some(self.task.application().action_values()),
        }
    }

    /// The labeled log and, after it, the first lines of the journal of live offers; with the number of lines that were read.
    pub fn data(&self, lines: u64) -> Result<(LabeledLog, u64), InputError> {
        let journal = self.place(JOURNAL_FILE);
        let log = self.log()?;
        if lines == 0 || !journal.exists() {
            return Ok((log, 0));
        }
        let live = JournalLog::read(&journal, &self.file, lines)?;
        if live.is_empty() {
            return Ok((log, live.lines()));
        }
        let (text, _) = live.text(&self.file);
        let form = self.form();
        let rows = LabeledLog::parse(&journal, text.as_bytes(), &form)?;
        Ok((log.followed_by(rows), live.lines()))
    }

    /// Fits the log and the journal.
    pub fn fit(&self, settings: FitSettings) -> Result<Fitted, InputError> {
        let (data, lines) = self.data(u64::MAX)?;
        let fitted = fit::fit(&self.file, Arc::clone(&self.task), data, settings);
        let mut fitted = fitted.map_err(|invalid| match invalid.field.as_str() {
            "day" => InputError::in_file(&self.place(TASK_FILE), invalid.to_string()),
            _ => self.wrong_log(&invalid),
        })?;
        fitted.file.journal_lines = lines;
        Ok(fitted)
    }

    /// Writes a fit: the model, and a study of the fitted world.
    pub fn write_fit(&self, fitted: &Fitted) -> Result<(), OutputError> {
        let json = serde_json::to_string_pretty(&fitted.file).expect("a model can be written");
        write_whole(&self.place(MODEL_FILE), format!("{json}\n").as_bytes())?;
        let study = study_text(&self.file, fitted);
        write_whole(&self.place(STUDY_FILE), study.as_bytes())
    }

    /// The fit of the folder's model.
    pub fn fitted(&self) -> Result<Fitted, InputError> {
        let place = self.place(MODEL_FILE);
        if !place.exists() {
            let message =
                "found nothing; accepted: a folder whose log has been fitted (cbwk-gpu fit)";
            return Err(InputError::in_file(&place, message));
        }
        let file: ModelFile = read_json(&place)?;
        let (data, _) = self.data(file.journal_lines)?;
        let fitted = Fitted::again(&self.file, Arc::clone(&self.task), data, file);
        fitted.map_err(|invalid| self.wrong_log(&invalid))
    }

    fn wrong_log(&self, invalid: &Invalid) -> InputError {
        InputError::in_file(&self.place(LOG_FILE), invalid.to_string())
    }

    /// Writes another task file.
    pub(super) fn write_task(&self, file: &TaskFile) -> Result<(), OutputError> {
        write_whole(&self.place(TASK_FILE), text_of(file).as_bytes())
    }

    /// The folder's own name, for titles of pages.
    pub fn name(&self) -> String {
        let full = std::path::absolute(&self.path).unwrap_or_else(|_| self.path.clone());
        let name = full
            .file_name()
            .map(|name| name.to_string_lossy().into_owned());
        name.unwrap_or_else(|| "task".into())
    }

    /// The path of a file of the folder.
    pub fn place(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
}

/// Creates the folder; refuses one that holds a task unless `overwrite` is set.
fn prepare(path: &Path, overwrite: bool) -> Result<(), ImportError> {
    let journal = path.join(JOURNAL_FILE);
    if journal.exists() && overwrite {
        let message = "found a journal of live offers, which a new task would make unreadable; accepted: another folder, or \
                       cbwk-gpu reprice for other prices or units";
        return Err(InputError::in_file(&journal, message).into());
    }
    let names = [TASK_FILE, LOG_FILE];
    let found = names.iter().find(|name| path.join(name).exists());
    if let (Some(found), false) = (found, overwrite) {
        return Err(OutputError::Occupied {
            folder: path.to_path_buf(),
            found: (*found).to_string(),
        }
        .into());
    }
    fs::create_dir_all(path).map_err(|error| OutputError::unwritable(path, error))?;
    Ok(())
}

/// The text of a task file.
fn text_of(file: &TaskFile) -> String {
    let body = toml::to_string(file).expect("a task file is made of tables, lists and numbers");
    format!("{TASK_HEAD}{body}")
}

fn parse(place: &Path, text: &str) -> Result<TaskFile, InputError> {
    toml::from_str(text).map_err(|error| toml_error(place, text, &error))
}
