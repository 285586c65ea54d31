//! Typed reading of a table of the study file. Every value read is also recorded, defaults included, so that the
//! resolved study is exactly what was read; keys that nobody asked for are errors that name the nearest known one.

use std::path::PathBuf;

use super::document::{Document, Item, Node, Origin};
use crate::error::InputError;

/// A table being read.
#[derive(Debug)]
pub(super) struct Section<'d> {
    document: &'d Document,
    path: String,
    origin: &'d Origin,
    entries: &'d [(String, Item)],
    asked: Vec<&'static str>,
    resolved: toml::Table,
}

impl<'d> Section<'d> {
    /// The whole document.
    pub fn root(document: &'d Document) -> Self {
        Self::of(document, String::new(), document.root()).expect("the root is a table")
    }

    fn of(document: &'d Document, path: String, item: &'d Item) -> Result<Self, InputError> {
        match &item.node {
            Node::Table(entries) => Ok(Self {
                document,
                path,
                origin: &item.origin,
                entries,
                asked: Vec::new(),
                resolved: toml::Table::new(),
            }),
            other => {
                let message = format!("{path}: found {}; accepted: a table", other.describe());
                Err(document.error_at(&item.origin, message))
            }
        }
    }

    /// The path of a key, as messages write it.
    pub fn field(&self, key: &str) -> String {
        if self.path.is_empty() {
            key.into()
        } else {
            format!("{}.{key}", self.path)
        }
    }

    /// The document being read.
    pub fn document(&self) -> &'d Document {
        self.document
    }

    /// Whether the key is there.
    pub fn has(&self, key: &str) -> bool {
        self.entries.iter().any(|(name, _)| name == key)
    }

    fn find(&mut self, key: &'static str) -> Option<&'d Item> {
        self.asked.push(key);
        self.entries
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, item)| item)
    }

    fn require(&mut self, key: &'static str, accepted: &str) -> Result<&'d Item, InputError> {
        if let Some(item) = self.find(key) {
            return Ok(item);
        }
        // Perhaps it is there, misspelt.
        let misspelt = self.entries.iter().find(|(name, _)| {
            !self.asked.contains(&name.as_str()) && strsim::jaro_winkler(name, key) > 0.87
        });
        Err(match misspelt {
            Some((name, item)) => {
                let place = self.place();
                let message =
                    format!("{place}found unknown key `{name}`; nearest known key: `{key}`");
                self.document.error_at(&item.origin, message)
            }
            None => self.missing(key, accepted),
        })
    }

    /// The error of a key that is not there.
    pub fn missing(&self, key: &str, accepted: &str) -> InputError {
        let message = format!("{}: found nothing; accepted: {accepted}", self.field(key));
        self.document.error_at(self.origin, message)
    }

    /// The error of a key that is there but must not be.
    pub fn conflict(&self, key: &str, accepted: &str) -> InputError {
        let found = self.entries.iter().find(|(name, _)| name == key);
        let origin = found.map_or(self.origin, |(_, item)| &item.origin);
        let message = format!(
            "{}: found beside another key; accepted: {accepted}",
            self.field(key)
        );
        self.document.error_at(origin, message)
    }

    /// The section's path as the start of a message.
    fn place(&self) -> String {
        if self.path.is_empty() {
            String::new()
        } else {
            format!("{}: ", self.path)
        }
    }

    /// The error of a value that was found.
    pub fn wrong(&self, item: &Item, field: &str, accepted: &str) -> InputError {
        let message = format!(
            "{field}: found {}; accepted: {accepted}",
            item.node.describe()
        );
        self.document.error_at(&item.origin, message)
    }

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

    fn elements<T>(
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

    fn record<T: Into<toml::Value>>(&mut self, key: &str, value: T) {
        self.resolved.insert(key.into(), value.into());
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
        self.record(key, text.clone());
        Ok(Some(text.clone()))
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

    /// A required path, taken from the folder of the study file and recorded in full.
    pub fn path(&mut self, key: &'static str) -> Result<PathBuf, InputError> {
        let item = self.require(key, "the path of a file")?;
        let Node::Text(text) = &item.node else {
            return Err(self.wrong(item, &self.field(key), "the path of a file"));
        };
        let folder = self
            .document
            .file()
            .parent()
            .unwrap_or(std::path::Path::new(""));
        let path = folder.join(text);
        let full = std::path::absolute(&path).unwrap_or_else(|_| path.clone());
        self.record(key, full.to_string_lossy().into_owned());
        Ok(path)
    }

    /// The `kind` of the section.
    pub fn kind(&mut self, known: &[&'static str]) -> Result<String, InputError> {
        self.word("kind", known)
    }

    /// One of some known words.
    pub fn word(
        &mut self,
        key: &'static str,
        known: &[&'static str],
    ) -> Result<String, InputError> {
        let accepted = one_of(known);
        let item = self.require(key, &accepted)?;
        let Node::Text(text) = &item.node else {
            return Err(self.wrong(item, &self.field(key), &accepted));
        };
        // `fixed:<a>` stands for a family of kinds.
        let family = |k: &&str| {
            k.strip_suffix("<a>")
                .is_some_and(|head| text.starts_with(head))
        };
        if known.contains(&text.as_str()) || known.iter().any(family) {
            self.record(key, text.clone());
            return Ok(text.clone());
        }
        let accepted = match nearest(text, known.iter().copied()) {
            Some(near) => format!("{accepted} (nearest: `{near}`)"),
            None => accepted,
        };
        Err(self.wrong(item, &self.field(key), &accepted))
    }

    /// The error of the section's `kind`, for families of kinds.
    pub fn wrong_kind(&mut self, accepted: &str) -> InputError {
        match self.require("kind", accepted) {
            Ok(item) => self.wrong(item, &self.field("kind"), accepted),
            Err(error) => error,
        }
    }

    /// A required sub-table.
    pub fn section(&mut self, key: &'static str) -> Result<Section<'d>, InputError> {
        let item = self.require(key, &format!("a table [{}]", self.field(key)))?;
        Section::of(self.document, self.field(key), item)
    }

    /// A list of sub-tables; absent means none.
    pub fn sections(&mut self, key: &'static str) -> Result<Vec<Section<'d>>, InputError> {
        let Some(item) = self.find(key) else {
            return Ok(Vec::new());
        };
        let field = self.field(key);
        self.elements(item, &field, |item, field| {
            Section::of(self.document, field.to_string(), item)
        })
    }

    /// Records the resolved form of a sub-table that has been read.
    pub fn resolve(&mut self, key: &str, part: impl Into<toml::Value>) {
        self.record(key, part.into());
    }

    /// Ends the reading: unknown keys are errors; the resolved table comes back.
    pub fn finish(self) -> Result<toml::Table, InputError> {
        let unknown = self
            .entries
            .iter()
            .find(|(key, _)| !self.asked.contains(&key.as_str()));
        let Some((key, item)) = unknown else {
            return Ok(self.resolved);
        };
        let place = self.place();
        let mut known = self.asked.clone();
        known.sort_unstable();
        known.dedup();
        let hint = match nearest(key, known.iter().copied()) {
            Some(near) => format!("nearest known key: `{near}`"),
            None => format!("known keys: {}", known.join(", ")),
        };
        let message = format!("{place}found unknown key `{key}`; {hint}");
        Err(self.document.error_at(&item.origin, message))
    }
}

/// `one of a, b, c`, for messages.
pub(super) fn one_of(known: &[&str]) -> String {
    format!("one of {}", known.join(", "))
}

/// The known word that looks most like the given one, if any does.
pub(super) fn nearest<'k>(word: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    known
        .map(|k| (strsim::jaro_winkler(word, k), k))
        .filter(|(likeness, _)| *likeness > 0.7)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, k)| k)
}
