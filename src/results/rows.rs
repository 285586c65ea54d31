//! CSV files line by line: one struct per kind of line, for writing and reading. Errors name file, line and column.

use std::fmt::Display;
use std::io::{BufReader, Read};
use std::marker::PhantomData;
use std::path::Path;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{PartialFile, ResultsFolder};
use crate::error::{InputError, OutputError};

/// Bytes per write.
const BUFFER: usize = 1 << 16;

/// One line of a CSV file, whose columns are the fields.
pub trait Row: Serialize + DeserializeOwned + Default {
    /// Columns that a file may lack.
    const OPTIONAL: &[&str] = &[];

    /// Checks that the types cannot express: the first wrong cell.
    fn check(&self) -> Result<(), Unaccepted> {
        Ok(())
    }
}

/// A column with a wrong cell, and the accepted values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unaccepted {
    /// The column.
    pub column: &'static str,
    /// The accepted values.
    pub accepted: &'static str,
}

/// The columns of a kind of line.
pub(super) fn columns<T: Row>() -> Vec<String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let written = writer.serialize(T::default());
    written.expect("a line of plain fields can be written");
    let text = writer.into_inner().expect("writing to memory");
    let header = csv::Reader::from_reader(&text[..]).headers().cloned();
    let header = header.expect("the header that was just written");
    header.iter().map(String::from).collect()
}

fn writer<W: std::io::Write>(
    target: W,
    header: impl IntoIterator<Item = String>,
) -> csv::Result<csv::Writer<W>> {
    let mut builder = csv::WriterBuilder::new();
    builder.has_headers(false).buffer_capacity(BUFFER);
    let mut writer = builder.from_writer(target);
    writer.write_record(header)?;
    Ok(writer)
}

/// The text of a file with this header; lines may be nested tuples of fields.
pub(super) fn text_of(
    header: Vec<String>,
    rows: impl IntoIterator<Item = impl Serialize>,
) -> Vec<u8> {
    let mut writer = writer(Vec::new(), header).expect("writing to memory");
    for row in rows {
        let written = writer.serialize(row);
        written.expect("a line of plain fields can be written");
    }
    writer.into_inner().expect("writing to memory")
}

/// The text of a file.
pub fn csv_text<T: Row>(rows: impl IntoIterator<Item = T>) -> Vec<u8> {
    text_of(columns::<T>(), rows)
}

/// A CSV file that is written line by line, as NAME.partial until it is complete.
#[derive(Debug)]
pub(super) struct CsvWriter {
    pub csv: csv::Writer<PartialFile>,
}

impl CsvWriter {
    /// Starts the file with its header.
    pub fn start(
        folder: &ResultsFolder,
        name: &str,
        header: impl IntoIterator<Item = String>,
    ) -> Result<Self, OutputError> {
        let file = PartialFile::start(folder, name)?;
        let partial = file.partial().to_path_buf();
        let csv = writer(file, header).map_err(|error| unwritable(&partial, error))?;
        Ok(Self { csv })
    }

    /// Adds a line.
    pub fn append(&mut self, row: &impl Row) -> Result<(), OutputError> {
        let written = self.csv.serialize(row);
        written.map_err(|error| unwritable(self.csv.get_ref().partial(), error))
    }

    /// Completes the file.
    pub fn finish(self) -> Result<(), OutputError> {
        let partial = self.csv.get_ref().partial().to_path_buf();
        let unwritable = |error| OutputError::unwritable(&partial, error);
        let file = self.csv.into_inner();
        file.map_err(|error| unwritable(error.into_error()))?
            .finish()
    }
}

pub(super) fn unwritable(file: &Path, error: csv::Error) -> OutputError {
    let reason = match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => std::io::Error::other(format!("{other:?}")),
    };
    OutputError::unwritable(file, reason)
}

/// Reads and checks a file line by line.
#[derive(Debug)]
pub struct CsvReader<T, R> {
    file: Arc<Path>,
    reader: csv::Reader<R>,
    header: csv::StringRecord,
    record: csv::StringRecord,
    rows: PhantomData<T>,
}

/// A line with its number.
#[derive(Debug, Clone)]
pub struct CsvLine<T> {
    file: Arc<Path>,
    number: usize,
    /// Its content.
    pub row: T,
}

impl<T: Row> CsvReader<T, BufReader<std::fs::File>> {
    /// Opens a file whose header has at least the columns of the struct.
    pub fn open(file: &Path) -> Result<Self, InputError> {
        let opened = crate::files::open(file);
        let opened = opened.map_err(|error| InputError::unreadable(file, &error))?;
        Self::new(file, BufReader::new(opened))
    }
}

impl<T: Row, R: Read> CsvReader<T, R> {
    /// Reads from any source; `file` is its name in messages.
    pub fn new(file: &Path, source: R) -> Result<Self, InputError> {
        let mut reader = csv::Reader::from_reader(source);
        let header = reader.headers().map_err(|e| mistake(file, &e))?.clone();
        let needed = columns::<T>();
        let is_needed = |name: &&String| !T::OPTIONAL.contains(&name.as_str());
        let is_missing = |name: &&String| header.iter().all(|h| h != *name);
        if let Some(missing) = needed.iter().filter(is_needed).find(is_missing) {
            let found = header.iter().collect::<Vec<_>>().join(",");
            let accepted = needed.join(",");
            let message =
                format!("column `{missing}`: found header `{found}`; accepted: {accepted}");
            return Err(InputError::at(file, 1, message));
        }
        Ok(Self {
            file: Arc::from(file),
            reader,
            header,
            record: csv::StringRecord::new(),
            rows: PhantomData,
        })
    }

    /// The columns of the file.
    pub(super) fn header(&self) -> &csv::StringRecord {
        &self.header
    }

    /// The cells of the last line.
    pub(super) fn cells(&self) -> &csv::StringRecord {
        &self.record
    }

    fn line(&self) -> Result<CsvLine<T>, InputError> {
        let number = self.record.position().map_or(1, csv::Position::line) as usize;
        let wrong = |place: usize, accepted: &str| {
            let (column, found) = (&self.header[place], &self.record[place]);
            let message = format!("column `{column}`: found `{found}`; accepted: {accepted}");
            InputError::at(&self.file, number, message)
        };
        let parsed = self.record.deserialize(Some(&self.header));
        let row: T = parsed.map_err(|error| match error.kind() {
            csv::ErrorKind::Deserialize { err, .. } => match err.field() {
                Some(place) => wrong(place as usize, accepted(err)),
                None => InputError::at(&self.file, number, err.kind().to_string()),
            },
            _ => mistake(&self.file, &error),
        })?;
        row.check().map_err(|Unaccepted { column, accepted }| {
            let place = self.header.iter().position(|name| name == column);
            wrong(place.expect("the header has all columns"), accepted)
        })?;
        Ok(CsvLine {
            file: Arc::clone(&self.file),
            number,
            row,
        })
    }
}

impl<T: Row, R: Read> Iterator for CsvReader<T, R> {
    type Item = Result<CsvLine<T>, InputError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.reader.read_record(&mut self.record) {
            Ok(true) => Some(self.line()),
            Ok(false) => None,
            Err(error) => Some(Err(mistake(&self.file, &error))),
        }
    }
}

impl<T> CsvLine<T> {
    /// The error of a cell that does not fit the earlier lines.
    pub fn wrong(&self, column: &str, found: impl Display, accepted: impl Display) -> InputError {
        let message = format!("column `{column}`: found `{found}`; accepted: {accepted}");
        InputError::at(&self.file, self.number, message)
    }

    /// Requires the next number: each policy's lines are in order.
    pub fn expect(&self, column: &str, found: usize, next: usize) -> Result<(), InputError> {
        let accepted = format_args!("{next} (each policy's lines in order)");
        match found == next {
            true => Ok(()),
            false => Err(self.wrong(column, found, accepted)),
        }
    }
}

/// The accepted values of a cell that could not be parsed.
fn accepted(error: &csv::DeserializeError) -> &'static str {
    use csv::DeserializeErrorKind as Kind;
    match error.kind() {
        Kind::ParseFloat(_) => "a number",
        Kind::ParseInt(_) => "a whole number",
        _ => "a cell as this program writes it",
    }
}

fn mistake(file: &Path, error: &csv::Error) -> InputError {
    let line = error.position().map_or(1, csv::Position::line) as usize;
    let message = match error.kind() {
        csv::ErrorKind::UnequalLengths {
            expected_len, len, ..
        } => format!("found {len} columns; accepted: {expected_len} as in the header"),
        csv::ErrorKind::Utf8 { .. } => "found bytes that are not text; accepted: UTF-8".into(),
        csv::ErrorKind::Io(error) => return InputError::unreadable(file, error),
        _ => error.to_string(),
    };
    InputError::at(file, line, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{StepRow, SummaryRow};

    fn parse(text: &[u8]) -> Result<Vec<StepRow>, String> {
        let rows = CsvReader::<StepRow, _>::new(Path::new("x.csv"), text);
        let rows = rows.and_then(|rows| rows.map(|line| Ok(line?.row)).collect());
        rows.map_err(|error: InputError| error.to_string())
    }

    #[test]
    fn reads_columns_by_name_and_quoted_names() {
        let text = "step,standard_error,other,budget_left,policy\n1,NaN,x,1e-3,\"a, \"\"b\"\"\"\n";
        let rows = parse(text.as_bytes()).unwrap();
        assert_eq!(rows[0].policy, "a, \"b\"");
        assert_eq!((rows[0].step, rows[0].budget_left), (1, 1e-3));
        assert!(rows[0].standard_error.is_nan());
    }

    /// Whole numbers have no point, NaN is a word, and every number reads back as the same float64.
    #[test]
    fn numbers_are_short_and_exact() {
        let numbers = [1.0, -0.1, 1e21, f64::MIN_POSITIVE, 2.0 / 3.0];
        let row = |(i, x): (usize, &f64)| SummaryRow {
            policy: "a,b".into(),
            episode: i + 1,
            mean: *x,
            standard_error: f64::NAN,
            lower: f64::NAN,
            upper: f64::NAN,
        };
        let text = csv_text(numbers.iter().enumerate().map(row));
        let lines = std::str::from_utf8(&text).unwrap();
        assert!(
            lines.starts_with(
                "policy,episode,mean,standard_error,lower,upper\n\"a,b\",1,1,NaN,NaN,NaN\n"
            ),
            "{lines}"
        );
        let rows = CsvReader::<SummaryRow, _>::new(Path::new("x.csv"), &text[..]).unwrap();
        for (row, number) in rows.zip(numbers) {
            assert_eq!(row.unwrap().row.mean.to_bits(), number.to_bits());
        }
    }

    #[test]
    fn names_the_place_of_a_mistake() {
        let header = "policy,step,budget_left,standard_error\n";
        for (text, start) in [
            ("", "x.csv:1: column `policy`: found header ``"),
            (
                "policy,step,budget,standard_error\n",
                "x.csv:1: column `budget_left`: found header `policy,step,budget,",
            ),
            ("a,1,1,1\nb\n", "x.csv:3: found 1 columns; accepted: 4"),
            (
                "a,1,NaN,1\n",
                "x.csv:2: column `budget_left`: found `NaN`; accepted: a finite number",
            ),
            (
                "a,1,1,-1\n",
                "x.csv:2: column `standard_error`: found `-1`; accepted: a number from 0, or NaN",
            ),
            (
                "a,one,1,1\n",
                "x.csv:2: column `step`: found `one`; accepted: a whole number",
            ),
            (
                "a,1,x,1\n",
                "x.csv:2: column `budget_left`: found `x`; accepted: a number",
            ),
        ] {
            let text = match start.starts_with("x.csv:1") {
                true => text.to_string(),
                false => format!("{header}{text}"),
            };
            let message = parse(text.as_bytes()).unwrap_err();
            assert!(message.starts_with(start), "{message:?} for {text:?}");
        }
        let bytes = [header.as_bytes(), b"\xff,1,1,1\n"].concat();
        let message = parse(&bytes).unwrap_err();
        assert!(message.starts_with("x.csv:2: found bytes"), "{message}");
    }
}
