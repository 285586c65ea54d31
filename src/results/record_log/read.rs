//! Reading `records.jsonl`: an index of what is there, and the records one by one.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::{Origin, line};
use crate::error::InputError;
use crate::experiment::{Record, Work};
use crate::files::open;

/// The name of the file.
pub const RECORDS: &str = "records.jsonl";

/// What a file holds, without the records themselves.
#[derive(Debug, Clone)]
pub struct RecordLog {
    /// The file.
    pub path: PathBuf,
    /// What the records were made from.
    pub origin: Origin,
    /// The work of every finished wave.
    pub work: Vec<Work>,
    /// Bytes that are whole and unharmed; what is behind them was never promised.
    pub length: u64,
    /// Where the record of every replication is, by policy.
    places: BTreeMap<String, BTreeMap<usize, Place>>,
}

#[derive(Debug, Clone, Copy)]
struct Place {
    start: u64,
    length: usize,
}

/// As much of a line as the index needs.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Known {
    Origin(Origin),
    Record(Name),
    Work(Work),
}

#[derive(Deserialize)]
struct Name {
    policy: String,
    replication: usize,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Whole {
    Record(Record),
}

impl RecordLog {
    /// Reads the index of a folder's records; `None` where there are none, or not even an origin.
    pub fn read(folder: &Path) -> Result<Option<Self>, InputError> {
        let path = folder.join(RECORDS);
        let unreadable = |error: io::Error| InputError::unreadable(&path, &error);
        let file = match open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unreadable(error)),
        };
        let mut file = BufReader::with_capacity(1 << 16, file);
        let (mut bytes, mut start) = (Vec::new(), 0);
        let mut found: Option<Self> = None;
        // A wave counts when its work has come: it was one append.
        let mut wave: Vec<(Name, Place)> = Vec::new();
        // The first line that is not whole: its number and place.
        let mut damage: Option<(usize, u64)> = None;
        for number in 1.. {
            bytes.clear();
            let length = file.read_until(b'\n', &mut bytes).map_err(unreadable)?;
            if length == 0 {
                break;
            }
            let at = |message: String| InputError::At {
                file: path.clone(),
                line: number,
                message,
            };
            let known = line::json(&bytes).map(serde_json::from_slice::<(u64, Known)>);
            match (known, damage) {
                // Whoever wrote this line knew that the damaged one was on disk.
                (Some(Ok((synced, _))), Some((line, place))) if synced > place => {
                    return Err(InputError::At {
                        file: path.clone(),
                        line,
                        message: "found a damaged line; accepted: records as they were written"
                            .into(),
                    });
                }
                (_, Some(_)) => {}
                (None, None) => damage = Some((number, start)),
                (Some(Err(error)), None) => {
                    let message = format!(
                        "found another format ({error}); accepted: records of this program"
                    );
                    return Err(at(message));
                }
                (Some(Ok((_, known))), None) => {
                    let place = Place { start, length };
                    match (&mut found, known) {
                        (None, Known::Origin(origin)) => {
                            found = Some(Self {
                                path: path.clone(),
                                origin,
                                work: Vec::new(),
                                length: 0,
                                places: BTreeMap::new(),
                            });
                        }
                        (Some(_), Known::Record(name)) => wave.push((name, place)),
                        (Some(log), Known::Work(work)) => {
                            log.work.push(work);
                            for (name, place) in wave.drain(..) {
                                let (policy, r) = (name.policy, name.replication);
                                let places = log.places.entry(policy.clone()).or_default();
                                if places.insert(r, place).is_some() {
                                    let r = r + 1;
                                    return Err(at(format!(
                                        "found replication {r} of `{policy}` a second time; accepted: every replication once"
                                    )));
                                }
                            }
                        }
                        (None, _) | (Some(_), Known::Origin(_)) => {
                            return Err(at("found no origin; accepted: one, in line 1".into()));
                        }
                    }
                    if let (Some(log), true) = (&mut found, wave.is_empty()) {
                        log.length = start + length as u64;
                    }
                }
            }
            start += length as u64;
        }
        Ok(found)
    }

    /// The replications (0-based) of a policy that are finished.
    pub fn finished(&self, policy: &str) -> impl Iterator<Item = usize> {
        let places = self.places.get(policy).into_iter();
        places.flat_map(|places| places.keys().copied())
    }

    /// Policies with finished replications.
    pub fn policies(&self) -> impl Iterator<Item = &str> {
        self.places.keys().map(String::as_str)
    }

    /// How many replications, of all policies together, are finished.
    pub fn count(&self) -> usize {
        self.places.values().map(BTreeMap::len).sum()
    }

    /// Opens the file for its records.
    pub fn open(&self) -> Result<RecordReader<'_>, InputError> {
        let file = open(&self.path);
        Ok(RecordReader {
            log: self,
            file: file.map_err(|error| InputError::unreadable(&self.path, &error))?,
            bytes: Vec::new(),
        })
    }
}

/// The records of a file.
#[derive(Debug)]
pub struct RecordReader<'l> {
    log: &'l RecordLog,
    file: File,
    bytes: Vec<u8>,
}

impl RecordReader<'_> {
    /// The record of a replication (0-based) of a policy; `None` where it is not finished.
    pub fn record(
        &mut self,
        policy: &str,
        replication: usize,
    ) -> Result<Option<Record>, InputError> {
        let places = self.log.places.get(policy);
        let Some(place) = places.and_then(|places| places.get(&replication)) else {
            return Ok(None);
        };
        let path = &self.log.path;
        let mut read = || -> io::Result<()> {
            self.file.seek(SeekFrom::Start(place.start))?;
            self.bytes.resize(place.length, 0);
            self.file.read_exact(&mut self.bytes)
        };
        read().map_err(|error| InputError::unreadable(path, &error))?;
        match line::parse::<(u64, Whole)>(&self.bytes) {
            Some((_, Whole::Record(record))) => Ok(Some(record)),
            None => Err(InputError::File {
                file: path.clone(),
                message: format!(
                    "replication {} of `{policy}`: found a damaged record; accepted: records as they were written",
                    replication + 1
                ),
            }),
        }
    }
}
