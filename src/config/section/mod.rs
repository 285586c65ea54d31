//! Typed reading of a table of the study file. Every value read is also recorded, defaults included, so that the
//! resolved study is exactly what was read; keys that nobody asked for are errors that name the nearest known one.

mod values;

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

    fn record<T: Into<toml::Value>>(&mut self, key: &str, value: T) {
        self.resolved.insert(key.into(), value.into());
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

    /// One of some known words, or the default among them.
    pub fn word_or(
        &mut self,
        key: &'static str,
        known: &[&'static str],
        default: &'static str,
    ) -> Result<&'static str, InputError> {
        if !self.has(key) {
            self.asked.push(key);
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
    pub fn ignore(&mut self, key: &'static str) {
        self.asked.push(key);
    }

    /// A required sub-table.
    pub fn section(&mut self, key: &'static str) -> Result<Section<'d>, InputError> {
        let item = self.require(key, &format!("a table [{}]", self.field(key)))?;
        Section::of(self.document, self.field(key), item)
    }

    /// A sub-table that is not there: all its keys have their defaults.
    pub fn empty_section(&self, key: &'static str) -> Section<'d> {
        Section {
            document: self.document,
            path: self.field(key),
            origin: self.origin,
            entries: &[],
            asked: Vec::new(),
            resolved: toml::Table::new(),
        }
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
