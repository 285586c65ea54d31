//! A results folder: never overwrites results unasked, never leaves a file half written.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::error::OutputError;

/// The files of a study's results; the first one found marks a folder as occupied.
pub const RESULT_FILES: [&str; 7] = [
    "episodes.csv",
    "summary.csv",
    "steps.csv",
    "actions.csv",
    "regret.svg",
    "study.toml",
    "run.json",
];

/// A folder that can be written to.
#[derive(Debug, Clone)]
pub struct ResultsFolder {
    path: PathBuf,
}

impl ResultsFolder {
    /// Makes the folder where it is missing, and makes sure now that it can be written to later.
    pub fn prepare(path: &Path, force: bool) -> Result<Self, OutputError> {
        let others = [
            "episodes.csv.partial",
            "coverage.csv",
            "overview.csv",
            "verdict.md",
        ];
        let occupied = RESULT_FILES
            .iter()
            .chain(&others)
            .find(|name| path.join(name).exists());
        if let (Some(found), false) = (occupied, force) {
            return Err(OutputError::Occupied {
                folder: path.to_path_buf(),
                found: (*found).to_string(),
            });
        }
        fs::create_dir_all(path).map_err(|error| OutputError::unwritable(path, error))?;
        let folder = Self {
            path: path.to_path_buf(),
        };
        let probe = path.join(".writable");
        fs::write(&probe, [])
            .and_then(|()| fs::remove_file(&probe))
            .map_err(|error| OutputError::unwritable(path, error))?;
        Ok(folder)
    }

    /// The first free one of `results/NAME`, `results/NAME-2`, ...
    pub fn prepare_default(name: &str) -> Result<Self, OutputError> {
        let free = (1..)
            .map(|i| {
                if i == 1 {
                    name.to_string()
                } else {
                    format!("{name}-{i}")
                }
            })
            .map(|name| Path::new("results").join(name))
            .find(|path| !path.exists())
            .expect("there is always a next number");
        Self::prepare(&free, false)
    }

    /// A folder within this one, just as ready.
    pub fn inner(&self, name: &str, force: bool) -> Result<Self, OutputError> {
        Self::prepare(&self.path.join(name), force)
    }

    /// Where the folder is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file of the folder as a whole.
    pub fn write(&self, name: &str, content: &[u8]) -> Result<(), OutputError> {
        write_whole(&self.path.join(name), content)
    }
}

/// A file that is written piece by piece under the name NAME.partial, and gets its name when it is complete.
#[derive(Debug)]
pub struct GrowingFile {
    file: fs::File,
    partial: PathBuf,
    path: PathBuf,
}

impl GrowingFile {
    /// Starts the file with its first piece.
    pub fn start(folder: &ResultsFolder, name: &str, head: &str) -> Result<Self, OutputError> {
        let path = folder.path.join(name);
        let partial = partial_name(&path);
        let file =
            fs::File::create(&partial).map_err(|error| OutputError::unwritable(&partial, error))?;
        let mut growing = Self {
            file,
            partial,
            path,
        };
        growing.append(head)?;
        Ok(growing)
    }

    /// Adds a piece, which is on disk when this returns.
    pub fn append(&mut self, text: &str) -> Result<(), OutputError> {
        self.file
            .write_all(text.as_bytes())
            .and_then(|()| self.file.sync_data())
            .map_err(|error| OutputError::unwritable(&self.partial, error))
    }

    /// The file is complete.
    pub fn finish(self) -> Result<(), OutputError> {
        fs::rename(&self.partial, &self.path)
            .map_err(|error| OutputError::unwritable(&self.path, error))
    }

    /// Where the pieces are until the file is complete.
    pub fn partial(&self) -> &Path {
        &self.partial
    }
}

fn partial_name(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(".partial");
    path.with_file_name(name)
}

/// Writes a file under another name and then gives it its own, so that it is there whole or not at all. Links are
/// followed; what is not a regular file (a pipe, a device) is written to as it is.
pub fn write_whole(path: &Path, content: &[u8]) -> Result<(), OutputError> {
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let before = fs::metadata(&target).ok();
    let unwritable = |error| OutputError::unwritable(path, error);
    if before.as_ref().is_some_and(|before| !before.is_file()) {
        return fs::OpenOptions::new()
            .write(true)
            .open(&target)
            .and_then(|mut file| file.write_all(content))
            .map_err(unwritable);
    }
    let partial = partial_name(&target);
    let write = || -> std::io::Result<()> {
        let mut file = fs::File::create(&partial)?;
        if let Some(before) = &before {
            file.set_permissions(before.permissions())?;
        }
        file.write_all(content)?;
        file.sync_all()?;
        fs::rename(&partial, &target)
    };
    write().map_err(|error| {
        let _ = fs::remove_file(&partial);
        unwritable(error)
    })
}
