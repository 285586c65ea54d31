//! The journal file: one line of JSON per event, with a checksum as its last member. Lines are only appended. A last line
//! that was cut short is removed on opening; damage elsewhere is an error.

mod aside;
mod held;

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use thiserror::Error;

pub use aside::Damaged;

/// The text before the checksum.
const MARK: &[u8] = b",\"crc\":\"";

/// Bytes from the mark to the end of a line: the mark, eight digits, a quote, a brace.
const TAIL: usize = MARK.len() + 8 + 2;

/// Why a journal cannot be used.
#[derive(Debug, Error)]
pub enum JournalError {
    /// Another process uses it.
    #[error("{}: another process has this journal; one learner per folder", .0.display())]
    Busy(PathBuf),
    /// The file system refused.
    #[error("{}: {reason}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: io::Error,
    },
    /// A line is damaged or does not follow from those before it.
    #[error("{}:{line}: {message}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// 1-based line.
        line: u64,
        /// What is wrong.
        message: String,
    },
}

/// A line with its checksum: `body` is a JSON object.
pub fn with_checksum(mut body: Vec<u8>) -> Vec<u8> {
    body.pop();
    let crc = crc32fast::hash(&body);
    body.extend_from_slice(MARK);
    body.extend_from_slice(format!("{crc:08x}\"}}\n").as_bytes());
    body
}

/// The checksum of a line without its newline, if it is correct.
pub fn checksum(line: &[u8]) -> Option<u32> {
    let start = line.len().checked_sub(TAIL)?;
    let (body, tail) = line.split_at(start);
    let digits = tail.strip_prefix(MARK)?.strip_suffix(b"\"}")?;
    let claimed = u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    (claimed == crc32fast::hash(body)).then_some(claimed)
}

/// A journal open for appending, locked by this process.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    /// Bytes of the whole lines in the file.
    length: u64,
    /// Lines to be written.
    buffer: Vec<u8>,
    /// Whether every commit is synced.
    sync: bool,
    /// Whether a failed write may have left a part of a line behind the whole ones.
    torn: bool,
    /// Syncs so far, and the time they took.
    syncs: (u64, Duration),
    /// Holds the lock of the folder.
    _folder: Option<File>,
}

impl Journal {
    /// Opens a journal, or creates one; a second process is refused. A torn last line is cut off; returns its bytes.
    pub fn open(path: &Path, sync: bool) -> Result<(Self, u64), JournalError> {
        let io = |reason| JournalError::Io {
            path: path.to_path_buf(),
            reason,
        };
        let folder = held::lock_folder(path)?;
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).open(path);
        let mut file = file.map_err(io)?;
        held::lock_file(path, &file)?;
        let length = file.metadata().map_err(io)?.len();
        let whole = end_of_line_before(&mut file, length).map_err(io)?;
        if whole < length {
            file.set_len(whole)
                .and_then(|()| file.sync_all())
                .map_err(io)?;
        }
        if length == 0 {
            // The file name must survive a crash, too.
            sync_folder(path).map_err(io)?;
        }
        let journal = Self {
            path: path.to_path_buf(),
            file,
            length: whole,
            buffer: Vec::new(),
            sync,
            torn: false,
            syncs: (0, Duration::ZERO),
            _folder: folder,
        };
        Ok((journal, length - whole))
    }

    /// The first `length` bytes of a journal (all whole lines without it), only to read; it may be in use.
    pub fn read(path: &Path, length: Option<u64>) -> Result<Self, JournalError> {
        let io = |reason| JournalError::Io {
            path: path.to_path_buf(),
            reason,
        };
        let mut file = File::open(path).map_err(io)?;
        let found = file.metadata().map_err(io)?.len();
        let whole = end_of_line_before(&mut file, found).map_err(io)?;
        Ok(Self {
            path: path.to_path_buf(),
            file,
            length: length.unwrap_or(whole).min(whole),
            buffer: Vec::new(),
            sync: false,
            torn: false,
            syncs: (0, Duration::ZERO),
            _folder: None,
        })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Place of the next line.
    pub fn end(&self) -> u64 {
        self.length + self.buffer.len() as u64
    }

    /// Adds a line with its checksum; [`Journal::commit`] writes it. Returns its place.
    pub fn append(&mut self, line: &[u8]) -> u64 {
        let start = self.end();
        self.buffer.extend_from_slice(line);
        start
    }

    /// Bytes of the whole lines in the file.
    pub fn written(&self) -> u64 {
        self.length
    }

    /// Syncs so far, and the time they took.
    pub fn syncs(&self) -> (u64, Duration) {
        self.syncs
    }

    /// Writes and syncs all lines. After a failure none counts as written, and the next commit tries again. A journal whose
    /// file was moved, replaced or cut by another program fails, also if there is nothing to write.
    pub fn commit(&mut self) -> io::Result<()> {
        if self.torn {
            self.file.set_len(self.length)?;
            self.torn = false;
        }
        held::check(&self.path, &self.file, self.length)?;
        if self.buffer.is_empty() {
            return Ok(());
        }
        let written = self.write();
        match written {
            Ok(()) => {
                self.length += self.buffer.len() as u64;
                self.buffer.clear();
                self.buffer.shrink_to(1 << 20);
            }
            // Some lines may be written: readers must not see them.
            Err(_) => self.torn = self.file.set_len(self.length).is_err(),
        }
        written
    }

    fn write(&mut self) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(self.length))?;
        self.file.write_all(&self.buffer)?;
        match self.sync {
            true => self.sync_file(),
            false => Ok(()),
        }
    }

    fn sync_file(&mut self) -> io::Result<()> {
        let start = Instant::now();
        let synced = self.file.sync_data();
        self.syncs.0 += 1;
        self.syncs.1 += start.elapsed();
        synced
    }

    /// Commits and syncs in any case.
    pub fn sync(&mut self) -> io::Result<()> {
        self.commit()?;
        self.sync_file()
    }

    /// The line at a place, without its newline.
    pub fn line_at(&mut self, start: u64) -> io::Result<Vec<u8>> {
        let mut line = Vec::new();
        if let Some(place) = start.checked_sub(self.length) {
            line.extend_from_slice(self.buffer.get(place as usize..).unwrap_or_default());
            let end = line.iter().position(|b| *b == b'\n').unwrap_or(0);
            line.truncate(end);
        } else {
            self.file.seek(SeekFrom::Start(start))?;
            BufReader::with_capacity(1024, &self.file).read_until(b'\n', &mut line)?;
            line.pop();
        }
        match checksum(&line) {
            Some(_) => Ok(line),
            None => Err(io::Error::other(format!(
                "the line at byte {start} is damaged"
            ))),
        }
    }

    /// The line from `start` to `end`.
    pub fn line_before(&self, start: u64, end: u64) -> io::Result<Vec<u8>> {
        let length = end
            .checked_sub(start)
            .filter(|l| *l < 1 << 30 && end <= self.length);
        let length = length.ok_or(io::ErrorKind::InvalidData)?;
        let mut line = vec![0; length as usize];
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(start))?;
        file.read_exact(&mut line)?;
        match line.pop() {
            Some(b'\n') => Ok(line),
            _ => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    /// The last line in the file and its place.
    pub fn last_line(&mut self) -> io::Result<(u64, Vec<u8>)> {
        let end = self.length.checked_sub(1).ok_or(io::ErrorKind::NotFound)?;
        let start = end_of_line_before(&mut self.file, end)?;
        Ok((start, self.line_before(start, self.length)?))
    }

    /// The lines in the file.
    pub fn reader(&self) -> JournalLines {
        JournalLines {
            path: self.path.clone(),
            length: self.length,
            most: u64::MAX,
        }
    }
}

/// The whole lines of a journal file.
#[derive(Debug)]
pub struct JournalLines {
    path: PathBuf,
    length: u64,
    /// Most lines to read.
    most: u64,
}

impl JournalLines {
    /// Those of a journal that another process may be writing.
    pub fn of_file(path: &Path) -> Result<Self, JournalError> {
        let length = whole_journal_bytes(path);
        let path = path.to_path_buf();
        match length {
            Ok(length) => Ok(Self {
                path,
                length,
                most: u64::MAX,
            }),
            Err(reason) => Err(JournalError::Io { path, reason }),
        }
    }

    /// At most this many lines.
    pub fn first(self, lines: u64) -> Self {
        Self {
            most: lines,
            ..self
        }
    }

    /// Calls `each` with every line from `start` on: its number (the first is `number`), its place and its text.
    pub fn each(
        &self,
        start: u64,
        number: u64,
        mut each: impl FnMut(u64, u64, &[u8]) -> Result<(), String>,
    ) -> Result<(), JournalError> {
        let io = |reason| JournalError::Io {
            path: self.path.clone(),
            reason,
        };
        let mut file = File::open(&self.path).map_err(io)?;
        file.seek(SeekFrom::Start(start)).map_err(io)?;
        let mut reader = BufReader::with_capacity(1 << 18, file);
        let last = number.saturating_add(self.most);
        let (mut place, mut line, mut number) = (start, Vec::new(), number);
        while place < self.length && number < last {
            line.clear();
            let read = reader.read_until(b'\n', &mut line).map_err(io)? as u64;
            let text = line.strip_suffix(b"\n").unwrap_or(&line);
            let checked = match checksum(text) {
                Some(_) => each(number, place, text),
                None => Err("the line is damaged: its checksum is not that of its content".into()),
            };
            checked.map_err(|message| JournalError::Damaged {
                path: self.path.clone(),
                line: number,
                message,
            })?;
            place += read;
            number += 1;
        }
        Ok(())
    }
}

/// The place after the last newline before `end`; 0 if there is none.
fn end_of_line_before(file: &mut File, mut end: u64) -> io::Result<u64> {
    const CHUNK: u64 = 1 << 16;
    while end > 0 {
        let start = end.saturating_sub(CHUNK);
        let mut chunk = vec![0; (end - start) as usize];
        file.seek(SeekFrom::Start(start))?;
        file.read_exact(&mut chunk)?;
        if let Some(place) = chunk.iter().rposition(|b| *b == b'\n') {
            return Ok(start + place as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

/// Bytes of the whole lines of a journal, which may be in use.
pub fn whole_journal_bytes(path: &Path) -> io::Result<u64> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    end_of_line_before(&mut file, length)
}

fn sync_folder(path: &Path) -> io::Result<()> {
    match cfg!(unix) {
        true => File::open(held::folder_of(path))?.sync_all(),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_checksums_that_notice_every_flipped_bit() {
        let line = with_checksum(b"{\"seq\":1,\"op\":\"state\"}".to_vec());
        let line = line.strip_suffix(b"\n").unwrap();
        assert!(checksum(line).is_some());
        let value: serde_json::Value = serde_json::from_slice(line).unwrap();
        assert_eq!(value["op"], "state");
        for bit in 0..8 * line.len() {
            let mut damaged = line.to_vec();
            damaged[bit / 8] ^= 1 << (bit % 8);
            // Digits of the checksum may be written in capitals.
            let same = damaged.eq_ignore_ascii_case(line);
            assert!(checksum(&damaged).is_none() || same, "bit {bit}");
        }
    }
}
