//! Values of a section by type.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use super::Section;
use crate::config::Read;
use crate::config::data_files::checksum_key;
use crate::config::document::{Item, Node};
use crate::error::InputError;
use crate::files::sha256_of_file;

impl<'d> Section<'d> {
    /// Reads a required value and records it.
    fn required<T: Clone + Into<toml::Value>>(
        &mut self,
        key: &str,
        accepted: &str,
        read: impl FnOnce(&Self, &'d Item, &str) -> Read<T>,
    ) -> Read<T> {
        let item = self.require(key, accepted)?;
        let value = read(self, item, &self.field(key))?;
        self.record(key, value.clone());
        Ok(value)
    }

    /// Reads a value if its key is there.
    fn optional<T>(
        &mut self,
        key: &str,
        read: impl FnOnce(&mut Self, &str) -> Read<T>,
    ) -> Read<Option<T>> {
        if self.has(key) {
            return read(self, key).map(Some);
        }
        self.ignore(key);
        Ok(None)
    }

    /// Reads a value, or records the default.
    fn read_or<T: Clone + Into<toml::Value>>(
        &mut self,
        key: &str,
        default: T,
        read: impl FnOnce(&mut Self, &str) -> Read<T>,
    ) -> Read<T> {
        Ok(match self.optional(key, read)? {
            Some(value) => value,
            None => {
                self.record(key, default.clone());
                default
            }
        })
    }

    fn as_number(&self, item: &Item, field: &str) -> Read<f64> {
        match item.node {
            Node::Number(x) if x.is_finite() => Ok(x),
            Node::Whole(x) => Ok(x as f64),
            _ => Err(self.wrong(item, field, "a finite number")),
        }
    }

    fn as_numbers(&self, item: &'d Item, field: &str) -> Read<Vec<f64>> {
        self.elements(item, field, |item, field| self.as_number(item, field))
    }

    fn as_whole(&self, item: &Item, field: &str, range: &RangeInclusive<u64>) -> Read<i64> {
        let whole = match item.node {
            Node::Whole(x) => Some(x),
            // 3.0 is a whole number too.
            Node::Number(x) if x.fract() == 0.0 && (0.0..9e15).contains(&x) => Some(x as i64),
            _ => None,
        };
        let fits = |x: &i64| u64::try_from(*x).is_ok_and(|x| range.contains(&x));
        whole.filter(fits).ok_or_else(|| {
            let accepted = match *range.end() {
                u64::MAX => format!("a whole number from {}", range.start()),
                end => format!("a whole number from {} to {end}", range.start()),
            };
            self.wrong(item, field, &accepted)
        })
    }

    fn as_wholes(
        &self,
        item: &'d Item,
        field: &str,
        range: &RangeInclusive<u64>,
    ) -> Read<Vec<u32>> {
        self.elements(item, field, |item, field| {
            self.as_whole(item, field, range).map(|x| x as u32)
        })
    }

    pub(super) fn elements<T>(
        &self,
        item: &'d Item,
        field: &str,
        read: impl Fn(&'d Item, &str) -> Read<T>,
    ) -> Read<Vec<T>> {
        let Node::List(items) = &item.node else {
            return Err(self.wrong(item, field, "a list"));
        };
        let numbered = (1..).zip(items);
        numbered
            .map(|(i, item)| read(item, &format!("{field}[{i}]")))
            .collect()
    }

    /// A required finite number.
    pub fn number(&mut self, key: &str) -> Read<f64> {
        self.required(key, "a finite number", Self::as_number)
    }

    /// A finite number, or the default.
    pub fn number_or(&mut self, key: &str, default: f64) -> Read<f64> {
        self.read_or(key, default, Self::number)
    }

    /// A finite number, or `None`.
    pub fn optional_number(&mut self, key: &str) -> Read<Option<f64>> {
        self.optional(key, Self::number)
    }

    /// A required whole number.
    pub fn whole(&mut self, key: &str, range: RangeInclusive<u64>) -> Read<u64> {
        let accepted = format!("a whole number from {}", range.start());
        let value = self.required(key, &accepted, |s, item, field| {
            s.as_whole(item, field, &range)
        })?;
        Ok(value as u64)
    }

    /// A whole number, or the default.
    pub fn whole_or(&mut self, key: &str, range: RangeInclusive<u64>, default: u64) -> Read<u64> {
        let read = |s: &mut Self, key: &str| s.whole(key, range).map(|x| x as i64);
        Ok(self.read_or(key, default as i64, read)? as u64)
    }

    /// A whole number, or `None`.
    pub fn optional_whole(&mut self, key: &str, range: RangeInclusive<u64>) -> Read<Option<u64>> {
        self.optional(key, |s, key| s.whole(key, range))
    }

    /// A flag, or the default.
    pub fn flag_or(&mut self, key: &str, default: bool) -> Read<bool> {
        let accepted = "true or false";
        self.read_or(key, default, |s, key| {
            s.required(key, accepted, |s, item, field| match item.node {
                Node::Flag(flag) => Ok(flag),
                _ => Err(s.wrong(item, field, accepted)),
            })
        })
    }

    /// A list of numbers.
    pub fn numbers(&mut self, key: &str) -> Read<Vec<f64>> {
        self.required(key, "a list of numbers", Self::as_numbers)
    }

    /// A list of numbers, or `None`.
    pub fn optional_numbers(&mut self, key: &str) -> Read<Option<Vec<f64>>> {
        self.optional(key, Self::numbers)
    }

    /// A number or a list of numbers; empty if the key is missing.
    pub fn number_or_numbers(&mut self, key: &str) -> Read<Vec<f64>> {
        let read = |s: &mut Self, key: &str| match s.entry(key).map(|item| &item.node) {
            Some(Node::List(list)) if !list.is_empty() => s.numbers(key),
            Some(Node::List(_)) => {
                let item = s.require(key, "")?;
                Err(s.wrong(item, &s.field(key), "a number, or one per step"))
            }
            _ => s.number(key).map(|x| vec![x]),
        };
        Ok(self.optional(key, read)?.unwrap_or_default())
    }

    /// A list of whole numbers.
    pub fn wholes(&mut self, key: &str, range: RangeInclusive<u64>) -> Read<Vec<u32>> {
        self.required(key, "a list of whole numbers", |s, item, field| {
            s.as_wholes(item, field, &range)
        })
    }

    /// A list of rows of numbers; a bare number stands for a row of one.
    pub fn rows(&mut self, key: &str) -> Read<Vec<Vec<f64>>> {
        self.required(key, "a list of rows of numbers", |s, item, field| {
            s.elements(item, field, |row, field| match row.node {
                Node::List(_) => s.as_numbers(row, field),
                _ => s.as_number(row, field).map(|x| vec![x]),
            })
        })
    }

    /// A list of rows of numbers, or `None`.
    pub fn optional_rows(&mut self, key: &str) -> Read<Option<Vec<Vec<f64>>>> {
        self.optional(key, Self::rows)
    }

    /// A list of rows of whole numbers.
    pub fn whole_rows(&mut self, key: &str, range: RangeInclusive<u64>) -> Read<Vec<Vec<u32>>> {
        self.required(key, "a list of rows of whole numbers", |s, item, field| {
            s.elements(item, field, |row, field| s.as_wholes(row, field, &range))
        })
    }

    /// A text, or `None`.
    pub fn optional_text(&mut self, key: &str) -> Read<Option<String>> {
        let read = |s: &Self, item: &Item, field: &str| match &item.node {
            Node::Text(text) if is_line(text) => Ok(text.clone()),
            Node::Text(_) => Err(s.wrong(item, field, "a text of one line")),
            _ => Err(s.wrong(item, field, "a text in quotes")),
        };
        self.optional(key, |s, key| s.required(key, "", read))
    }

    /// A list of distinct texts, or `None`.
    pub fn optional_texts(&mut self, key: &str) -> Read<Option<Vec<String>>> {
        let accepted = "a list of distinct texts in quotes";
        let read = |s: &Self, item: &'d Item, field: &str| {
            let texts = s.elements(item, field, |item, field| match &item.node {
                Node::Text(text) if is_line(text) => Ok(text.clone()),
                _ => Err(s.wrong(item, field, accepted)),
            })?;
            match (1..texts.len()).any(|i| texts[..i].contains(&texts[i])) {
                true => Err(s.wrong(item, field, accepted)),
                false => Ok(texts),
            }
        };
        self.optional(key, |s, key| s.required(key, accepted, read))
    }

    /// A text, or the default.
    pub fn text_or(&mut self, key: &str, default: &str) -> Read<String> {
        let text = self.optional_text(key)?;
        Ok(text.unwrap_or_else(|| {
            self.record(key, default);
            default.into()
        }))
    }

    /// A required path of a data file, relative to the folder of the study file. It is recorded in full with the file's
    /// checksum; a checksum in the study must match.
    pub fn path(&mut self, key: &str) -> Read<PathBuf> {
        let accepted = "the path of a file";
        let item = self.require(key, accepted)?;
        let Node::Text(text) = &item.node else {
            return Err(self.wrong(item, &self.field(key), accepted));
        };
        let folder = self.document.file().parent().unwrap_or(Path::new(""));
        let path = folder.join(text);
        let full = std::path::absolute(&path).unwrap_or_else(|_| path.clone());
        self.record(key, full.to_string_lossy().into_owned());
        let checksum = sha256_of_file(&path);
        let checksum = checksum.map_err(|error| InputError::unreadable(&path, &error))?;
        let key = checksum_key(key);
        if let Some(item) = self.find(&key)
            && !matches!(&item.node, Node::Text(text) if *text == checksum)
        {
            let accepted = format!("`{checksum}`, that of {}", path.display());
            return Err(self.wrong(item, &self.field(&key), &accepted));
        }
        self.record(&key, checksum);
        Ok(path)
    }
}

fn is_line(text: &str) -> bool {
    !text.trim().is_empty() && !text.contains(char::is_control)
}
