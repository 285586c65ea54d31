//! Checks a journal from its first line, and repairs a damaged one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::record::Head;
use super::replay::{LiveError, LiveStart};
use super::snapshot::{self, Found};
use super::{Live, record};
use crate::learner::journal::{Damaged, Journal, JournalError, JournalLines, checksum};

/// Most ids that are named.
const IDS: usize = 10;

/// Reads a journal from its start, replays it, and compares the state with that of the snapshot. Changes nothing, and the
/// journal may be in use. Returns what was found in order.
pub fn check_journal(path: &Path, start: impl Fn() -> LiveStart) -> Result<Vec<String>, LiveError> {
    let journal = Journal::read(path, None)?;
    let found = snapshot::read(&snapshot::path_of(path), &journal);
    let end = journal.end();
    let live = Live::replayed(journal, start(), None)?;
    let book = &live.book;
    let mut checks = vec![format!(
        "journal: {} lines, {} episodes, {} decisions, replayed from the first line",
        book.lines,
        book.episodes.len(),
        book.decisions.len()
    )];
    let damaged = |line: u64, message: String| {
        LiveError::Journal(JournalError::Damaged {
            path: path.to_path_buf(),
            line,
            message,
        })
    };
    match found {
        Found::Nothing => checks.push("snapshot: none of this version".into()),
        Found::Ahead(lines) => {
            let message = format!(
                "the snapshot was made from {lines} lines that are not all here: the journal was cut or replaced"
            );
            return Err(damaged(book.lines + 1, message));
        }
        Found::Fits(snapshot) if snapshot.book.task != live.book.task => {
            checks.push("snapshot: of an earlier price list, and not used".into());
        }
        Found::Fits(snapshot) => {
            let lines = snapshot.book.lines;
            let at = match snapshot.end == end {
                true => live,
                false => {
                    let journal = Journal::read(path, Some(snapshot.end))?;
                    Live::replayed(journal, start(), None)?
                }
            };
            let saved = postcard::to_stdvec(&(&snapshot.book, &snapshot.learner));
            if at.state_bytes() != saved.ok() {
                let message = "the state of the snapshot is not that of the lines before it; delete journal.snapshot if the lines are right";
                return Err(damaged(lines, message.into()));
            }
            checks.push(format!("snapshot: the state after line {lines}"));
        }
    }
    Ok(checks)
}

/// What a repair did.
#[derive(Debug, Clone, PartialEq)]
pub struct Repaired {
    /// Lines that are kept.
    pub kept: u64,
    /// Where the rest is, if there is one.
    pub aside: Option<PathBuf>,
    /// What the rest was, in sentences.
    pub lost: Vec<String>,
}

/// Keeps the lines up to the first that is damaged or does not follow from those before it; the rest is put aside, and
/// said. Nobody else may use the journal.
pub fn repair(path: &Path, start: impl Fn() -> LiveStart) -> Result<Repaired, LiveError> {
    let io = |reason| JournalError::Io {
        path: path.to_path_buf(),
        reason,
    };
    let mut damaged = Damaged::lock(path)?;
    let length = damaged.length().map_err(io)?;
    let (mut kept, mut whole, mut why) = whole_lines(path)?;
    while kept > 0 {
        let journal = Journal::read(path, Some(whole))?;
        match Live::replayed(journal, start(), None) {
            Ok(_) => break,
            Err(LiveError::Journal(JournalError::Damaged { line, message, .. })) if line > 1 => {
                (kept, why) = (line - 1, message);
                whole = end_of(path, kept)?;
            }
            Err(other) => return Err(other),
        }
    }
    if whole == length {
        let (aside, lost) = (None, Vec::new());
        return Ok(Repaired { kept, aside, lost });
    }
    let aside = damaged.split(whole, &snapshot::path_of(path)).map_err(io)?;
    let mut lost = vec![format!("line {}: {why}", kept + 1)];
    lost.extend(contents(&aside).map_err(io)?);
    let aside = Some(aside);
    Ok(Repaired { kept, aside, lost })
}

/// The number and the bytes of the first lines that are whole and in order, and what is wrong with the next.
fn whole_lines(path: &Path) -> Result<(u64, u64, String), LiveError> {
    let (mut kept, mut end) = (0, 0);
    let read = JournalLines::of_file(path)?.each(0, 1, |number, place, line| {
        let head: Head = serde_json::from_slice(line).map_err(|error| error.to_string())?;
        if head.seq != number {
            return Err(format!(
                "found line {} of the journal in its place",
                head.seq
            ));
        }
        (kept, end) = (number, place + line.len() as u64 + 1);
        Ok(())
    });
    match read {
        Ok(()) => Ok((kept, end, "the line was cut short".into())),
        Err(JournalError::Damaged { message, .. }) => Ok((kept, end, message)),
        Err(other) => Err(other.into()),
    }
}

/// The bytes of the first `lines` lines.
fn end_of(path: &Path, lines: u64) -> Result<u64, JournalError> {
    let mut end = 0;
    let first = JournalLines::of_file(path)?.first(lines);
    first.each(0, 1, |_, place, line| {
        end = place + line.len() as u64 + 1;
        Ok(())
    })?;
    Ok(end)
}

/// What can still be read of lines that were put aside.
fn contents(aside: &Path) -> std::io::Result<Vec<String>> {
    let bytes = std::fs::read(aside)?;
    let lines = bytes.split(|b| *b == b'\n').filter(|line| !line.is_empty());
    let (mut kinds, mut ids, mut unreadable) = (BTreeMap::new(), Vec::new(), 0);
    for line in lines {
        let value: Result<serde_json::Value, String> = record::body(line);
        match value {
            Ok(value) if checksum(line).is_some() => {
                let op = value["op"].as_str().unwrap_or("?").to_string();
                ids.extend(
                    value["id"]
                        .as_str()
                        .filter(|_| op == "decide")
                        .map(String::from),
                );
                *kinds.entry(op).or_insert(0) += 1;
            }
            _ => unreadable += 1,
        }
    }
    let mut said = vec![format!("{unreadable} lines cannot be read")];
    said.extend(
        kinds
            .iter()
            .map(|(op, count)| format!("{count} of `{op}` are lost")),
    );
    if !ids.is_empty() {
        let more = ids.len().saturating_sub(IDS);
        ids.truncate(IDS);
        let more = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        said.push(format!(
            "decisions that are no longer known: {}{more}",
            ids.join(", ")
        ));
    }
    Ok(said)
}
