//! The data files of a study. A results folder has copies of them, and its study names the copies with their checksums,
//! so that the folder can be moved.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use toml::{Table, Value};

use crate::error::InputError;
use crate::files::{safe_name, sha256};

/// The key of a file's checksum is the key of the file with this suffix.
const CHECKSUM: &str = "_sha256";

/// The folder of the copies, beside the study.
const FOLDER: &str = "data";

/// A data file that a study names, and its copy in the results folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataFile {
    /// Path of the file.
    pub source: PathBuf,
    /// Name of the copy, relative to the folder of the study.
    pub name: String,
    checksum: String,
}

/// The key of a file's checksum.
pub(super) fn checksum_key(key: &str) -> String {
    format!("{key}{CHECKSUM}")
}

impl DataFile {
    /// The content; an error if it has changed since the study was checked.
    pub fn read(&self) -> Result<Vec<u8>, InputError> {
        let bytes = std::fs::read(&self.source);
        let bytes = bytes.map_err(|error| InputError::unreadable(&self.source, &error))?;
        match sha256(&bytes) == self.checksum {
            true => Ok(bytes),
            false => {
                let message = "the file changed while it was being read";
                Err(InputError::in_file(&self.source, message))
            }
        }
    }
}

/// Makes a resolved study name the copies of its data files, and returns the files. A key with a checksum is a file.
pub(super) fn relocate(study: &mut Table) -> Vec<DataFile> {
    let mut files = Vec::new();
    relocate_in(study, &mut files, &mut HashMap::new());
    files
}

fn relocate_in(table: &mut Table, files: &mut Vec<DataFile>, taken: &mut HashMap<String, usize>) {
    let checksums: HashMap<String, String> = table
        .iter()
        .filter_map(|(key, value)| {
            let key = key.strip_suffix(CHECKSUM)?;
            Some((key.to_string(), value.as_str()?.to_string()))
        })
        .collect();
    for (key, value) in table.iter_mut() {
        match value {
            Value::String(path) => {
                if let Some(checksum) = checksums.get(key) {
                    *path = copy_of(Path::new(path), checksum, files, taken);
                }
            }
            Value::Table(table) => relocate_in(table, files, taken),
            Value::Array(values) => {
                let tables = values.iter_mut().filter_map(Value::as_table_mut);
                tables.for_each(|table| relocate_in(table, files, taken));
            }
            _ => {}
        }
    }
}

/// The name of a file's copy. Equal files share one; different files of the same name get numbers.
fn copy_of(
    source: &Path,
    checksum: &str,
    files: &mut Vec<DataFile>,
    taken: &mut HashMap<String, usize>,
) -> String {
    let file_name = source.file_name().unwrap_or_default().to_string_lossy();
    let own = safe_name(&file_name);
    let known = files.iter().find(|file| {
        let same_name = file.source.file_name() == source.file_name();
        file.checksum == checksum && same_name
    });
    if let Some(known) = known {
        return known.name.clone();
    }
    let number = taken.entry(own.to_lowercase()).or_insert(0);
    *number += 1;
    let name = match (*number, own.rsplit_once('.')) {
        (1, _) => format!("{FOLDER}/{own}"),
        (number, Some((stem, ending))) => format!("{FOLDER}/{stem}-{number}.{ending}"),
        (number, None) => format!("{FOLDER}/{own}-{number}"),
    };
    files.push(DataFile {
        source: source.to_path_buf(),
        name: name.clone(),
        checksum: checksum.into(),
    });
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_have_names_of_their_own() {
        let text = r#"
            [contexts]
            path = "/a/rows.csv"
            path_sha256 = "1"
            [[policies]]
            initial_file = "/b/rows.csv"
            initial_file_sha256 = "2"
            [[policies]]
            initial_file = "/c/rows.csv"
            initial_file_sha256 = "1"
            name = "path"
        "#;
        let mut study: Table = text.parse().unwrap();
        let files = relocate(&mut study);
        let found: Vec<(&str, &str)> = files
            .iter()
            .map(|f| (f.source.to_str().unwrap(), f.name.as_str()))
            .collect();
        let expected = [
            ("/a/rows.csv", "data/rows.csv"),
            ("/b/rows.csv", "data/rows-2.csv"),
        ];
        assert_eq!(found, expected);
        let policies = study["policies"].as_array().unwrap();
        assert_eq!(
            policies[0]["initial_file"].as_str(),
            Some("data/rows-2.csv")
        );
        assert_eq!(policies[1]["initial_file"].as_str(), Some("data/rows.csv"));
        assert_eq!(policies[1]["name"].as_str(), Some("path"));
    }
}
