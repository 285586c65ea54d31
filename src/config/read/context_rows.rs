//! Context rows from a CSV file: header `episode,step,<feature>,...`, one line per (episode, step), in any order of lines
//! and columns; empty features mean no arrival.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use csv::{Position, StringRecord};

use crate::config::Read;
use crate::error::InputError;
use crate::files::read_text;
use crate::history::FeatureColumns;
use crate::task::{ContextRows, NUMBER_LIMIT};

/// The known names of features, so that different files of a study agree on their columns.
#[derive(Debug, Clone, Default)]
pub enum FeatureNames {
    /// None yet: columns count by position.
    #[default]
    Unknown,
    /// The study names its features: columns are found by name.
    Given(Vec<String>),
    /// A file of the study named them: others must have the same names in the same places.
    OfFile(PathBuf, Vec<String>),
}

impl FeatureNames {
    /// Which columns of a log are features.
    pub fn columns(&self) -> FeatureColumns {
        match self {
            Self::Unknown | Self::OfFile(..) => FeatureColumns::All,
            Self::Given(names) => FeatureColumns::Named(names.clone()),
        }
    }

    /// Accepts the names in a file; refuses names that differ from those of an earlier file.
    pub fn accept(&mut self, file: &Path, found: &[String]) -> Read<()> {
        match self {
            Self::OfFile(other, known) if known != found => {
                let message = format!(
                    "found features `{}`; accepted: `{}` as in {} (contexts.features = [...] in the study has columns matched by name)",
                    found.join(","),
                    known.join(","),
                    other.display()
                );
                Err(InputError::at(file, 1, message))
            }
            Self::Unknown => {
                *self = Self::OfFile(file.to_path_buf(), found.to_vec());
                Ok(())
            }
            Self::OfFile(..) | Self::Given(_) => Ok(()),
        }
    }
}

/// A file being read: messages name it, the line and the column.
struct Source<'f> {
    file: &'f Path,
    header: StringRecord,
}

impl Source<'_> {
    fn at(&self, line: u64, message: String) -> InputError {
        InputError::at(self.file, line as usize, message)
    }

    /// The place of a required column.
    fn column(&self, name: &str) -> Read<usize> {
        let mut places = (0..self.header.len()).filter(|&i| &self.header[i] == name);
        match (places.next(), places.next()) {
            (Some(place), None) => Ok(place),
            (Some(_), Some(_)) => Err(self.at(1, format!("found column `{name}` twice"))),
            (None, _) => {
                let found: Vec<&str> = self.header.iter().collect();
                let found = found.join(",");
                let message = format!(
                    "found no column `{name}` in `{found}`; accepted: header episode,step,<feature>,..."
                );
                Err(self.at(1, message))
            }
        }
    }

    /// The places of the features, in the order of the study.
    fn features(&self, names: &mut FeatureNames) -> Read<Vec<usize>> {
        if let FeatureNames::Given(names) = names {
            return names.iter().map(|name| self.column(name)).collect();
        }
        let is_feature = |i: &usize| !["episode", "step"].contains(&&self.header[*i]);
        let places: Vec<usize> = (0..self.header.len()).filter(is_feature).collect();
        if places.is_empty() {
            let message = "found no feature column; accepted: header episode,step,<feature>,...";
            return Err(self.at(1, message.into()));
        }
        let found: Vec<String> = places.iter().map(|&i| self.header[i].to_string()).collect();
        names.accept(self.file, &found)?;
        Ok(places)
    }

    /// The features of a line; `None` if all are empty.
    fn context(&self, record: &StringRecord, places: &[usize]) -> Read<Option<Vec<f64>>> {
        if places.iter().all(|&i| record[i].is_empty()) {
            return Ok(None);
        }
        let number = |&i: &usize| match record[i].parse::<f64>() {
            Ok(x) if x.abs() <= NUMBER_LIMIT => Ok(x),
            _ => {
                let message = format!(
                    "column `{}`: found `{}`; accepted: a number of size up to {NUMBER_LIMIT:e}, or all features empty for no arrival",
                    &self.header[i], &record[i]
                );
                Err(self.at(line_of(record), message))
            }
        };
        places.iter().map(number).collect::<Read<_>>().map(Some)
    }
}

fn line_of(record: &StringRecord) -> u64 {
    record.position().map_or(0, Position::line)
}

/// A step of an episode: not read yet, no arrival, or the place of the context's features.
#[derive(Clone, Copy, PartialEq)]
enum Cell {
    Missing,
    NoArrival,
    Context(usize),
}

/// Reads a file; rows are in the order in which their episodes first appear.
pub fn read(file: &Path, horizon: usize, names: &mut FeatureNames) -> Read<ContextRows> {
    let text = read_text(file)?;
    parse(file, text.trim_start_matches('\u{feff}'), horizon, names)
}

fn parse(file: &Path, text: &str, horizon: usize, names: &mut FeatureNames) -> Read<ContextRows> {
    let mut reader = csv::ReaderBuilder::new()
        .trim(csv::Trim::All)
        .from_reader(text.as_bytes());
    let mut source = Source {
        file,
        header: StringRecord::new(),
    };
    let header = reader.headers().map_err(|e| source.at(1, e.to_string()))?;
    source.header = header.clone();
    let (episode, step) = (source.column("episode")?, source.column("step")?);
    let places = source.features(names)?;
    let mut numbers: HashMap<String, usize> = HashMap::new();
    let mut episodes: Vec<String> = Vec::new();
    let mut cells: Vec<Cell> = Vec::new();
    let mut features: Vec<f64> = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|error| broken_line(&source, &error))?;
        let label = &record[episode];
        let number = match numbers.get(label) {
            Some(number) => *number,
            None => {
                cells.resize(cells.len() + horizon, Cell::Missing);
                episodes.push(label.to_string());
                numbers.insert(label.to_string(), episodes.len() - 1);
                episodes.len() - 1
            }
        };
        let h: Option<usize> = record[step].parse().ok();
        let Some(h) = h.filter(|h| (1..=horizon).contains(h)) else {
            let message = format!(
                "column `step`: found `{}`; accepted: a step from 1 to {horizon}",
                &record[step]
            );
            return Err(source.at(line_of(&record), message));
        };
        let cell = &mut cells[number * horizon + h - 1];
        if *cell != Cell::Missing {
            let message = format!("step {h} of episode {label} is there twice; accepted: once");
            return Err(source.at(line_of(&record), message));
        }
        *cell = match source.context(&record, &places)? {
            None => Cell::NoArrival,
            Some(context) => {
                features.extend(context);
                Cell::Context(features.len() - places.len())
            }
        };
    }
    if let Some(missing) = cells.iter().position(|cell| *cell == Cell::Missing) {
        let (episode, step) = (&episodes[missing / horizon], missing % horizon + 1);
        let message = format!(
            "step {step} of episode {episode} is missing; accepted: steps 1 to {horizon} in every episode"
        );
        return Err(InputError::in_file(file, message));
    }
    if cells.is_empty() {
        let message = "found no rows; accepted: at least one episode";
        return Err(InputError::in_file(file, message));
    }
    let mut rows = ContextRows::new(horizon, places.len());
    for cell in cells {
        rows.push(match cell {
            Cell::Context(first) => Some(&features[first..first + places.len()]),
            Cell::NoArrival | Cell::Missing => None,
        });
    }
    Ok(rows)
}

fn broken_line(source: &Source, error: &csv::Error) -> InputError {
    let line = error.position().map_or(1, Position::line);
    let message = match error.kind() {
        csv::ErrorKind::UnequalLengths { len, .. } => {
            let columns = source.header.len();
            format!("found {len} columns; accepted: {columns} as in the header")
        }
        _ => error.to_string(),
    };
    source.at(line, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_with(
        text: &str,
        horizon: usize,
        names: &mut FeatureNames,
    ) -> Result<ContextRows, String> {
        parse(Path::new("rows.csv"), text, horizon, names).map_err(|e| e.to_string())
    }

    fn parse_text(text: &str, horizon: usize) -> Result<ContextRows, String> {
        parse_with(text, horizon, &mut FeatureNames::Unknown)
    }

    #[test]
    fn reads_rows_and_no_arrivals() {
        let text = "episode,step,x,y\n7,1,0.5,1\n7,2,,\n9,1,-1,2e-3\n9,2,3,4\n";
        let rows = parse_text(text, 2).unwrap();
        assert_eq!((rows.len(), rows.dimension()), (2, 2));
        assert_eq!(rows.get(0, 0), Some(&[0.5, 1.0][..]));
        assert_eq!(rows.get(0, 1), None);
        assert_eq!(rows.get(1, 1), Some(&[3.0, 4.0][..]));
        // The same lines and columns in another order are the same rows.
        let shuffled = "step,x,y,episode\n2,,,7\n1,0.5,1,7\n2,3,4,9\n1,-1,2e-3,9\n";
        assert_eq!(parse_text(shuffled, 2).unwrap(), rows);
    }

    #[test]
    fn columns_are_matched_by_name_where_the_study_names_them() {
        let mut names = FeatureNames::Given(vec!["y".into(), "x".into()]);
        let rows = parse_with("episode,step,x,id,y\n1,1,0.5,9,2\n", 1, &mut names).unwrap();
        assert_eq!(rows.get(0, 0), Some(&[2.0, 0.5][..]));
        let missing = parse_with("episode,step,x,z\n1,1,0.5,2\n", 1, &mut names).unwrap_err();
        assert!(
            missing.starts_with("rows.csv:1: found no column `y`"),
            "{missing}"
        );
    }

    #[test]
    fn files_with_other_names_than_the_first_are_refused() {
        let mut names = FeatureNames::Unknown;
        parse_with("episode,step,x,y\n1,1,0.5,2\n", 1, &mut names).unwrap();
        parse_with("step,x,y,episode\n1,0.5,2,1\n", 1, &mut names).unwrap();
        for other in ["y,x", "x,z", "x"] {
            let cells = other.replace(char::is_alphabetic, "1");
            let text = format!("episode,step,{other}\n1,1,{cells}\n");
            let refused = parse_with(&text, 1, &mut names).unwrap_err();
            let start = format!("rows.csv:1: found features `{other}`; accepted: `x,y`");
            assert!(refused.starts_with(&start), "{refused}");
        }
    }

    #[test]
    fn names_the_line_of_a_mistake() {
        for (text, start) in [
            ("step,x\n", "rows.csv:1: found no column `episode`"),
            ("episode,step\n1,1\n", "rows.csv:1: found no feature column"),
            (
                "episode,step,x\n1,1,1\n1,3,1\n",
                "rows.csv:3: column `step`: found `3`",
            ),
            (
                "episode,step,x\n1,1,1\n1,1,2\n",
                "rows.csv:3: step 1 of episode 1 is there twice",
            ),
            (
                "episode,step,x\n1,1,1\n2,1,1\n",
                "rows.csv: step 2 of episode 1 is missing",
            ),
            (
                "episode,step,x\n1,1,NaN\n",
                "rows.csv:2: column `x`: found `NaN`",
            ),
            (
                "episode,step,x\n1,1,1e60\n",
                "rows.csv:2: column `x`: found `1e60`",
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
            let message = parse_text(text, 2).unwrap_err();
            assert!(message.starts_with(start), "{message:?} for {text:?}");
            assert!(!message.contains('\n'));
        }
    }
}
