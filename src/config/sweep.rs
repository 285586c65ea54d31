//! Sweeps: a `[sweep]` table of paths into the study file with the values each takes in turn. Every combination of values
//! is a point, a study of its own.
//!
//! ```toml
//! [sweep]
//! budget.value = [3, 5, 8]
//! policies.mimic-opt-dp.initial_rows = [0, 50]   # a policy by name, or all of a kind; "policies[1].initial_rows" by place
//! ```

use std::collections::HashSet;

use super::document::{Document, Item, Node};
use super::section::nearest;
use crate::error::InputError;
use crate::files::shortened;

/// The most points a sweep may have.
const POINT_LIMIT: usize = 10_000;

/// A sweep and the studies it stands for.
#[derive(Debug, Clone)]
pub struct Sweep {
    /// Paths of the swept keys, in the order of the file.
    pub keys: Vec<String>,
    /// All combinations; the last key varies fastest.
    pub points: Vec<SweepPoint>,
}

/// One combination of values.
#[derive(Debug, Clone)]
pub struct SweepPoint {
    /// A name for folders, such as `value=3,initial_rows=50`.
    pub label: String,
    /// The value of each key, as a text.
    pub values: Vec<String>,
    /// The study file with these values in place of its own.
    pub document: Document,
}

/// A key and what it takes.
struct Key {
    path: String,
    values: Vec<Item>,
}

impl Document {
    /// The points of the file's `[sweep]`; `None` where it has none.
    pub fn sweep(&self) -> Result<Option<Sweep>, InputError> {
        let mut base = self.clone();
        let Some(table) = base.take("sweep") else {
            return Ok(None);
        };
        let mut keys = Vec::new();
        flatten(self, String::new(), &table, &mut keys)?;
        let count = keys
            .iter()
            .try_fold(1usize, |n, key| n.checked_mul(key.values.len()));
        let Some(count) = count.filter(|n| *n <= POINT_LIMIT) else {
            let message = format!("sweep: found more than {POINT_LIMIT} points; accepted: fewer");
            return Err(self.error_at(&table.origin, message));
        };
        let names = short_names(&keys);
        let points = (0..count).map(|number| point(&base, &keys, &names, number));
        let mut points: Vec<SweepPoint> = points.collect::<Result<_, _>>()?;
        number_equal_labels(&mut points);
        Ok(Some(Sweep {
            points,
            keys: keys.into_iter().map(|key| key.path).collect(),
        }))
    }
}

/// Paths with lists of values; dotted keys are nested tables in TOML, and mean the same.
fn flatten(
    document: &Document,
    path: String,
    item: &Item,
    keys: &mut Vec<Key>,
) -> Result<(), InputError> {
    let wrong = |accepted: &str| {
        let place = if path.is_empty() {
            "sweep".into()
        } else {
            format!("sweep.{path}")
        };
        let message = format!(
            "{place}: found {}; accepted: {accepted}",
            item.node.describe()
        );
        Err(document.error_at(&item.origin, message))
    };
    match &item.node {
        Node::Table(entries) if !entries.is_empty() => {
            for (name, item) in entries {
                let path = if path.is_empty() {
                    name.clone()
                } else {
                    format!("{path}.{name}")
                };
                flatten(document, path, item, keys)?;
            }
            Ok(())
        }
        Node::List(values) if !values.is_empty() && !path.is_empty() => {
            keys.push(Key {
                path,
                values: values.clone(),
            });
            Ok(())
        }
        _ if path.is_empty() => wrong("a table of keys with the values each takes"),
        _ => wrong("a list of the values that the key takes"),
    }
}

/// Every point has a folder of its own, also where values are written alike.
fn number_equal_labels(points: &mut [SweepPoint]) {
    let mut taken = HashSet::new();
    for point in points {
        let numbered = (2..).map(|i| format!("{}-{i}", point.label));
        let free = std::iter::once(point.label.clone()).chain(numbered);
        let label = free.into_iter().find(|label| taken.insert(label.clone()));
        point.label = label.expect("there is always a next number");
    }
}

/// The last parts of the paths where they differ, the whole paths elsewhere.
fn short_names(keys: &[Key]) -> Vec<String> {
    let last = |key: &Key| key.path.rsplit('.').next().unwrap_or(&key.path).to_string();
    let short: Vec<String> = keys.iter().map(last).collect();
    let distinct = (1..short.len()).all(|i| !short[..i].contains(&short[i]));
    if distinct {
        return short;
    }
    keys.iter().map(|key| key.path.clone()).collect()
}

fn point(
    base: &Document,
    keys: &[Key],
    names: &[String],
    number: usize,
) -> Result<SweepPoint, InputError> {
    let mut document = base.clone();
    let mut values = Vec::new();
    let mut labels = Vec::new();
    let mut block: usize = keys.iter().map(|key| key.values.len()).product();
    for (key, name) in keys.iter().zip(names) {
        block /= key.values.len();
        let place = number / block % key.values.len();
        let item = &key.values[place];
        document.put(&key.path, item)?;
        let text = match item.node {
            Node::Table(_) => format!("table {}", place + 1),
            _ => item.node.compact(),
        };
        labels.push(format!("{name}={}", for_folder(&text)));
        values.push(text);
    }
    let label = labels.join(",");
    Ok(SweepPoint {
        label: shortened(&label).to_string(),
        values,
        document,
    })
}

/// A value as a part of a folder's name: letters of any language, digits, signs and points; lists without their brackets.
fn for_folder(text: &str) -> String {
    let safe = |c: char| c.is_alphanumeric() || "+-._".contains(c);
    let inner = text.chars().filter(|c| !"[]".contains(*c));
    let text: String = inner.map(|c| if safe(c) { c } else { '-' }).collect();
    text.chars().take(60).collect()
}

impl Node {
    /// The whole value on one line.
    fn compact(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Number(x) => x.to_string(),
            Self::List(items) => {
                let items: Vec<String> = items.iter().map(|item| item.node.compact()).collect();
                format!("[{}]", items.join(" "))
            }
            other => other.describe(),
        }
    }
}

impl Document {
    /// Removes a section of the file.
    fn take(&mut self, section: &str) -> Option<Item> {
        let Node::Table(root) = &mut self.root_mut().node else {
            return None;
        };
        let place = root.iter().position(|(name, _)| name == section)?;
        Some(root.remove(place).1)
    }

    /// Sets the key at a path. Sections on the way must be there; whether the last key is known is for the study's
    /// reader to say, which then names the line of the sweep.
    fn put(&mut self, path: &str, value: &Item) -> Result<(), InputError> {
        let segments: Vec<&str> = path
            .split(['.', '['])
            .map(|segment| segment.trim_end_matches(']'))
            .collect();
        let placed = put_in(self.root_mut(), &segments, value, "sweep");
        placed.map_err(|message| self.error_at(&value.origin, message))
    }
}

fn put_in(item: &mut Item, segments: &[&str], value: &Item, walked: &str) -> Result<(), String> {
    let (first, rest) = segments.split_first().expect("a path has a part");
    if rest.is_empty() {
        let Node::Table(entries) = &mut item.node else {
            let found = item.node.describe();
            return Err(format!(
                "{walked}: found {found}; accepted: a path to a key"
            ));
        };
        match entries.iter_mut().find(|(name, _)| name == first) {
            Some((_, slot)) => *slot = value.clone(),
            None => entries.push(((*first).to_string(), value.clone())),
        }
        return Ok(());
    }
    let walked = format!("{walked}.{first}");
    let known = names_of(&item.node);
    let parts = children(&mut item.node, first);
    if parts.is_empty() {
        let near = nearest(first, known.iter().map(String::as_str));
        let hint = match near {
            Some(near) => format!("nearest: `{near}`"),
            None => format!("known: {}", known.join(", ")),
        };
        return Err(format!("{walked}: found no such part of the study; {hint}"));
    }
    for part in parts {
        put_in(part, rest, value, &walked)?;
    }
    Ok(())
}

/// The text of a key of a table in a list, such as a policy's name.
fn text_of<'i>(item: &'i Item, key: &str) -> Option<&'i str> {
    let Node::Table(entries) = &item.node else {
        return None;
    };
    entries.iter().find_map(|(name, value)| match &value.node {
        Node::Text(text) if name == key => Some(text.as_str()),
        _ => None,
    })
}

fn names_of(node: &Node) -> Vec<String> {
    match node {
        Node::Table(entries) => entries.iter().map(|(name, _)| name.clone()).collect(),
        Node::List(items) => {
            let titles = items
                .iter()
                .flat_map(|i| [text_of(i, "name"), text_of(i, "kind")]);
            titles.flatten().map(String::from).collect()
        }
        _ => Vec::new(),
    }
}

/// The part of a table by name; of a list the one with this place (from 1) or name, or all of this kind.
fn children<'n>(node: &'n mut Node, segment: &str) -> Vec<&'n mut Item> {
    match node {
        Node::Table(entries) => {
            let mut entries = entries.iter_mut();
            let found = entries.find(|(name, _)| name == segment);
            found.map(|(_, item)| item).into_iter().collect()
        }
        Node::List(items) => {
            if let Ok(place) = segment.parse::<usize>() {
                let item = place.checked_sub(1).and_then(|i| items.get_mut(i));
                return item.into_iter().collect();
            }
            let named = items
                .iter()
                .any(|item| text_of(item, "name") == Some(segment));
            let key = if named { "name" } else { "kind" };
            let matching = items
                .iter_mut()
                .filter(|item| text_of(item, key) == Some(segment));
            matching.collect()
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    const STUDY: &str = "[study]\nhorizon = 2\n[budget]\nkind = \"constant\"\nvalue = 3\n\
                         [[policies]]\nkind = \"mimic-opt-dp\"\nname = \"learner\"\n[[policies]]\nkind = \"random\"\n";

    fn sweep(text: &str) -> Result<Sweep, InputError> {
        let document = Document::parse(Path::new("s.toml"), &format!("{STUDY}{text}"))?;
        Ok(document.sweep()?.expect("there is a sweep"))
    }

    fn complaint(text: &str) -> String {
        sweep(text).unwrap_err().to_string()
    }

    #[test]
    fn points_are_all_combinations() {
        let found =
            sweep("[sweep]\nbudget.value = [3, 5]\n\"policies.learner.alpha\" = [0.5, 0.25]")
                .unwrap();
        assert_eq!(found.keys, ["budget.value", "policies.learner.alpha"]);
        let labels: Vec<&str> = found.points.iter().map(|p| p.label.as_str()).collect();
        let expected = [
            "value=3,alpha=0.5",
            "value=3,alpha=0.25",
            "value=5,alpha=0.5",
            "value=5,alpha=0.25",
        ];
        assert_eq!(labels, expected);
        assert_eq!(found.points[3].values, ["5", "0.25"]);
        // A document of a point has the values and no sweep of its own.
        assert!(found.points[2].document.sweep().unwrap().is_none());
        let by_kind = sweep("[sweep]\npolicies.mimic-opt-dp.alpha = [0.5]").unwrap();
        let by_place = sweep("[sweep]\n\"policies[1].alpha\" = [0.5]").unwrap();
        assert_eq!(by_kind.points[0].label, by_place.points[0].label);
        let lists = sweep("[sweep]\napplication = [1]\nbudget.values = [[1, 2], [3]]").unwrap();
        assert_eq!(lists.points[0].label, "application=1,values=1-2");
        let label = |text: &str| sweep(text).unwrap().points[0].label.clone();
        assert_eq!(label("[sweep]\nbudget.values = [[-1, 2]]"), "values=-1-2");
        assert_eq!(
            label("[sweep]\nstudy.name = [\"größe/語\"]"),
            "name=größe-語"
        );
        let long = format!("[sweep]\nstudy.{} = [1]", "x".repeat(300));
        assert_eq!(label(&long).len(), 200);
    }

    #[test]
    fn wrong_paths_name_the_nearest() {
        let lines = STUDY.lines().count();
        let message = complaint("[sweep]\nbudgt.value = [3]");
        assert!(
            message.contains(&format!(
                "s.toml:{}: sweep.budgt: found no such part",
                lines + 2
            )),
            "{message}"
        );
        assert!(message.contains("nearest: `budget`"), "{message}");
        assert!(complaint("[sweep]\npolicies.lerner.alpha = [1]").contains("nearest: `learner`"));
        assert!(
            complaint("[sweep]\n\"policies[3].alpha\" = [1]")
                .contains("sweep.policies.3: found no such part")
        );
        assert!(
            complaint("[sweep]\nbudget.value = 3")
                .contains("sweep.budget.value: found 3; accepted: a list")
        );
        assert!(complaint("[sweep]\nbudget.value = []").contains("found a list of 0"));
        assert!(complaint("[sweep]\n").contains("accepted: a table of keys"));
        assert!(
            complaint("[sweep]\nbudget.value.deep = [1]").contains("accepted: a path to a key")
        );
    }
}
