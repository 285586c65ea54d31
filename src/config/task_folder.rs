//! A task folder: `task.toml` and `log.csv`, and what is made of them.

use std::fs;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use crate::error::{InputError, OutputError};
use crate::history::{Import, ImportError, Summary, TaskFile};
use crate::results::write_whole;
use crate::task::Task;

/// The file that says what the task is.
pub const TASK_FILE: &str = "task.toml";

/// The labeled log.
pub const LOG_FILE: &str = "log.csv";

const TASK_HEAD: &str = "# The task, and how raw columns become features. log.csv was made with this encoding: change one and the other\n# no longer fits.\n\n";

/// A folder that holds a task.
#[derive(Debug)]
pub struct TaskFolder {
    path: PathBuf,
    /// The task file.
    pub file: TaskFile,
    /// The task of all actions in it.
    pub task: Task,
}

impl TaskFolder {
    /// Opens a folder that an import has made.
    pub fn open(path: &Path) -> Result<Self, InputError> {
        let place = path.join(TASK_FILE);
        let text =
            fs::read_to_string(&place).map_err(|error| InputError::unreadable(&place, &error))?;
        let file = parse(&place, &text)?;
        let task = file.check().map_err(|invalid| InputError::File {
            file: place,
            message: invalid.to_string(),
        })?;
        Ok(Self {
            path: path.to_path_buf(),
            file,
            task,
        })
    }

    /// Makes the folder from a raw file that has been read once. Nothing is overwritten unless `overwrite` says so.
    pub fn create(path: &Path, import: Import, overwrite: bool) -> Result<Summary, ImportError> {
        let names = [TASK_FILE, LOG_FILE];
        let found = names.iter().find(|name| path.join(name).exists());
        if let (Some(found), false) = (found, overwrite) {
            return Err(ImportError::Output(OutputError::Occupied {
                folder: path.to_path_buf(),
                found: (*found).to_string(),
            }));
        }
        let unwritable =
            |path: &Path, error| ImportError::Output(OutputError::unwritable(path, error));
        fs::create_dir_all(path).map_err(|error| unwritable(path, error))?;
        let log = path.join(LOG_FILE);
        let partial = path.join(format!("{LOG_FILE}.partial"));
        let file = fs::File::create(&partial).map_err(|error| unwritable(&partial, error))?;
        let written = import.write(&mut BufWriter::new(&file), &partial);
        let imported = written.and_then(|imported| {
            file.sync_all()
                .map_err(|error| unwritable(&partial, error))?;
            fs::rename(&partial, &log).map_err(|error| unwritable(&log, error))?;
            Ok(imported)
        });
        let imported = imported.inspect_err(|_| {
            let _ = fs::remove_file(&partial);
        })?;
        let text = text_of(&imported.task);
        write_whole(&path.join(TASK_FILE), text.as_bytes())?;
        Ok(imported.summary)
    }

    /// Where a file of the folder is.
    pub fn place(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
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
