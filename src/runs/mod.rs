//! Studies run in folders: whole or in shards, from the start or resumed; shards merged, folders counted and verified. Above
//! `config`, `experiment`, `results` and `report`; below the command line.
//!
//! A folder of an unfinished study has `study.toml`, its data and two checkpoint files: `records.jsonl` (finished
//! replications, appended and synced wave by wave) and `wave.json` (the current wave, saved from time to time). When all
//! replications are there, the files of the study are derived from the records, `run.json` last, and the checkpoint files
//! are removed. A shard stops before that: its records are its product.
//!
//! The page [`clusters`](crate::guide::clusters) of the guide has recipes for Slurm, GNU parallel and Kubernetes.

mod data;
mod error;
mod finish;
mod in_folder;
mod merge;
mod refuse;
mod shards;
mod status;
mod verify;

pub use data::StudyData;
pub use error::RunsError;
pub use in_folder::{Progress, RunOptions, SaveEvery, run_in_folder};
pub use merge::{Merged, Shards};
pub(crate) use refuse::read_study;
pub use status::{PolicyStatus, ShardState, Status, status};
pub use verify::{MadeWith, Verified, made_with, verify};
