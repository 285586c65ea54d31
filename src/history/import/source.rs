//! A raw CSV file: its separator, its header, and the index of a column.

use std::io::Read;
use std::path::{Path, PathBuf};

use csv::{ReaderBuilder, StringRecord, Trim};

use crate::error::InputError;

/// Separators in the order of preference.
const SEPARATORS: [u8; 4] = [b',', b';', b'\t', b'|'];

const NOT_UTF8: &str = "found bytes that are not UTF-8; accepted: UTF-8 (`iconv -f LATIN1 -t UTF-8` converts most files)";

/// Bytes that the format is detected from, and most bytes of a header.
const HEAD: u64 = 1 << 16;
const HEADER_LIMIT: usize = 1 << 24;

/// A file that can be read several times.
#[derive(Debug, Clone)]
pub struct RawFile {
    path: PathBuf,
    separator: u8,
    has_header: bool,
    names: Vec<String>,
}

impl RawFile {
    /// Detects the format of a file with these columns, given by name or, without a header, by number.
    pub fn open(path: &Path, asked: &[&str]) -> Result<Self, InputError> {
        let unreadable = |error| InputError::unreadable(path, &error);
        let mut head = Vec::new();
        let file = crate::files::open(path).map_err(unreadable)?;
        // A header of thousands of columns is longer than the usual head.
        loop {
            let read = (&file).take(HEAD).read_to_end(&mut head);
            let ends = read.map_err(unreadable)? == 0;
            if ends || head.contains(&b'\n') || head.len() >= HEADER_LIMIT {
                break;
            }
        }
        let whole_file = |message: &str| InputError::File {
            file: path.to_path_buf(),
            message: message.into(),
        };
        if head.starts_with(&[0xff, 0xfe]) || head.starts_with(&[0xfe, 0xff]) {
            return Err(whole_file("found UTF-16; accepted: UTF-8"));
        }
        if head.contains(&0) {
            return Err(whole_file("found binary data; accepted: a CSV file"));
        }
        let first = |separator: u8| first_record(&head, separator);
        let found = |record: &StringRecord| {
            let is_there = |name: &&&str| record.iter().any(|cell| cell == **name);
            asked.iter().filter(is_there).count()
        };
        let forms = SEPARATORS.iter().rev().map(|&s| (s, first(s)));
        // The most names found, then the most columns, then the preferred separator (`max_by_key` takes the last).
        let best = forms.max_by_key(|(_, record)| (found(record), record.len()));
        let (separator, record) = best.unwrap_or((b',', StringRecord::new()));
        if record.iter().all(str::is_empty) {
            return Err(whole_file("found nothing; accepted: a CSV file with rows"));
        }
        let by_number = |name: &&str| {
            let number: Result<usize, _> = name.parse();
            number.is_ok_and(|n| (1..=record.len()).contains(&n))
        };
        // A header may consist of numbers.
        let has_header = found(&record) == asked.len() || !asked.iter().all(by_number);
        let names = match has_header {
            true => record.iter().map(ToString::to_string).collect(),
            false => (1..=record.len()).map(|n| n.to_string()).collect(),
        };
        Ok(Self {
            path: path.to_path_buf(),
            separator,
            has_header,
            names,
        })
    }

    /// The separator of cells.
    pub fn separator(&self) -> char {
        char::from(self.separator)
    }

    /// Whether the first line names the columns; otherwise they are named 1, 2, ...
    pub fn has_header(&self) -> bool {
        self.has_header
    }

    /// Names of the columns.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Whether the decimal separator may be a comma.
    pub fn may_have_decimal_commas(&self) -> bool {
        self.separator != b','
    }

    /// The index of a column.
    pub fn column(&self, name: &str) -> Result<usize, InputError> {
        let mut places = (0..self.names.len()).filter(|&i| self.names[i] == name);
        match (places.next(), places.next()) {
            (Some(place), None) => Ok(place),
            (Some(_), Some(_)) => Err(self.at(1, format!("found column `{name}` twice"))),
            (None, _) => {
                let likeness = |known: &&String| {
                    (1e6 * strsim::jaro_winkler(&known.to_lowercase(), &name.to_lowercase())) as u64
                };
                let nearest = self.names.iter().max_by_key(likeness);
                let nearest = nearest.filter(|near| likeness(near) > 700_000);
                let hint = nearest.map_or(String::new(), |near| format!(" (nearest: `{near}`)"));
                let separator = self.separator().to_string();
                let found = self.names.join(&separator);
                Err(self.at(
                    1,
                    format!("found no column `{name}` in `{}`{hint}", shorten(&found)),
                ))
            }
        }
    }

    /// An error in a line.
    pub fn at(&self, line: u64, message: String) -> InputError {
        InputError::At {
            file: self.path.clone(),
            line: line as usize,
            message,
        }
    }

    /// An error of the whole file.
    pub fn whole_file(&self, message: impl Into<String>) -> InputError {
        InputError::File {
            file: self.path.clone(),
            message: message.into(),
        }
    }

    /// Passes every record, with its line and untrimmed cells, to `take`; a record with a wrong number of columns or
    /// invalid UTF-8 is passed as an error message.
    pub fn each(
        &self,
        mut take: impl FnMut(u64, Result<&StringRecord, String>) -> Result<(), InputError>,
    ) -> Result<(), InputError> {
        let file =
            crate::files::open(&self.path).map_err(|e| InputError::unreadable(&self.path, &e))?;
        let mut reader = ReaderBuilder::new()
            .delimiter(self.separator)
            .has_headers(self.has_header)
            .flexible(true)
            .buffer_capacity(1 << 18)
            .from_reader(file);
        // Read the header before asking for the first record's line.
        if self.has_header {
            let header = reader.byte_headers();
            header.map_err(|error| self.at(1, error.to_string()))?;
        }
        let mut record = StringRecord::new();
        let width = self.names.len();
        loop {
            let line = reader.position().line();
            match reader.read_record(&mut record) {
                Ok(false) => return Ok(()),
                Ok(true) => {
                    let line = record.position().map_or(line, csv::Position::line);
                    let mut beyond = record.iter().skip(width);
                    if record.len() >= width && beyond.all(|cell| cell.trim().is_empty()) {
                        take(line, Ok(&record))?;
                    } else if record.iter().any(|cell| !cell.trim().is_empty()) {
                        let found = format!("found {} columns; accepted: {width}", record.len());
                        take(line, Err(found))?;
                    }
                }
                Err(error) => match error.kind() {
                    csv::ErrorKind::Utf8 { .. } => take(line, Err(NOT_UTF8.into()))?,
                    _ => return Err(self.at(line, error.to_string())),
                },
            }
        }
    }
}

fn first_record(head: &[u8], separator: u8) -> StringRecord {
    let mut reader = ReaderBuilder::new()
        .delimiter(separator)
        .has_headers(false)
        .flexible(true)
        .trim(Trim::All)
        .from_reader(head);
    let mut record = csv::ByteRecord::new();
    match reader.read_byte_record(&mut record) {
        Ok(true) => StringRecord::from_byte_record_lossy(record),
        _ => StringRecord::new(),
    }
}

fn shorten(text: &str) -> String {
    match text.char_indices().nth(160) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_string(),
    }
}
