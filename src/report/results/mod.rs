//! A results folder read back: what `simulate --out` wrote, checked, for reports that compare runs.

mod files;
mod rows;

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::error::InputError;
use crate::experiment::{MeanAndError, OfferMap};

/// One results folder.
#[derive(Debug, Clone)]
pub struct Results {
    /// Where it is, as it was given.
    pub folder: PathBuf,
    /// The study's name.
    pub name: String,
    /// What an action is: price, wage, bid, or the number of an action.
    pub action: &'static str,
    /// `study.toml`.
    pub study: String,
    /// `run.json`.
    pub run: Value,
    /// H.
    pub horizon: usize,
    /// The policies, in the order of the study.
    pub policies: Vec<PolicyResults>,
}

/// One policy of a results folder.
#[derive(Debug, Clone)]
pub struct PolicyResults {
    /// Its name in the study.
    pub name: String,
    /// Cumulative regret after each episode.
    pub cumulative: Vec<MeanAndError>,
    /// Mean reward per episode.
    pub mean_reward: f64,
    /// Total reward as a share of total opt.
    pub share_of_opt: f64,
    /// Log-log slope of the regret over the last half, where `run.json` has it.
    pub slope: Option<MeanAndError>,
    /// Budget left by step, the end of the episode last; empty where the folder has no `steps.csv`.
    pub left: Vec<MeanAndError>,
    /// Offers by step and budget, where the policy plans and the folder has `actions.csv`.
    pub offers: Option<OfferMap>,
}

impl Results {
    /// Reads a folder.
    pub fn read(folder: &Path) -> Result<Self, InputError> {
        let file = |name: &str| folder.join(name);
        std::fs::read_dir(folder).map_err(|error| InputError::unreadable(folder, &error))?;
        for needed in ["run.json", "study.toml", "summary.csv"] {
            if !file(needed).is_file() {
                let unfinished = file("episodes.csv.partial").is_file();
                let why = if unfinished {
                    "an unfinished run"
                } else if file("overview.csv").is_file() {
                    "a sweep, whose points are the folders in it"
                } else {
                    "not a results folder"
                };
                return Err(InputError::File {
                    file: folder.to_path_buf(),
                    message: format!(
                        "{why}: {needed} is missing; accepted: a folder written by `cbwk-gpu simulate --out`"
                    ),
                });
            }
        }
        let study = files::Study::read(&file("study.toml"))?;
        let run = files::Run::read(&file("run.json"))?;
        let mut policies = files::summary(&file("summary.csv"), &run)?;
        // Folders of earlier versions lack these two.
        if file("steps.csv").is_file() {
            files::steps(&file("steps.csv"), run.horizon, &mut policies)?;
        }
        if file("actions.csv").is_file() {
            files::actions(&file("actions.csv"), &mut policies)?;
        }
        Ok(Self {
            folder: folder.to_path_buf(),
            name: study.name,
            action: study.action,
            study: study.text,
            horizon: run.horizon,
            run: run.value,
            policies,
        })
    }
}

/// What to call each folder where there are several: the last part of its path, or all of it where two end alike.
pub fn labels(all: &[Results]) -> Vec<String> {
    let last = |results: &Results| {
        let whole = std::fs::canonicalize(&results.folder).unwrap_or(results.folder.clone());
        let name = whole.file_name().unwrap_or(whole.as_os_str());
        name.to_string_lossy().into_owned()
    };
    let short: Vec<String> = all.iter().map(last).collect();
    let is_unique = |name: &String| short.iter().filter(|other| *other == name).count() == 1;
    let named = all.iter().zip(&short);
    named
        .map(|(results, name)| {
            if is_unique(name) {
                name.clone()
            } else {
                results.folder.display().to_string()
            }
        })
        .collect()
}
