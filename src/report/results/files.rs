//! The files of a results folder, one by one.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::PolicyResults;
use super::rows::{Row, Rows};
use crate::error::InputError;
use crate::experiment::{MeanAndError, Offer, OfferMap};

/// `study.toml`, as far as a report needs to understand it.
pub(super) struct Study {
    pub text: String,
    pub name: String,
    pub action: &'static str,
}

impl Study {
    pub fn read(file: &Path) -> Result<Self, InputError> {
        let text =
            std::fs::read_to_string(file).map_err(|error| InputError::unreadable(file, &error))?;
        let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
            let before = error.span().map_or(0, |span| span.start);
            InputError::At {
                file: file.to_path_buf(),
                line: 1 + text[..before].matches('\n').count(),
                message: error.message().to_string(),
            }
        })?;
        let entry = |section: &str, key: &str| {
            let value = table.get(section).and_then(|s| s.get(key));
            value
                .and_then(toml::Value::as_str)
                .ok_or_else(|| InputError::File {
                    file: file.to_path_buf(),
                    message: format!("{section}.{key}: found no text; accepted: a resolved study"),
                })
        };
        let action = match entry("application", "kind")? {
            "pricing" => "price",
            "procurement" => "wage",
            "auction" => "bid",
            _ => "action number",
        };
        Ok(Self {
            name: entry("study", "name")?.to_string(),
            action,
            text,
        })
    }
}

/// `run.json`, as far as a report needs to understand it.
pub(super) struct Run {
    file: PathBuf,
    pub value: Value,
    pub horizon: usize,
    episodes: usize,
}

impl Run {
    pub fn read(file: &Path) -> Result<Self, InputError> {
        let text =
            std::fs::read_to_string(file).map_err(|error| InputError::unreadable(file, &error))?;
        let value: Value = serde_json::from_str(&text).map_err(|error| InputError::At {
            file: file.to_path_buf(),
            line: error.line(),
            message: error.to_string(),
        })?;
        let mut run = Self {
            file: file.to_path_buf(),
            value,
            horizon: 0,
            episodes: 0,
        };
        run.horizon = run.count("horizon")?;
        run.episodes = run.count("episodes")?;
        Ok(run)
    }

    fn count(&self, key: &str) -> Result<usize, InputError> {
        let found = self.value.get(key).and_then(Value::as_u64);
        let count = found.filter(|n| (1..1 << 32).contains(n));
        count
            .map(|n| n as usize)
            .ok_or_else(|| self.wrong(key, self.value.get(key), "a positive whole number"))
    }

    fn wrong(&self, field: &str, found: Option<&Value>, accepted: &str) -> InputError {
        let found = found.map_or("nothing".into(), Value::to_string);
        InputError::File {
            file: self.file.clone(),
            message: format!("{field}: found {found}; accepted: {accepted}"),
        }
    }

    /// The entry of a policy.
    fn policy(&self, name: &str) -> Result<&Value, InputError> {
        let all = self.value.get("policies").and_then(Value::as_array);
        let mut entries = all.into_iter().flatten();
        let entry = entries.find(|p| p.get("name").and_then(Value::as_str) == Some(name));
        let accepted = format!("an entry for policy `{name}` of summary.csv");
        entry.ok_or_else(|| self.wrong("policies", None, &accepted))
    }

    /// The slope of a policy's regret and its standard error; results need not have one.
    fn slope(&self, entry: &Value) -> Result<Option<MeanAndError>, InputError> {
        if entry.get("slope").is_none_or(Value::is_null) {
            return Ok(None);
        }
        Ok(Some(MeanAndError {
            mean: self.number(entry, "slope")?,
            standard_error: self.number(entry, "slope_standard_error")?,
        }))
    }

    /// A number of a policy's entry; null stands for what is no number.
    fn number(&self, entry: &Value, key: &str) -> Result<f64, InputError> {
        match entry.get(key) {
            Some(Value::Null) => Ok(f64::NAN),
            found => found.and_then(Value::as_f64).ok_or_else(|| {
                let field = format!("policies.{key}");
                self.wrong(&field, found, "a number")
            }),
        }
    }
}

/// `summary.csv`, with what `run.json` says about each policy.
pub(super) fn summary(file: &Path, run: &Run) -> Result<Vec<PolicyResults>, InputError> {
    let rows = Rows::read(file, &["policy", "episode", "mean", "standard_error"])?;
    let mut policies: Vec<PolicyResults> = Vec::new();
    for row in rows.iter() {
        if policies.last().is_none_or(|p| p.name != row.text(0)) {
            if policies.iter().any(|p| p.name == row.text(0)) {
                return Err(row.wrong(0, "the lines of a policy together"));
            }
            let entry = run.policy(row.text(0))?;
            policies.push(PolicyResults {
                name: row.text(0).to_string(),
                cumulative: Vec::new(),
                mean_reward: run.number(entry, "mean_reward")?,
                share_of_opt: run.number(entry, "share_of_opt")?,
                slope: run.slope(entry)?,
                left: Vec::new(),
                offers: None,
            });
        }
        let last = policies.len() - 1;
        let curve = &mut policies[last].cumulative;
        row.expect(1, curve.len() + 1)?;
        curve.push(mean_and_error(&row, 2)?);
    }
    for policy in &policies {
        let found = policy.cumulative.len();
        complete(file, &policy.name, found, run.episodes, "episodes")?;
    }
    if policies.is_empty() {
        return Err(InputError::File {
            file: file.to_path_buf(),
            message: "found no lines; accepted: at least one policy".into(),
        });
    }
    Ok(policies)
}

/// `steps.csv`.
pub(super) fn steps(
    file: &Path,
    horizon: usize,
    policies: &mut [PolicyResults],
) -> Result<(), InputError> {
    let rows = Rows::read(file, &["policy", "step", "budget_left", "standard_error"])?;
    for row in rows.iter() {
        let left = &mut policy_of(&row, policies)?.left;
        row.expect(1, left.len() + 1)?;
        left.push(mean_and_error(&row, 2)?);
    }
    let mut policies = policies.iter();
    policies.try_for_each(|p| complete(file, &p.name, p.left.len(), horizon + 1, "steps"))
}

/// `actions.csv`: every policy's lines are a whole rectangle of steps and budgets.
pub(super) fn actions(file: &Path, policies: &mut [PolicyResults]) -> Result<(), InputError> {
    let columns = [
        "policy",
        "step",
        "budget",
        "mean_action",
        "offer_share",
        "optimal_mean_action",
        "optimal_offer_share",
    ];
    let rows = Rows::read(file, &columns)?;
    for row in rows.iter() {
        let map = policy_of(&row, policies)?
            .offers
            .get_or_insert_with(|| OfferMap {
                steps: Vec::new(),
                budgets: Vec::new(),
                learnt: Vec::new(),
                optimal: Vec::new(),
            });
        let (step, budget) = (row.whole(1)? as usize, row.whole(2)?);
        if map.steps.last().is_none_or(|last| *last + 1 != step) {
            let earlier = map.steps.last().map_or(0, |last| last + 1);
            if step <= earlier || map.learnt.len() != map.steps.len() * map.budgets.len() {
                return Err(row.wrong(1, "steps in order, each with the same budgets"));
            }
            map.steps.push(step - 1);
        }
        if map.steps.len() == 1 && map.budgets.last().is_none_or(|last| *last < budget) {
            map.budgets.push(budget);
        }
        let place = map.learnt.len() - (map.steps.len() - 1) * map.budgets.len();
        if map.budgets.get(place) != Some(&budget) {
            return Err(row.wrong(2, "rising budgets, the same at every step"));
        }
        map.learnt.push(offer(&row, 3)?);
        map.optimal.push(offer(&row, 5)?);
    }
    for policy in policies.iter() {
        if let Some(map) = &policy.offers {
            let accepted = map.steps.len() * map.budgets.len();
            complete(file, &policy.name, map.learnt.len(), accepted, "lines")?;
        }
    }
    Ok(())
}

fn policy_of<'p>(
    row: &Row,
    policies: &'p mut [PolicyResults],
) -> Result<&'p mut PolicyResults, InputError> {
    let found = policies.iter_mut().find(|p| p.name == row.text(0));
    found.ok_or_else(|| row.wrong(0, "a policy of summary.csv"))
}

fn mean_and_error(row: &Row, column: usize) -> Result<MeanAndError, InputError> {
    Ok(MeanAndError {
        mean: row.number(column)?,
        standard_error: row.error(column + 1)?,
    })
}

fn offer(row: &Row, column: usize) -> Result<Offer, InputError> {
    let share = row.number(column + 1)?;
    if !(0.0..=1.0 + 1e-9).contains(&share) {
        return Err(row.wrong(column + 1, "a share from 0 to 1"));
    }
    Ok(Offer {
        mean_action: row.number(column)?,
        share,
    })
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
