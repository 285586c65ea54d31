//! Studies run into folders: whole or in shards, from the start or from where an earlier run ended; shards merged, folders
//! counted and verified. Above `config`, `experiment`, `results` and `report`; below the command line.
//!
//! A folder under way has `study.toml`, its data, `records.jsonl` (finished replications, appended and synced wave by wave) and
//! `wave.json` (the wave under way, saved every so often). When all replications are there, the files of the study are derived
//! from the records, `run.json` last, and the two files of the way are removed. A shard stops before that: its records are its
//! product.
//!
//! The page [`clusters`](crate::guide::clusters) of the guide has recipes for Slurm, GNU parallel and Kubernetes.

mod data;
mod error;
mod finish;
mod merge;
mod run;
mod same;
mod shards;
mod status;
mod verify;

pub use data::Data;
pub use error::RunsError;
pub use finish::Finished;
pub use merge::{Merged, Shards};
pub use run::{How, SaveEvery, Watch, run_study};
pub use same::{read_study, refuse_other_study};
pub use status::{PolicyStatus, ShardState, Status, status};
pub use verify::{MadeWith, Verified, made_with, verify};
