//! `sweep.json`: the points of a sweep, whose studies are in the folders beside it.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::run_json::{PolicyRun, Run};
use super::{Overview, OverviewRow, PointResult};
use crate::error::InputError;
use crate::files::read_json;

/// The name of the file.
pub(super) const SWEEP: &str = "sweep.json";

/// A sweep without its studies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SweepIndex {
    /// Its title in pictures and tables.
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

    /// Reads the file of a folder, if it has one.
    pub fn read(folder: &Path) -> Result<Option<Self>, InputError> {
        let file = folder.join(SWEEP);
        if !file.exists() {
            return Ok(None);
        }
        let index: Self = read_json(&file)?;
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
            let message = format!(
                "points: found `{}`; accepted: the name of a folder, with a value for every key",
                point.label
            );
            return Err(InputError::in_file(&file, message));
        }
        Ok(Some(index))
    }

    /// The file's text.
    pub fn text(&self) -> String {
        let text = serde_json::to_string_pretty(self);
        text.expect("plain fields can be written") + "\n"
    }

    /// The results of the sweep; `runs` are those of the points, in order.
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
    /// Whether its policies are also those of another point: every key that affects them has the same value there.
    fn serves(&self, other: &Self) -> bool {
        let values = self.values.iter().zip(&other.values);
        self != other && { values }.all(|(own, its)| own.is_empty() || own == its)
    }
}

/// The policy of another run to compare a run with: the requested reference, or the clairvoyant. Without either, the first
/// policy is the reference of runs that have none.
fn reference_for<'r>(run: &Run, other: &'r Run) -> Option<&'r PolicyRun> {
    let name = other.reference.as_ref()?;
    let named = |policy: &&PolicyRun| policy.name == *name;
    let stands_in = name != "clairvoyant" && other.policies.first().is_some_and(|p| named(&p));
    if run.policies.iter().any(|p| named(&p)) || run.reference.is_some() && stands_in {
        return None;
    }
    other.policies.iter().find(named)
}
