//! CSV files read back: columns by name, and mistakes with their file, line and column.

use std::path::{Path, PathBuf};

use crate::error::InputError;

/// The lines of a CSV file, with the columns that were asked for.
#[derive(Debug)]
pub(super) struct Rows {
    file: PathBuf,
    names: Vec<&'static str>,
    places: Vec<usize>,
    records: Vec<csv::StringRecord>,
}

/// One line.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row<'a> {
    rows: &'a Rows,
    record: &'a csv::StringRecord,
}

impl Rows {
    /// Reads a file whose header has the columns `names`, and perhaps others.
    pub fn read(file: &Path, names: &[&'static str]) -> Result<Self, InputError> {
        let bytes = std::fs::read(file).map_err(|error| InputError::unreadable(file, &error))?;
        Self::parse(file, &bytes, names)
    }

    pub fn parse(file: &Path, bytes: &[u8], names: &[&'static str]) -> Result<Self, InputError> {
        let mut reader = csv::Reader::from_reader(bytes);
        let header = reader.headers().map_err(|e| mistake(file, &e))?.clone();
        let places = names
            .iter()
            .map(|name| {
                header.iter().position(|h| h == *name).ok_or_else(|| {
                    let found = header.iter().collect::<Vec<_>>().join(",");
                    let accepted = names.join(",");
                    at(
                        file,
                        1,
                        format!("column `{name}`: found header `{found}`; accepted: {accepted}"),
                    )
                })
            })
            .collect::<Result<_, _>>()?;
        let records = reader
            .records()
            .collect::<Result<_, _>>()
            .map_err(|e| mistake(file, &e))?;
        Ok(Self {
            file: file.to_path_buf(),
            names: names.to_vec(),
            places,
            records,
        })
    }

    pub fn iter(&self) -> impl Iterator<Item = Row<'_>> {
        self.records.iter().map(|record| Row { rows: self, record })
    }
}

impl<'a> Row<'a> {
    /// The cell of column number `column`.
    pub fn text(&self, column: usize) -> &'a str {
        &self.record[self.rows.places[column]]
    }

    /// A finite number.
    pub fn number(&self, column: usize) -> Result<f64, InputError> {
        match self.text(column).parse::<f64>() {
            Ok(x) if x.is_finite() => Ok(x),
            _ => Err(self.wrong(column, "a finite number")),
        }
    }

    /// A standard error: NaN where there was one replication only.
    pub fn error(&self, column: usize) -> Result<f64, InputError> {
        match self.text(column).parse::<f64>() {
            Ok(x) if x.is_nan() || (0.0..f64::INFINITY).contains(&x) => Ok(x),
            _ => Err(self.wrong(column, "a number from 0, or NaN")),
        }
    }

    /// A whole number.
    pub fn whole(&self, column: usize) -> Result<u32, InputError> {
        let parsed = self.text(column).parse();
        parsed.map_err(|_| self.wrong(column, "a whole number"))
    }

    /// The number that must stand here.
    pub fn expect(&self, column: usize, next: usize) -> Result<(), InputError> {
        if self.text(column).parse() == Ok(next) {
            return Ok(());
        }
        Err(self.wrong(column, &format!("{next} (each policy's lines in order)")))
    }

    pub fn wrong(&self, column: usize, accepted: &str) -> InputError {
        let line = self.record.position().map_or(1, csv::Position::line);
        let (name, found) = (self.rows.names[column], self.text(column));
        let message = format!("column `{name}`: found `{found}`; accepted: {accepted}");
        at(&self.rows.file, line as usize, message)
    }
}

fn mistake(file: &Path, error: &csv::Error) -> InputError {
    let line = error.position().map_or(1, csv::Position::line) as usize;
    let message = match error.kind() {
        csv::ErrorKind::UnequalLengths {
            expected_len, len, ..
        } => format!("found {len} columns; accepted: {expected_len} as in the header"),
        csv::ErrorKind::Utf8 { .. } => "found bytes that are not text; accepted: UTF-8".into(),
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

    fn parse(text: &str) -> Result<Rows, String> {
        Rows::parse(Path::new("x.csv"), text.as_bytes(), &["policy", "mean"])
            .map_err(|e| e.to_string())
    }

    #[test]
    fn reads_columns_by_name_and_quoted_names() {
        let rows = parse("mean,other,policy\n1e-3,x,\"a, \"\"b\"\"\"\nNaN,,c\n").unwrap();
        let rows: Vec<Row> = rows.iter().collect();
        assert_eq!(rows[0].text(0), "a, \"b\"");
        assert_eq!(rows[0].number(1), Ok(1e-3));
        assert!(rows[1].error(1).unwrap().is_nan());
        let message = rows[1].number(1).unwrap_err().to_string();
        assert_eq!(
            message,
            "x.csv:3: column `mean`: found `NaN`; accepted: a finite number"
        );
    }

    #[test]
    fn names_the_line_of_a_mistake() {
        for (text, start) in [
            ("", "x.csv:1: column `policy`: found header ``"),
            (
                "policy,man\n",
                "x.csv:1: column `mean`: found header `policy,man`",
            ),
            (
                "policy,mean\na,1\nb\n",
                "x.csv:3: found 1 columns; accepted: 2",
            ),
        ] {
            let message = parse(text).unwrap_err();
            assert!(message.starts_with(start), "{message:?} for {text:?}");
        }
        let error = Rows::parse(Path::new("x.csv"), b"policy,mean\n\xff,1\n", &["policy"]);
        assert!(
            error
                .unwrap_err()
                .to_string()
                .starts_with("x.csv:2: found bytes")
        );
    }
}
