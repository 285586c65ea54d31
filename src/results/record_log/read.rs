//! Reading `records.jsonl`: an index, and the records one by one.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::{Entry, Origin, line};
use crate::error::InputError;
use crate::experiment::{Record, Work};
use crate::files::open;

/// The name of the file.
pub const RECORDS: &str = "records.jsonl";

/// The index of a file, without the records themselves.
#[derive(Debug, Clone)]
pub struct RecordLog {
    /// The file.
    pub path: PathBuf,
    /// The origin of the records.
    pub origin: Origin,
    /// The work of every finished wave.
    pub work: Vec<Work>,
    /// Number of valid bytes; later ones were never synced.
    pub length: u64,
    /// The place of the record of every replication, by policy.
    places: BTreeMap<String, BTreeMap<usize, Place>>,
}

#[derive(Debug, Clone, Copy)]
struct Place {
    start: u64,
    length: usize,
}

/// A line without the content of its record.
type IndexLine = (u64, Entry<Origin, Name, Work>);

#[derive(Deserialize)]
struct Name {
    policy: String,
    replication: usize,
}

impl RecordLog {
    /// Reads the index of a folder's records; `None` if there is no origin.
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
        // A wave counts when its work is there: it was one append.
        let mut wave: Vec<(Name, Place)> = Vec::new();
        // The first damaged line: its number and place.
        let mut damage: Option<(usize, u64)> = None;
        for number in 1.. {
            bytes.clear();
            let length = file.read_until(b'\n', &mut bytes).map_err(unreadable)?;
            if length == 0 {
                break;
            }
            let at = |message: String| InputError::at(&path, number, message);
            let known = line::json(&bytes).map(serde_json::from_slice::<IndexLine>);
            match (known, damage) {
                // When this line was written, the damaged one was on disk.
                (Some(Ok((synced, _))), Some((line, place))) if synced > place => {
                    let message = "found a damaged line; accepted: records as they were written";
                    return Err(InputError::at(&path, line, message));
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
                        (None, Entry::Origin(origin)) => {
                            found = Some(Self {
                                path: path.clone(),
                                origin,
                                work: Vec::new(),
                                length: 0,
                                places: BTreeMap::new(),
                            });
                        }
                        (Some(_), Entry::Record(name)) => wave.push((name, place)),
                        (Some(log), Entry::Work(work)) => {
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
                        (None, _) | (Some(_), Entry::Origin(_)) => {
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

    /// The finished replications (0-based) of a policy.
    pub fn finished(&self, policy: &str) -> impl Iterator<Item = usize> {
        let places = self.places.get(policy).into_iter();
        places.flat_map(|places| places.keys().copied())
    }

    /// Policies with finished replications.
    pub fn policies(&self) -> impl Iterator<Item = &str> {
        self.places.keys().map(String::as_str)
    }

    /// The number of finished replications of all policies.
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
    /// The record of a replication (0-based) of a policy, if it is finished.
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
        match line::parse::<(u64, Entry<IgnoredAny, Record, IgnoredAny>)>(&self.bytes) {
            Some((_, Entry::Record(record))) => Ok(Some(record)),
            _ => {
                let number = replication + 1;
                let message = format!(
                    "replication {number} of `{policy}`: found a damaged record; accepted: records as they were written"
                );
                Err(InputError::in_file(path, message))
            }
        }
    }
}
