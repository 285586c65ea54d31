//! A results folder read back and checked: what a study wrote, for reports that compare runs.

use std::path::{Path, PathBuf};

use super::offers::OfferMap;
use super::records::{ActionRow, EpisodeRow, StepRow, SummaryRow};
use super::rows::{Line, Row, Rows, Unaccepted};
use super::run_json::{PolicyRun, Run};
use super::study_toml::StudyText;
use crate::error::InputError;
use crate::statistics::MeanAndError;

/// The results of one study.
#[derive(Debug, Clone)]
pub struct Results {
    /// Where they are, as it was given.
    pub folder: PathBuf,
    /// `study.toml`.
    pub study: StudyText,
    /// `run.json`.
    pub run: Run,
    /// opt_t of every episode; empty where the folder has no `episodes.csv`.
    pub opt: Vec<f64>,
    /// The policies, in the order of the study.
    pub policies: Vec<PolicyResults>,
}

impl Results {
    /// The first `count` policies alone.
    pub fn first_policies(&self, count: usize) -> Self {
        let mut first = self.clone();
        first.policies.truncate(count);
        first.run.policies.truncate(count);
        first
    }
}

/// One policy of a study.
#[derive(Debug, Clone)]
pub struct PolicyResults {
    /// What `run.json` says of it.
    pub run: PolicyRun,
    /// Cumulative regret after each episode.
    pub cumulative: Vec<MeanAndError>,
    /// Budget left by step, the end of the episode last; empty where the folder has no `steps.csv`.
    pub left: Vec<MeanAndError>,
    /// Offers by step and budget, where the policy plans and the folder has `actions.csv`.
    pub offers: Option<OfferMap>,
}

impl PolicyResults {
    /// Its name in the study.
    pub fn name(&self) -> &str {
        &self.run.name
    }
}

impl Results {
    /// Reads a folder.
    pub fn read(folder: &Path) -> Result<Self, InputError> {
        let file = |name: &str| folder.join(name);
        std::fs::read_dir(folder).map_err(|error| InputError::unreadable(folder, &error))?;
        for needed in ["run.json", "study.toml", "summary.csv"] {
            if !file(needed).is_file() {
                return Err(incomplete(folder, needed));
            }
        }
        let study = StudyText::read(&file("study.toml"))?;
        let run = Run::read(&file("run.json"))?;
        let mut policies = summary(&file("summary.csv"), &file("run.json"), &run)?;
        // Folders of earlier versions lack these two.
        if file("steps.csv").is_file() {
            steps(&file("steps.csv"), run.horizon, &mut policies)?;
        }
        if file("actions.csv").is_file() {
            actions(&file("actions.csv"), &mut policies)?;
        }
        let opt = match file("episodes.csv").is_file() {
            true => optima(&file("episodes.csv"), run.episodes)?,
            false => Vec::new(),
        };
        Ok(Self {
            opt,
            folder: folder.to_path_buf(),
            study,
            run,
            policies,
        })
    }
}

fn incomplete(folder: &Path, needed: &str) -> InputError {
    let why = if folder.join(super::RECORDS).is_file() {
        "an unfinished run"
    } else if folder.join("overview.csv").is_file() {
        "a sweep, whose points are the folders in it"
    } else {
        "not a results folder"
    };
    InputError::File {
        file: folder.to_path_buf(),
        message: format!(
            "{why}: {needed} is missing; accepted: the results folder of a finished study"
        ),
    }
}

/// `summary.csv`, with what `run.json` says about each policy.
fn summary(file: &Path, run_file: &Path, run: &Run) -> Result<Vec<PolicyResults>, InputError> {
    let mut policies: Vec<PolicyResults> = Vec::new();
    for line in Rows::<SummaryRow, _>::open(file)? {
        let line = line?;
        let row = &line.row;
        if policies.last().is_none_or(|p| p.name() != row.policy) {
            if policies.iter().any(|p| p.name() == row.policy) {
                let accepted = "the lines of a policy together";
                return Err(line.wrong("policy", &row.policy, accepted));
            }
            let found = run.policy(&row.policy).cloned();
            policies.push(PolicyResults {
                run: found.ok_or_else(|| no_entry(run_file, &row.policy))?,
                cumulative: Vec::new(),
                left: Vec::new(),
                offers: None,
            });
        }
        let last = policies.len() - 1;
        let curve = &mut policies[last].cumulative;
        line.expect("episode", row.episode, curve.len() + 1)?;
        curve.push(MeanAndError {
            mean: row.mean,
            standard_error: row.standard_error,
        });
    }
    for policy in &policies {
        let found = policy.cumulative.len();
        complete(file, policy.name(), found, run.episodes, "episodes")?;
    }
    if policies.is_empty() {
        return Err(InputError::File {
            file: file.to_path_buf(),
            message: "found no lines; accepted: at least one policy".into(),
        });
    }
    Ok(policies)
}

fn no_entry(run_file: &Path, policy: &str) -> InputError {
    let accepted = format!("an entry for policy `{policy}` of summary.csv");
    InputError::File {
        file: run_file.to_path_buf(),
        message: format!("policies: found nothing; accepted: {accepted}"),
    }
}

/// opt_t from the first lines of `episodes.csv`, which are those of one replication.
fn optima(file: &Path, episodes: usize) -> Result<Vec<f64>, InputError> {
    let mut opt = Vec::with_capacity(episodes);
    for line in Rows::<EpisodeRow, _>::open(file)?.take(episodes) {
        let line = line?;
        line.expect("episode", line.row.episode, opt.len() + 1)?;
        opt.push(line.row.opt);
    }
    if opt.len() < episodes {
        let message = format!("found {} lines; accepted: {episodes} and more", opt.len());
        let file = file.to_path_buf();
        return Err(InputError::File { file, message });
    }
    Ok(opt)
}

/// `steps.csv`.
fn steps(file: &Path, horizon: usize, policies: &mut [PolicyResults]) -> Result<(), InputError> {
    for line in Rows::<StepRow, _>::open(file)? {
        let line = line?;
        let left = &mut policy_of(&line, &line.row.policy, policies)?.left;
        line.expect("step", line.row.step, left.len() + 1)?;
        left.push(MeanAndError {
            mean: line.row.budget_left,
            standard_error: line.row.standard_error,
        });
    }
    let mut policies = policies.iter();
    policies.try_for_each(|p| complete(file, p.name(), p.left.len(), horizon + 1, "steps"))
}

/// `actions.csv`.
fn actions(file: &Path, policies: &mut [PolicyResults]) -> Result<(), InputError> {
    for line in Rows::<ActionRow, _>::open(file)? {
        let line = line?;
        let row = &line.row;
        let map = &mut policy_of(&line, &row.policy, policies)?.offers;
        let pushed = map.get_or_insert_default().push(row);
        pushed.map_err(|Unaccepted { column, accepted }| match column {
            "step" => line.wrong(column, row.step, accepted),
            _ => line.wrong(column, row.budget, accepted),
        })?;
    }
    for policy in policies.iter() {
        if let Some(map) = &policy.offers {
            complete(file, policy.name(), map.learnt.len(), map.cells(), "lines")?;
        }
    }
    Ok(())
}

fn policy_of<'p, T: Row>(
    line: &Line<T>,
    name: &str,
    policies: &'p mut [PolicyResults],
) -> Result<&'p mut PolicyResults, InputError> {
    let found = policies.iter_mut().find(|p| p.name() == name);
    found.ok_or_else(|| line.wrong("policy", name, "a policy of summary.csv"))
}

/// A policy must have all its lines, or the file was cut short.
fn complete(
    file: &Path,
    policy: &str,
    found: usize,
    accepted: usize,
    what: &str,
) -> Result<(), InputError> {
    if found == accepted {
        return Ok(());
    }
    Err(InputError::File {
        file: file.to_path_buf(),
        message: format!("policy `{policy}`: found {found} {what}; accepted: {accepted}"),
    })
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
                let parts: PathBuf = results.folder.components().collect();
                parts.display().to_string()
            }
        })
        .collect()
}
