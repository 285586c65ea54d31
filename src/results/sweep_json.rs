//! `sweep.json`: the points of a sweep, whose studies are in the folders beside it.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::run_json::{PolicyRun, Run};
use super::{Overview, OverviewRow, PointResult};
use crate::error::InputError;

/// The name of the file.
pub(super) const SWEEP: &str = "sweep.json";

/// A sweep without its studies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SweepIndex {
    /// What pictures and tables call it.
    pub title: String,
    /// Paths of the swept keys.
    pub keys: Vec<String>,
    /// The points, each a study in a folder of its own.
    pub points: Vec<SweptPoint>,
}

/// A point of a sweep.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SweptPoint {
    /// Name of its folder.
    pub label: String,
    /// The value of each key.
    pub values: Vec<String>,
}

impl SweepIndex {
    /// The name of the file.
    pub const FILE: &str = SWEEP;

    /// Reads the file of a folder; `None` where there is none.
    pub fn read(folder: &Path) -> Result<Option<Self>, InputError> {
        let file = folder.join(SWEEP);
        let text = match std::fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(InputError::unreadable(&file, &error)),
        };
        let index: Self = crate::files::json(&file, &text)?;
        let is_name = |label: &String| {
            let mut parts = Path::new(label).components();
            matches!(
                (parts.next(), parts.next()),
                (Some(std::path::Component::Normal(_)), None)
            )
        };
        let whole = |point: &SweptPoint| point.values.len() == index.keys.len();
        if let Some(point) = index
            .points
            .iter()
            .find(|p| !is_name(&p.label) || !whole(p))
        {
            return Err(InputError::File {
                file,
                message: format!(
                    "points: found `{}`; accepted: the name of a folder, with a value for every key",
                    point.label
                ),
            });
        }
        Ok(Some(index))
    }

    /// The file's text.
    pub fn text(&self) -> String {
        let text = serde_json::to_string_pretty(self);
        text.expect("plain fields can be written") + "\n"
    }

    /// The sweep at a glance; `runs` are those of the points, in their order.
    pub fn overview(&self, runs: &[Run]) -> Overview {
        let points = self.points.iter().zip(runs);
        let rows = points.clone().flat_map(|(point, run)| {
            let elsewhere = points.clone().find_map(|(other, its_run)| {
                let reference = reference_for(run, its_run);
                reference.filter(|_| other.serves(point))
            });
            let results = PointResult::all(run).zip(&run.policies);
            results.map(move |(result, policy)| OverviewRow {
                point: point.label.clone(),
                values: point.values.clone(),
                result: match elsewhere {
                    Some(reference) => result.compared(policy, reference),
                    None => result,
                },
            })
        });
        Overview {
            keys: self.keys.clone(),
            rows: rows.collect(),
        }
    }
}

impl SweptPoint {
    /// Whether its policies are those of another point as well: no key touches them that has another value there.
    fn serves(&self, other: &Self) -> bool {
        let values = self.values.iter().zip(&other.values);
        self != other && { values }.all(|(own, its)| own.is_empty() || own == its)
    }
}

/// The policy of another run that a run without it is held against: the one that was asked for, or the clairvoyant. The first
/// policy, which stands in where there is neither, serves runs that have nobody to compare with.
fn reference_for<'r>(run: &Run, other: &'r Run) -> Option<&'r PolicyRun> {
    let name = other.reference.as_ref()?;
    let named = |policy: &&PolicyRun| policy.name == *name;
    let stands_in = name != "clairvoyant" && other.policies.first().is_some_and(|p| named(&p));
    if run.policies.iter().any(|p| named(&p)) || run.reference.is_some() && stands_in {
        return None;
    }
    other.policies.iter().find(named)
}
