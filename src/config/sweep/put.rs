//! Values at their paths in a study: `budget.value`, `policies.NAME.alpha`, `policies[1].oracle.gamma`.

use crate::config::document::{Document, Item, Node, segments};
use crate::config::section::nearest;
use crate::error::InputError;

impl Document {
    /// Sets the key at a path. The sections of the path must exist. An unknown last key is refused when the study is read,
    /// with the line of the sweep.
    pub(super) fn put(&mut self, path: &str, value: &Item) -> Result<(), InputError> {
        let segments: Vec<&str> = segments(path).collect();
        let placed = put_in(self.root_mut(), &segments, value, "sweep");
        placed.map_err(|message| self.error_at(&value.origin, message))
    }

    /// The policies that a path belongs to; `None` if it concerns all of them.
    pub(super) fn policies_on(&self, path: &str) -> Option<Vec<usize>> {
        let mut segments = segments(path);
        if segments.next() != Some("policies") {
            return None;
        }
        segments
            .next()
            .map(|segment| matching(self.policies(), segment))
    }
}

fn put_in(item: &mut Item, segments: &[&str], value: &Item, walked: &str) -> Result<(), String> {
    let (first, rest) = segments.split_first().expect("a path has a part");
    if rest.is_empty() {
        if !matches!(item.node, Node::Table(_)) {
            let found = item.node.describe();
            let message = format!("{walked}: found {found}; accepted: a path to a key");
            return Err(message);
        }
        item.put(first, value.clone());
        return Ok(());
    }
    let walked = format!("{walked}.{first}");
    let known = names_of(item);
    let parts = children(item, first);
    if parts.is_empty() {
        let near = nearest(first, known.iter().map(String::as_str));
        let hint = match near {
            None if *first == "oracle" => "write the policy's oracle out to vary its keys".into(),
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

/// The keys of a table, or the names and kinds of a list of tables.
fn names_of(item: &Item) -> Vec<String> {
    let keys = item.entries().iter().map(|(name, _)| name.as_str());
    let elements = item.elements().iter();
    let titles = elements.flat_map(|i| [i.text("name"), i.text("kind")]);
    let mut names: Vec<String> = Vec::new();
    for name in keys.chain(titles.flatten()) {
        if names.iter().all(|known| known != name) {
            names.push(name.into());
        }
    }
    names
}

/// The entry of a table by name, or elements of a list.
fn children<'n>(item: &'n mut Item, segment: &str) -> Vec<&'n mut Item> {
    let places = matching(item.elements(), segment);
    match &mut item.node {
        Node::Table(entries) => {
            let found = entries.iter_mut().filter(|(name, _)| name == segment);
            found.map(|(_, item)| item).collect()
        }
        Node::List(items) => {
            let items = items.iter_mut().enumerate();
            let chosen = items.filter(|(i, _)| places.contains(i));
            chosen.map(|(_, item)| item).collect()
        }
        _ => Vec::new(),
    }
}

/// Places in a list: the one with this number (from 1) or name, or all of this kind.
fn matching(items: &[Item], segment: &str) -> Vec<usize> {
    if let Ok(number) = segment.parse::<usize>() {
        let place = number.checked_sub(1).filter(|i| *i < items.len());
        return place.into_iter().collect();
    }
    let with = |key: &str| -> Vec<usize> {
        let named = |i: &usize| items[*i].text(key) == Some(segment);
        (0..items.len()).filter(named).collect()
    };
    match with("name") {
        none if none.is_empty() => with("kind"),
        named => named,
    }
}
