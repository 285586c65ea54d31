//! The command line of `serve`.

use std::net::SocketAddr;
use std::path::PathBuf;

use cbwk_gpu::learner::live::{Baseline, Pilot};
use clap::{Args, ValueEnum};

/// Arguments of `serve`.
#[derive(Debug, Args)]
pub struct ServeArgs {
    /// Task folder, as `import` makes it. The learner starts from log.csv if there is one, with the settings of learner.toml
    /// if there is one (the keys of a policy of a study, delta, seed). Its journal is DIR/journal.jsonl. Several folders, or
    /// a folder of task folders, are served together with --listen: a shop's name is its folder's.
    #[arg(value_name = "DIR", required = true)]
    pub folders: Vec<PathBuf>,
    /// Answer HTTP at this address, such as 127.0.0.1:7878, in place of JSON lines on standard input and output. Port 0
    /// takes a free one. The page / shows the state.
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<SocketAddr>,
    /// File with a token of 16 bytes or more. Requests must have it (Authorization: Bearer TOKEN); needed for addresses
    /// that other machines can reach. Each line is one: TOKEN, or ROLE TOKEN, or ROLE TOKEN SHOP,SHOP with the roles read,
    /// decide and manage.
    #[arg(long, value_name = "FILE", requires = "listen")]
    pub token_file: Option<PathBuf>,
    /// When an answer is given: once the disk has it, or at once.
    #[arg(long, value_enum, default_value_t = SyncChoice::Every)]
    pub sync: SyncChoice,
    /// Share of decisions that are drawn evenly from the feasible offers, with its probability in the journal, so that
    /// other policies can be judged by it later.
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = share)]
    pub explore: f64,
    /// Who makes the offers: the learner, or always one price, wage or bid of the list (the learner still learns).
    #[arg(long, value_name = "learner|fixed:PRICE", default_value = "learner", value_parser = played)]
    pub policy: Played,
    /// A pilot: the learner makes the offers on this share of whole days, drawn by their names; on the others the baseline
    /// is played. `cbwk-gpu pilot DIR` compares them. With 0 the learner's offers are only logged.
    #[arg(long, value_name = "SHARE", value_parser = share, requires = "baseline", conflicts_with = "policy")]
    pub pilot: Option<f64>,
    /// What is played on the other days of a pilot: always one offer, or your own offers, told with `record`.
    #[arg(long, value_name = "fixed:PRICE|record", value_parser = baseline, requires = "pilot")]
    pub baseline: Option<Baseline>,
    /// Seconds for which an offer without an outcome holds its units. Default: until its episode ends.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..))]
    pub hold: Option<u32>,
    /// How notices are written to standard error.
    #[arg(long, value_enum, default_value_t = LogChoice::Text)]
    pub log: LogChoice,
    /// Worker threads of plans. Default: one per core.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
}

/// Who makes the offers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Played {
    /// The learner.
    Learner,
    /// Always one offer.
    Fixed(f64),
}

impl Played {
    /// The offer that is always made.
    pub fn fixed(self) -> Option<f64> {
        match self {
            Self::Learner => None,
            Self::Fixed(value) => Some(value),
        }
    }
}

impl ServeArgs {
    /// The pilot, if there is one.
    pub fn pilot(&self) -> Option<Pilot> {
        let (share, baseline) = self.pilot.zip(self.baseline)?;
        Some(Pilot { share, baseline })
    }
}

fn baseline(text: &str) -> Result<Baseline, String> {
    match (text, played(text)) {
        ("record", _) => Ok(Baseline::Record),
        (_, Ok(Played::Fixed(value))) => Ok(Baseline::Fixed(value)),
        _ => Err("accepted: record, or fixed: and a price, wage or bid".into()),
    }
}

fn played(text: &str) -> Result<Played, String> {
    let fixed = |text: &str| {
        text.parse()
            .ok()
            .filter(|x: &f64| *x > 0.0 && x.is_finite())
    };
    match (text, text.strip_prefix("fixed:").and_then(fixed)) {
        ("learner", _) => Ok(Played::Learner),
        (_, Some(value)) => Ok(Played::Fixed(value)),
        _ => Err("accepted: learner, or fixed: and a price, wage or bid".into()),
    }
}

/// When an answer is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SyncChoice {
    /// Once the disk has it.
    Every,
    /// At once; a crash of the machine (not of the program) may lose the last answers.
    None,
}

/// How notices are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogChoice {
    /// For people.
    Text,
    /// One JSON object per line, with time, level, shop and message.
    Json,
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(x) if (0.0..=1.0).contains(&x) => Ok(x),
        _ => Err("accepted: a number from 0 to 1".into()),
    }
}
