//! What ties an open journal to its path. Other programs (logrotate, `cp`, `rm`) may take the file away under the learner:
//! lines would then be written to a file that nobody finds.

use std::fs::{self, File, Metadata, TryLockError};
use std::io;
use std::path::Path;

use super::JournalError;

/// Locks the folder of a journal. This lock stays when the file is removed or replaced, and is taken before the file is
/// created. `None` where the system cannot lock folders; then the lock of the file is the only one.
pub fn lock_folder(path: &Path) -> Result<Option<File>, JournalError> {
    let folder = match cfg!(unix) {
        true => File::open(folder_of(path)).ok(),
        false => None,
    };
    match folder.as_ref().map(File::try_lock) {
        Some(Ok(())) => Ok(folder),
        Some(Err(TryLockError::WouldBlock)) => Err(JournalError::Busy(path.to_path_buf())),
        Some(Err(TryLockError::Error(_))) | None => Ok(None),
    }
}

/// Locks the file itself: earlier versions know no other lock.
pub fn lock_file(path: &Path, file: &File) -> Result<(), JournalError> {
    file.try_lock().map_err(|error| match error {
        TryLockError::WouldBlock => JournalError::Busy(path.to_path_buf()),
        TryLockError::Error(reason) => JournalError::Io {
            path: path.to_path_buf(),
            reason,
        },
    })
}

/// The folder of a file.
pub fn folder_of(path: &Path) -> &Path {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// Checks that the path still names the open file, and that nobody else has cut or extended it.
pub fn check(path: &Path, file: &File, length: u64) -> io::Result<()> {
    let named = match fs::metadata(path) {
        Ok(named) => named,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let message = "the file was renamed or removed; put it back";
            return Err(io::Error::new(error.kind(), message));
        }
        Err(error) => return Err(error),
    };
    if !is_same(&named, &file.metadata()?) {
        let message = "another file has taken its place; put the first one back";
        return Err(io::Error::other(message));
    }
    match named.len() == length {
        true => Ok(()),
        false => Err(io::Error::other(format!(
            "another program changed it: it has {} bytes, of which {length} were written here; stop the service and put \
             the file back",
            named.len()
        ))),
    }
}

#[cfg(unix)]
fn is_same(a: &Metadata, b: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

/// The standard library has no identity of files for other systems.
#[cfg(not(unix))]
fn is_same(_: &Metadata, _: &Metadata) -> bool {
    true
}
