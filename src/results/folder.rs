//! A results folder: never overwrites results unasked, never leaves a file half written.

use std::fs;
use std::path::{Path, PathBuf};

use super::file::write_whole;
use super::rows::{GrowingRows, Row};
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

    /// Writes a CSV file of the folder, line by line.
    pub fn write_rows<T: Row>(
        &self,
        name: &str,
        rows: impl IntoIterator<Item = T>,
    ) -> Result<(), OutputError> {
        let mut file = GrowingRows::start(self, name)?;
        for row in rows {
            file.append(&row)?;
        }
        file.finish()
    }
}
