//! A study file as a tree of values that remember where they came from: a line of the file, or a command-line option.

use std::path::{Path, PathBuf};

use toml::de::{DeTable, DeValue};

use crate::error::{InputError, Invalid};

/// A parsed study file, possibly changed by options.
#[derive(Debug, Clone)]
pub struct Document {
    file: PathBuf,
    root: Item,
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
            // What looks like a number but is none.
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

impl Document {
    /// Reads and parses a file.
    pub fn read(file: &Path) -> Result<Self, InputError> {
        let text =
            crate::files::read_text(file).map_err(|error| InputError::unreadable(file, &error))?;
        Self::parse(file, &text)
    }

    /// Parses a text; `file` is what messages call it and what relative paths start from.
    pub fn parse(file: &Path, text: &str) -> Result<Self, InputError> {
        let line_of = |byte: usize| text[..byte.min(text.len())].matches('\n').count() + 1;
        let table = DeTable::parse(text).map_err(|error| InputError::At {
            file: file.to_path_buf(),
            line: error.span().map_or(1, |span| line_of(span.start)),
            message: error.message().lines().collect::<Vec<_>>().join(", "),
        })?;
        Ok(Self {
            file: file.to_path_buf(),
            root: Item {
                node: table_node(table.get_ref(), &line_of),
                origin: Origin::Line(1),
            },
        })
    }

    /// A study stated as values instead of a text, such as a dictionary of another language: messages name the field and
    /// `name`, paths start from the working folder.
    pub fn from_table(name: &str, table: &toml::Table) -> Self {
        Self {
            file: PathBuf::from(name),
            root: stated(
                &toml::Value::Table(table.clone()),
                &Origin::Option(name.into()),
            ),
        }
    }

    /// What messages call the file.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// What the study is called unless it says so itself: the file's name without its ending.
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

    /// Sets `section.key` to a list of numbers given by an option.
    pub fn set_numbers(&mut self, section: &str, key: &str, values: &[f64], option: &str) {
        let item = |x: &f64| Item {
            node: if x.fract() == 0.0 {
                Node::Whole(*x as i64)
            } else {
                Node::Number(*x)
            },
            origin: Origin::Option(option.into()),
        };
        let list = Node::List(values.iter().map(item).collect());
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
        let item = Item {
            node,
            origin: Origin::Option(option.into()),
        };
        let entry = self.section_mut(section);
        match entry.iter_mut().find(|(name, _)| name == key) {
            Some((_, slot)) => *slot = item,
            None => entry.push((key.into(), item)),
        }
    }

    /// Replaces the budget section by a constant budget.
    pub fn set_constant_budget(&mut self, value: u32, option: &str) {
        self.section_mut("budget").clear();
        self.set("budget", "kind", Node::Text("constant".into()), option);
        self.set("budget", "value", Node::Whole(value.into()), option);
    }

    /// Keeps the policies with these kinds or names, in this order; those the file does not have are added with their
    /// defaults.
    pub fn choose_policies(&mut self, asked: &[String], option: &str) {
        let Node::Table(root) = &mut self.root.node else {
            return;
        };
        let known = match root.iter().position(|(name, _)| name == "policies") {
            Some(i) => root.remove(i).1,
            None => Item {
                node: Node::List(Vec::new()),
                origin: Origin::Option(option.into()),
            },
        };
        let Node::List(known) = known.node else {
            return;
        };
        let text_of = |item: &Item, key: &str| match &item.node {
            Node::Table(entries) => entries.iter().find_map(|(name, value)| match &value.node {
                Node::Text(text) if name == key => Some(text.clone()),
                _ => None,
            }),
            _ => None,
        };
        let mut chosen: Vec<Item> = Vec::new();
        let mut asked_before: Vec<&String> = Vec::new();
        for want in asked {
            if asked_before.contains(&want) {
                continue;
            }
            asked_before.push(want);
            let matches = |item: &&Item| {
                ["kind", "name"]
                    .iter()
                    .any(|key| text_of(item, key).as_ref() == Some(want))
            };
            let before = chosen.len();
            chosen.extend(known.iter().filter(matches).cloned());
            if chosen.len() == before {
                let origin = Origin::Option(option.into());
                let kind = Item {
                    node: Node::Text(want.clone()),
                    origin: origin.clone(),
                };
                chosen.push(Item {
                    node: Node::Table(vec![("kind".into(), kind)]),
                    origin,
                });
            }
        }
        let list = Item {
            node: Node::List(chosen),
            origin: Origin::Option(option.into()),
        };
        root.push(("policies".into(), list));
    }

    /// Adds a policy to those of the study.
    pub fn add_policy(&mut self, policy: &toml::Table, option: &str) {
        let origin = Origin::Option(option.into());
        let item = stated(&toml::Value::Table(policy.clone()), &origin);
        let Node::Table(root) = &mut self.root.node else {
            return;
        };
        let known = root.iter_mut().find(|(name, _)| name == "policies");
        match known.map(|(_, known)| &mut known.node) {
            Some(Node::List(known)) => known.push(item),
            // What is no list is refused where the study is read.
            Some(_) => {}
            None => {
                let node = Node::List(vec![item]);
                root.push(("policies".into(), Item { node, origin }));
            }
        }
    }

    fn section_mut(&mut self, section: &str) -> &mut Vec<(String, Item)> {
        let Node::Table(root) = &mut self.root.node else {
            unreachable!("the root of a study file is a table")
        };
        let place = match root.iter().position(|(name, _)| name == section) {
            Some(place) => place,
            None => {
                root.push((
                    section.into(),
                    Item {
                        node: Node::Table(Vec::new()),
                        // What else is missing from it is missing from the file.
                        origin: Origin::Line(1),
                    },
                ));
                root.len() - 1
            }
        };
        let item = &mut root[place].1;
        if !matches!(item.node, Node::Table(_)) {
            item.node = Node::Table(Vec::new());
        }
        match &mut item.node {
            Node::Table(entries) => entries,
            _ => unreachable!("just made a table"),
        }
    }

    /// The error of a field that a check has rejected, with the line (or option) it came from.
    pub fn locate(&self, invalid: &Invalid) -> InputError {
        self.error_at(self.origin_of(&invalid.field), invalid.to_string())
    }

    pub(super) fn error_at(&self, origin: &Origin, message: String) -> InputError {
        match origin {
            Origin::Line(line) => InputError::At {
                file: self.file.clone(),
                line: *line,
                message,
            },
            Origin::Option(option) => InputError::Option {
                option: option.clone(),
                message,
            },
        }
    }

    /// The origin of the deepest item on a path such as `policies[1].oracle.gamma` that is in the tree.
    fn origin_of(&self, path: &str) -> &Origin {
        let mut item = &self.root;
        let segments = path.split(['.', '[']).map(|s| s.trim_end_matches(']'));
        for segment in segments {
            let next = match &item.node {
                Node::Table(entries) => entries
                    .iter()
                    .find(|(name, _)| name == segment)
                    .map(|(_, item)| item),
                Node::List(items) => segment
                    .parse::<usize>()
                    .ok()
                    .and_then(|i| items.get(i.checked_sub(1)?)),
                _ => None,
            };
            match next {
                Some(next) => item = next,
                None => break,
            }
        }
        &item.origin
    }
}

fn stated(value: &toml::Value, origin: &Origin) -> Item {
    use toml::Value;
    let node = match value {
        Value::String(text) => Node::Text(text.clone()),
        Value::Integer(whole) => Node::Whole(*whole),
        Value::Float(number) => Node::Number(*number),
        Value::Boolean(flag) => Node::Flag(*flag),
        Value::Datetime(date) => Node::Date(date.to_string()),
        Value::Array(items) => Node::List(items.iter().map(|x| stated(x, origin)).collect()),
        Value::Table(table) => {
            let entries = table
                .iter()
                .map(|(key, x)| (key.clone(), stated(x, origin)));
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
