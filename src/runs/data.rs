//! Copies of a study's data files in its results folder.

use std::collections::HashMap;
use std::path::PathBuf;

use crate::config::StudyFile;
use crate::error::{InputError, OutputError};
use crate::results::ResultsFolder;

/// The data of studies. It is read before anything is removed, because it may be in the results folder itself.
#[derive(Debug, Default)]
pub struct StudyData {
    by_source: HashMap<PathBuf, Vec<u8>>,
}

impl StudyData {
    /// Reads the data of some studies, each file once.
    pub fn read<'f>(files: impl IntoIterator<Item = &'f StudyFile>) -> Result<Self, InputError> {
        let mut data = Self::default();
        for file in files.into_iter().flat_map(StudyFile::data) {
            if !data.by_source.contains_key(&file.source) {
                let content = file.read()?;
                data.by_source.insert(file.source.clone(), content);
            }
        }
        Ok(data)
    }

    /// Writes the copies of the data, then the resolved study that names them.
    pub fn write(&self, file: &StudyFile, folder: &ResultsFolder) -> Result<(), OutputError> {
        for copy in file.data() {
            folder.write(&copy.name, &self.by_source[&copy.source])?;
        }
        folder.write("study.toml", file.resolved_text().as_bytes())
    }
}
