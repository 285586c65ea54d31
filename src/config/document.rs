//! A study file as a tree of values with their origins: a line of the file, or a command-line option.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use toml::de::{DeTable, DeValue};

use super::FindOwn;
use crate::error::{InputError, Invalid};
use crate::files::read_text;

/// A parsed study file, possibly changed by options.
#[derive(Debug, Clone)]
pub struct Document {
    file: PathBuf,
    root: Item,
    own: Option<Arc<dyn FindOwn>>,
}

/// A policy to run.
#[derive(Debug, Clone, PartialEq)]
pub enum Wanted {
    /// Those of the study with this kind or name; without any, a policy of this kind with its defaults.
    Named(String),
    /// A policy as a study file states it.
    Stated(toml::Table),
}

/// A value and its origin.
#[derive(Debug, Clone)]
pub(super) struct Item {
    pub node: Node,
    pub origin: Origin,
}

/// Where a value came from.
#[derive(Debug, Clone)]
pub(super) enum Origin {
    Line(usize),
    Option(String),
}

#[derive(Debug, Clone)]
pub(super) enum Node {
    Text(String),
    Whole(i64),
    Number(f64),
    Flag(bool),
    Date(String),
    List(Vec<Item>),
    Table(Vec<(String, Item)>),
}

impl Node {
    /// The value as a user wrote it, on one line.
    pub fn describe(&self) -> String {
        match self {
            // A number in quotes.
            Self::Text(text) if text.parse::<f64>().is_ok() => format!("the text `{text}`"),
            Self::Text(text) => format!("`{text}`"),
            Self::Whole(x) => x.to_string(),
            Self::Number(x) => format!("{x:?}"),
            Self::Flag(x) => x.to_string(),
            Self::Date(x) => x.clone(),
            Self::List(items) => format!("a list of {}", items.len()),
            Self::Table(_) => "a table".into(),
        }
    }
}

impl Item {
    fn of_option(node: Node, option: &str) -> Self {
        Self {
            node,
            origin: Origin::Option(option.into()),
        }
    }

    /// The entries of a table; empty for other values.
    pub fn entries(&self) -> &[(String, Self)] {
        match &self.node {
            Node::Table(entries) => entries,
            _ => &[],
        }
    }

    /// The elements of a list; empty for other values.
    pub fn elements(&self) -> &[Self] {
        match &self.node {
            Node::List(items) => items,
            _ => &[],
        }
    }

    /// An entry of a table.
    pub fn get(&self, key: &str) -> Option<&Self> {
        let found = self.entries().iter().find(|(name, _)| name == key);
        found.map(|(_, item)| item)
    }

    /// The text at a key of a table.
    pub fn text(&self, key: &str) -> Option<&str> {
        match &self.get(key)?.node {
            Node::Text(text) => Some(text),
            _ => None,
        }
    }

    pub fn get_mut(&mut self, key: &str) -> Option<&mut Self> {
        let Node::Table(entries) = &mut self.node else {
            return None;
        };
        let found = entries.iter_mut().find(|(name, _)| name == key);
        found.map(|(_, item)| item)
    }

    /// Replaces or adds an entry of a table.
    pub fn put(&mut self, key: &str, item: Self) {
        if let Some(slot) = self.get_mut(key) {
            *slot = item;
        } else if let Node::Table(entries) = &mut self.node {
            entries.push((key.into(), item));
        }
    }

    /// Removes an entry of a table.
    pub fn take(&mut self, key: &str) -> Option<Self> {
        let place = self.entries().iter().position(|(name, _)| name == key)?;
        match &mut self.node {
            Node::Table(entries) => Some(entries.remove(place).1),
            _ => None,
        }
    }
}

/// The parts of a path such as `policies[1].oracle.gamma`.
pub(super) fn segments(path: &str) -> impl Iterator<Item = &str> {
    let parts = path.split(['.', '[']);
    parts.map(|part| part.trim_end_matches(']'))
}

/// The error of a TOML text that cannot be parsed.
pub(crate) fn toml_error(file: &Path, text: &str, error: &toml::de::Error) -> InputError {
    let start = error.span().map_or(0, |span| span.start);
    let message = error.message().lines().collect::<Vec<_>>().join(", ");
    InputError::at_byte(file, text, start, message)
}

impl Document {
    /// Reads and parses a file.
    pub fn read(file: &Path) -> Result<Self, InputError> {
        Self::parse(file, &read_text(file)?)
    }

    /// Parses a text; `file` names it in messages, and relative paths start from its folder.
    pub fn parse(file: &Path, text: &str) -> Result<Self, InputError> {
        let line_of = |byte: usize| text[..byte.min(text.len())].matches('\n').count() + 1;
        let table = DeTable::parse(text).map_err(|error| toml_error(file, text, &error))?;
        Ok(Self {
            file: file.to_path_buf(),
            root: Item {
                node: table_node(table.get_ref(), &line_of),
                origin: Origin::Line(1),
            },
            own: None,
        })
    }

    /// A study given as values, such as a dictionary of another language. Messages name the field and `name`; paths start
    /// from the working folder.
    pub fn from_table(name: &str, table: &toml::Table) -> Self {
        let origin = Origin::Option(name.into());
        Self {
            file: PathBuf::from(name),
            root: item_of_value(&toml::Value::Table(table.clone()), &origin),
            own: None,
        }
    }

    /// Sets what finds own code; without it, a study with own code can be read but not run.
    pub fn find_own(&mut self, finder: Arc<dyn FindOwn>) {
        self.own = Some(finder);
    }

    pub(super) fn own(&self) -> Option<&dyn FindOwn> {
        self.own.as_deref()
    }

    /// The file's name in messages.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// The default name of the study: the file's name without its ending.
    pub fn name(&self) -> String {
        let stem = self.file.file_stem().map(|stem| stem.to_string_lossy());
        let stem = stem.as_deref().unwrap_or("study");
        let name = stem.strip_prefix("preset ").unwrap_or(stem);
        name.replace(char::is_control, "-")
    }

    pub(super) fn root(&self) -> &Item {
        &self.root
    }

    pub(super) fn root_mut(&mut self) -> &mut Item {
        &mut self.root
    }

    /// The items of `[[policies]]`.
    pub(super) fn policies(&self) -> &[Item] {
        self.root.get("policies").map_or(&[], Item::elements)
    }

    /// Sets `section.key` to a list of numbers given by an option.
    pub fn set_numbers(&mut self, section: &str, key: &str, values: &[f64], option: &str) {
        let number = |x: &f64| match x.fract() == 0.0 {
            true => Item::of_option(Node::Whole(*x as i64), option),
            false => Item::of_option(Node::Number(*x), option),
        };
        let list = Node::List(values.iter().map(number).collect());
        self.set(section, key, list, option);
    }

    /// Sets `section.key` to a text given by an option.
    pub fn set_text(&mut self, section: &str, key: &str, value: &str, option: &str) {
        self.set(section, key, Node::Text(value.into()), option);
    }

    /// Sets `section.key` to a whole number given by an option.
    pub fn set_whole(&mut self, section: &str, key: &str, value: u64, option: &str) {
        let value = Node::Whole(i64::try_from(value).unwrap_or(i64::MAX));
        self.set(section, key, value, option);
    }

    /// Sets `section.key` to a number given by an option.
    pub fn set_number(&mut self, section: &str, key: &str, value: f64, option: &str) {
        self.set(section, key, Node::Number(value), option);
    }

    /// Sets `section.key` to a flag given by an option.
    pub fn set_flag(&mut self, section: &str, key: &str, value: bool, option: &str) {
        self.set(section, key, Node::Flag(value), option);
    }

    fn set(&mut self, section: &str, key: &str, node: Node, option: &str) {
        let known = self.root.get(section);
        if !known.is_some_and(|item| matches!(item.node, Node::Table(_))) {
            let node = Node::Table(Vec::new());
            // Other keys that the section needs are missing from the file.
            let origin = known.map_or(Origin::Line(1), |item| item.origin.clone());
            self.root.put(section, Item { node, origin });
        }
        let section = self.root.get_mut(section).expect("it was just put there");
        section.put(key, Item::of_option(node, option));
    }

    /// Replaces the budget section by a constant budget.
    pub fn set_constant_budget(&mut self, value: u32, option: &str) {
        if let Some(budget) = self.root.get_mut("budget") {
            budget.node = Node::Table(Vec::new());
        }
        self.set_text("budget", "kind", "constant", option);
        self.set_whole("budget", "value", value.into(), option);
    }

    /// Keeps the policies with these kinds or names, in this order; those that the file lacks are added with their defaults.
    pub fn choose_policies(&mut self, asked: &[String], option: &str) {
        let wanted: Vec<Wanted> = asked.iter().cloned().map(Wanted::Named).collect();
        self.set_policies(&wanted, option);
    }

    /// Replaces the policies by these, in this order. Every name is taken once.
    pub fn set_policies(&mut self, wanted: &[Wanted], option: &str) {
        let mut chosen: Vec<Item> = Vec::new();
        let is_asked = |name: &str| wanted.contains(&Wanted::Named(name.into()));
        for (place, want) in wanted.iter().enumerate() {
            let name = match want {
                Wanted::Named(_) if wanted[..place].contains(want) => continue,
                Wanted::Named(name) => name,
                Wanted::Stated(table) => {
                    let origin = Origin::Option(option.into());
                    chosen.push(item_of_value(&toml::Value::Table(table.clone()), &origin));
                    continue;
                }
            };
            let is_wanted = |item: &&Item| {
                let names = ["kind", "name"].map(|key| item.text(key));
                names.contains(&Some(name))
            };
            let before = chosen.len();
            // A policy that is asked for by its name is not taken for its kind as well.
            let asked_by_name = |item: &&Item| {
                item.text("name")
                    .is_none_or(|own| own == name || !is_asked(own))
            };
            let found = self.policies().iter().filter(is_wanted);
            chosen.extend(found.filter(asked_by_name).cloned());
            if chosen.len() == before {
                let kind = Item::of_option(Node::Text(name.clone()), option);
                let table = Node::Table(vec![("kind".into(), kind)]);
                chosen.push(Item::of_option(table, option));
            }
        }
        let list = Item::of_option(Node::List(chosen), option);
        self.root.put("policies", list);
    }

    /// Replaces the sweep; the keys are paths into the study.
    pub fn set_sweep(&mut self, sweep: &toml::Table, option: &str) {
        let origin = Origin::Option(option.into());
        let item = item_of_value(&toml::Value::Table(sweep.clone()), &origin);
        self.root.put("sweep", item);
    }

    /// The error of a field that a check has rejected, with the line (or option) it came from.
    pub fn locate(&self, invalid: &Invalid) -> InputError {
        self.error_at(self.origin_of(&invalid.field), invalid.to_string())
    }

    /// The error of a value.
    pub(super) fn wrong(&self, item: &Item, field: &str, accepted: &str) -> InputError {
        let found = item.node.describe();
        let message = format!("{field}: found {found}; accepted: {accepted}");
        self.error_at(&item.origin, message)
    }

    pub(super) fn error_at(&self, origin: &Origin, message: String) -> InputError {
        match origin {
            Origin::Line(line) => InputError::at(&self.file, *line, message),
            Origin::Option(option) => InputError::option(option, message),
        }
    }

    /// The origin of the deepest item on a path that is in the tree.
    fn origin_of(&self, path: &str) -> &Origin {
        let mut item = &self.root;
        for segment in segments(path) {
            let place = segment.parse().ok().and_then(|n: usize| n.checked_sub(1));
            let element = place.and_then(|place| item.elements().get(place));
            match item.get(segment).or(element) {
                Some(next) => item = next,
                None => break,
            }
        }
        &item.origin
    }
}

fn item_of_value(value: &toml::Value, origin: &Origin) -> Item {
    use toml::Value;
    let node = match value {
        Value::String(text) => Node::Text(text.clone()),
        Value::Integer(whole) => Node::Whole(*whole),
        Value::Float(number) => Node::Number(*number),
        Value::Boolean(flag) => Node::Flag(*flag),
        Value::Datetime(date) => Node::Date(date.to_string()),
        Value::Array(items) => Node::List(items.iter().map(|x| item_of_value(x, origin)).collect()),
        Value::Table(table) => {
            let entries = table
                .iter()
                .map(|(key, x)| (key.clone(), item_of_value(x, origin)));
            Node::Table(entries.collect())
        }
    };
    let origin = origin.clone();
    Item { node, origin }
}

fn table_node(table: &DeTable, line_of: &impl Fn(usize) -> usize) -> Node {
    let entries = table.iter().map(|(key, value)| {
        let line = line_of(key.span().start);
        (
            key.get_ref().to_string(),
            item_of(value.get_ref(), line, line_of),
        )
    });
    Node::Table(entries.collect())
}

fn item_of(value: &DeValue, line: usize, line_of: &impl Fn(usize) -> usize) -> Item {
    let node = match value {
        DeValue::String(text) => Node::Text(text.to_string()),
        DeValue::Integer(whole) => i64::from_str_radix(whole.as_str(), whole.radix())
            .map_or_else(|_| Node::Text(whole.to_string()), Node::Whole),
        DeValue::Float(number) => number
            .as_str()
            .parse()
            .map_or_else(|_| Node::Text(number.to_string()), Node::Number),
        DeValue::Boolean(flag) => Node::Flag(*flag),
        DeValue::Datetime(date) => Node::Date(date.to_string()),
        DeValue::Array(items) => Node::List(
            items
                .iter()
                .map(|item| item_of(item.get_ref(), line_of(item.span().start), line_of))
                .collect(),
        ),
        DeValue::Table(table) => table_node(table, line_of),
    };
    Item {
        node,
        origin: Origin::Line(line),
    }
}
