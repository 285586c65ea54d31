//! What runs of this program leave in a folder, by name: what a run that may overwrite them removes first, so that nothing
//! old stands beside its results. Files that are not ours stay, and so do the folders they are in.

use std::fs;
use std::io;
use std::path::Path;

use super::folder::{LOCK, RESULT_FILES, lock};
use crate::error::OutputError;

/// Files besides those of a study: of reports, sweeps, `calibrate` and `reproduce`.
const OTHERS: [&str; 7] = [
    "report.html",
    "overview.csv",
    "overview.svg",
    "coverage.csv",
    "coverage.svg",
    "width.svg",
    "verdict.md",
];

/// Removes our files of a folder, and those of the points or panels within it.
pub(super) fn clear(folder: &Path) -> Result<(), OutputError> {
    let study = fs::read_to_string(folder.join("study.toml")).unwrap_or_default();
    let remove = || -> io::Result<Vec<std::path::PathBuf>> {
        let mut inner = Vec::new();
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let (path, name) = (entry.path(), entry.file_name());
            let name = name.to_string_lossy();
            let is_folder = entry.file_type()?.is_dir();
            if !is_folder && is_ours(name.strip_suffix(".partial").unwrap_or(&name)) {
                fs::remove_file(path)?;
            } else if is_folder && name == "data" {
                clear_data(&path, &study)?;
            } else if is_folder && is_inner(&name) {
                inner.push(path);
            }
        }
        Ok(inner)
    };
    let inner = remove().map_err(|error| OutputError::unwritable(folder, error))?;
    for path in inner {
        // Nobody may be at work there.
        let held = path.join(LOCK).exists().then(|| lock(&path)).transpose()?;
        clear(&path)?;
        if held.is_some() {
            let removed = fs::remove_file(path.join(LOCK));
            removed.map_err(|error| OutputError::unwritable(&path, error))?;
        }
        remove_if_empty(&path).map_err(|error| OutputError::unwritable(&path, error))?;
    }
    Ok(())
}

/// Removes the copies that the study at hand names.
fn clear_data(folder: &Path, study: &str) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if study.contains(&format!("\"data/{}\"", name.to_string_lossy())) {
            fs::remove_file(entry.path())?;
        }
    }
    remove_if_empty(folder)
}

fn remove_if_empty(folder: &Path) -> io::Result<()> {
    match fs::read_dir(folder)?.next() {
        None => fs::remove_dir(folder),
        Some(_) => Ok(()),
    }
}

fn is_ours(name: &str) -> bool {
    let picture = |start: &str, ends: &[&str]| {
        let end = ends.iter().any(|end| name.ends_with(end));
        name.starts_with(start) && end
    };
    RESULT_FILES.contains(&name)
        || OTHERS.contains(&name)
        || ["regret", "budget", "offers"]
            .iter()
            .any(|what| picture(&format!("report-{what}"), &[".svg", ".png"]))
        || picture("figure-K", &[".svg"])
        || picture("improved-K", &[".svg"])
}

/// Points of a sweep (`value=3`) and panels of the paper's comparison (`auction-K4`).
fn is_inner(name: &str) -> bool {
    let panel = |start| {
        let number = name.strip_prefix(start);
        number.is_some_and(|n: &str| !n.is_empty() && n.chars().all(|c| c.is_ascii_digit()))
    };
    name.contains('=') || panel("auction-K") || panel("pricing-K")
}
