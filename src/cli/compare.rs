//! `cbwk-gpu compare`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::args::TableFormat;
use super::show::print;
use cbwk_gpu::error::InputError;
use cbwk_gpu::report::comparison::Comparison;
use cbwk_gpu::results::Results;
use cbwk_gpu::statistics::Band;

/// Arguments of `compare`.
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// Results folder of a study.
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// Policy to compare, by its name in the study (repeatable). Default: all.
    #[arg(long = "policy", value_name = "NAME")]
    pub policies: Vec<String>,
    /// Bands around means and differences.
    #[arg(long, value_enum, default_value_t = BandChoice::ThreeSe)]
    pub band: BandChoice,
    /// What standard output gets.
    #[arg(long, value_enum, default_value_t = TableFormat::Table)]
    pub format: TableFormat,
}

/// How bands are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum BandChoice {
    /// 3 standard errors.
    #[value(name = "3se")]
    ThreeSe,
    /// 95% by the normal law.
    Normal,
    /// 95% by 2,000 bootstrap resamples of the replications.
    Bootstrap,
}

/// Runs the command.
pub fn compare(args: &CompareArgs) -> anyhow::Result<()> {
    let results = Results::read(&args.folder)?;
    let band = match args.band {
        BandChoice::ThreeSe => Band::ThreeErrors,
        BandChoice::Normal => Band::Normal,
        BandChoice::Bootstrap => Band::Bootstrap,
    };
    let found = Comparison::new(&results.run, &args.policies, band);
    let found = found.map_err(|invalid| match invalid.field.as_str() {
        "policy" => {
            let message = format!("found {}; accepted: {}", invalid.found, invalid.accepted);
            InputError::option("--policy", message)
        }
        _ => InputError::in_file(&args.folder.join("run.json"), invalid.to_string()),
    })?;
    match args.format {
        TableFormat::Json => print(&(serde_json::to_string_pretty(&found)? + "\n")),
        format => print(&found.text(format.style())),
    }
}
