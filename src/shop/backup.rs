//! A copy of a shop's folder at one moment, also while it is served. Restoring is copying it back.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::live::{JOURNAL_FILE, ServeError};
use super::{SNAPSHOT_FILE, TaskFolder};
use crate::error::{InputError, OutputError};
use crate::files::sha256_of_file;
use crate::learner::live::whole_journal_bytes;
use crate::results::write_whole;

/// What a backup is of.
const INDEX: &str = "backup.json";

/// The version of its format.
const FORMAT: u32 = 1;

/// How often a copy is tried while files change under it.
const TRIES: usize = 3;

/// Why there is no backup.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The folder cannot be copied from.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The copy cannot be written.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// The copy cannot be served.
    #[error("the copy cannot be served: {0}")]
    Replay(ServeError),
}

/// The content of `backup.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Backup {
    /// Version of the format.
    pub format: u32,
    /// Version of the program that made it.
    pub program: String,
    /// The mark: bytes of the journal that are in the backup. What was acknowledged before the backup began is among them.
    pub journal_bytes: u64,
    /// SHA-256 of each file.
    pub files: BTreeMap<String, String>,
}

impl TaskFolder {
    /// Copies the folder to a new one, and checks the copy by replaying its journal. Returns also what was checked.
    pub fn back_up(&self, to: &Path) -> Result<(Backup, Vec<String>), BackupError> {
        if to.exists() {
            let found = "something of this name".to_string();
            let folder = to.to_path_buf();
            return Err(OutputError::Occupied { folder, found }.into());
        }
        let mut name = to.file_name().unwrap_or_default().to_os_string();
        name.push(".partial");
        let partial = to.with_file_name(name);
        let mut tries = 0;
        let (backup, checks) = loop {
            tries += 1;
            let _ = fs::remove_dir_all(&partial);
            match self.copy_to(&partial) {
                Ok(copied) => break copied,
                // Somebody replaced a file between two copies.
                Err(BackupError::Replay(_)) if tries < TRIES => {}
                Err(error) => {
                    let _ = fs::remove_dir_all(&partial);
                    return Err(error);
                }
            }
        };
        fs::rename(&partial, to).map_err(|error| OutputError::unwritable(to, error))?;
        Ok((backup, checks))
    }

    fn copy_to(&self, to: &Path) -> Result<(Backup, Vec<String>), BackupError> {
        let unwritable = |error| OutputError::unwritable(to, error);
        fs::create_dir_all(to).map_err(unwritable)?;
        // The snapshot before the journal: so the journal has all lines that the snapshot was made from.
        for file in self.files_to_copy()? {
            copy(
                &file,
                &to.join(file.file_name().unwrap_or_default()),
                u64::MAX,
            )?;
        }
        let journal = self.place(JOURNAL_FILE);
        let mut journal_bytes = 0;
        if journal.exists() {
            let unreadable = |error: io::Error| InputError::unreadable(&journal, &error);
            journal_bytes = whole_journal_bytes(&journal).map_err(unreadable)?;
            copy(&journal, &to.join(JOURNAL_FILE), journal_bytes)?;
        }
        let checks = Self::open(to).map_err(ServeError::from);
        let checks = checks.and_then(|copy| copy.check_journal());
        let checks = checks.map_err(BackupError::Replay)?;
        let mut files = BTreeMap::new();
        let entries = fs::read_dir(to).map_err(unwritable)?;
        for entry in entries {
            let path = entry.map_err(unwritable)?.path();
            let sum = sha256_of_file(&path).map_err(unwritable)?;
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            files.insert(name.into_owned(), sum);
        }
        let backup = Backup {
            format: FORMAT,
            program: env!("CARGO_PKG_VERSION").into(),
            journal_bytes,
            files,
        };
        let text = serde_json::to_string_pretty(&backup).expect("an index can be written");
        write_whole(&to.join(INDEX), format!("{text}\n").as_bytes())?;
        Ok((backup, checks))
    }

    /// The files of the folder except the journal, the snapshot first.
    fn files_to_copy(&self) -> Result<Vec<PathBuf>, InputError> {
        let folder = self.place("");
        let unreadable = |error| InputError::unreadable(&folder, &error);
        let mut files = Vec::new();
        for entry in fs::read_dir(&folder).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_other =
                [JOURNAL_FILE, INDEX].contains(&name.as_str()) || name.ends_with(".partial");
            if entry.file_type().map_err(unreadable)?.is_file() && !is_other {
                files.push(entry.path());
            }
        }
        files.sort_by_key(|file| !file.ends_with(SNAPSHOT_FILE));
        Ok(files)
    }
}

/// Copies the first bytes of a file, and syncs the copy.
fn copy(from: &Path, to: &Path, bytes: u64) -> Result<(), BackupError> {
    let source = match File::open(from) {
        Ok(source) => source,
        // A snapshot may be replaced, and other files removed, at any time.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(InputError::unreadable(from, &error).into()),
    };
    let write = || -> io::Result<()> {
        let mut copy = File::create(to)?;
        io::copy(&mut source.take(bytes), &mut copy)?;
        copy.sync_all()
    };
    Ok(write().map_err(|error| OutputError::unwritable(to, error))?)
}
