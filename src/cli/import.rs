//! `cbwk-gpu import`.

use std::io::Write;

use super::args::Format;
use super::progress;
use super::task_args::{ImportArgs, OfferChoice};
use cbwk_gpu::error::InputError;
use cbwk_gpu::history::{
    BudgetSource, Import, ImportError, ImportSpec, OfferKind, OpeningHours, StepSource,
};
use cbwk_gpu::shop::TaskFolder;

/// Runs the command.
pub fn import(args: &ImportArgs) -> anyhow::Result<()> {
    if args.raw.extension().is_some_and(|e| e == "jsonl") {
        return journal(args);
    }
    let folder = needed("--out", args.out.as_ref())?;
    let spinner = progress::Spinner::start(false, "reading");
    let import = Import::survey(&args.raw, &spec(args)?).map_err(explain)?;
    let summary = TaskFolder::create(folder, import, args.force).map_err(explain)?;
    drop(spinner);
    let mut out = std::io::stdout().lock();
    match args.format {
        Format::Json => writeln!(out, "{}", serde_json::to_string_pretty(&summary)?)?,
        Format::Table => {
            write!(out, "{}", summary.text())?;
            writeln!(out, "\ntask in {}", folder.display())?;
        }
    }
    Ok(())
}

/// The journal of a live learner becomes a log of the same task.
fn journal(args: &ImportArgs) -> anyhow::Result<()> {
    let beside = args.raw.with_file_name("journal-log");
    let folder = args.out.as_ref().unwrap_or(&beside);
    let summary = TaskFolder::of_journal(folder, &args.raw, args.force).map_err(explain)?;
    let mut out = std::io::stdout().lock();
    if args.format == Format::Json {
        writeln!(out, "{}", serde_json::to_string_pretty(&summary)?)?;
        return Ok(());
    }
    writeln!(
        out,
        "{} episodes, {} arrivals, {} offers with their outcomes, {} accepted",
        summary.episodes, summary.arrivals, summary.offers, summary.accepted
    )?;
    if summary.without_outcome > 0 {
        let n = summary.without_outcome;
        writeln!(
            out,
            "note: {n} offers never had an outcome; the log has them as arrivals without an offer"
        )?;
    }
    writeln!(out, "\ntask in {}", folder.display())?;
    Ok(())
}

/// An option that a CSV file needs and a journal does not.
fn needed<'a, T>(option: &str, value: Option<&'a T>) -> Result<&'a T, InputError> {
    let message = "found nothing; accepted: a value, which a CSV file needs";
    value.ok_or_else(|| InputError::option(option, message))
}

fn spec(args: &ImportArgs) -> Result<ImportSpec, InputError> {
    let steps = args.steps.map(|steps| steps as usize);
    let step = match (&args.time, &args.step) {
        (Some(name), _) => StepSource::Time {
            name: name.clone(),
            steps: steps.unwrap_or(1),
            clock: args
                .open
                .zip(args.close)
                .map(|(open, close)| OpeningHours { open, close }),
        },
        (None, name) => StepSource::Column {
            name: needed("--step or --time", name.as_ref())?.clone(),
            steps,
        },
    };
    Ok(ImportSpec {
        episode: needed("--episode", args.episode.as_ref())?.clone(),
        step,
        zone: args.zone.clone(),
        action: needed("--action", args.action.as_ref())?.clone(),
        accepted: needed("--accepted", args.accepted.as_ref())?.clone(),
        features: args.features.clone().map(|mut names| {
            names.retain(|name| !name.is_empty());
            names
        }),
        categories: args.categories.clone(),
        budget: match (&args.budget_column, args.budget) {
            (Some(column), _) => BudgetSource::Column(column.clone()),
            (None, Some(units)) => BudgetSource::Constant(units),
            (None, None) => BudgetSource::Unknown,
        },
        probability: args.probability.clone(),
        kind: match args.kind {
            OfferChoice::Pricing => OfferKind::Pricing,
            OfferChoice::Procurement => OfferKind::Procurement,
            OfferChoice::Auction => OfferKind::Auction,
        },
        round: args.round,
        drop_wrong: args.drop_wrong,
    })
}

/// Names the option for wrong rows.
fn explain(error: ImportError) -> anyhow::Error {
    match error {
        ImportError::WrongRows { first, rows } => {
            let hint = match rows {
                1 => "--drop-wrong leaves it out".to_string(),
                _ => format!("the first of {rows} wrong rows; --drop-wrong leaves them out"),
            };
            match first {
                InputError::At {
                    file,
                    line,
                    message,
                } => InputError::at(&file, line, format!("{message} ({hint})")).into(),
                other => other.into(),
            }
        }
        ImportError::Input(error) => error.into(),
        ImportError::Output(error) => error.into(),
    }
}
