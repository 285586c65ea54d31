//! A task folder: `task.toml` and `log.csv`, and what is made of them.

use std::fs;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::fitted_study::study_text;
use crate::error::{InputError, Invalid, OutputError};
use crate::history::fit::{self, FitSettings, Fitted, ModelFile};
use crate::history::{
    FeatureColumns, Import, ImportError, JournalLog, JournalSummary, LabeledLog, LogForm, Summary,
    TaskFile,
};
use crate::results::write_whole;
use crate::task::Task;

/// The file that says what the task is.
pub const TASK_FILE: &str = "task.toml";

/// The labeled log.
pub const LOG_FILE: &str = "log.csv";

/// The fitted model.
pub const MODEL_FILE: &str = "model.json";

/// The world that the log looks like.
pub const STUDY_FILE: &str = "study.toml";

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
    /// Opens a folder that an import has made.
    pub fn open(path: &Path) -> Result<Self, InputError> {
        let place = path.join(TASK_FILE);
        let text = crate::files::read_text(&place)
            .map_err(|error| InputError::unreadable(&place, &error))?;
        let file = parse(&place, &text)?;
        let task = file.check().map_err(|invalid| InputError::File {
            file: place,
            message: invalid.to_string(),
        })?;
        Ok(Self {
            path: path.to_path_buf(),
            file,
            task: Arc::new(task),
        })
    }

    /// Makes the folder from a raw file that has been read once. Nothing is overwritten unless `overwrite` says so.
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

    /// Makes a folder of the journal of a live learner: the task of the journal's folder, and the journal as a log.
    pub fn of_journal(
        path: &Path,
        journal: &Path,
        overwrite: bool,
    ) -> Result<JournalSummary, ImportError> {
        let home = journal.parent().filter(|home| !home.as_os_str().is_empty());
        let task = Self::open(home.unwrap_or(Path::new(".")))?.file;
        let log = JournalLog::read(journal, &task)?;
        prepare(path, overwrite)?;
        let (text, summary) = log.text(&task);
        write_whole(&path.join(LOG_FILE), text.as_bytes())?;
        write_whole(&path.join(TASK_FILE), text_of(&task).as_bytes())?;
        Ok(summary)
    }

    /// The labeled log.
    pub fn log(&self) -> Result<LabeledLog, InputError> {
        let form = LogForm {
            horizon: self.task.horizon(),
            features: FeatureColumns::Named(self.file.encoding.names()),
            actions: Some(self.task.application().action_values()),
        };
        LabeledLog::read(&self.place(LOG_FILE), &form)
    }

    /// Fits the log.
    pub fn fit(&self, settings: FitSettings) -> Result<Fitted, InputError> {
        let fitted = fit::fit(&self.file, Arc::clone(&self.task), self.log()?, settings);
        fitted.map_err(|invalid| self.wrong(LOG_FILE, &invalid))
    }

    /// Writes what a fit has found: the model, and a study of the world that the log looks like.
    pub fn write_fit(&self, fitted: &Fitted) -> Result<(), OutputError> {
        let json = serde_json::to_string_pretty(&fitted.file).expect("a model can be written");
        write_whole(&self.place(MODEL_FILE), format!("{json}\n").as_bytes())?;
        let study = study_text(&self.file, fitted);
        write_whole(&self.place(STUDY_FILE), study.as_bytes())
    }

    /// The fit that the folder's model tells of.
    pub fn fitted(&self) -> Result<Fitted, InputError> {
        let place = self.place(MODEL_FILE);
        let text = crate::files::read_text(&place).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => InputError::File {
                file: place.clone(),
                message:
                    "found nothing; accepted: a folder whose log has been fitted (cbwk-gpu fit)"
                        .into(),
            },
            _ => InputError::unreadable(&place, &error),
        })?;
        let file: ModelFile = crate::files::json(&place, &text)?;
        let fitted = Fitted::again(&self.file, Arc::clone(&self.task), self.log()?, file);
        fitted.map_err(|invalid| self.wrong(LOG_FILE, &invalid))
    }

    fn wrong(&self, name: &str, invalid: &Invalid) -> InputError {
        InputError::File {
            file: self.place(name),
            message: invalid.to_string(),
        }
    }

    /// What pages call it: the folder's own name.
    pub fn name(&self) -> String {
        let full = std::path::absolute(&self.path).unwrap_or_else(|_| self.path.clone());
        let name = full
            .file_name()
            .map(|name| name.to_string_lossy().into_owned());
        name.unwrap_or_else(|| "task".into())
    }

    /// Where a file of the folder is.
    pub fn place(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
}

/// A folder for a task; one that has a task is taken only where `overwrite` says so.
fn prepare(path: &Path, overwrite: bool) -> Result<(), OutputError> {
    let names = [TASK_FILE, LOG_FILE];
    let found = names.iter().find(|name| path.join(name).exists());
    if let (Some(found), false) = (found, overwrite) {
        return Err(OutputError::Occupied {
            folder: path.to_path_buf(),
            found: (*found).to_string(),
        });
    }
    fs::create_dir_all(path).map_err(|error| OutputError::unwritable(path, error))
}

/// The text of a task file.
pub fn text_of(file: &TaskFile) -> String {
    let body = toml::to_string(file).expect("a task file is made of tables, lists and numbers");
    format!("{TASK_HEAD}{body}")
}

fn parse(place: &Path, text: &str) -> Result<TaskFile, InputError> {
    toml::from_str(text).map_err(|error: toml::de::Error| {
        let start = error.span().map_or(0, |span| span.start.min(text.len()));
        InputError::At {
            file: place.to_path_buf(),
            line: text[..start].matches('\n').count() + 1,
            message: error.message().lines().collect::<Vec<_>>().join(", "),
        }
    })
}
