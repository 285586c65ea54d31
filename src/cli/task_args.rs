//! The command line of task folders: import, fit, plan, evaluate.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::args::{Format, TableFormat};
use cbwk_gpu::history::evaluate::PolicyName;
use cbwk_gpu::history::{POOLED_BELOW, Zone, parse_time};
use cbwk_gpu::task::HORIZON_LIMIT;

/// Arguments of `import`.
#[derive(Debug, Args)]
pub struct ImportArgs {
    /// CSV file with a row for each customer. The separator is found; columns are named by the first line, or numbered
    /// 1, 2, ... without a header. Or the journal.jsonl of a folder that was served: it needs no other option.
    pub raw: PathBuf,
    /// Folder for task.toml and log.csv. Default for a journal: the folder journal-log beside it.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Column of the episode, such as the day. The column of --time makes an episode of each of its days.
    #[arg(long, value_name = "COL")]
    pub episode: Option<String>,
    /// Column of the step, whole numbers from 1.
    #[arg(long, value_name = "COL", conflicts_with = "time")]
    pub step: Option<String>,
    /// Column of the time (such as 2026-11-16 09:30); the day is cut into equal steps.
    #[arg(long, value_name = "COL")]
    pub time: Option<String>,
    /// The zone of the shop's clocks, such as Europe/Vienna or +01:00: times with another zone are converted, times without one
    /// are taken as local. Needed if the times have different zones.
    #[arg(long, value_name = "ZONE", requires = "time", value_parser = Zone::parse)]
    pub zone: Option<Zone>,
    /// Column of the days before the end of the episode, such as the days between booking and night: the last step is 0 days
    /// before.
    #[arg(long, value_name = "COL", conflicts_with_all = ["time", "step"])]
    pub lead: Option<String>,
    /// Steps in an episode. Default with --step and --lead: as many as the file has; with --time: steps so short that nearly
    /// all customers have one of their own.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=HORIZON_LIMIT as i64))]
    pub steps: Option<u32>,
    /// When the first step begins, as HH:MM. Default: the whole hour before the earliest time found.
    #[arg(long, value_name = "HH:MM", requires_all = ["time", "close"], value_parser = time_of_day)]
    pub open: Option<u32>,
    /// When the last step ends, as HH:MM. Before --open: after midnight, which belongs to the evening's episode.
    #[arg(long, value_name = "HH:MM", requires_all = ["time", "open"], value_parser = time_of_day)]
    pub close: Option<u32>,
    /// Column of the price, wage or bid offered; empty or 0 for no offer.
    #[arg(long, value_name = "COL")]
    pub action: Option<String>,
    /// Column of the outcome: 0 or 1, yes or no, true or false.
    #[arg(long, value_name = "COL")]
    pub accepted: Option<String>,
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
    /// Column of the probability of the action, if it was drawn at random.
    #[arg(long, value_name = "COL")]
    pub probability: Option<String>,
    /// Column of the units that a customer takes, such as the size of the party: price and units are multiplied by it.
    #[arg(long, value_name = "COL")]
    pub quantity: Option<String>,
    /// Column of a reference price: prices become multiples of it, such as 0.9 of the rate.
    #[arg(long, value_name = "COL")]
    pub relative_to: Option<String>,
    /// What is offered.
    #[arg(long, value_enum, default_value_t = OfferChoice::Pricing)]
    pub kind: OfferChoice,
    /// Count wages, or bids and their values, and the column of budgets in parts of the file's unit: 100 for cents.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub units: u32,
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

/// Arguments of `backup`.
#[derive(Debug, Args)]
pub struct BackupArgs {
    /// Task folder, or folder of task folders.
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// Folder for the copy, which must not exist. Of several shops each gets a folder in it.
    #[arg(long, value_name = "DIR")]
    pub to: PathBuf,
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
    /// Columns that describe the whole day, such as the weekday, besides those that are found.
    #[arg(long, value_name = "COL,...", value_delimiter = ',')]
    pub day: Vec<String>,
    /// Columns that are the same all day but should not distinguish days.
    #[arg(long, value_name = "COL,...", value_delimiter = ',')]
    pub no_day: Vec<String>,
    /// Worker threads. Default: one per core.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// What standard output gets.
    #[arg(long, value_enum, default_value_t = TableFormat::Table)]
    pub format: TableFormat,
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
    /// Plan also with offers that the log does not support for a kind of customer.
    #[arg(long)]
    pub extrapolate: bool,
    /// Largest number of customer segments. Default: 60, or fewer for a large plan.
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
    /// What to evaluate: plan, fixed:<price>, or logged.
    #[arg(long, default_value = "plan", value_parser = policy_name)]
    pub policy: PolicyName,
    /// What to compare it with: logged (what the log itself earned), fixed:<price>, or plan.
    #[arg(long, default_value = "logged", value_parser = policy_name)]
    pub against: PolicyName,
    /// Draws of the bootstrap over days.
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(20..=100_000))]
    pub draws: u32,
    /// Splits into halves that the estimate is averaged over; draws of the bootstrap have one.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub splits: u32,
    /// Seed of splits and draws.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Plan also with offers that the log does not support for a kind of customer, and answer even if it has few of them.
    #[arg(long)]
    pub extrapolate: bool,
    /// Worker threads. Default: one per core.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// No progress bar.
    #[arg(long)]
    pub quiet: bool,
    /// What standard output gets.
    #[arg(long, value_enum, default_value_t = TableFormat::Table)]
    pub format: TableFormat,
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

/// Arguments of `reprice`.
#[derive(Debug, Args)]
pub struct RepriceArgs {
    /// Task folder whose service does not run now.
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// All prices that are offered from now on. Those of before stay known, for the data about them.
    #[arg(
        long,
        value_name = "PRICE,...",
        value_delimiter = ',',
        required_unless_present = "budget"
    )]
    pub prices: Option<Vec<f64>>,
    /// The largest starting budget from now on.
    #[arg(long, value_name = "UNITS")]
    pub budget: Option<u32>,
    /// Only say what would be kept and what would not.
    #[arg(long)]
    pub dry_run: bool,
}

/// Arguments of `pilot`.
#[derive(Debug, Args)]
pub struct PilotArgs {
    /// Task folder that was served with --pilot.
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// How the result is printed.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
}
