//! `episodes.parquet`: the columns of `episodes.csv` with exact float64, compressed with zstd, a row group at a time.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::{Compression, ZstdLevel};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::record::RowAccessor;
use parquet::record::reader::RowIter;
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::TypePtr;

use super::EpisodeLines;
use crate::error::{InputError, OutputError};
use crate::results::records::EpisodeRow;
use crate::results::{PartialFile, ResultsFolder};

/// Lines of a row group: what is held in memory.
const GROUP: usize = 1 << 16;

const SCHEMA: &str = "message episodes {
    REQUIRED BYTE_ARRAY policy (STRING);
    REQUIRED INT64 replication;
    REQUIRED INT64 episode;
    REQUIRED INT64 b_t;
    REQUIRED DOUBLE reward;
    REQUIRED DOUBLE opt;
    REQUIRED DOUBLE regret;
    REQUIRED DOUBLE cumulative_regret;
    REQUIRED INT64 spent;
    OPTIONAL DOUBLE expected_regret;
    OPTIONAL DOUBLE played_widths;
    OPTIONAL DOUBLE played_tolerance;
}";

fn schema() -> TypePtr {
    Arc::new(parse_message_type(SCHEMA).expect("the schema is valid"))
}

/// The file while it is being written.
pub struct ParquetRows {
    writer: SerializedFileWriter<PartialFile>,
    partial: PathBuf,
    waiting: Vec<EpisodeRow>,
}

impl std::fmt::Debug for ParquetRows {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "ParquetRows({})", self.partial.display())
    }
}

impl ParquetRows {
    pub fn start(folder: &ResultsFolder, name: &str) -> Result<Self, OutputError> {
        let file = PartialFile::start(folder, name)?;
        let partial = file.partial().to_path_buf();
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_created_by(concat!("cbwk-gpu ", env!("CARGO_PKG_VERSION")).into());
        let writer = SerializedFileWriter::new(file, schema(), Arc::new(properties.build()));
        Ok(Self {
            writer: writer.map_err(|error| unwritable(&partial, error))?,
            partial,
            waiting: Vec::with_capacity(GROUP),
        })
    }

    pub fn append(&mut self, row: EpisodeRow) -> Result<(), OutputError> {
        self.waiting.push(row);
        match self.waiting.len() < GROUP {
            true => Ok(()),
            false => self.write_group(),
        }
    }

    pub fn finish(mut self) -> Result<(), OutputError> {
        if !self.waiting.is_empty() {
            self.write_group()?;
        }
        let file = self.writer.into_inner();
        file.map_err(|error| unwritable(&self.partial, error))?
            .finish()
    }

    fn write_group(&mut self) -> Result<(), OutputError> {
        let rows = std::mem::take(&mut self.waiting);
        let group = self.writer.next_row_group();
        let written = group.and_then(|group| write_columns(group, &rows));
        written.map_err(|error| unwritable(&self.partial, error))
    }
}

/// Writes the columns of a row group in the order of the schema.
fn write_columns(
    mut group: SerializedRowGroupWriter<PartialFile>,
    rows: &[EpisodeRow],
) -> Result<(), ParquetError> {
    let mut place = 0;
    while let Some(mut column) = group.next_column()? {
        match column.untyped() {
            ColumnWriter::ByteArrayColumnWriter(writer) => {
                let names = rows.iter().map(|row| ByteArray::from(row.policy.as_str()));
                writer.write_batch(&names.collect::<Vec<_>>(), None, None)?;
            }
            ColumnWriter::Int64ColumnWriter(writer) => {
                let number = |row: &EpisodeRow| match place {
                    1 => row.replication as i64,
                    2 => row.episode as i64,
                    3 => row.b_t.into(),
                    _ => row.spent.into(),
                };
                writer.write_batch(&rows.iter().map(number).collect::<Vec<_>>(), None, None)?;
            }
            ColumnWriter::DoubleColumnWriter(writer) if place < 9 => {
                let number = |row: &EpisodeRow| match place {
                    4 => row.reward,
                    5 => row.opt,
                    6 => row.regret,
                    _ => row.cumulative_regret,
                };
                writer.write_batch(&rows.iter().map(number).collect::<Vec<_>>(), None, None)?;
            }
            ColumnWriter::DoubleColumnWriter(writer) => {
                let number = |row: &EpisodeRow| match place {
                    9 => row.expected_regret,
                    10 => row.played_widths,
                    _ => row.played_tolerance,
                };
                let there = rows.iter().map(|row| i16::from(number(row).is_some()));
                let values: Vec<f64> = rows.iter().filter_map(number).collect();
                writer.write_batch(&values, Some(&there.collect::<Vec<_>>()), None)?;
            }
            _ => unreachable!("the schema has texts, whole numbers and numbers"),
        }
        column.close()?;
        place += 1;
    }
    group.close()?;
    Ok(())
}

/// The lines of a file.
pub fn open(file: &Path) -> Result<EpisodeLines, InputError> {
    let path = file.to_path_buf();
    let opened = crate::files::open(file).map_err(|error| InputError::unreadable(file, &error))?;
    let wrong = move |error: ParquetError| {
        let message = format!("found {error}; accepted: a Parquet file as this program writes it");
        InputError::in_file(&path, message)
    };
    let reader = SerializedFileReader::new(opened).map_err(&wrong)?;
    if reader.metadata().file_metadata().schema() != schema().as_ref() {
        return Err(wrong(ParquetError::General("other columns".into())));
    }
    let rows = RowIter::from_file_into(Box::new(reader));
    Ok(Box::new(rows.map(move |row| {
        row.and_then(|row| {
            let whole = |place: usize| -> Result<u64, ParquetError> {
                let found = row.get_long(place)?;
                let wrong = || ParquetError::General(format!("{found}"));
                u64::try_from(found).map_err(|_| wrong())
            };
            let small = |place: usize| -> Result<u32, ParquetError> {
                let found = whole(place)?;
                u32::try_from(found).map_err(|_| ParquetError::General(format!("{found}")))
            };
            Ok(EpisodeRow {
                policy: row.get_string(0)?.clone(),
                replication: whole(1)? as usize,
                episode: whole(2)? as usize,
                b_t: small(3)?,
                reward: row.get_double(4)?,
                opt: row.get_double(5)?,
                regret: row.get_double(6)?,
                cumulative_regret: row.get_double(7)?,
                spent: small(8)?,
                expected_regret: row.get_double(9).ok(),
                played_widths: row.get_double(10).ok(),
                played_tolerance: row.get_double(11).ok(),
            })
        })
        .map_err(&wrong)
    })))
}

fn unwritable(file: &Path, error: ParquetError) -> OutputError {
    let reason = match error {
        ParquetError::External(error) => match error.downcast::<std::io::Error>() {
            Ok(error) => *error,
            Err(error) => std::io::Error::other(error),
        },
        other => std::io::Error::other(other.to_string()),
    };
    OutputError::unwritable(file, reason)
}
