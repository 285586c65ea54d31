//! Puts the damaged end of a journal aside.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::{JournalError, held};

/// A journal that nobody else may use, to be repaired.
#[derive(Debug)]
pub struct Damaged {
    path: PathBuf,
    file: File,
    _folder: Option<File>,
}

impl Damaged {
    /// Locks a journal as [`super::Journal::open`] does, and changes nothing.
    pub fn lock(path: &Path) -> Result<Self, JournalError> {
        let folder = held::lock_folder(path)?;
        let file = OpenOptions::new().read(true).write(true).open(path);
        let file = file.map_err(|reason| JournalError::Io {
            path: path.to_path_buf(),
            reason,
        })?;
        held::lock_file(path, &file)?;
        Ok(Self {
            path: path.to_path_buf(),
            file,
            _folder: folder,
        })
    }

    /// Bytes of the file.
    pub fn length(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    /// Keeps the first `whole` bytes. The others go to a new file, whose name is returned; the snapshot goes with them, since
    /// it may know what was in them.
    pub fn split(&mut self, whole: u64, snapshot: &Path) -> io::Result<PathBuf> {
        let (aside, mut file) = self.new_file()?;
        self.file.seek(SeekFrom::Start(whole))?;
        io::copy(&mut self.file, &mut file)?;
        file.sync_all()?;
        if snapshot.exists() {
            fs::rename(snapshot, aside.with_extension("snapshot"))?;
        }
        self.file.set_len(whole)?;
        self.file.sync_all()?;
        super::sync_folder(&self.path)?;
        Ok(aside)
    }

    fn new_file(&self) -> io::Result<(PathBuf, File)> {
        let mut number = 1;
        loop {
            let aside = self.path.with_extension(format!("damaged-{number}.jsonl"));
            match File::create_new(&aside) {
                Ok(file) => return Ok((aside, file)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(error),
            }
        }
    }
}
