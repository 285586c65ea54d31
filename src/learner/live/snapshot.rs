//! Snapshots: a state with the place in the journal that it belongs to. They are a cache and nothing else: one that is
//! damaged, or does not belong to the journal, is passed over, and the journal is read from its start.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Live;
use super::book::Book;
use super::replay::snapshot_path;
use crate::learner::LearnerState;
use crate::learner::journal::{Journal, checksum};

/// Another version of the program may have another form.
const MAGIC: &[u8] = concat!("cbwk snapshot ", env!("CARGO_PKG_VERSION"), "\n").as_bytes();

/// Lines after which another snapshot is worth its time, and the share of the journal that they must be.
const LINES: u64 = 20_000;
const SHARE: u64 = 8;

/// A state at a place of the journal.
#[derive(Debug, Deserialize)]
pub struct Snapshot {
    /// Where the next line begins.
    pub end: u64,
    /// The checksum of the line before.
    last: (u64, u32),
    /// Names and places.
    pub book: Book,
    /// What was learnt.
    pub learner: LearnerState,
}

#[derive(Serialize)]
struct SnapshotRef<'a> {
    end: u64,
    last: (u64, u32),
    book: &'a Book,
    learner: LearnerState,
}

/// The snapshot that belongs to a journal.
pub fn read(path: &Path, journal: &Journal) -> Option<Snapshot> {
    let bytes = fs::read(path).ok()?;
    let (crc, payload) = bytes.strip_prefix(MAGIC)?.split_at_checked(4)?;
    if crc32fast::hash(payload).to_le_bytes() != crc {
        return None;
    }
    let snapshot: Snapshot = postcard::from_bytes(payload).ok()?;
    let line = journal.line_before(snapshot.last.0, snapshot.end).ok()?;
    (checksum(&line) == Some(snapshot.last.1)).then_some(snapshot)
}

impl Live {
    pub(super) fn snapshot_if_due(&mut self) {
        let lines = self.book.lines - self.snapshot_at;
        if lines >= LINES && lines >= self.book.lines / SHARE {
            self.write_snapshot();
        }
    }

    /// Writes a snapshot where the learner is at home and the journal written. A failure costs nothing but time later.
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
        let path = snapshot_path(self.journal.path());
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
