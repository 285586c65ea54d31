//! CSV files line by line: one struct per kind of line, one way to write it and one to read it. Mistakes have their file,
//! line and column.

use std::fmt::Display;
use std::io::{BufReader, Read};
use std::marker::PhantomData;
use std::path::Path;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{GrowingFile, ResultsFolder};
use crate::error::{InputError, OutputError};

/// What is written to a file at a time, in bytes.
const BUFFER: usize = 1 << 16;

/// One line of a CSV file, whose columns are the fields.
pub trait Row: Serialize + DeserializeOwned + Default {
    /// What the types cannot say: the first cell that is not accepted.
    fn check(&self) -> Result<(), Unaccepted> {
        Ok(())
    }
}

/// A column, and what is accepted in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unaccepted {
    /// The column.
    pub column: &'static str,
    /// What is accepted.
    pub accepted: &'static str,
}

/// The columns of a kind of line.
pub fn columns<T: Row>() -> Vec<String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let written = writer.serialize(T::default());
    written.expect("a line of plain fields can be written");
    let text = writer.into_inner().expect("writing to memory");
    let header = csv::Reader::from_reader(&text[..]).headers().cloned();
    let header = header.expect("the header that was just written");
    header.iter().map(String::from).collect()
}

fn writer<T: Row, W: std::io::Write>(target: W) -> csv::Result<csv::Writer<W>> {
    let mut builder = csv::WriterBuilder::new();
    builder.has_headers(false).buffer_capacity(BUFFER);
    let mut writer = builder.from_writer(target);
    writer.write_record(columns::<T>())?;
    Ok(writer)
}

/// A file as text.
pub fn csv_text<T: Row>(rows: impl IntoIterator<Item = T>) -> Vec<u8> {
    let mut writer = writer::<T, _>(Vec::new()).expect("writing to memory");
    for row in rows {
        let written = writer.serialize(row);
        written.expect("a line of plain fields can be written");
    }
    writer.into_inner().expect("writing to memory")
}

/// A CSV file that grows line by line, under the name NAME.partial until it is complete.
#[derive(Debug)]
pub struct GrowingRows<T> {
    csv: csv::Writer<GrowingFile>,
    rows: PhantomData<T>,
}

impl<T: Row> GrowingRows<T> {
    /// Starts the file with its header.
    pub fn start(folder: &ResultsFolder, name: &str) -> Result<Self, OutputError> {
        let file = GrowingFile::start(folder, name)?;
        let partial = file.partial().to_path_buf();
        Ok(Self {
            csv: writer::<T, _>(file).map_err(|error| unwritable(&partial, error))?,
            rows: PhantomData,
        })
    }

    /// Adds a line.
    pub fn append(&mut self, row: &T) -> Result<(), OutputError> {
        let written = self.csv.serialize(row);
        written.map_err(|error| unwritable(self.partial(), error))
    }

    /// What was added is on disk when this returns.
    pub fn sync(&mut self) -> Result<(), OutputError> {
        let flushed = self.csv.flush();
        flushed.map_err(|error| OutputError::unwritable(self.partial(), error))?;
        self.csv.get_ref().sync()
    }

    /// The file is complete.
    pub fn finish(self) -> Result<(), OutputError> {
        let partial = self.partial().to_path_buf();
        let file = self.csv.into_inner();
        let unwritable = |error| OutputError::unwritable(&partial, error);
        file.map_err(|error| unwritable(error.into_error()))?
            .finish()
    }

    /// Where the lines are until the file is complete.
    pub fn partial(&self) -> &Path {
        self.csv.get_ref().partial()
    }
}

pub(super) fn unwritable(file: &Path, error: csv::Error) -> OutputError {
    let reason = match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => std::io::Error::other(format!("{other:?}")),
    };
    OutputError::unwritable(file, reason)
}

/// The lines of a file, read and checked one after another.
#[derive(Debug)]
pub struct Rows<T, R> {
    file: Arc<Path>,
    reader: csv::Reader<R>,
    header: csv::StringRecord,
    record: csv::StringRecord,
    rows: PhantomData<T>,
}

/// A line with its place.
#[derive(Debug, Clone)]
pub struct Line<T> {
    file: Arc<Path>,
    number: usize,
    /// What it says.
    pub row: T,
}

impl<T: Row> Rows<T, BufReader<std::fs::File>> {
    /// Opens a file whose header has the columns of the struct, and perhaps others.
    pub fn open(file: &Path) -> Result<Self, InputError> {
        let opened = crate::files::open(file);
        let opened = opened.map_err(|error| InputError::unreadable(file, &error))?;
        Self::new(file, BufReader::new(opened))
    }
}

impl<T: Row, R: Read> Rows<T, R> {
    /// Reads from anything; `file` is what messages call it.
    pub fn new(file: &Path, source: R) -> Result<Self, InputError> {
        let mut reader = csv::Reader::from_reader(source);
        let header = reader.headers().map_err(|e| mistake(file, &e))?.clone();
        let needed = columns::<T>();
        if let Some(missing) = needed.iter().find(|name| header.iter().all(|h| h != *name)) {
            let found = header.iter().collect::<Vec<_>>().join(",");
            let accepted = needed.join(",");
            let message =
                format!("column `{missing}`: found header `{found}`; accepted: {accepted}");
            return Err(at(file, 1, message));
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

    fn line(&self) -> Result<Line<T>, InputError> {
        let number = self.record.position().map_or(1, csv::Position::line) as usize;
        let wrong = |place: usize, accepted: &str| {
            let (column, found) = (&self.header[place], &self.record[place]);
            let message = format!("column `{column}`: found `{found}`; accepted: {accepted}");
            at(&self.file, number, message)
        };
        let parsed = self.record.deserialize(Some(&self.header));
        let row: T = parsed.map_err(|error| match error.kind() {
            csv::ErrorKind::Deserialize { err, .. } => match err.field() {
                Some(place) => wrong(place as usize, accepted(err)),
                None => at(&self.file, number, err.kind().to_string()),
            },
            _ => mistake(&self.file, &error),
        })?;
        row.check().map_err(|Unaccepted { column, accepted }| {
            let place = self.header.iter().position(|name| name == column);
            wrong(place.expect("the header has all columns"), accepted)
        })?;
        Ok(Line {
            file: Arc::clone(&self.file),
            number,
            row,
        })
    }
}

impl<T: Row, R: Read> Iterator for Rows<T, R> {
    type Item = Result<Line<T>, InputError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.reader.read_record(&mut self.record) {
            Ok(true) => Some(self.line()),
            Ok(false) => None,
            Err(error) => Some(Err(mistake(&self.file, &error))),
        }
    }
}

impl<T> Line<T> {
    /// The error of a cell that does not fit the lines before.
    pub fn wrong(&self, column: &str, found: impl Display, accepted: impl Display) -> InputError {
        let message = format!("column `{column}`: found `{found}`; accepted: {accepted}");
        at(&self.file, self.number, message)
    }

    /// The number that must stand here, because each policy's lines are in order.
    pub fn expect(&self, column: &str, found: usize, next: usize) -> Result<(), InputError> {
        if found == next {
            return Ok(());
        }
        Err(self.wrong(
            column,
            found,
            format_args!("{next} (each policy's lines in order)"),
        ))
    }
}

/// What a cell that could not be read should have been.
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
    at(file, line, message)
}

fn at(file: &Path, line: usize, message: String) -> InputError {
    InputError::At {
        file: file.to_path_buf(),
        line,
        message,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{StepRow, SummaryRow};

    fn parse(text: &[u8]) -> Result<Vec<StepRow>, String> {
        let rows = Rows::<StepRow, _>::new(Path::new("x.csv"), text);
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
        let rows = Rows::<SummaryRow, _>::new(Path::new("x.csv"), &text[..]).unwrap();
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
