//! Atomic writes: a file is written and synced under another name, then renamed.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::ResultsFolder;
use crate::error::OutputError;

/// A file that is written piece by piece as NAME.partial and renamed when it is complete.
#[derive(Debug)]
pub(super) struct PartialFile {
    file: fs::File,
    partial: PathBuf,
    path: PathBuf,
}

impl PartialFile {
    /// Starts an empty file.
    pub fn start(folder: &ResultsFolder, name: &str) -> Result<Self, OutputError> {
        let path = folder.path().join(name);
        let partial = partial_name(&path);
        let file = refuse_special(&partial).and_then(|()| fs::File::create(&partial));
        Ok(Self {
            file: file.map_err(|error| OutputError::unwritable(&partial, error))?,
            partial,
            path,
        })
    }

    /// Completes the file.
    pub fn finish(self) -> Result<(), OutputError> {
        let moved = self.file.sync_all();
        let moved = moved.and_then(|()| move_to(&self.partial, &self.path));
        moved.map_err(|error| OutputError::unwritable(&self.path, error))
    }

    /// Its path until it is complete.
    pub fn partial(&self) -> &Path {
        &self.partial
    }
}

impl Write for PartialFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Refuses pipes and devices: opening a pipe for writing would wait for a reader.
pub(super) fn refuse_special(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(found) if !found.is_file() && !found.is_dir() => Err(io::Error::other("not a file")),
        _ => Ok(()),
    }
}

/// The name of a file while it is being written.
pub(super) fn partial_name(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(".partial");
    path.with_file_name(name)
}

/// Renames a file and syncs its folder.
pub(super) fn move_to(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)?;
    sync_folder(to.parent().unwrap_or(Path::new("")))
}

/// Syncs a folder, on Unix only: other systems cannot open folders.
pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(not(unix)) {
        return Ok(());
    }
    let folder = match folder.as_os_str().is_empty() {
        true => Path::new("."),
        false => folder,
    };
    fs::File::open(folder)?.sync_all()
}

/// Writes a file atomically, under another name first. Links are followed; pipes and devices are written to directly.
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
    let write = || -> io::Result<()> {
        refuse_special(&partial)?;
        let mut file = fs::File::create(&partial)?;
        if let Some(before) = &before {
            file.set_permissions(before.permissions())?;
        }
        file.write_all(content)?;
        file.sync_all()?;
        move_to(&partial, &target)
    };
    write().map_err(|error| {
        let _ = fs::remove_file(&partial);
        unwritable(error)
    })
}
