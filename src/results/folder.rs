//! A results folder: locked by one run at a time, and never overwritten without `force`.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::clear::clear;
use super::file::{refuse_special, write_whole};
use super::record_log::RECORDS;
use super::rows::{CsvWriter, Row, columns};
use super::sweep_json::SWEEP;
use crate::error::OutputError;
use crate::files::safe_name;

/// The files of a study's results; the first one found marks a folder as occupied.
pub const RESULT_FILES: [&str; 9] = [
    "episodes.csv",
    "summary.csv",
    "steps.csv",
    "actions.csv",
    "policies.csv",
    "regret.svg",
    "regret.png",
    "study.toml",
    "run.json",
];

/// Optional files of a study.
pub(super) const ASKED_FILES: [&str; 2] = ["episodes.parquet", "trace.csv"];

/// Other files that mark a folder as occupied.
const OTHER_FILES: [&str; 5] = [
    "episodes.csv.partial",
    "coverage.csv",
    "overview.csv",
    "verdict.md",
    SWEEP,
];

/// The lock file of a run. It is never removed: that would let two runs in at once.
pub(super) const LOCK: &str = ".lock";

/// A folder locked by this run.
#[derive(Debug, Clone)]
pub struct ResultsFolder {
    path: PathBuf,
    _lock: Option<Arc<fs::File>>,
}

impl ResultsFolder {
    /// Creates and locks the folder, and checks that it can be written to. Refuses results of an earlier run unless `force`
    /// is set.
    pub fn prepare(path: &Path, force: bool) -> Result<Self, OutputError> {
        let unwritable = |error| OutputError::unwritable(path, error);
        // Another run may hold the lock; a refusal creates no files.
        if path.join(LOCK).exists() {
            lock(path)?;
        }
        refuse_occupied(path, force)?;
        fs::create_dir_all(path).map_err(unwritable)?;
        let folder = Self {
            path: path.to_path_buf(),
            _lock: lock(path)?.map(Arc::new),
        };
        // Another run may have finished meanwhile.
        refuse_occupied(path, force)?;
        let probe = path.join(".writable");
        fs::write(&probe, [])
            .and_then(|()| fs::remove_file(&probe))
            .map_err(unwritable)?;
        Ok(folder)
    }

    /// The same for a run that resumes an earlier one, if there is one.
    pub fn prepare_to_resume(path: &Path) -> Result<Self, OutputError> {
        Self::prepare(path, true)
    }

    /// Locks a folder for reading; it may be one that this process cannot write to.
    pub fn prepare_to_read(path: &Path) -> Result<Self, OutputError> {
        let held = match lock(path) {
            Err(OutputError::Unwritable { .. }) => None,
            held => held?,
        };
        Ok(Self {
            path: path.to_path_buf(),
            _lock: held.map(Arc::new),
        })
    }

    /// The first free folder of `results/NAME`, `results/NAME-2`, ...
    pub fn prepare_default(name: &str) -> Result<Self, OutputError> {
        let results = Path::new("results");
        let unwritable = |error| OutputError::unwritable(results, error);
        fs::create_dir_all(results).map_err(unwritable)?;
        let name = safe_name(name);
        for number in 1.. {
            let path = match number {
                1 => results.join(&name),
                _ => results.join(format!("{name}-{number}")),
            };
            match fs::create_dir(&path) {
                Ok(()) => return Self::prepare(&path, false),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(OutputError::unwritable(&path, error)),
            }
        }
        unreachable!("there is always a next number")
    }

    /// Prepares a folder within this one.
    pub fn inner(&self, name: &str, force: bool) -> Result<Self, OutputError> {
        Self::prepare(&self.path.join(name), force)
    }

    /// Removes the files of earlier runs, and no others.
    pub fn clear(&self) -> Result<(), OutputError> {
        clear(&self.path)
    }

    /// The path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file of the folder; `name` may contain a subfolder.
    pub fn write(&self, name: &str, content: &[u8]) -> Result<(), OutputError> {
        let file = self.path.join(name);
        if let Some(folder) = file.parent() {
            let made = fs::create_dir_all(folder);
            made.map_err(|error| OutputError::unwritable(folder, error))?;
        }
        write_whole(&file, content)
    }

    /// Writes a CSV file of the folder, line by line.
    pub fn write_rows<T: Row>(
        &self,
        name: &str,
        rows: impl IntoIterator<Item = T>,
    ) -> Result<(), OutputError> {
        let mut file = CsvWriter::start(self, name, columns::<T>())?;
        for row in rows {
            file.append(&row)?;
        }
        file.finish()
    }
}

fn refuse_occupied(path: &Path, force: bool) -> Result<(), OutputError> {
    // An unfinished run has records.
    let mut names = [RECORDS]
        .iter()
        .chain(&RESULT_FILES)
        .chain(&ASKED_FILES)
        .chain(&OTHER_FILES);
    match names.find(|name| path.join(name).exists()) {
        Some(found) if !force => Err(OutputError::Occupied {
            folder: path.to_path_buf(),
            found: (*found).to_string(),
        }),
        _ => Ok(()),
    }
}

/// Locks a folder for as long as the file is open; `None` on file systems without locks.
pub(super) fn lock(folder: &Path) -> Result<Option<fs::File>, OutputError> {
    let path = folder.join(LOCK);
    refuse_special(&path).map_err(|error| OutputError::unwritable(&path, error))?;
    let mut options = fs::OpenOptions::new();
    let file = options.create(true).truncate(false).write(true).open(&path);
    let file = file.map_err(|error| OutputError::unwritable(folder, error))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(fs::TryLockError::WouldBlock) => Err(OutputError::Busy {
            folder: folder.to_path_buf(),
        }),
        Err(fs::TryLockError::Error(error)) => match error.kind() {
            std::io::ErrorKind::Unsupported => Ok(None),
            // ENOLCK of Linux: a network file system without a lock service.
            _ if cfg!(target_os = "linux") && error.raw_os_error() == Some(37) => Ok(None),
            _ => Err(OutputError::unwritable(&path, error)),
        },
    }
}
