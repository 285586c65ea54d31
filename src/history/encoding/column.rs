//! One raw column of an encoding.

use serde::{Deserialize, Serialize};

use crate::error::{Invalid, excerpt, shown};
use crate::history::raw::{Raw, number};
use crate::task::finite_numbers;

/// A raw column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Column {
    /// Numbers.
    Number {
        /// Its name.
        column: String,
        /// Mean of the log.
        mean: f64,
        /// Standard deviation of the log (of the population, not corrected for the sample).
        deviation: f64,
        /// Smallest number of the log.
        low: f64,
        /// Largest number of the log.
        high: f64,
        /// How missing numbers are treated.
        missing: Missing,
    },
    /// Texts.
    Category {
        /// Its name.
        column: String,
        /// All levels; the first has no feature. An empty text, always last, is the level of missing values.
        levels: Vec<String>,
    },
}

/// How missing numbers are treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Missing {
    /// They become the mean.
    Mean,
    /// They become the mean, with an indicator feature.
    Indicator,
    /// They are an error.
    Refused,
}

impl Column {
    /// The raw column's name.
    pub fn name(&self) -> &str {
        match self {
            Self::Number { column, .. } | Self::Category { column, .. } => column,
        }
    }

    /// Number of features.
    pub fn width(&self) -> usize {
        match self {
            Self::Number { missing, .. } => 1 + usize::from(*missing == Missing::Indicator),
            Self::Category { levels, .. } => levels.len().saturating_sub(1),
        }
    }

    pub(super) fn names(&self) -> Vec<String> {
        match self {
            Self::Number {
                column, missing, ..
            } => {
                let mut names = vec![column.clone()];
                if *missing == Missing::Indicator {
                    names.push(format!("{column}_missing"));
                }
                names
            }
            Self::Category { column, levels } => {
                let name = |level: &String| match level.is_empty() {
                    true => format!("{column}_missing"),
                    false => format!("{column}={level}"),
                };
                levels.iter().skip(1).map(name).collect()
            }
        }
    }

    /// Moves a number into the range of the log, with a note: one wild value must not stretch what the model knows. Absurd
    /// numbers stay, to be refused.
    pub fn clip(&self, raw: &mut Raw<'_>) -> Option<String> {
        let Self::Number { low, high, .. } = self else {
            return None;
        };
        let x = match *raw {
            Raw::Number(x) => x,
            Raw::Text(text) => number(text)?,
            Raw::Missing => return None,
        };
        if (*low..=*high).contains(&x) || finite_numbers("", &[x]).is_err() {
            return None;
        }
        let name = self.name();
        *raw = Raw::Number(x.clamp(*low, *high));
        Some(format!(
            "column `{name}`: {x} is outside the log's {low} to {high} and counts as {raw}"
        ))
    }

    /// Appends the features of a value.
    pub(super) fn encode(
        &self,
        raw: Raw,
        out: &mut Vec<f64>,
        notes: &mut Option<&mut Vec<String>>,
    ) -> Result<(), Invalid> {
        match self {
            Self::Number {
                column,
                mean,
                deviation,
                missing,
                ..
            } => {
                let x = match raw {
                    Raw::Missing => None,
                    Raw::Number(x) => Some(x),
                    Raw::Text(text) => Some(number(text).ok_or_else(|| {
                        let accepted = "a number, or nothing where it is not known";
                        Invalid::new(format!("column `{column}`"), format!("`{text}`"), accepted)
                    })?),
                };
                if x.is_none() {
                    if *missing == Missing::Refused {
                        let field = format!("column `{column}`");
                        return Err(Invalid::new(field, "nothing", "a number"));
                    }
                    if let Some(notes) = notes {
                        notes.push(format!("column `{column}` is missing"));
                    }
                }
                out.push(x.map_or(0.0, |x| (x - mean) / deviation));
                if *missing == Missing::Indicator {
                    out.push(f64::from(u8::from(x.is_none())));
                }
            }
            Self::Category { column, levels } => {
                let spelt;
                let level = match raw {
                    Raw::Missing => "",
                    Raw::Text(text) => text,
                    Raw::Number(x) => {
                        spelt = x.to_string();
                        &spelt
                    }
                };
                let place = levels.iter().position(|known| known == level);
                if let (None, Some(notes)) = (place, notes) {
                    notes.push(match level {
                        "" => format!("column `{column}` is missing"),
                        level => {
                            format!(
                                "column `{column}`: the log has no level `{}`",
                                excerpt(level)
                            )
                        }
                    });
                }
                let one_hot = (1..levels.len()).map(|i| f64::from(u8::from(place == Some(i))));
                out.extend(one_hot);
            }
        }
        Ok(())
    }

    /// The value of features; an unseen level becomes the first one.
    pub(super) fn decode(&self, features: &[f64]) -> Raw<'_> {
        match self {
            Self::Number {
                mean, deviation, ..
            } => match features {
                [_, missing] if *missing > 0.5 => Raw::Missing,
                _ => {
                    let x = features[0] * deviation + mean;
                    Raw::Number(twelve_digits(x, x.abs().max(mean.abs()).max(*deviation)))
                }
            },
            Self::Category { levels, .. } => {
                let place = features.iter().position(|x| *x > 0.5).map_or(0, |i| i + 1);
                Raw::level(&levels[place])
            }
        }
    }

    pub(super) fn check(&self) -> Result<(), Invalid> {
        let field = format!("encoding of column `{}`", self.name());
        match self {
            Self::Number {
                mean,
                deviation,
                low,
                high,
                ..
            } => {
                finite_numbers(&field, &[*mean, *deviation, *low, *high])?;
                if *deviation <= 0.0 {
                    let found = format!("deviation = {}", shown(*deviation));
                    return Err(Invalid::new(field, found, "a positive deviation"));
                }
                if low > high {
                    let found = format!("low = {low}, high = {high}");
                    return Err(Invalid::new(field, found, "low up to high"));
                }
            }
            Self::Category { levels, .. } => {
                let repeated = (1..levels.len()).any(|i| levels[..i].contains(&levels[i]));
                if levels.len() < 2 || repeated {
                    let found = format!("levels = {levels:?}");
                    return Err(Invalid::new(field, found, "two or more different levels"));
                }
            }
        }
        Ok(())
    }
}

/// Removes the rounding errors of scaling and its inverse, which are relative to the largest intermediate number, `scale`.
fn twelve_digits(x: f64, scale: f64) -> f64 {
    let decimals = (11.0 - scale.log10().floor()).clamp(0.0, 300.0);
    let rounded = format!("{x:.0$}", decimals as usize);
    rounded.parse().unwrap_or(x)
}
