//! `episodes.csv`, or `episodes.parquet` with the same columns: the lines of every record.

#[cfg(feature = "parquet")]
mod parquet;

use std::path::{Path, PathBuf};

use super::ResultsFolder;
use super::records::EpisodeRow;
use super::rows::{CsvReader, CsvWriter, columns};
use crate::error::{InputError, OutputError};
use crate::experiment::{Record, Yardstick, cumulative_regret};

/// The format of the episodes file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum EpisodesFormat {
    /// Text: `episodes.csv`.
    #[default]
    Csv,
    /// Apache Parquet with zstd: `episodes.parquet`, for programs built with the feature `parquet`.
    Parquet,
}

impl EpisodesFormat {
    /// Their names in study files, the default first.
    pub const WORDS: [&'static str; 2] = ["csv", "parquet"];

    /// The format of a word.
    pub fn of_word(word: &str) -> Self {
        match word {
            "parquet" => Self::Parquet,
            _ => Self::Csv,
        }
    }

    /// Whether this program was built with the format.
    pub fn is_available(self) -> bool {
        self == Self::Csv || cfg!(feature = "parquet")
    }

    /// The file's name.
    pub fn file(self) -> &'static str {
        match self {
            Self::Csv => "episodes.csv",
            Self::Parquet => "episodes.parquet",
        }
    }

    /// The error of a program without the format.
    #[cfg(not(feature = "parquet"))]
    fn unavailable() -> std::io::Error {
        std::io::Error::other("this program was built without the feature parquet")
    }
}

/// The file while it is being written.
#[derive(Debug)]
pub struct EpisodesFile(Writer);

#[derive(Debug)]
enum Writer {
    Csv(CsvWriter),
    #[cfg(feature = "parquet")]
    Parquet(parquet::ParquetRows),
}

impl EpisodesFile {
    /// Starts the file of a folder.
    pub fn start(folder: &ResultsFolder, format: EpisodesFormat) -> Result<Self, OutputError> {
        let name = format.file();
        Ok(Self(match format {
            EpisodesFormat::Csv => {
                Writer::Csv(CsvWriter::start(folder, name, columns::<EpisodeRow>())?)
            }
            #[cfg(feature = "parquet")]
            EpisodesFormat::Parquet => Writer::Parquet(parquet::ParquetRows::start(folder, name)?),
            #[cfg(not(feature = "parquet"))]
            EpisodesFormat::Parquet => {
                let (file, reason) = (folder.path().join(name), EpisodesFormat::unavailable());
                return Err(OutputError::unwritable(&file, reason));
            }
        }))
    }

    /// Adds the lines of a record.
    pub fn record(&mut self, yardstick: &Yardstick, record: &Record) -> Result<(), OutputError> {
        let mut rows = episode_rows(yardstick, record);
        match &mut self.0 {
            Writer::Csv(file) => rows.try_for_each(|row| file.append(&row)),
            #[cfg(feature = "parquet")]
            Writer::Parquet(file) => rows.try_for_each(|row| file.append(row)),
        }
    }

    /// Completes the file.
    pub fn finish(self) -> Result<(), OutputError> {
        match self.0 {
            Writer::Csv(file) => file.finish(),
            #[cfg(feature = "parquet")]
            Writer::Parquet(file) => file.finish(),
        }
    }
}

/// The lines of a folder's episodes.
pub type EpisodeLines = Box<dyn Iterator<Item = Result<EpisodeRow, InputError>>>;

/// Opens the episodes of a folder.
pub fn open_episodes(folder: &Path, format: EpisodesFormat) -> Result<EpisodeLines, InputError> {
    let file: PathBuf = folder.join(format.file());
    match format {
        EpisodesFormat::Csv => {
            let rows = CsvReader::<EpisodeRow, _>::open(&file)?;
            Ok(Box::new(rows.map(|line| line.map(|line| line.row))))
        }
        #[cfg(feature = "parquet")]
        EpisodesFormat::Parquet => parquet::open(&file),
        #[cfg(not(feature = "parquet"))]
        EpisodesFormat::Parquet => Err(InputError::unreadable(
            &file,
            &EpisodesFormat::unavailable(),
        )),
    }
}

/// The lines of a record.
pub fn episode_rows<'r>(
    yardstick: &'r Yardstick,
    record: &'r Record,
) -> impl Iterator<Item = EpisodeRow> + 'r {
    let opt = &yardstick.opt;
    let episodes = record.episodes.iter();
    let cumulative = cumulative_regret(episodes.clone().map(|e| e.reward), opt);
    let lines = episodes.zip(cumulative).enumerate();
    lines.map(move |(t, (episode, cumulative_regret))| EpisodeRow {
        policy: record.policy.clone(),
        replication: record.replication + 1,
        episode: t + 1,
        b_t: yardstick.budgets[t],
        reward: episode.reward,
        opt: opt[t],
        regret: opt[t] - episode.reward,
        cumulative_regret,
        spent: episode.spent,
        expected_regret: episode.expected.map(|expected| opt[t] - expected),
        played_widths: episode.played.map(|played| played.widths),
        played_tolerance: episode.played.map(|played| played.tolerance),
    })
}
