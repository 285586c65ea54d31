//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use super::compare::CompareArgs;
use super::long_args::{ClusterCommand, MergeArgs, RepairArgs, StatusArgs, VerifyArgs};
use super::machine_args::MachineArgs;
use super::offer::OfferArgs;
use super::serve_args::ServeArgs;
use super::task_args::{
    BackupArgs, EvaluateArgs, FitArgs, ImportArgs, PilotArgs, PlanArgs, RepriceArgs,
};
use super::terminal;
use cbwk_gpu::report::style::Style;

/// Learn how customers convert while a budget runs down: Mimic-Opt-DP, Optimistic-DP and regret studies.
#[derive(Debug, Parser)]
#[command(name = "cbwk-gpu", version, max_term_width = 110)]
pub struct Cli {
    /// Colours; auto has them on a terminal, unless NO_COLOR is set in the environment.
    #[arg(long, global = true, value_name = "WHEN", value_enum, default_value_t = clap::ColorChoice::Auto)]
    pub color: clap::ColorChoice,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a study: print a table of regrets and write episodes.csv, summary.csv, policies.csv, steps.csv,
    /// actions.csv, regret.svg and .png, study.toml, run.json. Finished replications survive any kind of end: see --resume.
    #[command(after_long_help = ENGINES)]
    Simulate(SimulateArgs),
    /// Make the files of a whole study from its shards.
    Merge(MergeArgs),
    /// Say how far a study is, per policy and shard, judged by its files.
    Status(StatusArgs),
    /// Verify a folder: checksums, the summary from the episodes, one replication run again; of a task folder, its journal
    /// from the first line, replayed and compared with the snapshot.
    Verify(VerifyArgs),
    /// Copy a task folder, or a folder of task folders, as it is at one moment, also while it is served, and check the copy by
    /// replaying its journal. Restoring is copying it back.
    Backup(BackupArgs),
    /// Repair a damaged journal of a task folder: keep the lines before the damage, put the rest into another file, and say
    /// what is lost.
    Repair(RepairArgs),
    /// Run a study on a cluster.
    #[command(subcommand)]
    Cluster(ClusterCommand),
    /// Compute the optimum of an instance with conversion probabilities known.
    Solve(SolveArgs),
    /// Show how well the bounds of a study's oracles hold as data grow, to choose their radii.
    Calibrate(CalibrateArgs),
    /// Make a page of results that opens in any browser, offline, with its plots as SVG and PNG beside it.
    Report(ReportArgs),
    /// Compare the policies of a results folder: final regrets with bands, and all pairs with Holm's correction.
    Compare(CompareArgs),
    /// Run the paper's comparison: both panels of its figure, and a page that holds its claims against the numbers.
    Reproduce(ReproduceArgs),
    /// Make a task folder of a raw CSV file: task.toml (steps, actions, capacity, how columns become features) and log.csv.
    Import(ImportArgs),
    /// Fit acceptance models to a task folder's log and compare them on held-out episodes: model.json, study.toml, fit.html.
    Fit(FitArgs),
    /// Plan the offers of a task folder whose log has been fitted: plan.csv and a page to look them up.
    Plan(PlanArgs),
    /// Look up the planned offer to any customer, such as `cbwk-gpu offer shop --step 3 --budget 5 age=44 sex=male`.
    Offer(OfferArgs),
    /// Say what the plan of a task folder would earn against today's policy, with an interval, and what the log does not
    /// support.
    Evaluate(EvaluateArgs),
    /// Run a task folder's learner: an offer for every customer, as JSON lines or HTTP, every answer in a journal.
    Serve(ServeArgs),
    /// Say what a pilot shows so far: what the learner earns a day beyond the baseline, with an interval that holds at all
    /// times.
    Pilot(PilotArgs),
    /// Change the prices or the largest budget of a task folder in use; what was learnt is kept.
    Reprice(RepriceArgs),
    /// List the graphics adapters of this machine, and say which one `--backend auto` would take and why.
    Devices,
    /// List the study files that come with the program with their oracles, or print one, ready to edit; or print a log
    /// drawn from its truth.
    Presets(PresetsArgs),
    /// Print the completions of a shell: `cbwk-gpu completions bash > cbwk-gpu.bash`.
    Completions(CompletionsArgs),
    /// Write manual pages, one per command: `cbwk-gpu man DIR`, then `man -l DIR/cbwk-gpu.1`.
    Man(ManArgs),
}

/// Arguments of `completions`.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

/// Arguments of `man`.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// Folder for the pages.
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
}

/// Arguments of `simulate`.
#[derive(Debug, Args)]
pub struct SimulateArgs {
    /// Study file (TOML). Without one, and without --preset, the preset paper-auction runs.
    pub study: Option<PathBuf>,
    /// Run a study that comes with the program; `cbwk-gpu presets` lists them.
    #[arg(long, value_name = "NAME", conflicts_with = "study")]
    pub preset: Option<String>,
    /// Folder for the results. Default: results/NAME, or the next free results/NAME-2, ...
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Write into --out even if it holds results, which are removed first; other files stay.
    #[arg(long)]
    pub force: bool,
    /// Episodes T.
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    pub episodes: Option<u64>,
    /// Steps H in an episode.
    #[arg(long, value_name = "H", allow_negative_numbers = true)]
    pub horizon: Option<u64>,
    /// The same starting budget in every episode.
    #[arg(long, value_name = "B", allow_negative_numbers = true)]
    pub budget: Option<u32>,
    /// Independent replications.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub replications: Option<u64>,
    /// Seed of all random streams; the same seed gives the same results on any number of threads.
    #[arg(long, value_name = "N", allow_negative_numbers = true,
          value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    pub seed: Option<u64>,
    /// Confidence parameter.
    #[arg(long, value_name = "DELTA", allow_negative_numbers = true)]
    pub delta: Option<f64>,
    /// Policy to run, by kind or by its name in the study (repeatable). Kinds: mimic-opt-dp, tight-opt-dp,
    /// thompson-opt-dp, plug-in, square-cbwk, logistic-ucb1, ts-fixed, ts-update, lin-cbwk, primal-dual, resolve, explore-then-commit,
    /// epsilon-greedy, dual-pacing, pid-pacing, clairvoyant, fluid, myopic, random, fixed:<a> (fixed:0 offers nothing).
    #[arg(long = "policy", value_name = "KIND")]
    pub policies: Vec<String>,
    /// Reference policy of the paired differences, by name. Default: clairvoyant, else the first of the study.
    #[arg(long, value_name = "NAME")]
    pub reference: Option<String>,
    /// Evaluate the exact expected reward of every plan, even of large plans (finite context laws only).
    #[arg(long)]
    pub expected: bool,
    /// Write every step (replication, episode, step, budget, context, action, outcome) to trace.csv.
    #[arg(long)]
    pub trace: bool,
    /// How to write the lines of episodes: parquet needs a program built with the feature parquet.
    #[arg(long, value_name = "FORMAT", value_parser = cbwk_gpu::results::EpisodesFormat::WORDS)]
    pub episodes_format: Option<String>,
    /// Columns of the table after the policy, such as final-regret,of-opt,slope; an error comes with its number. Default: all.
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub columns: Vec<String>,
    /// Shards, resuming and saving.
    #[command(flatten)]
    pub durable: DurableArgs,
    /// How to compute and print.
    #[command(flatten)]
    pub machine: MachineArgs,
}

/// Shards, resuming and saving.
#[derive(Debug, Args)]
pub struct DurableArgs {
    /// Resume an earlier run into --out, however it ended; the files are those of an uninterrupted run. Without a study, the
    /// one in --out.
    #[arg(long, requires = "out", conflicts_with = "force")]
    pub resume: bool,
    /// Run shard I of N, a share of the replications, into DIR/shard-I-of-N; `slurm` takes I and N from the job array.
    /// `merge` makes the files of the whole study.
    #[arg(long, value_name = "I/N", requires = "out")]
    pub shard: Option<String>,
    /// Save the current replications every S seconds (at most a twentieth of the time is spent on it).
    #[arg(long, value_name = "S", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..))]
    pub save_seconds: u32,
    /// Save them every N episodes as well.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub save_episodes: Option<u32>,
}

/// Recipes at the end of the long help.
const ENGINES: &str = "Shards run on any engine:
  Slurm       cbwk-gpu cluster slurm STUDY.toml --shards 64 > study.sbatch
              sbatch study.sbatch
  parallel    parallel -j4 cbwk-gpu simulate STUDY.toml --out DIR \\
                --shard {}/64 --resume --threads 1 ::: $(seq 64)
              cbwk-gpu merge DIR --force
  Kubernetes  an Indexed job with 64 completions, some parallelism and a
              shared volume, whose containers run sh -c 'exec \\
                cbwk-gpu simulate STUDY.toml --out DIR --resume \\
                --shard $((JOB_COMPLETION_INDEX + 1))/64'";

/// Arguments of `reproduce`.
#[derive(Debug, Args)]
pub struct ReproduceArgs {
    /// Folder for the results. Default: results/reproduce, or the next free results/reproduce-2, ...
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Write into --out even if it holds results, which are removed first; other files stay.
    #[arg(long)]
    pub force: bool,
    /// Compare every policy of the program, the published baselines included, and write comparison.md in place of the paper's
    /// figure and claims.
    #[arg(long)]
    pub all: bool,
    /// Numbers K of bids and prices; the paper does not state its own. Default: 4; with --all 2,4,8.
    #[arg(long, value_name = "K,...", value_delimiter = ',',
          value_parser = clap::value_parser!(u32).range(1..=100))]
    pub actions: Vec<u32>,
    /// Episodes T; 2000 are enough to distinguish linear growth from slower growth.
    #[arg(long, value_name = "T", default_value_t = 200, value_parser = from::<4>)]
    pub episodes: u64,
    /// Steps H in an episode; the paper has 24.
    #[arg(long, value_name = "H", default_value_t = 24, value_parser = from::<1>)]
    pub horizon: u64,
    /// Starting budget of every episode; the paper has 5.
    #[arg(long, value_name = "B", default_value_t = 5)]
    pub budget: u32,
    /// Independent replications. Default: 50, as in the paper; 10 for more than 500 episodes.
    #[arg(long, value_name = "N", value_parser = from::<2>)]
    pub replications: Option<u64>,
    /// Seed of all random streams.
    #[arg(long, value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    pub seed: u64,
    /// How to compute and print.
    #[command(flatten)]
    pub machine: MachineArgs,
}

/// Arguments of `solve`.
#[derive(Debug, Args)]
pub struct SolveArgs {
    /// Study file (TOML); what concerns learning is ignored.
    #[arg(required_unless_present = "preset")]
    pub instance: Option<PathBuf>,
    /// Solve the instance of a preset.
    #[arg(long, value_name = "NAME", conflicts_with = "instance")]
    pub preset: Option<String>,
    /// Estimate opt from these context rows (CSV: episode,step,<feature>,...), with its standard error.
    #[arg(long, value_name = "ROWS.csv")]
    pub contexts: Option<PathBuf>,
    /// Study the estimate of opt instead: draw M context rows, estimate opt, repeat, and show how the error falls with M.
    /// --out then writes this table.
    #[arg(long, value_name = "M,...", value_delimiter = ',', conflicts_with = "contexts",
          value_parser = from::<2>)]
    pub sample_sizes: Vec<u64>,
    /// Estimates per sample size.
    #[arg(long, value_name = "N", default_value_t = 50, requires = "sample_sizes",
          value_parser = clap::value_parser!(u32).range(2..=1_000_000))]
    pub repeats: u32,
    /// Write the error against the sample size as a picture.
    #[arg(long, value_name = "error.svg", requires = "sample_sizes")]
    pub plot: Option<PathBuf>,
    /// Largest budget of the table, in place of the instance's.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub budget: Option<u32>,
    /// Write the whole value table (CSV: step,budget,value).
    #[arg(long, value_name = "values.csv")]
    pub out: Option<PathBuf>,
    /// How to compute and print.
    #[command(flatten)]
    pub machine: MachineArgs,
}

/// Arguments of `calibrate`.
#[derive(Debug, Args)]
pub struct CalibrateArgs {
    /// Study file (TOML). Without one, and without --preset, the preset paper-auction.
    pub study: Option<PathBuf>,
    /// A study that comes with the program; `cbwk-gpu presets` lists them.
    #[arg(long, value_name = "NAME", conflicts_with = "study")]
    pub preset: Option<String>,
    /// Independent data sets.
    #[arg(long, value_name = "N", default_value_t = 50, allow_negative_numbers = true,
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub repetitions: u32,
    /// Observations in the largest data set. Default: T H / 2, what the learner has at most by the end.
    #[arg(long, value_name = "N", allow_negative_numbers = true,
          value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub observations: Option<u32>,
    /// Confidence parameter of the bounds, in place of the study's. With the paper's bounds the learner uses
    /// delta / t^2 in episode t; tight ones hold at all times at once.
    #[arg(long, value_name = "DELTA", allow_negative_numbers = true, value_parser = probability)]
    pub delta: Option<f64>,
    /// Seed of all random streams, in place of the study's.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub seed: Option<u64>,
    /// Folder for coverage.csv, coverage.svg and width.svg, with PNGs beside them.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Write into --out even if it holds results.
    #[arg(long)]
    pub force: bool,
    /// Worker threads. Default: one per core.
    #[arg(long, value_name = "N", allow_negative_numbers = true,
          value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// No progress on standard error.
    #[arg(long)]
    pub quiet: bool,
    /// What standard output gets.
    #[arg(long, value_enum, default_value_t = TableFormat::Table)]
    pub format: TableFormat,
}

/// A whole number from LEAST on.
fn from<const LEAST: u64>(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(number) if number >= LEAST => Ok(number),
        _ => Err(format!("accepted: a whole number from {LEAST}")),
    }
}

fn probability(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(p) if p > 0.0 && p < 1.0 => Ok(p),
        _ => Err("accepted: a number between 0 and 1".into()),
    }
}

/// Arguments of `report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Results folders, as `simulate --out` writes them; several are compared on one page. Or the folder of a sweep.
    #[arg(required = true, value_name = "DIR")]
    pub folders: Vec<PathBuf>,
    /// The page (FILE.html), or the folder for report.html. Default: DIR, or the folder `report` for several DIRs.
    #[arg(long, value_name = "FILE_OR_DIR")]
    pub out: Option<PathBuf>,
}

/// Arguments of `presets`.
#[derive(Debug, Args)]
pub struct PresetsArgs {
    /// The preset to print.
    pub name: Option<String>,
    /// Print a log of the preset's world as a shop might keep it (CSV: day,step,<feature>,...,offer,accepted,stock), with
    /// feasible offers at random: data whose truth is known.
    #[arg(long, requires = "name")]
    pub log: bool,
    /// Episodes of the log.
    #[arg(long, value_name = "T", default_value_t = 1000, requires = "log",
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub episodes: u32,
    /// Seed of the log.
    #[arg(long, value_name = "N", default_value_t = 1, requires = "log",
          value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    pub seed: u64,
}

/// Formats of standard output for tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TableFormat {
    /// A table for people.
    Table,
    /// JSON for programs.
    Json,
    /// A Markdown table.
    Markdown,
    /// A LaTeX tabular (package booktabs).
    Latex,
}

impl TableFormat {
    /// How to write tables.
    pub fn style(self) -> Style {
        match self {
            Self::Table | Self::Json => Style::Plain {
                width: terminal::width(),
            },
            Self::Markdown => Style::Markdown,
            Self::Latex => Style::Latex,
        }
    }
}

/// Formats of standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A table for people.
    Table,
    /// JSON for programs.
    Json,
}
