//! Arguments of the commands for long studies.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::args::{Format, TableFormat};

/// Arguments of `merge`.
#[derive(Debug, Args)]
pub struct MergeArgs {
    /// Folder with the shards, as `simulate --out DIR --shard I/N` leaves them.
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// Folder for the results. Default: DIR itself.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Write into the folder even if it holds results, which are removed first; shards stay.
    #[arg(long)]
    pub force: bool,
    /// Worker threads. Default: one per core.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Columns of the table after the policy, such as final-regret,of-opt,slope. Default: all.
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub columns: Vec<String>,
    /// What standard output gets.
    #[arg(long, value_enum, default_value_t = TableFormat::Table)]
    pub format: TableFormat,
}

/// Arguments of `status`.
#[derive(Debug, Args)]
pub struct StatusArgs {
    /// Folder of a study, running or not, or of its shards.
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// What standard output gets.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
}

/// Arguments of `verify`.
#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// Folder of a study, finished or not, or of its shards; or a task folder, which may be served meanwhile.
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// Worker threads. Default: one per core.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
}

/// Arguments of `repair`.
#[derive(Debug, Args)]
pub struct RepairArgs {
    /// Task folder whose journal is damaged. It must not be served.
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
}

/// Clusters.
#[derive(Debug, Subcommand)]
pub enum ClusterCommand {
    /// Print an sbatch script that runs a study as a job array and then the merge: `cbwk-gpu cluster slurm STUDY.toml
    /// --shards 64 > study.sbatch; sbatch study.sbatch`.
    Slurm(SlurmArgs),
}

/// Arguments of `cluster slurm`.
#[derive(Debug, Args)]
pub struct SlurmArgs {
    /// Study file (TOML), with a path that compute nodes can read.
    pub study: PathBuf,
    /// Parts to cut the replications into; one should last minutes.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub shards: u32,
    /// Folder for shards and results, on a disk that all nodes share. Default: results/NAME.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Time limit of a task, as Slurm takes it; a task that reaches it is queued again and resumes.
    #[arg(long, value_name = "T", default_value = "04:00:00", value_parser = slurm_word)]
    pub time: String,
    /// Cores of a task.
    #[arg(long, value_name = "C", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub cpus: u16,
    /// Memory of a task, as Slurm takes it.
    #[arg(long, value_name = "M", default_value = "2G", value_parser = slurm_word)]
    pub memory: String,
    /// Tasks of the array at the most (MaxArraySize less one); with more shards a task runs several.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub max_tasks: u32,
}

/// A time or a size: one word of letters, digits, colons and the like.
fn slurm_word(text: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || ":-.".contains(c);
    match !text.is_empty() && text.chars().all(plain) {
        true => Ok(text.into()),
        false => Err("accepted: as Slurm writes it, such as 04:00:00 or 2G".into()),
    }
}
