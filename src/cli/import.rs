//! `cbwk-gpu import`.

use std::io::Write;

use super::args::Format;
use super::progress;
use super::task_args::{ImportArgs, OfferChoice};
use cbwk_gpu::error::InputError;
use cbwk_gpu::history::{
    BudgetSource, COUNT_IN_CENTS, Import, ImportError, ImportSpec, OfferKind, OpeningHours,
    StepSource,
};
use cbwk_gpu::shop::TaskFolder;

/// Runs the command.
pub fn import(args: &ImportArgs) -> anyhow::Result<()> {
    if args.raw.extension().is_some_and(|e| e == "jsonl") {
        return journal(args);
    }
    let (folder, spec) = (args.out.as_ref(), spec(args)?);
    let folder = folder.expect("options that a CSV file needs were checked");
    let spinner = progress::Spinner::start(false, "reading");
    let import = Import::survey(&args.raw, &spec).map_err(explain)?;
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

/// Names all options that are missing: a CSV file needs them and a journal does not.
fn check_needed(args: &ImportArgs) -> Result<(), InputError> {
    let step = [&args.step, &args.time, &args.lead];
    let needed = [
        ("--out", args.out.is_some()),
        ("--episode", args.episode.is_some()),
        ("--step, --time or --lead", step.iter().any(|s| s.is_some())),
        ("--action", args.action.is_some()),
        ("--accepted", args.accepted.is_some()),
    ];
    let missing = needed.iter().filter(|(_, given)| !given);
    let missing: Vec<&str> = missing.map(|(option, _)| *option).collect();
    let message = match missing.len() {
        0 => return Ok(()),
        1 => "found nothing; accepted: a value, which a CSV file needs",
        _ => "found nothing; accepted: a value for each, which a CSV file needs",
    };
    Err(InputError::option(&missing.join(", "), message))
}

fn spec(args: &ImportArgs) -> Result<ImportSpec, InputError> {
    check_needed(args)?;
    let given = |column: &Option<String>| column.clone().unwrap_or_default();
    let steps = args.steps.map(|steps| steps as usize);
    let step = match (&args.time, &args.lead) {
        (Some(name), _) => StepSource::Time {
            name: name.clone(),
            steps,
            clock: args
                .open
                .zip(args.close)
                .map(|(open, close)| OpeningHours { open, close }),
        },
        (None, Some(name)) => StepSource::Lead {
            name: name.clone(),
            steps,
        },
        (None, None) => StepSource::Column {
            name: given(&args.step),
            steps,
        },
    };
    let is_pricing = args.kind == OfferChoice::Pricing;
    let misfits = [
        (
            "--units",
            args.units > 1 && is_pricing,
            "wages or bids; prices may have decimals",
        ),
        (
            "--relative-to",
            args.relative_to.is_some() && !is_pricing,
            "prices",
        ),
        (
            "--quantity",
            args.quantity.is_some() && args.kind == OfferChoice::Auction,
            "prices or wages",
        ),
    ];
    if let Some((option, _, accepted)) = misfits.iter().find(|(_, misfit, _)| *misfit) {
        let message = format!("found another kind of offers; accepted: {accepted}");
        return Err(InputError::option(option, message));
    }
    Ok(ImportSpec {
        episode: given(&args.episode),
        step,
        zone: args.zone.clone(),
        action: given(&args.action),
        accepted: given(&args.accepted),
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
        quantity: args.quantity.clone(),
        relative_to: args.relative_to.clone(),
        units: args.units,
        drop_wrong: args.drop_wrong,
    })
}

/// Names the option for wrong rows.
fn explain(error: ImportError) -> anyhow::Error {
    match error {
        ImportError::WrongRows { first, rows } => {
            let cents = match first.to_string().contains(COUNT_IN_CENTS) {
                true => "--units 100 counts in cents; ",
                false => "",
            };
            let hint = match rows {
                1 => "--drop-wrong leaves it out".to_string(),
                _ => format!("the first of {rows} wrong rows; --drop-wrong leaves them out"),
            };
            match first {
                InputError::At {
                    file,
                    line,
                    message,
                } => InputError::at(&file, line, format!("{message} ({cents}{hint})")).into(),
                other => other.into(),
            }
        }
        ImportError::Input(error) => error.into(),
        ImportError::Output(error) => error.into(),
    }
}
