//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use cbwk_gpu::history::evaluate::PolicyName;
use cbwk_gpu::history::{POOLED_BELOW, parse_time};
use cbwk_gpu::task::HORIZON_LIMIT;

/// Learn how customers convert while a budget runs down: Mimic-Opt-DP, Optimistic-DP and regret studies.
#[derive(Debug, Parser)]
#[command(name = "cbwk-gpu", version, max_term_width = 110)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a study: print a table of regrets and write episodes.csv, summary.csv, steps.csv,
    /// actions.csv, regret.svg, study.toml, run.json.
    Simulate(SimulateArgs),
    /// Compute the optimum of an instance with conversion probabilities known.
    Solve(SolveArgs),
    /// Show how well the bounds of a study's oracles hold as data grow, to choose their radii.
    Calibrate(CalibrateArgs),
    /// Make a page of results that opens in any browser, offline, with its plots as SVG and PNG beside it.
    Report(ReportArgs),
    /// Run the paper's comparison: both panels of its figure, and a page that holds its claims against the numbers.
    Reproduce(ReproduceArgs),
    /// Make a task folder of a raw CSV file: task.toml (steps, actions, capacity, how columns become features) and log.csv.
    Import(ImportArgs),
    /// Fit acceptance models to a task folder's log and compare them on held-out episodes: model.json, study.toml, fit.html.
    Fit(FitArgs),
    /// Plan the offers of a task folder whose log has been fitted: plan.csv and a page to look them up.
    Plan(PlanArgs),
    /// Say what the plan of a task folder would earn against today's policy, with an interval, and what the log does not
    /// support.
    Evaluate(EvaluateArgs),
    /// List the graphics adapters of this machine, and say which one `--backend auto` would take and why.
    Devices,
    /// List the study files that come with the program with their oracles, or print one, ready to edit; or print a log
    /// drawn from its truth.
    Presets(PresetsArgs),
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
    /// Policy to run, by kind or by its name in the study (repeatable). Kinds: mimic-opt-dp, square-cbwk,
    /// logistic-ucb1, clairvoyant, fluid, myopic, random, fixed:<a>.
    #[arg(long = "policy", value_name = "KIND")]
    pub policies: Vec<String>,
    /// Evaluate the exact expected reward of every plan, also where plans are large (finite context laws only).
    #[arg(long)]
    pub expected: bool,
    /// How to compute and print.
    #[command(flatten)]
    pub machine: MachineArgs,
}

/// Arguments of `reproduce`.
#[derive(Debug, Args)]
pub struct ReproduceArgs {
    /// Folder for the results. Default: results/reproduce, or the next free results/reproduce-2, ...
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Write into --out even if it holds results.
    #[arg(long)]
    pub force: bool,
    /// Numbers K of bids and prices; the paper does not state its own.
    #[arg(long, value_name = "K,...", value_delimiter = ',', default_value = "4",
          value_parser = clap::value_parser!(u32).range(1..=100))]
    pub actions: Vec<u32>,
    /// Episodes T; 2000 tells linear growth from slower growth.
    #[arg(long, value_name = "T", default_value_t = 200, value_parser = from::<4>)]
    pub episodes: u64,
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
    /// Study the estimate of opt instead: draw so many context rows, estimate opt, repeat, and show how the error falls
    /// with the number of rows. --out then writes this table.
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
    /// Confidence parameter of the bounds, in place of the study's. The learner uses delta / t^2 in episode t.
    #[arg(long, value_name = "DELTA", allow_negative_numbers = true, value_parser = probability)]
    pub delta: Option<f64>,
    /// Seed of all random streams, in place of the study's.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub seed: Option<u64>,
    /// Folder for coverage.csv, coverage.svg and width.svg.
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
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
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
    /// Results folders, as `simulate --out` writes them; several are compared on one page.
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

/// Arguments of `import`.
#[derive(Debug, Args)]
pub struct ImportArgs {
    /// CSV file with a row for each customer. The separator is found; columns are named by the first line, or numbered
    /// 1, 2, ... where no line names them.
    pub raw: PathBuf,
    /// Folder for task.toml and log.csv.
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Column of the episode, such as the day. The column of --time makes an episode of each of its days.
    #[arg(long, value_name = "COL")]
    pub episode: String,
    /// Column of the step, whole numbers from 1.
    #[arg(
        long,
        value_name = "COL",
        required_unless_present = "time",
        conflicts_with = "time"
    )]
    pub step: Option<String>,
    /// Column of the time (such as 2026-11-16 09:30), to be cut into --steps equal steps.
    #[arg(long, value_name = "COL", requires = "steps")]
    pub time: Option<String>,
    /// Steps in an episode. Default with --step: the largest step found.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=HORIZON_LIMIT as i64))]
    pub steps: Option<u32>,
    /// When the first step begins, as HH:MM. Default: the whole hour before the earliest time found.
    #[arg(long, value_name = "HH:MM", requires_all = ["time", "close"], value_parser = time_of_day)]
    pub open: Option<u32>,
    /// When the last step ends, as HH:MM.
    #[arg(long, value_name = "HH:MM", requires_all = ["time", "open"], value_parser = time_of_day)]
    pub close: Option<u32>,
    /// Column of the price, wage or bid offered; empty or 0 where nothing was offered.
    #[arg(long, value_name = "COL")]
    pub action: String,
    /// Column of the outcome: 0 or 1, yes or no, true or false.
    #[arg(long, value_name = "COL")]
    pub accepted: String,
    /// Columns that describe a customer. Default: all others that are of use.
    #[arg(long, value_name = "COL,...", value_delimiter = ',')]
    pub features: Option<Vec<String>>,
    /// Columns whose numbers are names, such as postal codes.
    #[arg(long, value_name = "COL,...", value_delimiter = ',')]
    pub categories: Vec<String>,
    /// Units at the start of every episode. Default: the most that was spent in an episode.
    #[arg(long, value_name = "N", conflicts_with = "budget_column", value_parser = clap::value_parser!(u32).range(1..))]
    pub budget: Option<u32>,
    /// Column of the units at the start of the episode.
    #[arg(long, value_name = "COL")]
    pub budget_column: Option<String>,
    /// Column of the probability with which the action was chosen, where it was drawn at random.
    #[arg(long, value_name = "COL")]
    pub probability: Option<String>,
    /// What is offered.
    #[arg(long, value_enum, default_value_t = OfferChoice::Pricing)]
    pub kind: OfferChoice,
    /// Round actions to multiples of this.
    #[arg(long, value_name = "UNIT", value_parser = positive)]
    pub round: Option<f64>,
    /// Leave wrong rows out, and say which, in place of refusing the file.
    #[arg(long)]
    pub drop_wrong: bool,
    /// Replace the task folder's files.
    #[arg(long)]
    pub force: bool,
    /// What standard output gets.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
}

/// Arguments of `fit`.
#[derive(Debug, Args)]
pub struct FitArgs {
    /// Task folder, as `import` makes it.
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// Plan also with actions that were offered less than 30 times or in less than 2% of arrivals.
    #[arg(long)]
    pub keep_thin: bool,
    /// Steps with fewer arrivals than this take the contexts of all steps.
    #[arg(long, value_name = "N", default_value_t = POOLED_BELOW)]
    pub pooled_below: u64,
    /// Worker threads. Default: one per core.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// What standard output gets.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
}

/// Arguments of `plan`.
#[derive(Debug, Args)]
pub struct PlanArgs {
    /// Task folder whose log has been fitted.
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// Largest budget of the plan, in place of the task's.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub budget: Option<u32>,
    /// The plan (CSV); its page is beside it. Default: DIR/plan.csv.
    #[arg(long, value_name = "plan.csv")]
    pub out: Option<PathBuf>,
    /// Show what the learner would try: the plan of its upper confidence bounds after the log.
    #[arg(long)]
    pub optimistic: bool,
    /// The most customer segments that are shown. Default: 60, or fewer where the plan is large.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub segments: Option<u32>,
    /// Worker threads. Default: one per core.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
}

/// Arguments of `evaluate`.
#[derive(Debug, Args)]
pub struct EvaluateArgs {
    /// Task folder whose log has been fitted.
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// What to evaluate: plan, or fixed:<price>.
    #[arg(long, default_value = "plan", value_parser = policy_name)]
    pub policy: PolicyName,
    /// What to compare it with: logged (what the log itself earned), fixed:<price>, or plan.
    #[arg(long, default_value = "logged", value_parser = policy_name)]
    pub against: PolicyName,
    /// Draws of the bootstrap over episodes.
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(20..=100_000))]
    pub draws: u32,
    /// Splits into halves in every draw.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub splits: u32,
    /// Seed of splits and draws.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Answer even where the log has hardly tried the offers.
    #[arg(long)]
    pub unsupported: bool,
    /// Worker threads. Default: one per core.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// No progress bar.
    #[arg(long)]
    pub quiet: bool,
    /// What standard output gets.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
}

fn policy_name(text: &str) -> Result<PolicyName, String> {
    let value = |price: &str| price.parse().ok().filter(|x: &f64| x.is_finite());
    match (text, text.strip_prefix("fixed:").map(value)) {
        ("plan", _) => Ok(PolicyName::Plan),
        ("logged", _) => Ok(PolicyName::Logged),
        (_, Some(Some(value))) => Ok(PolicyName::Fixed(value)),
        _ => Err("accepted: plan, logged, or fixed:<price> such as fixed:2.4".into()),
    }
}

fn time_of_day(text: &str) -> Result<u32, String> {
    parse_time(text).ok_or_else(|| "accepted: a time of day as HH:MM".into())
}

fn positive(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(x) if x > 0.0 && f64::is_finite(x) => Ok(x),
        _ => Err("accepted: a positive number".into()),
    }
}

/// What is offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OfferChoice {
    /// Prices: a sale earns the price and takes a unit.
    Pricing,
    /// Wages: a hire earns 1 and costs the wage.
    Procurement,
    /// Bids of first-price auctions: winning earns the value less the bid, and costs the bid.
    Auction,
}

/// How to compute and print.
#[derive(Debug, Args)]
pub struct MachineArgs {
    /// Where Optimistic-DP runs.
    #[arg(long, value_enum, default_value_t = BackendChoice::Auto)]
    pub backend: BackendChoice,
    /// Graphics adapter, by its number in `cbwk-gpu devices` or a part of its name.
    #[arg(long, value_name = "NAME-OR-INDEX")]
    pub adapter: Option<String>,
    /// Precision of Optimistic-DP. Default: f64 on the CPU, f32 on a GPU; the value table is 64-bit on the CPU either way.
    #[arg(long, value_enum)]
    pub precision: Option<Precision>,
    /// How the CPU solves Optimistic-DP; all strategies give the same values to rounding.
    #[arg(long, value_enum, default_value_t = StrategyChoice::Auto)]
    pub strategy: StrategyChoice,
    /// Worker threads. Default: one per core.
    #[arg(long, value_name = "N", allow_negative_numbers = true,
          value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// No progress bar and no notes.
    #[arg(long)]
    pub quiet: bool,
    /// What standard output gets.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
}

/// Where Optimistic-DP runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum BackendChoice {
    /// A real GPU where there is one and it gains, the CPU elsewhere.
    Auto,
    /// The CPU.
    Cpu,
    /// The best graphics adapter, software ones included.
    Gpu,
}

/// Floating-point precision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Precision {
    /// 32 bits.
    F32,
    /// 64 bits.
    F64,
}

/// How the CPU solves Optimistic-DP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum StrategyChoice {
    /// For each problem the one that is likely the fastest.
    Auto,
    /// Every (step, budget, context, action): the reference.
    Dense,
    /// Auctions whose bounds do not depend on the context.
    AuctionEnvelope,
    /// Actions that all cost 1, many budgets.
    GapEnvelope,
    /// Actions that all cost 1, contexts that serve several steps (`solve` without rows).
    SharedEnvelope,
}

/// What standard output gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A table for people.
    Table,
    /// JSON for programs.
    Json,
}
