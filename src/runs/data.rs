//! Copies of a study's data files in its results folder.

use std::collections::HashMap;
use std::path::PathBuf;

use crate::config::StudyFile;
use crate::error::{InputError, OutputError};
use crate::results::ResultsFolder;

/// The data of studies, read before anything is removed: it may lie in the very folder that is written to.
#[derive(Debug, Default)]
pub struct Data {
    by_source: HashMap<PathBuf, Vec<u8>>,
}

impl Data {
    /// Reads the data of some studies, each file once.
    pub fn read<'f>(files: impl Iterator<Item = &'f StudyFile>) -> Result<Self, InputError> {
        let mut data = Self::default();
        for file in files.flat_map(StudyFile::data) {
            if !data.by_source.contains_key(&file.source) {
                let content = file.read()?;
                data.by_source.insert(file.source.clone(), content);
            }
        }
        Ok(data)
    }

    /// Writes the resolved study and the copies that it names.
    pub fn write(&self, file: &StudyFile, folder: &ResultsFolder) -> Result<(), OutputError> {
        for copy in file.data() {
            folder.write(&copy.name, &self.by_source[&copy.source])?;
        }
        folder.write("study.toml", file.resolved_text().as_bytes())
    }
}
