//! Values at their paths in a study: `budget.value`, `policies.NAME.alpha`, `policies[1].oracle.gamma`.

use crate::config::document::{Document, Item, Node};
use crate::config::section::nearest;
use crate::error::InputError;

/// The parts of a path.
pub(super) fn segments(path: &str) -> impl Iterator<Item = &str> {
    let parts = path.split(['.', '[']);
    parts.map(|part| part.trim_end_matches(']'))
}

impl Document {
    /// Removes a section of the file.
    pub(super) fn take(&mut self, section: &str) -> Option<Item> {
        let Node::Table(root) = &mut self.root_mut().node else {
            return None;
        };
        let place = root.iter().position(|(name, _)| name == section)?;
        Some(root.remove(place).1)
    }

    /// Sets the key at a path. Sections on the way must be there; whether the last key is known is for the study's
    /// reader to say, which then names the line of the sweep.
    pub(super) fn put(&mut self, path: &str, value: &Item) -> Result<(), InputError> {
        let segments: Vec<&str> = segments(path).collect();
        let placed = put_in(self.root_mut(), &segments, value, "sweep");
        placed.map_err(|message| self.error_at(&value.origin, message))
    }

    /// The items of `[[policies]]`.
    pub(super) fn policies(&self) -> &[Item] {
        let Node::Table(root) = &self.root().node else {
            return &[];
        };
        match root.iter().find(|(name, _)| name == "policies") {
            Some((_, item)) => match &item.node {
                Node::List(items) => items,
                _ => &[],
            },
            None => &[],
        }
    }

    /// Whether a path leads to settings of some policies alone, and of which; `None` where it concerns all of them.
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
            let mut names: Vec<String> = Vec::new();
            for title in titles.flatten() {
                if names.iter().all(|name| name != title) {
                    names.push(title.into());
                }
            }
            names
        }
        _ => Vec::new(),
    }
}

/// The part of a table by name, or parts of a list.
fn children<'n>(node: &'n mut Node, segment: &str) -> Vec<&'n mut Item> {
    match node {
        Node::Table(entries) => {
            let mut entries = entries.iter_mut();
            let found = entries.find(|(name, _)| name == segment);
            found.map(|(_, item)| item).into_iter().collect()
        }
        Node::List(items) => {
            let places = matching(items, segment);
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
        let named = |i: &usize| text_of(&items[*i], key) == Some(segment);
        (0..items.len()).filter(named).collect()
    };
    match with("name") {
        none if none.is_empty() => with("kind"),
        named => named,
    }
}
