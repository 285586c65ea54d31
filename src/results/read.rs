//! Reads and checks a results folder.

use std::path::{Path, PathBuf};

use super::offers::{cells, push_row};
use super::records::{ActionRow, EpisodeRow, StepRow, SummaryRow};
use super::rows::{CsvLine, CsvReader, Row, Unaccepted};
use super::run_json::{PolicyRun, Run};
use super::study_toml::StudyText;
use crate::error::{InputError, shown};
use crate::experiment::OfferMap;
use crate::files::sha256_of_file;
use crate::statistics::MeanAndError;

/// Largest regret that is drawn: squares of larger numbers are not finite.
const LARGEST: f64 = 1e150;

/// The results of one study.
#[derive(Debug, Clone)]
pub struct Results {
    /// Their folder, as it was given.
    pub folder: PathBuf,
    /// `study.toml`.
    pub study: StudyText,
    /// `run.json`.
    pub run: Run,
    /// opt_t of every episode; empty if the folder has no `episodes.csv`.
    pub opt: Vec<f64>,
    /// The policies, in the order of the study.
    pub policies: Vec<PolicyResults>,
}

/// One policy of a study.
#[derive(Debug, Clone)]
pub struct PolicyResults {
    /// Its entry of `run.json`.
    pub run: PolicyRun,
    /// Cumulative regret after each episode.
    pub cumulative: Vec<MeanAndError>,
    /// Budget left by step, the end of the episode last; empty if the folder has no `steps.csv`.
    pub left: Vec<MeanAndError>,
    /// Offers by step and budget, if the policy plans and the folder has `actions.csv`.
    pub offers: Option<OfferMap>,
}

impl PolicyResults {
    /// Its name in the study.
    pub fn name(&self) -> &str {
        &self.run.name
    }
}

impl Results {
    /// The results of the first `count` policies.
    pub fn first_policies(&self, count: usize) -> Self {
        let mut first = self.clone();
        first.policies.truncate(count);
        first.run.policies.truncate(count);
        first
    }

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

impl Results {
    /// Checks that the files of the folder are as the study wrote them: pictures of other numbers would be taken for its
    /// results. Folders of early versions have no checksums.
    pub fn check_sums(&self) -> Result<(), InputError> {
        for (name, checksum) in &self.run.files {
            let file = self.folder.join(name);
            if !file.is_file() {
                continue;
            }
            let found = sha256_of_file(&file);
            let found = found.map_err(|error| InputError::unreadable(&file, &error))?;
            if found != *checksum {
                let message = "found another content than the study wrote (its checksum is not that of run.json); accepted: the file as it was written";
                return Err(InputError::in_file(&file, message));
            }
        }
        Ok(())
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
    let message =
        format!("{why}: {needed} is missing; accepted: the results folder of a finished study");
    InputError::in_file(folder, message)
}

/// `summary.csv`, with the entries of `run.json`.
fn summary(file: &Path, run_file: &Path, run: &Run) -> Result<Vec<PolicyResults>, InputError> {
    let mut policies: Vec<PolicyResults> = Vec::new();
    for line in CsvReader::<SummaryRow, _>::open(file)? {
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
        for (column, x) in [("mean", row.mean), ("standard_error", row.standard_error)] {
            if x.abs() > LARGEST {
                let accepted = "numbers up to 1e150, as regrets are";
                return Err(line.wrong(column, shown(x), accepted));
            }
        }
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
        let message = "found no lines; accepted: at least one policy";
        return Err(InputError::in_file(file, message));
    }
    Ok(policies)
}

fn no_entry(run_file: &Path, policy: &str) -> InputError {
    let message =
        format!("policies: found nothing; accepted: an entry for policy `{policy}` of summary.csv");
    InputError::in_file(run_file, message)
}

/// opt_t from the first lines of `episodes.csv`, which are those of one replication.
fn optima(file: &Path, episodes: usize) -> Result<Vec<f64>, InputError> {
    let mut opt = Vec::with_capacity(episodes);
    for line in CsvReader::<EpisodeRow, _>::open(file)?.take(episodes) {
        let line = line?;
        line.expect("episode", line.row.episode, opt.len() + 1)?;
        opt.push(line.row.opt);
    }
    if opt.len() < episodes {
        let message = format!("found {} lines; accepted: {episodes} and more", opt.len());
        return Err(InputError::in_file(file, message));
    }
    Ok(opt)
}

/// `steps.csv`.
fn steps(file: &Path, horizon: usize, policies: &mut [PolicyResults]) -> Result<(), InputError> {
    for line in CsvReader::<StepRow, _>::open(file)? {
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
    for line in CsvReader::<ActionRow, _>::open(file)? {
        let line = line?;
        let row = &line.row;
        let map = &mut policy_of(&line, &row.policy, policies)?.offers;
        let pushed = push_row(map.get_or_insert_default(), row);
        pushed.map_err(|Unaccepted { column, accepted }| match column {
            "step" => line.wrong(column, row.step, accepted),
            _ => line.wrong(column, row.budget, accepted),
        })?;
    }
    for policy in policies.iter() {
        if let Some(map) = &policy.offers {
            complete(file, policy.name(), map.learnt.len(), cells(map), "lines")?;
        }
    }
    Ok(())
}

fn policy_of<'p, T: Row>(
    line: &CsvLine<T>,
    name: &str,
    policies: &'p mut [PolicyResults],
) -> Result<&'p mut PolicyResults, InputError> {
    let found = policies.iter_mut().find(|p| p.name() == name);
    found.ok_or_else(|| line.wrong("policy", name, "a policy of summary.csv"))
}

/// Requires all lines of a policy: the file may be truncated.
fn complete(
    file: &Path,
    policy: &str,
    found: usize,
    accepted: usize,
    what: &str,
) -> Result<(), InputError> {
    let message = format!("policy `{policy}`: found {found} {what}; accepted: {accepted}");
    match found == accepted {
        true => Ok(()),
        false => Err(InputError::in_file(file, message)),
    }
}

/// A name for each folder: the last part of its path, or the whole path if two end alike.
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
        .map(|(results, name)| match is_unique(name) {
            true => name.clone(),
            false => {
                let parts: PathBuf = results.folder.components().collect();
                parts.display().to_string()
            }
        })
        .collect()
}
