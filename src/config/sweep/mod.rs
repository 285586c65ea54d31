//! Sweeps: a `[sweep]` table of paths into the study file with a list of values for each. Every combination of values is a
//! point; keys listed together in `zip` vary together. A point is a study of the policies that its keys affect: a policy
//! runs once for all points that differ only in settings of other policies.
//!
//! ```toml
//! [sweep]
//! budget.value = [3, 5, 8]
//! policies.mimic-opt-dp.initial_rows = [0, 50]   # a policy by name, or all of a kind; "policies[1].initial_rows" by place
//! application.bids = [[1, 2], [1, 2, 3]]
//! conversion.probabilities = [[0.3, 0.5], [0.3, 0.5, 0.8]]
//! zip = [["application.bids", "conversion.probabilities"]]
//! ```

mod axes;
mod put;

use std::collections::HashSet;

use super::document::{Document, Node};
use crate::error::InputError;
use crate::files::shortened;
use axes::{Axis, Key};

/// The most points a sweep may have.
const POINT_LIMIT: usize = 10_000;

/// The folder of policies that no swept key affects.
const SHARED: &str = "shared";

/// A sweep and its studies.
#[derive(Debug, Clone)]
pub struct Sweep {
    /// Paths of the swept keys, in the order of the file.
    pub keys: Vec<String>,
    /// How many combinations of values there are.
    pub combinations: usize,
    /// The points in running order: the last key varies fastest.
    pub points: Vec<SweepPoint>,
}

/// One combination of values, and the policies that it is for.
#[derive(Debug, Clone)]
pub struct SweepPoint {
    /// Name of its folder, such as `value=3,initial_rows=50`; `shared` if no key affects its policies.
    pub label: String,
    /// The value of each key as text; empty if the key is a setting of other policies.
    pub values: Vec<String>,
    /// The study file with these values in place of its own.
    pub document: Document,
    /// Places of the policies to run, 0-based.
    pub policies: Vec<usize>,
}

impl Document {
    /// The points of the file's `[sweep]`, if it has one.
    pub fn sweep(&self) -> Result<Option<Sweep>, InputError> {
        let mut base = self.clone();
        let Some(table) = base.root_mut().take("sweep") else {
            return Ok(None);
        };
        let origin = table.origin.clone();
        let (keys, axes) = axes::read(self, table)?;
        let lengths = axes.iter().map(|axis| axis.length);
        let count = lengths.clone().try_fold(1usize, usize::checked_mul);
        let Some(count) = count.filter(|n| *n <= POINT_LIMIT) else {
            let message = format!("sweep: found more than {POINT_LIMIT} points; accepted: fewer");
            return Err(self.error_at(&origin, message));
        };
        let names = short_names(&keys);
        let mut points = Vec::new();
        let mut met = HashSet::new();
        for number in 0..count {
            let combination = Combination::new(&base, &keys, &axes, number)?;
            for (places, policies) in combination.groups(&axes) {
                let new = |policy: &usize| met.insert((*policy, places.clone()));
                let policies: Vec<usize> = policies.into_iter().filter(new).collect();
                if !policies.is_empty() || combination.document.policies().is_empty() {
                    points.push(combination.point(&keys, &names, &axes, &places, policies));
                }
            }
        }
        number_equal_labels(&mut points);
        Ok(Some(Sweep {
            points,
            combinations: count,
            keys: keys.into_iter().map(|key| key.path).collect(),
        }))
    }
}

/// The study with one value of every key.
struct Combination {
    document: Document,
    /// Which value of each axis.
    places: Vec<usize>,
    /// The policies that each axis affects; `None` for all.
    affected: Vec<Option<Vec<usize>>>,
}

/// The value of each axis; `None` if the axis does not affect the policies.
type Places = Vec<Option<usize>>;

impl Combination {
    fn new(
        base: &Document,
        keys: &[Key],
        axes: &[Axis],
        number: usize,
    ) -> Result<Self, InputError> {
        let mut block: usize = axes.iter().map(|axis| axis.length).product();
        let mut combination = Self {
            document: base.clone(),
            places: Vec::new(),
            affected: Vec::new(),
        };
        for axis in axes {
            block /= axis.length;
            combination.places.push(number / block % axis.length);
        }
        // In the order of the file: an earlier key may have renamed a policy.
        let mut affected = Vec::new();
        for (number, key) in keys.iter().enumerate() {
            let axis = axes.iter().position(|axis| axis.keys.contains(&number));
            let place = combination.places[axis.expect("every key is on an axis")];
            affected.push(combination.document.policies_on(&key.path));
            combination.document.put(&key.path, &key.values[place])?;
        }
        let union = |axis: &Axis| {
            let sets: Option<Vec<_>> = axis.keys.iter().map(|key| affected[*key].clone()).collect();
            sets.map(|sets| sets.concat())
        };
        combination.affected = axes.iter().map(union).collect();
        Ok(combination)
    }

    /// The policies, grouped by the axes that affect them.
    fn groups(&self, axes: &[Axis]) -> Vec<(Places, Vec<usize>)> {
        let mut groups: Vec<(Places, Vec<usize>)> = Vec::new();
        for policy in 0..self.document.policies().len().max(1) {
            let place = |axis: usize| {
                let affected = self.affected[axis].as_ref();
                let matters = affected.is_none_or(|policies| policies.contains(&policy));
                matters.then_some(self.places[axis])
            };
            let places: Places = (0..axes.len()).map(place).collect();
            match groups.iter_mut().find(|(known, _)| *known == places) {
                Some((_, policies)) => policies.push(policy),
                None => groups.push((places, vec![policy])),
            }
        }
        groups
    }

    fn point(
        &self,
        keys: &[Key],
        names: &[String],
        axes: &[Axis],
        places: &Places,
        policies: Vec<usize>,
    ) -> SweepPoint {
        let mut values = Vec::new();
        let mut labels = Vec::new();
        for (number, key) in keys.iter().enumerate() {
            let axis = axes.iter().position(|axis| axis.keys.contains(&number));
            let Some(place) = axis.and_then(|axis| places[axis]) else {
                values.push(String::new());
                continue;
            };
            let text = match &key.values[place].node {
                Node::Table(_) => format!("table {}", place + 1),
                node => node.compact(),
            };
            labels.push(format!("{}={}", names[number], for_folder(&text)));
            values.push(text);
        }
        let label = match labels.is_empty() {
            true => SHARED.into(),
            false => labels.join(","),
        };
        SweepPoint {
            label: shortened(&label).to_string(),
            values,
            document: self.document.clone(),
            policies,
        }
    }
}

/// Numbers equal labels, so that every point has its own folder.
fn number_equal_labels(points: &mut [SweepPoint]) {
    let mut taken = HashSet::new();
    for point in points {
        let numbered = (2..).map(|i| format!("{}-{i}", point.label));
        let free = std::iter::once(point.label.clone()).chain(numbered);
        let label = free.into_iter().find(|label| taken.insert(label.clone()));
        point.label = label.expect("there is always a next number");
    }
}

/// The last parts of the paths if all differ, else the whole paths.
fn short_names(keys: &[Key]) -> Vec<String> {
    let last = |key: &Key| key.path.rsplit('.').next().unwrap_or(&key.path).to_string();
    let short: Vec<String> = keys.iter().map(last).collect();
    let distinct = (1..short.len()).all(|i| !short[..i].contains(&short[i]));
    if distinct {
        return short;
    }
    keys.iter().map(|key| key.path.clone()).collect()
}

/// A value as a part of a folder's name: letters, digits, signs and points; lists without brackets.
fn for_folder(text: &str) -> String {
    let safe = |c: char| c.is_alphanumeric() || "+-._".contains(c);
    let inner = text.chars().filter(|c| !"[]".contains(*c));
    let text: String = inner.map(|c| if safe(c) { c } else { '-' }).collect();
    text.chars().take(60).collect()
}

impl Node {
    /// The whole value on one line.
    fn compact(&self) -> String {
        match self {
            Self::Text(text) if text.is_empty() => "\"\"".into(),
            Self::Text(text) => text.clone(),
            Self::Number(x) => x.to_string(),
            Self::List(items) => {
                let items: Vec<String> = items.iter().map(|item| item.node.compact()).collect();
                format!("[{}]", items.join(" "))
            }
            other => other.describe(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    const STUDY: &str = "[study]\nhorizon = 2\n[budget]\nkind = \"constant\"\nvalue = 3\n\
                         [[policies]]\nkind = \"mimic-opt-dp\"\nname = \"learner\"\n[[policies]]\nkind = \"random\"\n";

    fn sweep(text: &str) -> Result<Sweep, InputError> {
        let document = Document::parse(Path::new("s.toml"), &format!("{STUDY}{text}"))?;
        Ok(document.sweep()?.expect("there is a sweep"))
    }

    fn complaint(text: &str) -> String {
        sweep(text).unwrap_err().to_string()
    }

    fn labels(sweep: &Sweep) -> Vec<&str> {
        sweep.points.iter().map(|p| p.label.as_str()).collect()
    }

    #[test]
    fn points_are_all_combinations() {
        let found = sweep("[sweep]\nbudget.value = [3, 5]\nstudy.delta = [0.5, 0.25]").unwrap();
        assert_eq!(found.keys, ["budget.value", "study.delta"]);
        let expected = [
            "value=3,delta=0.5",
            "value=3,delta=0.25",
            "value=5,delta=0.5",
            "value=5,delta=0.25",
        ];
        assert_eq!(labels(&found), expected);
        assert_eq!(found.points[3].values, ["5", "0.25"]);
        assert_eq!(found.points[3].policies, [0, 1]);
        // A document of a point has the values and no sweep of its own.
        assert!(found.points[2].document.sweep().unwrap().is_none());
        let by_kind = sweep("[sweep]\npolicies.mimic-opt-dp.alpha = [0.5]").unwrap();
        let by_place = sweep("[sweep]\n\"policies[1].alpha\" = [0.5]").unwrap();
        assert_eq!(by_kind.points[0].label, by_place.points[0].label);
        let lists = sweep("[sweep]\napplication = [1]\nbudget.values = [[1, 2], [3]]").unwrap();
        assert_eq!(lists.points[0].label, "application=1,values=1-2");
        let label = |text: &str| sweep(text).unwrap().points[0].label.clone();
        assert_eq!(label("[sweep]\nbudget.values = [[-1, 2]]"), "values=-1-2");
        assert_eq!(
            label("[sweep]\nstudy.name = [\"größe/語\"]"),
            "name=größe-語"
        );
        let long = format!("[sweep]\nstudy.{} = [1]", "x".repeat(300));
        assert_eq!(label(&long).len(), 200);
    }

    /// A policy has as many points as the keys that affect it have values.
    #[test]
    fn settings_of_other_policies_do_not_make_points() {
        let alpha = "policies.learner.alpha = [0.5, 0.25]";
        let found = sweep(&format!("[sweep]\n{alpha}")).unwrap();
        assert_eq!(labels(&found), ["alpha=0.5", "shared", "alpha=0.25"]);
        let policies: Vec<&[usize]> = found.points.iter().map(|p| &p.policies[..]).collect();
        assert_eq!(policies, [[0], [1], [0]]);
        assert_eq!(found.points[1].values, [""]);
        let found = sweep(&format!("[sweep]\nbudget.value = [3, 5]\n{alpha}")).unwrap();
        let expected = [
            "value=3,alpha=0.5",
            "value=3",
            "value=3,alpha=0.25",
            "value=5,alpha=0.5",
            "value=5",
            "value=5,alpha=0.25",
        ];
        assert_eq!(labels(&found), expected);
        assert_eq!(found.points[4].values, ["5", ""]);
        // A name that an earlier key gives, and settings of both.
        let renamed = "[sweep]\n\"policies[2].name\" = [\"x\"]\npolicies.x.a = [1, 2]";
        assert_eq!(
            labels(&sweep(renamed).unwrap()),
            ["shared", "name=x,a=1", "name=x,a=2"]
        );
        let both = "[sweep]\n\"policies[1].a\" = [1, 2]\n\"policies[2].a\" = [3, 4]";
        let labels = sweep(both).unwrap().points.into_iter().map(|p| p.label);
        let expected = [
            "policies[1].a=1",
            "policies[2].a=3",
            "policies[2].a=4",
            "policies[1].a=2",
        ];
        assert_eq!(labels.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn zipped_keys_take_their_values_together() {
        let keys = "[sweep]\nbudget.value = [3, 5]\nstudy.seed = [1, 2]\nstudy.horizon = [7, 8]";
        let zip = "zip = [[\"study.horizon\", \"budget.value\"]]";
        let found = sweep(&format!("{keys}\n{zip}")).unwrap();
        let values: Vec<String> = found.points.iter().map(|p| p.values.join(" ")).collect();
        assert_eq!(values, ["3 1 7", "3 2 7", "5 1 8", "5 2 8"]);
        assert_eq!(found.points[1].label, "value=3,seed=2,horizon=7");
        // Settings of different policies on one axis: both policies have both values.
        let alphas = "[sweep]\n\"policies[1].a\" = [1, 2]\npolicies.random.b = [3, 4]";
        let zip = "zip = [[\"policies.1.a\", \"policies.random.b\"]]";
        let found = sweep(&format!("{alphas}\n{zip}")).unwrap();
        assert_eq!(labels(&found), ["a=1,b=3", "a=2,b=4"]);
        for (zip, expected) in [
            (
                "[[\"budget.value\"]]",
                "sweep.zip[1]: found a list of 1; accepted: a list of at",
            ),
            (
                "[\"budget.value\"]",
                "sweep.zip[1]: found `budget.value`; accepted: a list of",
            ),
            (
                "3",
                "sweep.zip: found 3; accepted: a list of lists of swept keys",
            ),
            (
                "[[\"budget.value\", \"study.sed\"]]",
                "sweep.zip[1]: found `study.sed`; accepted: a swept key (nearest: `study.seed`)",
            ),
            (
                "[[\"budget.value\", \"study.seed\"], [\"study.horizon\", \"study.seed\"]]",
                "sweep.zip[2]: found `study.seed`; accepted: each key once",
            ),
            (
                "[[\"budget.value\", \"study.delta\"]]",
                "sweep.zip[1]: found 2 values of `budget.value` and 3 of `study.delta`; accepted: as many",
            ),
        ] {
            let message = complaint(&format!(
                "{keys}\nstudy.delta = [0.1, 0.2, 0.3]\nzip = {zip}"
            ));
            assert!(message.contains(expected), "{message}");
        }
        assert!(complaint("[sweep]\nzip = [[\"a\", \"b\"]]").contains("a table of keys"));
    }

    #[test]
    fn wrong_paths_name_the_nearest() {
        let lines = STUDY.lines().count();
        let message = complaint("[sweep]\nbudgt.value = [3]");
        assert!(
            message.contains(&format!(
                "s.toml:{}: sweep.budgt: found no such part",
                lines + 2
            )),
            "{message}"
        );
        assert!(message.contains("nearest: `budget`"), "{message}");
        assert!(complaint("[sweep]\npolicies.lerner.alpha = [1]").contains("nearest: `learner`"));
        assert!(
            complaint("[sweep]\n\"policies[3].alpha\" = [1]")
                .contains("sweep.policies.3: found no such part")
        );
        assert!(
            complaint("[sweep]\nbudget.value = 3")
                .contains("sweep.budget.value: found 3; accepted: a list")
        );
        assert!(complaint("[sweep]\nbudget.value = []").contains("found a list of 0"));
        assert!(complaint("[sweep]\n").contains("accepted: a table of keys"));
        assert!(
            complaint("[sweep]\nbudget.value.deep = [1]").contains("accepted: a path to a key")
        );
    }
}
