//! Oracles of the user's own, written in another language.

use super::config::{Build, Parameters, Profile};
use super::{BoundFacts, Oracle};
use crate::error::Invalid;
use crate::task::{Own, Task};

/// Makes own oracles, one per replication.
pub trait MakeOracle: Send + Sync {
    /// What the bounds of its oracles for a task are like.
    fn facts(&self, task: &Task) -> BoundFacts;

    /// An oracle without data.
    fn make(&self, task: &Task) -> Box<dyn Oracle>;
}

impl Parameters for Own<dyn MakeOracle> {
    fn profile(&self) -> Profile {
        Profile {
            kind: "own",
            bounds: "own",
            ..Profile::default()
        }
    }

    fn facts(&self, task: &Task) -> BoundFacts {
        self.runs
            .as_ref()
            .map_or(BoundFacts::NONE, |runs| runs.facts(task))
    }

    fn build(&self, request: Build) -> Result<Box<dyn Oracle>, Invalid> {
        let accepted = "code that this program can run, or a built-in oracle";
        let missing = || Invalid::new("oracle", &self.code, accepted);
        let runs = self.runs.as_ref().ok_or_else(missing)?;
        Ok(runs.make(request.task))
    }
}
