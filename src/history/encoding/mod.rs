//! How raw columns become the features of a context. Import chooses the encoding and stores it in the task file; everything
//! that reads raw values later applies it.
//!
//! A constant 1 comes first. A number becomes (x - mean) / deviation of the log; a missing one becomes the mean, with an
//! indicator feature if more than 1% of the log are missing. A category is one-hot without its first level; an unseen level
//! is all zeros, with a note.

mod column;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::raw::Raw;
use crate::error::Invalid;
use crate::task::FeatureRange;

pub use column::{Column, Missing};

/// Column names of a labeled log that no feature may have.
pub(super) const RESERVED: [&str; 6] = [
    "episode",
    "step",
    "action",
    "accepted",
    "budget",
    "probability",
];

/// The name of the feature that is always 1.
pub(super) const CONSTANT: &str = "constant";

/// How raw columns become features.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Encoding {
    /// Whether the first feature is a constant 1. Auctions lack it: their only feature is the private value.
    pub constant: bool,
    /// Raw columns in the order of their features.
    #[serde(default)]
    pub columns: Vec<Column>,
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

    /// Unique names of the features; none is reserved.
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

    /// The largest sizes of the features in the log.
    pub fn range(&self) -> FeatureRange {
        let mut sizes = vec![1.0; usize::from(self.constant)];
        for column in &self.columns {
            let first = sizes.len();
            sizes.extend(vec![1.0; column.width()]);
            if let Column::Number {
                mean,
                deviation,
                low,
                high,
                ..
            } = column
            {
                sizes[first] = (low - mean).abs().max((high - mean).abs()) / deviation;
            }
        }
        FeatureRange::of_sizes(sizes)
    }

    /// Replaces `out` by the features of values in the order of [`Encoding::columns`]. `notes` receives missing values and
    /// unseen levels.
    pub fn encode_in_order<'r>(
        &self,
        values: impl IntoIterator<Item = Raw<'r>>,
        out: &mut Vec<f64>,
        mut notes: Option<&mut Vec<String>>,
    ) -> Result<(), Invalid> {
        out.clear();
        if self.constant {
            out.push(1.0);
        }
        let mut values = values.into_iter();
        self.columns
            .iter()
            .try_for_each(|c| c.encode(values.next().unwrap_or(Raw::Missing), out, &mut notes))
    }

    /// The features of values by column name, with notes. Absent columns are missing values; unknown columns are refused.
    pub fn encode(&self, raw: &BTreeMap<String, Raw>) -> Result<(Vec<f64>, Vec<String>), Invalid> {
        let known = |name: &String| self.columns.iter().any(|column| column.name() == name);
        if let Some(unknown) = raw.keys().find(|name| !known(name)) {
            let names: Vec<&str> = self.columns.iter().map(Column::name).collect();
            let accepted = match names.is_empty() {
                true => "no columns at all".to_string(),
                false => format!("the columns {}", names.join(", ")),
            };
            let found = format!("column `{unknown}`");
            return Err(Invalid::new("context", found, accepted));
        }
        let (mut features, mut notes) = (Vec::with_capacity(self.dimension()), Vec::new());
        let value = |column: &Column| raw.get(column.name()).copied().unwrap_or(Raw::Missing);
        let values = self.columns.iter().map(value);
        self.encode_in_order(values, &mut features, Some(&mut notes))?;
        Ok((features, notes))
    }

    /// The places of each column's features.
    pub fn ranges(&self) -> Vec<std::ops::Range<usize>> {
        let mut start = usize::from(self.constant);
        let columns = self.columns.iter();
        columns
            .map(|column| {
                let own = start..start + column.width();
                start = own.end;
                own
            })
            .collect()
    }

    /// The raw value of one column.
    pub fn value(&self, name: &str, features: &[f64]) -> Option<Raw<'_>> {
        let place = self
            .columns
            .iter()
            .position(|column| column.name() == name)?;
        let range = self.ranges().swap_remove(place);
        Some(self.columns[place].decode(&features[range]))
    }

    /// The raw values of features, in the order of [`Encoding::columns`]; numbers to twelve digits.
    pub fn decode(&self, features: &[f64]) -> Vec<Raw<'_>> {
        let columns = self.columns.iter().zip(self.ranges());
        let values = columns.map(|(column, range)| column.decode(&features[range]));
        values.collect()
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
    fn names_are_unique_and_not_reserved() {
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
        let (features, notes) = encoding().encode(&raw).unwrap();
        let wanted = [
            1.0,
            (47.3 - 40.0) / 7.3,
            0.0,
            1.0,
            (32.7 - 40.0) / 7.3,
            0.0,
            1.0,
        ];
        assert_eq!(features, wanted);
        assert!(notes.is_empty(), "{notes:?}");
    }

    #[test]
    fn missing_and_unseen_values_are_noted_and_unknown_columns_refused() {
        let raw = BTreeMap::from([("sex".to_string(), Raw::Text("other"))]);
        let (features, notes) = encoding().encode(&raw).unwrap();
        assert_eq!(features, [1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]);
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
            let values = [
                age.map_or(Raw::Missing, Raw::Number),
                Raw::Text(sex),
                Raw::Number(budget),
                plan.map_or(Raw::Missing, Raw::Text),
            ];
            let (encoding, mut features) = (encoding(), Vec::new());
            encoding
                .encode_in_order(values, &mut features, None)
                .unwrap();
            assert_eq!(encoding.decode(&features), values);
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
