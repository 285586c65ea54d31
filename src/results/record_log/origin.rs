//! What records were made from: others cannot stand beside them.

use serde::{Deserialize, Serialize};

use crate::dp::Report;
use crate::experiment::Shard;

/// The version of `records.jsonl` and `wave.json`.
const FORMAT: u32 = 1;

/// What the records of a file were made from, and how.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Origin {
    /// Version of the format, 1.
    pub format: u32,
    /// The program's version.
    pub version: String,
    /// SHA-256 of `study.toml`, which has the checksums of its data.
    pub study: String,
    /// `cpu`, `gpu` or `auto`.
    pub backend: String,
    /// Name of the graphics adapter, where there is one.
    pub adapter: Option<String>,
    /// `f64` or `f32`.
    pub precision: String,
    /// How the CPU was asked to solve: `auto` or the name of a strategy.
    pub strategy: String,
    /// The shard, where the study is cut.
    pub shard: Option<Shard>,
    /// The command line, as of a run that is neither cut nor resumed.
    pub command: String,
    /// Worker threads.
    pub threads: usize,
}

/// A key in which two origins differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The key.
    pub key: &'static str,
    /// What was found.
    pub found: String,
    /// What the other has.
    pub accepted: String,
}

impl Origin {
    /// The origin of records that this program makes of a study on a backend.
    pub fn new(study: String, backend: &str, report: &Report, strategy: &str) -> Self {
        Self {
            format: FORMAT,
            version: env!("CARGO_PKG_VERSION").into(),
            study,
            backend: backend.into(),
            adapter: report.adapter.clone(),
            precision: report.precision.clone(),
            strategy: strategy.into(),
            shard: None,
            command: String::new(),
            threads: 0,
        }
    }

    /// The first key, other than the study, that keeps the records of one origin from standing beside those of another.
    pub fn difference(&self, accepted: &Self) -> Option<Difference> {
        let none = || "none".to_string();
        let of = |origin: &Self| -> [(&'static str, String); 6] {
            [
                ("format", origin.format.to_string()),
                ("version", origin.version.clone()),
                ("backend", origin.backend.clone()),
                ("adapter", origin.adapter.clone().unwrap_or_else(none)),
                ("precision", origin.precision.clone()),
                ("strategy", origin.strategy.clone()),
            ]
        };
        let mut pairs = of(self).into_iter().zip(of(accepted));
        pairs.find_map(|((key, found), (_, accepted))| {
            (found != accepted).then_some(Difference {
                key,
                found,
                accepted,
            })
        })
    }
}
