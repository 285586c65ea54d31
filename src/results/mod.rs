//! The files of a results folder, one struct per file, written and read by the same code.
//!
//! `episodes.csv`, `summary.csv`, `steps.csv`, `actions.csv`, `trace.csv`, `run.json` and `study.toml` of a study; `overview.csv` of a
//! sweep; `coverage.csv` of `calibrate`; `values.csv` and the table of sample sizes of `solve`. Numbers are written with the
//! fewest digits that read back as the same float64. Nothing here computes or draws.

mod clear;
mod episodes;
mod file;
mod folder;
mod need;
mod offers;
mod outcome;
mod overview;
mod read;
mod record_log;
mod records;
mod rows;
mod run_json;
mod study_toml;
mod sweep_json;
mod trace;

pub use crate::experiment::{MeanOffer, OfferMap};
pub use episodes::{EpisodesFormat, episode_rows, open_episodes};
use file::PartialFile;
pub use file::write_whole;
pub use folder::{RESULT_FILES, ResultsFolder};
pub use need::disk_needed;
pub use outcome::{OptimumByBudget, RunSetup, value_rows};
pub use overview::{Overview, OverviewRow, PointResult};
pub use read::{PolicyResults, Results, labels};
pub use record_log::{Origin, RecordLog, RecordWriter};
pub use records::{
    ActionRow, CoverageRow, EpisodeRow, EstimationRow, StepRow, SummaryRow, ValueRow,
};
pub use rows::{CsvLine, CsvReader, Row, csv_text};
pub use run_json::{
    AdapterTraffic, BoundsRun, ByBudget, DecisionSeconds, PlayedRun, PolicyRun, Run, Seconds,
};
pub use study_toml::StudyText;
pub use sweep_json::{SweepIndex, SweptPoint};

// What `runs` needs to write a folder.
#[doc(hidden)]
pub use episodes::EpisodesFile;
#[doc(hidden)]
pub use record_log::{RECORDS, RecordReader, WAVE, read_wave, remove_wave, write_wave};
#[doc(hidden)]
pub use rows::Unaccepted;
#[doc(hidden)]
pub use trace::{TraceError, TraceFile};
