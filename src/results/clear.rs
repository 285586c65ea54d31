//! Removes the files of earlier runs from a folder, by name, before a run overwrites it. Other files stay, and so do the
//! folders that contain them.

use std::fs;
use std::io;
use std::path::Path;

use super::folder::{ASKED_FILES, LOCK, RESULT_FILES, lock};
use super::record_log::{RECORDS, WAVE};
use super::sweep_json::SWEEP;
use crate::error::OutputError;

/// Files other than those of a study: of unfinished runs, reports, sweeps, `calibrate` and `reproduce`.
const OTHERS: [&str; 7] = [
    RECORDS,
    WAVE,
    SWEEP,
    "report.html",
    "overview.csv",
    "coverage.csv",
    "verdict.md",
];

/// Prefixes of the names of pictures, which are SVG and PNG files.
const PICTURES: [&str; 11] = [
    "regret.",
    "overview.",
    "coverage.",
    "width.",
    "figure-K",
    "improved-K",
    "report-regret",
    "report-reward",
    "report-budget",
    "report-offers",
    "report-overview",
];

/// Removes this program's files from a folder, and from its points or panels.
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
        // No run may be active there.
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

/// Removes the data files that the study names.
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
    let is_picture = name.ends_with(".svg") || name.ends_with(".png");
    RESULT_FILES.contains(&name)
        || ASKED_FILES.contains(&name)
        || OTHERS.contains(&name)
        || is_picture && PICTURES.iter().any(|start| name.starts_with(start))
}

/// Points of a sweep (`value=3`, `shared`) and panels of the paper's comparison (`auction-K4`).
fn is_inner(name: &str) -> bool {
    let panel = |start| {
        let number = name.strip_prefix(start);
        number.is_some_and(|n: &str| !n.is_empty() && n.chars().all(|c| c.is_ascii_digit()))
    };
    name.contains('=') || name == "shared" || panel("auction-K") || panel("pricing-K")
}
