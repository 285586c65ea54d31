//! Context rows: one row is the H contexts of one episode, as in the unlabeled sample of Section 3.4.
//!
//! The CSV form has the header `episode,step,<feature>,...`, one line per (episode, step); empty features mean that
//! nobody arrived.

use std::path::Path;

use super::NUMBER_LIMIT;
use crate::error::InputError;

/// Rows of contexts, steps 1..=H all present in each.
#[derive(Debug, Clone, PartialEq)]
pub struct ContextRows {
    horizon: usize,
    dimension: usize,
    features: Vec<f64>,
    arrived: Vec<bool>,
}

impl ContextRows {
    /// No rows yet.
    pub fn new(horizon: usize, dimension: usize) -> Self {
        Self {
            horizon,
            dimension,
            features: Vec::new(),
            arrived: Vec::new(),
        }
    }

    /// Appends the context of the next step (row by row, steps in order); `None` is no arrival.
    pub fn push(&mut self, features: Option<&[f64]>) {
        self.arrived.push(features.is_some());
        match features {
            Some(features) => self.features.extend_from_slice(&features[..self.dimension]),
            None => self
                .features
                .resize(self.features.len() + self.dimension, 0.0),
        }
    }

    /// Number of complete rows.
    pub fn len(&self) -> usize {
        self.arrived.len() / self.horizon
    }

    /// Whether there is no complete row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of steps H in each row.
    pub fn horizon(&self) -> usize {
        self.horizon
    }

    /// Number of features of a context.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// The features seen in `row` at `step` (both 0-based); `None` is no arrival.
    pub fn get(&self, row: usize, step: usize) -> Option<&[f64]> {
        let index = row * self.horizon + step;
        let start = index * self.dimension;
        self.arrived[index].then(|| &self.features[start..start + self.dimension])
    }

    /// Reads the CSV form.
    pub fn read(file: &Path, horizon: usize) -> Result<Self, InputError> {
        let text =
            std::fs::read_to_string(file).map_err(|error| InputError::unreadable(file, &error))?;
        Self::parse(file, &text, horizon)
    }

    fn parse(file: &Path, text: &str, horizon: usize) -> Result<Self, InputError> {
        let at = |line: u64, message: String| InputError::At {
            file: file.to_path_buf(),
            line: line as usize,
            message,
        };
        let mut reader = csv::ReaderBuilder::new()
            .trim(csv::Trim::All)
            .from_reader(text.as_bytes());
        let header = reader
            .headers()
            .map_err(|error| at(1, error.to_string()))?
            .clone();
        for (column, name) in ["episode", "step"].iter().enumerate() {
            if header.get(column) != Some(name) {
                let found = match header.get(column) {
                    Some("") | None => "nothing".to_string(),
                    Some(found) => format!("`{found}`"),
                };
                let column = column + 1;
                let message = format!(
                    "column {column}: found {found}; accepted: `{name}` (header episode,step,<feature>,...)"
                );
                return Err(at(1, message));
            }
        }
        if header.len() < 3 {
            let message = "found no feature column; accepted: header episode,step,<feature>,...";
            return Err(at(1, message.into()));
        }
        let mut rows = Self::new(horizon, header.len() - 2);
        let mut features = vec![0.0; rows.dimension];
        let mut episode = String::new();
        let mut next_step = 1;
        for record in reader.records() {
            let record = record.map_err(|error| {
                let line = error.position().map_or(1, csv::Position::line);
                let message = match error.kind() {
                    csv::ErrorKind::UnequalLengths { len, .. } => {
                        format!(
                            "found {len} columns; accepted: {} as in the header",
                            header.len()
                        )
                    }
                    _ => error.to_string(),
                };
                at(line, message)
            })?;
            let line = record.position().map_or(0, csv::Position::line);
            if next_step == 1 {
                episode = record[0].to_string();
            } else if record[0] != episode {
                let message = format!(
                    "step {next_step} of episode {episode} is missing; accepted: steps 1 to {horizon} in every episode"
                );
                return Err(at(line, message));
            }
            if record[1].parse() != Ok(next_step) {
                let message = format!(
                    "column `step`: found `{}`; accepted: {next_step} (steps 1 to {horizon} in order in every episode)",
                    &record[1]
                );
                return Err(at(line, message));
            }
            let empty = record.iter().skip(2).filter(|x| x.is_empty()).count();
            if empty == rows.dimension {
                rows.push(None);
            } else {
                for (i, slot) in features.iter_mut().enumerate() {
                    let cell = &record[i + 2];
                    *slot = match cell.parse::<f64>() {
                        Ok(x) if x.abs() <= NUMBER_LIMIT => x,
                        _ => {
                            let name = &header[i + 2];
                            let message = format!(
                                "column `{name}`: found `{cell}`; accepted: a finite number, or all features empty for no arrival"
                            );
                            return Err(at(line, message));
                        }
                    };
                }
                rows.push(Some(&features));
            }
            next_step = next_step % horizon + 1;
        }
        if next_step != 1 {
            return Err(InputError::File {
                file: file.to_path_buf(),
                message: format!(
                    "step {next_step} of episode {episode} is missing; accepted: steps 1 to {horizon} in every episode"
                ),
            });
        }
        if rows.is_empty() {
            return Err(InputError::File {
                file: file.to_path_buf(),
                message: "found no rows; accepted: at least one episode".into(),
            });
        }
        Ok(rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str, horizon: usize) -> Result<ContextRows, String> {
        ContextRows::parse(Path::new("rows.csv"), text, horizon).map_err(|e| e.to_string())
    }

    #[test]
    fn reads_rows_and_no_arrivals() {
        let rows = parse(
            "episode,step,x,y\n7,1,0.5,1\n7,2,,\n9,1,-1,2e-3\n9,2,3,4\n",
            2,
        )
        .unwrap();
        assert_eq!((rows.len(), rows.dimension()), (2, 2));
        assert_eq!(rows.get(0, 0), Some(&[0.5, 1.0][..]));
        assert_eq!(rows.get(0, 1), None);
        assert_eq!(rows.get(1, 1), Some(&[3.0, 4.0][..]));
    }

    #[test]
    fn names_the_line_of_a_mistake() {
        for (text, start) in [
            ("step,episode,x\n", "rows.csv:1: column 1: found `step`"),
            ("episode,step\n1,1\n", "rows.csv:1: found no feature column"),
            (
                "episode,step,x\n1,1,1\n1,3,1\n",
                "rows.csv:3: column `step`: found `3`",
            ),
            (
                "episode,step,x\n1,1,1\n2,1,1\n",
                "rows.csv:3: step 2 of episode 1 is missing",
            ),
            (
                "episode,step,x\n1,1,1\n",
                "rows.csv: step 2 of episode 1 is missing",
            ),
            (
                "episode,step,x\n1,1,NaN\n",
                "rows.csv:2: column `x`: found `NaN`",
            ),
            (
                "episode,step,x,y\n1,1,1,\n",
                "rows.csv:2: column `y`: found ``",
            ),
            (
                "episode,step,x\n1,1\n",
                "rows.csv:2: found 2 columns; accepted: 3",
            ),
            ("episode,step,x\n", "rows.csv: found no rows"),
        ] {
            let message = parse(text, 2).unwrap_err();
            assert!(message.starts_with(start), "{message:?} for {text:?}");
            assert!(!message.contains('\n'));
        }
    }
}
