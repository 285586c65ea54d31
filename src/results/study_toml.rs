//! `study.toml`: the parts of the resolved study that a report needs.

use std::path::Path;

use crate::error::InputError;
use crate::files::read_text;

/// The text of a resolved study, and its names.
#[derive(Debug, Clone, PartialEq)]
pub struct StudyText {
    /// The whole file.
    pub text: String,
    /// The study's name.
    pub name: String,
    /// What an action is: price, wage, bid, or the number of an action.
    pub action: &'static str,
    /// Name and kind of each policy.
    pub kinds: Vec<(String, String)>,
}

impl StudyText {
    /// Whether a policy plans with the true conversion probabilities.
    pub fn knows_the_truth(&self, policy: &str) -> bool {
        let kind = self.kinds.iter().find(|(name, _)| name == policy);
        let kind = kind.map_or(policy, |(_, kind)| kind);
        kind == "clairvoyant" || kind == "fluid"
    }

    /// Reads the file.
    pub fn read(file: &Path) -> Result<Self, InputError> {
        Self::parse(file, read_text(file)?)
    }

    /// Parses a text; `file` is its name in messages.
    pub fn parse(file: &Path, text: String) -> Result<Self, InputError> {
        let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
            let start = error.span().map_or(0, |span| span.start);
            InputError::at_byte(file, &text, start, error.message())
        })?;
        let entry = |section: &str, key: &str| {
            let value = table.get(section).and_then(|s| s.get(key));
            let value = value.and_then(toml::Value::as_str);
            value.map(String::from).ok_or_else(|| {
                let message = format!("{section}.{key}: found no text; accepted: a resolved study");
                InputError::in_file(file, message)
            })
        };
        let action = match entry("application", "kind")?.as_str() {
            "pricing" => "price",
            "procurement" => "wage",
            "auction" => "bid",
            _ => "action number",
        };
        let policies = table.get("policies").and_then(toml::Value::as_array);
        let kinds = policies.into_iter().flatten().filter_map(|policy| {
            let text = |key: &str| policy.get(key).and_then(toml::Value::as_str);
            let kind = text("kind")?.to_string();
            Some((text("name").unwrap_or(&kind).to_string(), kind))
        });
        Ok(Self {
            kinds: kinds.collect(),
            name: entry("study", "name")?,
            action,
            text,
        })
    }
}
