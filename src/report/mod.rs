//! Results for people and programs, one file per format. Nothing here computes a result.

pub mod coverage;
pub mod csv;
pub mod estimation;
mod folder;
pub mod html;
pub mod json;
pub mod overview;
pub mod plot;
pub mod png;
pub mod results;
pub mod table;
pub mod verdict;

pub use folder::{GrowingFile, RESULT_FILES, ResultsFolder, write_whole};
