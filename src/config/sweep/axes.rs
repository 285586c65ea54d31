//! The `[sweep]` table: keys with the values each takes, and axes, the keys that vary together.

use crate::config::document::{Document, Item, Node, segments};
use crate::config::section::nearest;
use crate::error::InputError;

/// A key and its values.
#[derive(Debug)]
pub(super) struct Key {
    pub path: String,
    pub values: Vec<Item>,
}

/// Keys that vary together, by their places among the keys of the file.
#[derive(Debug)]
pub(super) struct Axis {
    pub keys: Vec<usize>,
    pub length: usize,
}

/// The keys of the table in the order of the file, and the axes in the order of their first keys.
pub(super) fn read(
    document: &Document,
    mut table: Item,
) -> Result<(Vec<Key>, Vec<Axis>), InputError> {
    let zip = table.take("zip");
    let mut keys = Vec::new();
    flatten(document, String::new(), &table, &mut keys)?;
    let groups = match zip {
        Some(zip) => groups(document, &zip, &keys)?,
        None => Vec::new(),
    };
    let mut axes = Vec::new();
    for (first, key) in keys.iter().enumerate() {
        let length = key.values.len();
        match groups.iter().find(|group| group.contains(&first)) {
            None => axes.push(Axis {
                keys: vec![first],
                length,
            }),
            Some(group) if group.iter().min() == Some(&first) => axes.push(Axis {
                keys: group.clone(),
                length,
            }),
            Some(_) => {}
        }
    }
    Ok((keys, axes))
}

/// Paths with lists of values; dotted keys are nested tables in TOML, and mean the same.
fn flatten(
    document: &Document,
    path: String,
    item: &Item,
    keys: &mut Vec<Key>,
) -> Result<(), InputError> {
    let join = |start: &str, name: &str| match start.is_empty() || name.is_empty() {
        true => format!("{start}{name}"),
        false => format!("{start}.{name}"),
    };
    let wrong = |accepted: &str| Err(document.wrong(item, &join("sweep", &path), accepted));
    match &item.node {
        Node::Table(entries) if !entries.is_empty() => {
            for (name, item) in entries {
                flatten(document, join(&path, name), item, keys)?;
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

/// The lists of `zip`, as places among the keys.
fn groups(document: &Document, zip: &Item, keys: &[Key]) -> Result<Vec<Vec<usize>>, InputError> {
    let wrong = |item: &Item, field: &str, accepted: &str| document.wrong(item, field, accepted);
    let Node::List(lists) = &zip.node else {
        return Err(wrong(zip, "sweep.zip", "a list of lists of swept keys"));
    };
    let mut taken: Vec<usize> = Vec::new();
    let mut groups = Vec::new();
    for (number, list) in (1..).zip(lists) {
        let field = format!("sweep.zip[{number}]");
        let names = match &list.node {
            Node::List(names) if names.len() > 1 => names,
            _ => return Err(wrong(list, &field, "a list of at least two swept keys")),
        };
        let mut group = Vec::new();
        for name in names {
            let place = place_of(name, keys);
            let place = place.map_err(|accepted| wrong(name, &field, &accepted))?;
            if taken.contains(&place) {
                return Err(wrong(name, &field, "each key once"));
            }
            taken.push(place);
            group.push(place);
        }
        let first = &keys[group[0]];
        for key in group.iter().map(|place| &keys[*place]) {
            if key.values.len() != first.values.len() {
                let message = format!(
                    "{field}: found {} values of `{}` and {} of `{}`; accepted: as many of each",
                    first.values.len(),
                    first.path,
                    key.values.len(),
                    key.path,
                );
                return Err(document.error_at(&list.origin, message));
            }
        }
        groups.push(group);
    }
    Ok(groups)
}

/// The key that a text names, or what would be accepted.
fn place_of(name: &Item, keys: &[Key]) -> Result<usize, String> {
    let Node::Text(text) = &name.node else {
        return Err("the path of a swept key".into());
    };
    let same = |key: &Key| segments(&key.path).eq(segments(text));
    keys.iter().position(same).ok_or_else(|| {
        match nearest(text, keys.iter().map(|key| key.path.as_str())) {
            Some(near) => format!("a swept key (nearest: `{near}`)"),
            None => "a swept key".into(),
        }
    })
}
