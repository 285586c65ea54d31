//! Code of the user's own that a study names: a policy, an oracle or a part of the world, written in another language. A study
//! file says where the code is; only a program that has it can run the study.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::error::Invalid;

/// Where own code is found, as `study.toml` and `run.json` name it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnCode {
    /// Its module.
    pub module: String,
    /// Its class or function.
    pub class: String,
    /// Arguments in the notation of the language, such as `rate=0.5`; empty without.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub arguments: String,
    /// Whether the object was made beforehand, with these arguments alone; otherwise the class makes one for each task.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub instance: bool,
    /// SHA-256 of the source of the class or function; empty if the source cannot be read.
    #[serde(default)]
    pub source: String,
}

impl fmt::Display for OwnCode {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Self { module, class, .. } = self;
        write!(f, "{class} of module {module}")
    }
}

/// Own code, and what runs it. Equal if the code is.
pub struct Own<T: ?Sized> {
    /// Where it is found.
    pub code: OwnCode,
    /// What runs it; `None` if this program does not have it.
    pub runs: Option<Arc<T>>,
}

impl<T: ?Sized> Own<T> {
    /// Its part in a study.
    pub fn part(&self, what: &'static str) -> OwnPart<'_> {
        OwnPart {
            what,
            code: &self.code,
            is_here: self.runs.is_some(),
        }
    }
}

impl<T: ?Sized> Clone for Own<T> {
    fn clone(&self) -> Self {
        Self {
            code: self.code.clone(),
            runs: self.runs.clone(),
        }
    }
}

impl<T: ?Sized> PartialEq for Own<T> {
    fn eq(&self, other: &Self) -> bool {
        self.code == other.code
    }
}

impl<T: ?Sized> fmt::Debug for Own<T> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "Own({})", self.code)
    }
}

/// A part of a study that is own code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnPart<'a> {
    /// `policy`, `oracle`, `conversion` or `contexts`.
    pub what: &'static str,
    /// Where it is found.
    pub code: &'a OwnCode,
    /// Whether this program can run it.
    pub is_here: bool,
}

impl OwnPart<'_> {
    /// Refuses code that this program does not have; `place` is its place in the study.
    pub fn check(&self, place: &str) -> Result<(), Invalid> {
        if self.is_here {
            return Ok(());
        }
        let found = format!("own {}, {}, which is not here", self.what, self.code);
        let accepted = "a program that has it: in Python, cbwk.Study.from_file(...).run() where the module can be imported";
        Err(Invalid::new(place, found, accepted))
    }
}
