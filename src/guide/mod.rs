//! The user guide. Tests check every command, option, key and file named here against the program.
//!
//! | page | content |
//! | --- | --- |
//! | [`commands`] | the commands, exit codes, what is never overwritten |
//! | [`studies`] | the study file: every key, policies, oracles and their parameters |
//! | [`results`] | the files of a results folder, column by column; reports |
//! | [`own_data`] | from a log of real customers to prices |
//! | [`live`] | offers to real customers, one at a time |
//! | [`operating`] | the service in operation: several shops, keys, metrics, damage, backups |
//! | [`clusters`] | long studies: resume, shards, merge |
//! | [`comparison`] | the paper's comparison, improvements on it, the value of unlabeled data |
//! | [`speed`] | how plans are computed on CPU and GPU, and how fast |
//! | [`checks`] | how the numbers are checked |

#[doc = include_str!("checks.md")]
pub mod checks {}
#[doc = include_str!("clusters.md")]
pub mod clusters {}
#[doc = include_str!("commands.md")]
pub mod commands {}
#[doc = include_str!("comparison.md")]
pub mod comparison {}
#[doc = include_str!("live.md")]
pub mod live {}
#[doc = include_str!("operating.md")]
pub mod operating {}
#[doc = include_str!("own_data.md")]
pub mod own_data {}
#[doc = include_str!("results.md")]
pub mod results {}
#[doc = include_str!("speed.md")]
pub mod speed {}
#[doc = include_str!("studies.md")]
pub mod studies {}
