//! Results for people and programs, one file per format. Nothing here computes a result.

pub mod coverage;
pub mod csv;
mod folder;
pub mod json;
pub mod plot;
pub mod table;

pub use folder::{GrowingFile, RESULT_FILES, ResultsFolder, write_whole};
