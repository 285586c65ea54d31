//! The origin of records; records of different origins cannot be mixed.

use serde::{Deserialize, Serialize};

use crate::dp::Report;
use crate::error::Invalid;
use crate::experiment::Shard;

/// The version of `records.jsonl` and `wave.json`.
const FORMAT: u32 = 1;

/// The study, program and options that made the records of a file.
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
    /// Name of the graphics adapter, if there is one.
    pub adapter: Option<String>,
    /// `f64` or `f32`.
    pub precision: String,
    /// The CPU strategy: `auto`, or the name of one.
    pub strategy: String,
    /// The shard, if the study is cut.
    pub shard: Option<Shard>,
    /// The command line without options for shards, saving and resuming.
    pub command: String,
    /// Worker threads.
    pub threads: usize,
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

    /// The first key, other than the study, in which records of this origin differ from accepted ones.
    pub fn difference(&self, accepted: &Self) -> Option<Invalid> {
        let of = |origin: &Self| -> [(&'static str, String); 6] {
            let adapter = origin.adapter.as_deref().unwrap_or("none");
            [
                ("format", origin.format.to_string()),
                ("version", origin.version.clone()),
                ("backend", origin.backend.clone()),
                ("adapter", adapter.into()),
                ("precision", origin.precision.clone()),
                ("strategy", origin.strategy.clone()),
            ]
        };
        let mut pairs = of(self).into_iter().zip(of(accepted));
        let (found, accepted) = pairs.find(|(found, accepted)| found != accepted)?;
        Some(Invalid::new(found.0, found.1, accepted.1))
    }
}
