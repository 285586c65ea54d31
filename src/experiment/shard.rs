//! A study in parts: shard I of N runs its share of the replications of every policy. Random streams depend on the
//! replication only, so any number of shards gives the same records.

use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::error::Invalid;

/// Maximum number of shards of a study.
const SHARD_LIMIT: usize = 1_000_000;

/// Shard `index` of `count`, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Shard {
    index: usize,
    count: usize,
}

impl Shard {
    /// Shard `index` of `count`, counted from 1.
    pub fn new(index: usize, count: usize) -> Result<Self, Invalid> {
        if (1..=SHARD_LIMIT).contains(&count) && (1..=count).contains(&index) {
            return Ok(Self { index, count });
        }
        let accepted = format!("I/N with I from 1 to N, and N at most {SHARD_LIMIT}");
        Err(Invalid::new("shard", format!("{index}/{count}"), accepted))
    }

    /// All `count` shards of a study.
    pub fn all(count: usize) -> impl Iterator<Item = Self> {
        (1..=count).map(move |index| Self { index, count })
    }

    /// Reads `I/N`.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let numbers = text.split_once('/');
        let numbers = numbers.and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
        match numbers {
            Some((index, count)) => Self::new(index, count),
            None => Err(Invalid::new(
                "shard",
                format!("`{text}`"),
                "I/N, such as 3/16",
            )),
        }
    }

    /// The name of the shard's folder.
    pub fn folder(&self) -> String {
        format!("shard-{}-of-{}", self.index, self.count)
    }

    /// Reads a shard from its folder's name.
    pub fn of_folder(name: &str) -> Option<Self> {
        let (index, count) = name.strip_prefix("shard-")?.split_once("-of-")?;
        let shard = Self::new(index.parse().ok()?, count.parse().ok()?).ok()?;
        (shard.folder() == name).then_some(shard)
    }

    /// I.
    pub fn index(&self) -> usize {
        self.index
    }

    /// N.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Its contiguous range of replications (0-based). The sizes of any two shards differ by at most one.
    pub fn share(&self, replications: usize) -> Range<usize> {
        let end =
            |index: usize| (replications as u128 * index as u128 / self.count as u128) as usize;
        end(self.index - 1)..end(self.index)
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "shard {} of {}", self.index, self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_cover_every_replication_once() {
        for (replications, count) in [(0, 3), (1, 1), (5, 16), (16, 16), (50, 7), (1000, 999)] {
            let shares: Vec<_> = Shard::all(count)
                .map(|shard| shard.share(replications))
                .collect();
            let sizes = shares.iter().map(ExactSizeIterator::len);
            let (least, most) = (sizes.clone().min(), sizes.max());
            assert!(most.unwrap() - least.unwrap() <= 1);
            let all: Vec<usize> = shares.into_iter().flatten().collect();
            assert_eq!(all, (0..replications).collect::<Vec<_>>());
        }
    }

    #[test]
    fn names_are_read_back_and_others_refused() {
        let shard = Shard::parse("3/16").unwrap();
        assert_eq!(shard.folder(), "shard-3-of-16");
        assert_eq!(Shard::of_folder(&shard.folder()), Some(shard));
        for wrong in ["shard-03-of-16", "shard-17-of-16", "shard-3", "3/16", "x=3"] {
            assert_eq!(Shard::of_folder(wrong), None, "{wrong}");
        }
        for wrong in ["0/16", "17/16", "3", "a/b", "-1/2", "1/0", "1/99999999"] {
            assert!(Shard::parse(wrong).is_err(), "{wrong}");
        }
    }
}
