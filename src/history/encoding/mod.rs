//! How raw columns become the features of a context. The encoding is found once, on import, stored in the task file, and
//! applied alike by everything that reads raw values afterwards.
//!
//! A number becomes (x - mean) / deviation of the log, with an indicator beside it where more than 1% of the log are
//! missing (missing = mean); a category is one-hot without its first level, and unseen levels are all zeros, with a note.
//! A constant 1 comes first.

mod column;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::raw::Raw;
use crate::error::Invalid;
use crate::task::FeatureRange;

pub use column::{Column, Missing};

/// Names that a labeled log has for itself.
pub const RESERVED: [&str; 6] = [
    "episode",
    "step",
    "action",
    "accepted",
    "budget",
    "probability",
];

/// The name of the feature that is always 1.
pub const CONSTANT: &str = "constant";

/// How raw columns become features.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Encoding {
    /// Whether the first feature is a constant 1. Auctions have none: their only feature is the private value.
    pub constant: bool,
    /// Raw columns in the order of their features.
    #[serde(default)]
    pub columns: Vec<Column>,
}

/// A treatment that a user may want to know of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// A value was missing.
    Missing {
        /// The column.
        column: String,
    },
    /// A level that the log has not: all zeros, as if it were the first level.
    Unseen {
        /// The column.
        column: String,
        /// The level.
        level: String,
    },
}

impl std::fmt::Display for Note {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            Self::Missing { column } => write!(f, "column `{column}` is missing"),
            Self::Unseen { column, level } => {
                write!(f, "column `{column}`: the log has no level `{level}`")
            }
        }
    }
}

/// A raw value that stands on its own.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Nothing is known.
    Missing,
    /// A number.
    Number(f64),
    /// A text.
    Text(String),
}

impl Value {
    /// The value as an encoding takes it.
    pub fn raw(&self) -> Raw<'_> {
        match self {
            Self::Missing => Raw::Missing,
            Self::Number(x) => Raw::Number(*x),
            Self::Text(text) => Raw::Text(text),
        }
    }
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            Self::Missing => Ok(()),
            Self::Number(x) => write!(f, "{x}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

/// Features and what was noticed on the way.
#[derive(Debug, Clone, PartialEq)]
pub struct Encoded {
    /// The features, the constant first.
    pub features: Vec<f64>,
    /// Missing values and unseen levels.
    pub notes: Vec<Note>,
}

impl Encoding {
    /// Checks an encoding that came from a file.
    pub fn check(&self) -> Result<(), Invalid> {
        self.columns.iter().try_for_each(Column::check)?;
        let names: Vec<&str> = self.columns.iter().map(Column::name).collect();
        if let Some(i) = (1..names.len()).find(|&i| names[..i].contains(&names[i])) {
            let found = format!("column `{}` twice", names[i]);
            return Err(Invalid::new("encoding.columns", found, "each column once"));
        }
        if self.dimension() == 0 {
            let accepted = "at least one feature, such as the constant";
            return Err(Invalid::new("encoding", "no feature", accepted));
        }
        Ok(())
    }

    /// Number of features.
    pub fn dimension(&self) -> usize {
        let columns: usize = self.columns.iter().map(Column::width).sum();
        usize::from(self.constant) + columns
    }

    /// Names of the features, different from each other and from what else a log has.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        if self.constant {
            names.push(CONSTANT.into());
        }
        for mut name in self.columns.iter().flat_map(Column::names) {
            while RESERVED.contains(&name.as_str()) || names.contains(&name) {
                name = format!("raw_{name}");
            }
            names.push(name);
        }
        names
    }

    /// How large features of the log get.
    pub fn range(&self) -> FeatureRange {
        let mut sizes = vec![1.0; usize::from(self.constant)];
        for column in &self.columns {
            match column {
                Column::Number {
                    mean,
                    deviation,
                    low,
                    high,
                    ..
                } => {
                    sizes.push((low - mean).abs().max((high - mean).abs()) / deviation);
                    sizes.extend(vec![1.0; column.width() - 1]);
                }
                Column::Category { .. } => sizes.extend(vec![1.0; column.width()]),
            }
        }
        FeatureRange::of_sizes(sizes)
    }

    /// The features of values that stand in the order of [`Encoding::columns`], in place of those in `out`.
    pub fn encode_in_order<'r>(
        &self,
        values: impl IntoIterator<Item = Raw<'r>>,
        out: &mut Vec<f64>,
        mut note: impl FnMut(Note),
    ) -> Result<(), Invalid> {
        out.clear();
        if self.constant {
            out.push(1.0);
        }
        let mut values = values.into_iter();
        self.columns
            .iter()
            .try_for_each(|c| c.encode(values.next().unwrap_or(Raw::Missing), out, &mut note))
    }

    /// The features of values by column. Columns that are not there are missing; columns that nobody knows are refused.
    pub fn encode(&self, raw: &BTreeMap<String, Raw>) -> Result<Encoded, Invalid> {
        let known = |name: &String| self.columns.iter().any(|column| column.name() == name);
        if let Some(unknown) = raw.keys().find(|name| !known(name)) {
            let names: Vec<&str> = self.columns.iter().map(Column::name).collect();
            let accepted = match names.is_empty() {
                true => "no columns at all".to_string(),
                false => format!("the columns {}", names.join(", ")),
            };
            return Err(Invalid::new(
                "context",
                format!("column `{unknown}`"),
                accepted,
            ));
        }
        let (mut features, mut notes) = (Vec::with_capacity(self.dimension()), Vec::new());
        let value = |column: &Column| raw.get(column.name()).copied().unwrap_or(Raw::Missing);
        let values = self.columns.iter().map(value);
        self.encode_in_order(values, &mut features, |note| notes.push(note))?;
        Ok(Encoded { features, notes })
    }

    /// The raw values that features stand for, in the order of [`Encoding::columns`]; numbers to twelve digits.
    pub fn decode(&self, features: &[f64]) -> Vec<Value> {
        let mut rest = &features[usize::from(self.constant)..];
        let value = |column: &Column| {
            let (own, others) = rest.split_at(column.width());
            rest = others;
            column.decode(own)
        };
        self.columns.iter().map(value).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoding() -> Encoding {
        let number = |column: &str, missing| Column::Number {
            column: column.into(),
            mean: 40.0,
            deviation: 7.3,
            low: 18.0,
            high: 90.0,
            missing,
        };
        let category = |column: &str, levels: &[&str]| Column::Category {
            column: column.into(),
            levels: levels.iter().map(ToString::to_string).collect(),
        };
        Encoding {
            constant: true,
            columns: vec![
                number("age", Missing::Indicator),
                category("sex", &["female", "male"]),
                number("budget", Missing::Mean),
                category("plan", &["a", "b", ""]),
            ],
        }
    }

    #[test]
    fn names_never_clash_with_those_of_the_log() {
        let names = [
            "constant",
            "age",
            "age_missing",
            "sex=male",
            "raw_budget",
            "plan=b",
            "plan_missing",
        ];
        assert_eq!(encoding().names(), names);
        assert_eq!(encoding().dimension(), names.len());
        assert_eq!(
            encoding().range().sizes(),
            [1.0, 50.0 / 7.3, 1.0, 1.0, 50.0 / 7.3, 1.0, 1.0]
        );
    }

    #[test]
    fn values_by_column_become_features() {
        let raw = BTreeMap::from([
            ("age".to_string(), Raw::Number(47.3)),
            ("sex".to_string(), Raw::Text("male")),
            ("budget".to_string(), Raw::Text("32.7")),
            ("plan".to_string(), Raw::Missing),
        ]);
        let encoded = encoding().encode(&raw).unwrap();
        let wanted = [
            1.0,
            (47.3 - 40.0) / 7.3,
            0.0,
            1.0,
            (32.7 - 40.0) / 7.3,
            0.0,
            1.0,
        ];
        assert_eq!(encoded.features, wanted);
        assert_eq!(encoded.notes, []);
    }

    #[test]
    fn what_is_missing_or_unseen_is_noted_and_what_is_unknown_refused() {
        let raw = BTreeMap::from([("sex".to_string(), Raw::Text("other"))]);
        let encoded = encoding().encode(&raw).unwrap();
        assert_eq!(encoded.features, [1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]);
        let notes: Vec<String> = encoded.notes.iter().map(ToString::to_string).collect();
        assert_eq!(
            notes,
            [
                "column `age` is missing",
                "column `sex`: the log has no level `other`",
                "column `budget` is missing"
            ]
        );
        let wrong = |name: &str, value| {
            encoding()
                .encode(&BTreeMap::from([(name.to_string(), value)]))
                .unwrap_err()
                .to_string()
        };
        assert_eq!(
            wrong("sexe", Raw::Text("male")),
            "context: found column `sexe`; accepted: the columns age, sex, budget, plan"
        );
        assert_eq!(
            wrong("age", Raw::Text("old")),
            "column `age`: found `old`; accepted: a number, or nothing where it is not known"
        );
    }

    #[test]
    fn decoding_gives_the_values_back() {
        for (age, sex, budget, plan) in [
            (Some(0.1), "male", 33.333, Some("b")),
            (None, "female", -7e-5, None),
            (Some(1e9), "female", 0.3, Some("a")),
        ] {
            let value = |x: Option<f64>| x.map_or(Value::Missing, Value::Number);
            let values = vec![
                value(age),
                Value::Text(sex.into()),
                value(Some(budget)),
                plan.map_or(Value::Missing, |plan| Value::Text(plan.into())),
            ];
            let mut features = Vec::new();
            encoding()
                .encode_in_order(values.iter().map(Value::raw), &mut features, |_| {})
                .unwrap();
            assert_eq!(encoding().decode(&features), values);
        }
    }

    #[test]
    fn wrong_encodings_are_refused() {
        let mut same = encoding();
        same.columns.push(same.columns[0].clone());
        assert_eq!(same.check().unwrap_err().found, "column `age` twice");
        let mut flat = encoding();
        if let Column::Number { deviation, .. } = &mut flat.columns[0] {
            *deviation = 0.0;
        }
        assert!(
            flat.check()
                .unwrap_err()
                .to_string()
                .contains("a positive deviation")
        );
        let empty = Encoding {
            constant: false,
            columns: vec![],
        };
        assert!(empty.check().is_err());
        assert!(encoding().check().is_ok());
    }
}
