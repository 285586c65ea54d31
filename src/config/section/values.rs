//! Values of a section by type.

use std::path::{Path, PathBuf};

use super::Section;
use crate::config::data_files::checksum_key;
use crate::config::document::{Item, Node};
use crate::error::InputError;
use crate::files::sha256_of_file;

impl<'d> Section<'d> {
    fn as_number(&self, item: &Item, field: &str) -> Result<f64, InputError> {
        match item.node {
            Node::Number(x) if x.is_finite() => Ok(x),
            Node::Whole(x) => Ok(x as f64),
            _ => Err(self.wrong(item, field, "a finite number")),
        }
    }

    fn as_whole(
        &self,
        item: &Item,
        field: &str,
        range: std::ops::RangeInclusive<u64>,
    ) -> Result<u64, InputError> {
        let whole = match item.node {
            Node::Whole(x) => u64::try_from(x).ok(),
            // 3.0 is a whole number too.
            Node::Number(x) if x.fract() == 0.0 && (0.0..9e15).contains(&x) => Some(x as u64),
            _ => None,
        };
        whole.filter(|x| range.contains(x)).ok_or_else(|| {
            let accepted = match *range.end() {
                u64::MAX => format!("a whole number from {}", range.start()),
                end => format!("a whole number from {} to {end}", range.start()),
            };
            self.wrong(item, field, &accepted)
        })
    }

    fn as_list(&self, item: &'d Item, field: &str) -> Result<&'d [Item], InputError> {
        match &item.node {
            Node::List(items) => Ok(items),
            _ => Err(self.wrong(item, field, "a list")),
        }
    }

    pub(super) fn elements<T>(
        &self,
        item: &'d Item,
        field: &str,
        read: impl Fn(&'d Item, &str) -> Result<T, InputError>,
    ) -> Result<Vec<T>, InputError> {
        let items = self.as_list(item, field)?.iter().enumerate();
        items
            .map(|(i, item)| read(item, &format!("{field}[{}]", i + 1)))
            .collect()
    }

    /// A required finite number.
    pub fn number(&mut self, key: &'static str) -> Result<f64, InputError> {
        let item = self.require(key, "a finite number")?;
        let value = self.as_number(item, &self.field(key))?;
        self.record(key, value);
        Ok(value)
    }

    /// A finite number, or the default.
    pub fn number_or(&mut self, key: &'static str, default: f64) -> Result<f64, InputError> {
        Ok(match self.optional_number(key)? {
            Some(value) => value,
            None => {
                self.record(key, default);
                default
            }
        })
    }

    /// A finite number, or nothing.
    pub fn optional_number(&mut self, key: &'static str) -> Result<Option<f64>, InputError> {
        if self.has(key) {
            return self.number(key).map(Some);
        }
        self.asked.push(key);
        Ok(None)
    }

    /// A required whole number.
    pub fn whole(
        &mut self,
        key: &'static str,
        range: std::ops::RangeInclusive<u64>,
    ) -> Result<u64, InputError> {
        let item = self.require(key, &format!("a whole number from {}", range.start()))?;
        let value = self.as_whole(item, &self.field(key), range)?;
        self.record(key, i64::try_from(value).unwrap_or(i64::MAX));
        Ok(value)
    }

    /// A whole number, or the default.
    pub fn whole_or(
        &mut self,
        key: &'static str,
        range: std::ops::RangeInclusive<u64>,
        default: u64,
    ) -> Result<u64, InputError> {
        if self.has(key) {
            return self.whole(key, range);
        }
        self.asked.push(key);
        self.record(key, default as i64);
        Ok(default)
    }

    /// A flag, or the default.
    pub fn flag_or(&mut self, key: &'static str, default: bool) -> Result<bool, InputError> {
        let value = match self.find(key) {
            None => default,
            Some(item) => match item.node {
                Node::Flag(flag) => flag,
                _ => return Err(self.wrong(item, &self.field(key), "true or false")),
            },
        };
        self.record(key, value);
        Ok(value)
    }

    /// A list of numbers.
    pub fn numbers(&mut self, key: &'static str) -> Result<Vec<f64>, InputError> {
        let item = self.require(key, "a list of numbers")?;
        let list = self.elements(item, &self.field(key), |x, field| self.as_number(x, field))?;
        self.record(key, list.clone());
        Ok(list)
    }

    /// A number or a list of numbers.
    pub fn number_or_numbers(&mut self, key: &'static str) -> Result<Vec<f64>, InputError> {
        match self.entries.iter().find(|(name, _)| name == key) {
            None => {
                self.asked.push(key);
                Ok(Vec::new())
            }
            Some((_, item)) if matches!(&item.node, Node::List(list) if list.is_empty()) => {
                Err(self.wrong(item, &self.field(key), "a number, or one per step"))
            }
            Some((_, item)) if matches!(item.node, Node::List(_)) => self.numbers(key),
            Some(_) => self.number(key).map(|x| vec![x]),
        }
    }

    /// A list of whole numbers.
    pub fn wholes(
        &mut self,
        key: &'static str,
        range: std::ops::RangeInclusive<u64>,
    ) -> Result<Vec<u32>, InputError> {
        let item = self.require(key, "a list of whole numbers")?;
        let list = self.elements(item, &self.field(key), |x, field| {
            self.as_whole(x, field, range.clone()).map(|x| x as u32)
        })?;
        self.record(key, list.clone());
        Ok(list)
    }

    /// A list of rows of numbers; a bare number stands for a row of one.
    pub fn rows(&mut self, key: &'static str) -> Result<Vec<Vec<f64>>, InputError> {
        let item = self.require(key, "a list of rows of numbers")?;
        let list = self.elements(item, &self.field(key), |row, field| match row.node {
            Node::List(_) => self.elements(row, field, |x, field| self.as_number(x, field)),
            _ => self.as_number(row, field).map(|x| vec![x]),
        })?;
        self.record(key, list.clone());
        Ok(list)
    }

    /// A list of rows of whole numbers.
    pub fn whole_rows(
        &mut self,
        key: &'static str,
        range: std::ops::RangeInclusive<u64>,
    ) -> Result<Vec<Vec<u32>>, InputError> {
        let item = self.require(key, "a list of rows of whole numbers")?;
        let list = self.elements(item, &self.field(key), |row, field| {
            self.elements(row, field, |x, field| {
                self.as_whole(x, field, range.clone()).map(|x| x as u32)
            })
        })?;
        self.record(key, list.clone());
        Ok(list)
    }

    /// A text, or nothing.
    pub fn optional_text(&mut self, key: &'static str) -> Result<Option<String>, InputError> {
        let Some(item) = self.find(key) else {
            return Ok(None);
        };
        let Node::Text(text) = &item.node else {
            return Err(self.wrong(item, &self.field(key), "a text in quotes"));
        };
        if text.trim().is_empty() || text.contains(char::is_control) {
            return Err(self.wrong(item, &self.field(key), "a text of one line"));
        }
        self.record(key, text.clone());
        Ok(Some(text.clone()))
    }

    /// A list of distinct texts, or nothing.
    pub fn optional_texts(&mut self, key: &'static str) -> Result<Option<Vec<String>>, InputError> {
        let Some(item) = self.find(key) else {
            return Ok(None);
        };
        let accepted = "a list of distinct texts in quotes";
        let texts = self.elements(item, &self.field(key), |item, field| match &item.node {
            Node::Text(text) if !text.trim().is_empty() && !text.contains(char::is_control) => {
                Ok(text.clone())
            }
            _ => Err(self.wrong(item, field, accepted)),
        })?;
        if (1..texts.len()).any(|i| texts[..i].contains(&texts[i])) {
            return Err(self.wrong(item, &self.field(key), accepted));
        }
        self.record(key, texts.clone());
        Ok(Some(texts))
    }

    /// A text, or the default.
    pub fn text_or(&mut self, key: &'static str, default: &str) -> Result<String, InputError> {
        Ok(match self.optional_text(key)? {
            Some(text) => text,
            None => {
                self.record(key, default);
                default.to_string()
            }
        })
    }

    /// A required path of a data file, taken from the folder of the study file and recorded in full with the file's
    /// checksum, which must be that of the study where it has one.
    pub fn path(&mut self, key: &'static str) -> Result<PathBuf, InputError> {
        let item = self.require(key, "the path of a file")?;
        let Node::Text(text) = &item.node else {
            return Err(self.wrong(item, &self.field(key), "the path of a file"));
        };
        let folder = self.document.file().parent().unwrap_or(Path::new(""));
        let path = folder.join(text);
        let full = std::path::absolute(&path).unwrap_or_else(|_| path.clone());
        self.record(key, full.to_string_lossy().into_owned());
        let checksum = sha256_of_file(&path);
        let checksum = checksum.map_err(|error| InputError::unreadable(&path, &error))?;
        self.check_checksum(checksum_key(key), &checksum, &path)?;
        Ok(path)
    }

    fn check_checksum(
        &mut self,
        key: &'static str,
        checksum: &str,
        file: &Path,
    ) -> Result<(), InputError> {
        self.record(key, checksum);
        match self.find(key) {
            None => Ok(()),
            Some(item) if matches!(&item.node, Node::Text(text) if text == checksum) => Ok(()),
            Some(item) => {
                let accepted = format!("`{checksum}`, that of {}", file.display());
                Err(self.wrong(item, &self.field(key), &accepted))
            }
        }
    }
}
