//! Typed reading of a table of the study file. Every value read is recorded, defaults included: the records are the
//! resolved study. A key that was not read is an error that names the nearest known key.

mod values;

use super::Read;
use super::document::{Document, Item, Node, Origin};
use crate::error::InputError;

/// A table being read.
#[derive(Debug)]
pub(crate) struct Section<'d> {
    document: &'d Document,
    path: String,
    origin: &'d Origin,
    entries: &'d [(String, Item)],
    asked: Vec<String>,
    resolved: toml::Table,
}

impl<'d> Section<'d> {
    /// The whole document.
    pub fn root(document: &'d Document) -> Self {
        Self::of(document, String::new(), document.root()).expect("the root is a table")
    }

    fn of(document: &'d Document, path: String, item: &'d Item) -> Read<Self> {
        match &item.node {
            Node::Table(entries) => Ok(Self {
                document,
                path,
                origin: &item.origin,
                entries,
                asked: Vec::new(),
                resolved: toml::Table::new(),
            }),
            _ => Err(document.wrong(item, &path, "a table")),
        }
    }

    /// The path of a key in messages.
    pub fn field(&self, key: &str) -> String {
        match self.path.is_empty() {
            true => key.into(),
            false => format!("{}.{key}", self.path),
        }
    }

    /// The document being read.
    pub fn document(&self) -> &'d Document {
        self.document
    }

    fn entry(&self, key: &str) -> Option<&'d Item> {
        let found = self.entries.iter().find(|(name, _)| name == key);
        found.map(|(_, item)| item)
    }

    /// Whether the key is there.
    pub fn has(&self, key: &str) -> bool {
        self.entry(key).is_some()
    }

    fn find(&mut self, key: &str) -> Option<&'d Item> {
        self.ignore(key);
        self.entry(key)
    }

    fn require(&mut self, key: &str, accepted: &str) -> Read<&'d Item> {
        if let Some(item) = self.find(key) {
            return Ok(item);
        }
        // It may be there, misspelt.
        let misspelt = self
            .entries
            .iter()
            .find(|(name, _)| !self.asked.contains(name) && strsim::jaro_winkler(name, key) > 0.87);
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
        let origin = self.entry(key).map_or(self.origin, |item| &item.origin);
        let field = self.field(key);
        let message = format!("{field}: found beside another key; accepted: {accepted}");
        self.document.error_at(origin, message)
    }

    /// The error of the whole section.
    pub fn refuse(&self, message: &str) -> InputError {
        let message = format!("{}{message}", self.place());
        self.document.error_at(self.origin, message)
    }

    /// A number by which the caller refers to an object; it is not part of the resolved study.
    pub fn reference(&mut self, key: &str) -> Read<Option<u64>> {
        match self.find(key).map(|item| (item, &item.node)) {
            None => Ok(None),
            Some((_, Node::Whole(number))) if *number >= 0 => Ok(Some(*number as u64)),
            Some((item, _)) => Err(self.wrong(item, &self.field(key), "a whole number from 0")),
        }
    }

    /// The section's path as the start of a message.
    fn place(&self) -> String {
        match self.path.is_empty() {
            true => String::new(),
            false => format!("{}: ", self.path),
        }
    }

    /// The error of a value.
    fn wrong(&self, item: &Item, field: &str, accepted: &str) -> InputError {
        self.document.wrong(item, field, accepted)
    }

    /// Records a resolved value.
    pub fn record(&mut self, key: &str, value: impl Into<toml::Value>) {
        self.resolved.insert(key.into(), value.into());
    }

    /// The `kind` of the section.
    pub fn kind(&mut self, known: &[&str]) -> Read<String> {
        self.word("kind", known)
    }

    /// One of some known words.
    pub fn word(&mut self, key: &str, known: &[&str]) -> Read<String> {
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

    /// One of some known words, or the default among them.
    pub fn word_or(
        &mut self,
        key: &str,
        known: &[&'static str],
        default: &'static str,
    ) -> Read<&'static str> {
        if !self.has(key) {
            self.ignore(key);
            self.record(key, default);
            return Ok(default);
        }
        let word = self.word(key, known)?;
        let found = known.iter().find(|known| **known == word);
        Ok(found.copied().unwrap_or(default))
    }

    /// The error of the section's `kind`, for families of kinds.
    pub fn wrong_kind(&mut self, accepted: &str) -> InputError {
        match self.require("kind", accepted) {
            Ok(item) => self.wrong(item, &self.field("kind"), accepted),
            Err(error) => error,
        }
    }

    /// Accepts a key without reading it.
    pub fn ignore(&mut self, key: &str) {
        self.asked.push(key.into());
    }

    /// Reads a required sub-table and records its resolved form.
    pub fn table<T>(&mut self, key: &str, read: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        let item = self.require(key, &format!("a table [{}]", self.field(key)))?;
        let child = Self::of(self.document, self.field(key), item)?;
        self.finish_table(key, child, read)
    }

    /// Reads a sub-table that is not there: all its keys have their defaults.
    pub fn missing_table<T>(
        &mut self,
        key: &str,
        read: impl FnOnce(&mut Self) -> Read<T>,
    ) -> Read<T> {
        let child = Self {
            document: self.document,
            path: self.field(key),
            origin: self.origin,
            entries: &[],
            asked: Vec::new(),
            resolved: toml::Table::new(),
        };
        self.finish_table(key, child, read)
    }

    fn finish_table<T>(
        &mut self,
        key: &str,
        mut child: Self,
        read: impl FnOnce(&mut Self) -> Read<T>,
    ) -> Read<T> {
        let value = read(&mut child)?;
        self.record(key, child.finish()?);
        Ok(value)
    }

    /// Reads a list of sub-tables; a missing one is empty.
    pub fn tables<T>(
        &mut self,
        key: &str,
        mut read: impl FnMut(&mut Self) -> Read<T>,
    ) -> Read<Vec<T>> {
        let field = self.field(key);
        let children = match self.find(key) {
            None => Vec::new(),
            Some(item) => self.elements(item, &field, |item, field| {
                Self::of(self.document, field.to_string(), item)
            })?,
        };
        let mut resolved = Vec::new();
        let mut values = Vec::new();
        for mut child in children {
            values.push(read(&mut child)?);
            resolved.push(child.finish()?);
        }
        self.record(key, resolved);
        Ok(values)
    }

    /// Ends the reading: refuses unknown keys, and returns the resolved table.
    pub fn finish(mut self) -> Read<toml::Table> {
        let mut unknown = self.entries.iter();
        let Some((key, item)) = unknown.find(|(key, _)| !self.asked.contains(key)) else {
            return Ok(self.resolved);
        };
        let place = self.place();
        let known = &mut self.asked;
        known.sort_unstable();
        known.dedup();
        let hint = match nearest(key, known.iter().map(String::as_str)) {
            Some(near) => format!("nearest known key: `{near}`"),
            None => format!("known keys: {}", known.join(", ")),
        };
        let message = format!("{place}found unknown key `{key}`; {hint}");
        Err(self.document.error_at(&item.origin, message))
    }
}

/// `one of a, b, c`, for messages.
fn one_of(known: &[&str]) -> String {
    format!("one of {}", known.join(", "))
}

/// The known word that is most similar to the given one, if any is.
pub(super) fn nearest<'k>(word: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    known
        .map(|k| (strsim::jaro_winkler(word, k), k))
        .filter(|(likeness, _)| *likeness > 0.7)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, k)| k)
}
