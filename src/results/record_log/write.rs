//! Appending to `records.jsonl`: a wave at a time, on disk before the next begins.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::{Entry, Origin, RECORDS, RecordLog, line};
use crate::error::OutputError;
use crate::experiment::{Record, Work};
use crate::results::ResultsFolder;
use crate::results::file::sync_folder;

/// Appends records to the file.
#[derive(Debug)]
pub struct RecordWriter {
    path: PathBuf,
    file: File,
    /// Bytes that are on disk.
    synced: u64,
    /// Lines of the current wave.
    waiting: Vec<u8>,
    waiting_records: usize,
    records: usize,
}

impl RecordWriter {
    /// Starts the file of a folder.
    pub fn start(folder: &ResultsFolder, origin: &Origin) -> Result<Self, OutputError> {
        let path = folder.path().join(RECORDS);
        let file = File::create(&path).map_err(|error| OutputError::unwritable(&path, error))?;
        let mut writer = Self {
            path,
            file,
            synced: 0,
            waiting: Vec::new(),
            waiting_records: 0,
            records: 0,
        };
        writer.append(&Entry::Origin(origin));
        writer.sync()?;
        let synced = sync_folder(folder.path());
        synced.map_err(|error| OutputError::unwritable(folder.path(), error))?;
        Ok(writer)
    }

    /// Continues after the valid part of a file; the rest is cut off.
    pub fn resume(log: &RecordLog) -> Result<Self, OutputError> {
        let open = || -> io::Result<File> {
            let mut file = OpenOptions::new().write(true).open(&log.path)?;
            file.set_len(log.length)?;
            file.seek(SeekFrom::End(0))?;
            file.sync_all()?;
            Ok(file)
        };
        Ok(Self {
            file: open().map_err(|error| OutputError::unwritable(&log.path, error))?,
            path: log.path.clone(),
            synced: log.length,
            waiting: Vec::new(),
            waiting_records: 0,
            records: log.count(),
        })
    }

    /// Removes the file of a folder, if there is one.
    pub fn remove(folder: &ResultsFolder) -> Result<(), OutputError> {
        remove(&folder.path().join(RECORDS))
    }

    /// Adds a record to the current wave.
    pub fn record(&mut self, record: &Record) {
        self.append(&Entry::Record(record));
        self.waiting_records += 1;
    }

    /// Completes the wave and syncs it to disk. If that fails, none of it is kept.
    pub fn wave(&mut self, work: &Work) -> Result<(), OutputError> {
        self.append(&Entry::Work(work));
        self.sync()?;
        self.records += std::mem::take(&mut self.waiting_records);
        Ok(())
    }

    /// Records on disk.
    pub fn records(&self) -> usize {
        self.records
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn append(&mut self, entry: &Entry<&Origin, &Record, &Work>) {
        let text = line::line(&(self.synced, entry));
        self.waiting.extend_from_slice(text.as_bytes());
    }

    fn sync(&mut self) -> Result<(), OutputError> {
        let written = self.file.write_all(&self.waiting);
        let written = written.and_then(|()| self.file.sync_data());
        if let Err(error) = written {
            // A full disk may have written a part.
            let _ = self.file.set_len(self.synced);
            return Err(OutputError::unwritable(&self.path, error));
        }
        self.synced += self.waiting.len() as u64;
        self.waiting.clear();
        Ok(())
    }
}

/// Removes a file, if it exists.
pub(super) fn remove(path: &Path) -> Result<(), OutputError> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(OutputError::unwritable(path, error))
        }
        _ => Ok(()),
    }
}
