//! Snapshots: the state at a place of the journal. They are only a cache: a snapshot that is damaged or does not belong to
//! the journal is ignored, and the journal is read from its start.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Live;
use super::book::Book;
use crate::learner::LearnerState;
use crate::learner::journal::{Journal, checksum};

/// Names the version, since another version may have another format.
const MAGIC: &[u8] = concat!("cbwk snapshot ", env!("CARGO_PKG_VERSION"), "\n").as_bytes();

/// A snapshot is due after this many lines, if they are at least a SHARE-th of the journal.
const LINES: u64 = 20_000;
const SHARE: u64 = 8;

/// A state at a place of the journal.
#[derive(Debug, Deserialize)]
pub struct Snapshot {
    /// Where the next line begins.
    pub end: u64,
    /// Place and checksum of the last line before.
    last: (u64, u32),
    /// Names, places and episodes.
    pub book: Book,
    /// The learner's state.
    pub learner: LearnerState,
}

#[derive(Serialize)]
struct SnapshotRef<'a> {
    end: u64,
    last: (u64, u32),
    book: &'a Book,
    learner: LearnerState,
}

/// The file of a journal's snapshot.
pub fn path_of(journal: &Path) -> PathBuf {
    journal.with_extension("snapshot")
}

/// A snapshot file and its journal.
pub enum Found {
    /// None, or one of another version, or a damaged one: the journal tells all.
    Nothing,
    /// It is of this journal.
    Fits(Box<Snapshot>),
    /// It is whole, but the journal lacks lines that it was made from. The number of these lines.
    Ahead(u64),
}

/// The snapshot of a journal.
pub fn read(path: &Path, journal: &Journal) -> Found {
    let Some(snapshot) = load(path) else {
        return Found::Nothing;
    };
    let line = journal.line_before(snapshot.last.0, snapshot.end).ok();
    match line.is_some_and(|line| checksum(&line) == Some(snapshot.last.1)) {
        true => Found::Fits(Box::new(snapshot)),
        false => Found::Ahead(snapshot.book.lines),
    }
}

fn load(path: &Path) -> Option<Snapshot> {
    let bytes = fs::read(path).ok()?;
    let (crc, payload) = bytes.strip_prefix(MAGIC)?.split_at_checked(4)?;
    if crc32fast::hash(payload).to_le_bytes() != crc {
        return None;
    }
    postcard::from_bytes(payload).ok()
}

impl Live {
    pub(super) fn snapshot_if_due(&mut self) {
        let lines = self.book.lines - self.snapshot_at;
        if lines >= LINES && lines >= self.book.lines / SHARE {
            self.write_snapshot();
        }
    }

    /// Writes a snapshot, unless a plan is being made or the journal cannot be written. A failure only costs time later.
    pub fn write_snapshot(&mut self) {
        let Some(learner) = &self.learner else {
            return;
        };
        if self.journal.commit().is_err() {
            return;
        }
        let Ok((place, line)) = self.journal.last_line() else {
            return;
        };
        let content = SnapshotRef {
            end: self.journal.end(),
            last: (place, checksum(&line).unwrap_or(0)),
            book: &self.book,
            learner: learner.save(),
        };
        let payload = postcard::to_stdvec(&content).expect("states can be written");
        let crc = crc32fast::hash(&payload).to_le_bytes();
        let path = path_of(self.journal.path());
        let partial = path.with_extension("snapshot.partial");
        let written = File::create(&partial).and_then(|mut file| {
            file.write_all(&[MAGIC, &crc, &payload].concat())?;
            file.sync_all()?;
            fs::rename(&partial, &path)
        });
        match written {
            Ok(()) => self.snapshot_at = self.book.lines,
            Err(_) => drop(fs::remove_file(&partial)),
        }
    }
}
